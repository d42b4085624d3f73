#include "scenarios/picture_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "analysis/write_file_whole.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/drawing_python.h"

namespace gradhaul {
namespace {

constexpr const char* kEndings[] = {".svg", ".png", ".pdf"};

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

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

void require_kind(const std::string& kind, const std::vector<std::string>& kinds) {
  if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
  refuse("--plot-kind " + kind, fmt::format("there is no such picture{}; here there are {}",
                                            did_you_mean(kind, kinds), join_or(kinds)));
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
  python_ = drawing_python(script_, STDERR_FILENO);
  if (!python_.empty()) return;
  complain(fmt::format(
      "{} will not be drawn: it takes python3 with matplotlib (packages python3 and "
      "python3-matplotlib). Once they are there: python3 {} {} FILE -o {}, of the FILE that --json "
      "writes",
      options_.path, script_, options_.kind, options_.path));
}

bool Picture::draw(const std::function<std::string()>& json) const {
  if (options_.path.empty()) return true;
  if (python_.empty()) {
    complain(options_.path + ": not drawn: no python3 with matplotlib");
    return false;
  }
  const File input = nameless_file(json());
  if (!input) {
    complain(options_.path + ": not drawn: no temporary file can be made");
    return false;
  }
  const auto status = status_of({python_, script_, options_.kind, "-", "-o", options_.path},
                                ::fileno(input.get()), STDERR_FILENO);
  if (status != 0) complain(options_.path + ": not drawn");
  return status == 0;
}

}  // namespace gradhaul
