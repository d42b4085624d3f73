#include "backends/spread/point_processes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr int kNoAnswer = 1;

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

[[noreturn]] void be_point(const PointWork& work, std::size_t point, int pipe, pid_t parent) {
  // Nobody is left behind, even where the parent is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNoAnswer);
  const bool said = write_all(pipe, work(point));
  // Nothing of the parent is flushed or torn down a second time.
  _exit(said ? 0 : kNoAnswer);
}

std::string end_of(int status) {
  const auto number = [](int value) { return std::to_string(value); };
  if (!WIFSIGNALED(status)) return "exited with status " + number(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return "was ended by signal " + number(signal) + " (" + strsignal(signal) + ")";
}

}  // namespace

PointProcesses::PointProcesses(PointWork work, int most)
    : work_(std::move(work)), most_(static_cast<std::size_t>(most)) {
  GRADHAUL_ASSERT(most > 0, "somebody has to compute");
}

PointProcesses::~PointProcesses() {
  for (const Child& child : children_) kill(child.process, SIGKILL);
  for (const Child& child : children_) {
    waitpid(child.process, nullptr, 0);
    close(child.pipe);
  }
}

bool PointProcesses::start(std::size_t point) {
  GRADHAUL_ASSERT(!full(), "no more processes at once than agreed");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) be_point(work_, point, ends[1], parent);
  // Else the children that follow would hold it open.
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return false;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  children_.push_back({point, process, ends[0], "", false});
  return true;
}

void PointProcesses::add_to(std::vector<pollfd>& waiting) const {
  for (const Child& child : children_) waiting.push_back({child.pipe, POLLIN, 0});
}

void PointProcesses::listen_to(Child& child) {
  std::array<char, 64 * 1024> buffer{};
  while (!child.said_all) {
    const ssize_t count = read(child.pipe, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) child.said_all = true;
    if (count > 0) child.answer.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::vector<EndedPoint> PointProcesses::collect() {
  std::vector<EndedPoint> ended;
  std::erase_if(children_, [&ended](Child& child) {
    listen_to(child);
    if (!child.said_all) return false;
    int status = 0;
    // It has closed its pipe, so that it ends at once.
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) continue;
    close(child.pipe);
    EndedPoint end{child.point, std::nullopt, ""};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      end.answer = std::move(child.answer);
    } else {
      end.end = end_of(status);
    }
    ended.push_back(std::move(end));
    return true;
  });
  return ended;
}

}  // namespace gradhaul
