#include "scenarios/picture_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/write_file_whole.h"
#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

// The one in force first; then the system's, where a package puts matplotlib.
constexpr const char* kPythons[] = {"python3", "/usr/bin/python3"};
constexpr const char* kEndings[] = {".svg", ".png", ".pdf"};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// The exit status of a program found as a shell finds it; nothing where it could not be started or
// was killed. `input` becomes its standard input, and all that it says goes to standard error.
std::optional<int> status_of(std::vector<std::string> command, int input) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  pid_t child = 0;
  const bool started =
      posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 &&
      posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) == 0 &&
      posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!started) return std::nullopt;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

// A file without a name, at its start, so that nothing is left behind whatever happens; null where
// it cannot be made.
File nameless_file(const std::string& content) {
  File file(std::tmpfile(), &std::fclose);
  if (!file) return file;
  const bool written =
      std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() &&
      std::fflush(file.get()) == 0;
  if (!written || std::fseek(file.get(), 0, SEEK_SET) != 0) file.reset();
  return file;
}

std::string python_with_matplotlib(const std::string& script) {
  const File nothing(std::fopen("/dev/null", "r"), &std::fclose);
  if (!nothing) return "";
  for (const char* const python : kPythons) {
    if (status_of({python, script, "--can-draw"}, ::fileno(nothing.get())) == 0) return python;
  }
  return "";
}

void require_kind(const std::string& kind, const std::vector<std::string>& kinds) {
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  Problems problems;
  problems.add({.source = "--plot-kind " + kind},
               fmt::format("there is no such picture{}; here there are {}",
                           did_you_mean(kind, kinds), join_or(kinds)));
  throw ConfigError(problems.sorted());
}

void require_ending(const std::string& path) {
  const auto ends = [&](const char* ending) { return path.ends_with(ending); };
  if (std::any_of(std::begin(kEndings), std::end(kEndings), ends)) return;
  throw FileError(path + ": --plot draws files that end in .svg, .png or .pdf");
}

}  // namespace

const std::vector<std::string>& result_picture_kinds() {
  static const std::vector<std::string> kinds{"auto", "busbw", "blame", "topology", "time-line"};
  return kinds;
}

Picture::Picture(PictureOptions options, const std::vector<std::string>& kinds,
                 const CommandContext& context)
    : options_(std::move(options)), script_((context.plots / "draw.py").string()) {
  require_kind(options_.kind, kinds);
  if (options_.path.empty()) return;
  require_ending(options_.path);
  require_writable(options_.path);
  python_ = python_with_matplotlib(script_);
  if (!python_.empty()) return;
  complain(fmt::format(
      "{} will not be drawn: it takes python3 with matplotlib (packages python3 and "
      "python3-matplotlib). Once they are there: python3 {} {} FILE -o {}, of the FILE that --json "
      "writes",
      options_.path, script_, options_.kind, options_.path));
}

bool Picture::draw(const std::string& json) const {
  if (options_.path.empty()) return true;
  if (python_.empty()) {
    complain(options_.path + ": not drawn: no python3 with matplotlib");
    return false;
  }
  const File input = nameless_file(json);
  if (!input) {
    complain(options_.path + ": not drawn: no temporary file can be made");
    return false;
  }
  const auto status =
      status_of({python_, script_, options_.kind, "-", "-o", options_.path}, ::fileno(input.get()));
  if (status != 0) complain(options_.path + ": not drawn");
  return status == 0;
}

}  // namespace gradhaul
