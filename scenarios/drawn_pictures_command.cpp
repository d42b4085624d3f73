#include "scenarios/drawn_pictures_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace gradhaul {
namespace {

namespace fs = std::filesystem;

// The one in force first; then the system's, where a package puts matplotlib.
constexpr const char* kPythons[] = {"python3", "/usr/bin/python3"};
constexpr const char* kNothing = "/dev/null";
constexpr const char* kNoPython =
    "they take python3 with matplotlib (packages python3 and python3-matplotlib), which is missing "
    "where this page was made";

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The exit status of a program found as a shell finds it, what it says going to a file; nothing
// where it could not be started or was killed.
std::optional<int> status_of(std::vector<std::string> command, const std::string& said) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  pid_t child = 0;
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  const bool started =
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, kNothing, O_RDONLY, 0) == 0 &&
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(), kWrite, 0600) == 0 &&
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

std::string temporary_folder() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "gradhaul-report-XXXXXX").string();
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

// The last line, which in Python is the one that says what is wrong.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

DrawnPictures::DrawnPictures(const CommandContext& context)
    : script_((context.plots / "draw.py").string()), folder_(temporary_folder()) {
  for (const char* const python : kPythons) {
    if (!python_.empty() || folder_.empty()) break;
    if (status_of({python, script_, "--can-draw"}, kNothing) == 0) python_ = python;
  }
}

DrawnPictures::~DrawnPictures() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

void DrawnPictures::draw(ReportedFile& file) {
  file.first_picture = drawn_;
  if (python_.empty()) {
    for (const PictureAsked& asked : pictures_of(file)) {
      file.pictures.push_back({asked.question, "", kNoPython});
    }
    return;
  }
  // What is reported need not be a file: a comparison may have been made just now.
  const std::string input = folder_ + "/input.json";
  std::ofstream(input, std::ios::binary) << file.content.dump();
  for (const PictureAsked& asked : pictures_of(file)) {
    file.pictures.push_back(draw_one(asked, input));
    ++drawn_;
  }
}

HtmlPicture DrawnPictures::draw_one(const PictureAsked& asked, const std::string& input) const {
  HtmlPicture picture{asked.question, "", ""};
  const std::string said = folder_ + "/said";
  const std::string output = fmt::format("{}/{}.svg", folder_, drawn_);
  if (status_of({python_, script_, asked.kind, input, "-o", output}, said) == 0) {
    picture.svg = text_of_file(output);
  } else {
    picture.missing = last_line(text_of_file(said));
  }
  return picture;
}

}  // namespace gradhaul
