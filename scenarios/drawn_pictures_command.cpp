#include "scenarios/drawn_pictures_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "scenarios/drawing_python.h"

namespace gradhaul {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoPython =
    "they take python3 with matplotlib (packages python3 and python3-matplotlib), which is missing "
    "where this page was made";

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// For what a program says; null where it cannot be made.
File emptied(const std::string& path) { return {std::fopen(path.c_str(), "w"), &std::fclose}; }

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
  const File said = emptied(folder_.empty() ? "" : folder_ + "/said");
  if (said) python_ = drawing_python(script_, ::fileno(said.get()));
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
  const File nothing(std::fopen("/dev/null", "r"), &std::fclose);
  const File saying = emptied(said);
  const bool drawn = nothing && saying &&
                     status_of({python_, script_, asked.kind, input, "-o", output},
                               ::fileno(nothing.get()), ::fileno(saying.get())) == 0;
  if (drawn) {
    picture.svg = text_of_file(output);
  } else {
    picture.missing = last_line(text_of_file(said));
  }
  return picture;
}

}  // namespace gradhaul
