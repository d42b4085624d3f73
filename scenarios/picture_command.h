#pragma once

// Pictures of what a command wrote: drawn by analysis/plots/draw.py, in Python with matplotlib,
// which may be missing.

#include <functional>
#include <string>
#include <vector>

#include "scenarios/command_context.h"

namespace gradhaul {

struct PictureOptions {
  std::string path;           // ends in .svg, .png or .pdf; empty: none is drawn
  std::string kind = "auto";  // what suits the content
};

// What `--plot-kind` takes, of what is drawn from one result: "auto", "busbw", ….
const std::vector<std::string>& result_picture_kinds();

// One picture, from before the run, lest an hour of it is lost to a slip, to after it.
class Picture {
 public:
  // Where no Python with matplotlib is found, says so, and the run goes on without. Throws
  // ConfigError where the kind is none of `kinds`, FileError where the path cannot be written.
  Picture(PictureOptions options, const std::vector<std::string>& kinds,
          const CommandContext& context);

  // `json`: the text of a file that gradhaul writes with --json, asked for where there is to be a
  // picture. Whether it was drawn, or none was asked for; what went wrong has been said.
  bool draw(const std::function<std::string()>& json) const;

 private:
  PictureOptions options_;
  std::string script_;
  std::string python_;  // empty: there is none
};

}  // namespace gradhaul
