#include "scenarios/rank_processes.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "scenarios/rendezvous_token.h"

namespace gradhaul {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

[[noreturn]] void become_rank(std::vector<std::string>& arguments, const std::string& token,
                              pid_t parent) {
  // Nobody is left behind, even where the parent is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  if (setenv(kTokenVariable, token.c_str(), 1) != 0) _exit(127);
  execv(kThisProgram, pointers.data());
  _exit(127);
}

std::string end_of(int rank, int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("rank {} was ended by signal {} ({})", rank, WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("rank {} exited with status {}", rank, WEXITSTATUS(status));
}

}  // namespace

RankProcesses::RankProcesses(const std::vector<std::string>& arguments, int ranks,
                             const std::string& rank0, const std::string& token) {
  const pid_t parent = getpid();
  for (int rank = 1; rank < ranks; ++rank) {
    std::vector<std::string> words{"gradhaul"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (const std::string& word : {std::string("--started-by-measure"), std::string("--rank"),
                                    std::to_string(rank), std::string("--rank0-at"), rank0}) {
      words.push_back(word);
    }
    const pid_t process = fork();
    if (process == 0) become_rank(words, token, parent);
    if (process < 0) {
      throw std::runtime_error(fmt::format("can't start rank {}: {}", rank, std::strerror(errno)));
    }
    children_.push_back({rank, process, false});
  }
}

RankProcesses::~RankProcesses() {
  for (const Child& child : children_) {
    if (!child.ended) kill(child.process, SIGKILL);
  }
  for (const Child& child : children_) {
    if (!child.ended) waitpid(child.process, nullptr, 0);
  }
}

void RankProcesses::collect() {
  for (Child& child : children_) {
    int status = 0;
    if (child.ended || waitpid(child.process, &status, WNOHANG) != child.process) continue;
    child.ended = true;
    if (status == 0) continue;
    // Who was killed is the cause of others' ends, also where those are seen first.
    const bool killed = WIFSIGNALED(status);
    if (bad_end_ && (was_killed_ || !killed)) continue;
    bad_end_ = end_of(child.rank, status);
    was_killed_ = killed;
  }
}

std::optional<std::string> RankProcesses::first_bad_end() {
  collect();
  return bad_end_;
}

void RankProcesses::wait(std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (std::chrono::steady_clock::now() < until) {
    collect();
    if (std::all_of(children_.begin(), children_.end(), [](const Child& c) { return c.ended; })) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace gradhaul
