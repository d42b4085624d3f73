#pragma once

// Pictures for a page, drawn by analysis/plots/draw.py, in Python with matplotlib, which may be
// missing.

#include <string>

#include "analysis/html_report.h"
#include "scenarios/command_context.h"

namespace gradhaul {

class DrawnPictures {
 public:
  explicit DrawnPictures(const CommandContext& context);
  ~DrawnPictures();
  DrawnPictures(const DrawnPictures&) = delete;
  DrawnPictures& operator=(const DrawnPictures&) = delete;

  // All that tell of the file; those that cannot be drawn say why.
  void draw(ReportedFile& file);

 private:
  HtmlPicture draw_one(const PictureAsked& asked, const std::string& input) const;

  std::string script_;
  std::string python_;  // empty: there is none that can draw
  std::string folder_;  // for what passes between; empty: none could be made
  int drawn_ = 0;
};

}  // namespace gradhaul
