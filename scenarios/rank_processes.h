#pragma once

// The other ranks of a measure on this host, as processes of this same program.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace gradhaul {

class RankProcesses {
 public:
  // Starts ranks 1 … ranks - 1 with `arguments` and what tells each who it is and where rank 0
  // listens (--rank0-at); in the environment they find the token of the rendezvous. They end with
  // this process, however it ends. Throws std::runtime_error.
  RankProcesses(const std::vector<std::string>& arguments, int ranks, const std::string& rank0,
                const std::string& token);
  // Ends those that are left.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // "rank 3 was ended by signal 9 (Killed)", "rank 3 exited with status 2": the first that ended
  // otherwise than well, if one did; first of all one that was killed.
  std::optional<std::string> first_bad_end();
  // Gives them so long to end by themselves.
  void wait(std::chrono::milliseconds most);

 private:
  struct Child {
    int rank = 0;
    pid_t process = 0;
    bool ended = false;
  };
  void collect();

  std::vector<Child> children_;
  std::optional<std::string> bad_end_;
  bool was_killed_ = false;
};

}  // namespace gradhaul
