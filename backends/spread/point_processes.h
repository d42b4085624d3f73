#pragma once

// Computes points in processes of their own, each in a fresh one: what one leaves behind (a
// simulator that can be set up only once, a clock that went on) is nothing to the next, so that an
// answer does not depend on who computed what before; and where one dies, the others live.

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gradhaul {

// Runs in a process of its own, a copy of this one; throws nothing.
using PointWork = std::function<std::string(std::size_t point)>;

struct EndedPoint {
  std::size_t point = 0;
  std::optional<std::string> answer;
  std::string end;  // where there is none: "was ended by signal 9 (Killed)"
};

class PointProcesses {
 public:
  // At most so many at once.
  PointProcesses(PointWork work, int most);
  // Ends those that are left.
  ~PointProcesses();
  PointProcesses(const PointProcesses&) = delete;
  PointProcesses& operator=(const PointProcesses&) = delete;

  bool full() const { return children_.size() >= most_; }
  bool empty() const { return children_.empty(); }
  // They end with this process, however it ends. Not full. False where the system has no room for
  // another process now.
  bool start(std::size_t point);
  // Whom to wait for with poll(): readable.
  void add_to(std::vector<pollfd>& waiting) const;
  // Those that have ended, never waiting.
  std::vector<EndedPoint> collect();

 private:
  struct Child {
    std::size_t point = 0;
    pid_t process = 0;
    int pipe = -1;  // its answer comes here
    std::string answer;
    bool said_all = false;
  };
  static void listen_to(Child& child);

  PointWork work_;
  std::size_t most_;
  std::vector<Child> children_;
};

}  // namespace gradhaul
