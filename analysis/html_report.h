#pragma once

// What result files, comparisons and sweeps say, as parts of a page. What a file holds is not
// trusted: texts are escaped, and what is missing or of another kind is an error.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/html_text.h"

namespace gradhaul {

// A file that gradhaul wrote with --json.
struct ReportedFile {
  std::string name;  // as the user gave it
  nlohmann::ordered_json content;
  std::vector<HtmlPicture> pictures;
  int first_picture = 0;  // its number on the page
};

enum class ReportedKind { kResult, kComparison, kSweep, kNone };
ReportedKind kind_of_file(const nlohmann::ordered_json& content);

// A picture that tells of such a file: its kind, as analysis/plots/draw.py calls it, and the
// question that it answers.
struct PictureAsked {
  std::string kind;
  std::string question;
};
std::vector<PictureAsked> pictures_of(const ReportedFile& file);

// what(): "FILE: …"
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Each throws ReportError. Titles are <h1>.
std::string result_section(const ReportedFile& file);
std::string comparison_section(const ReportedFile& file);
std::string sweep_section(const ReportedFile& file);

// The name of what was asked: of the scenario, or both of a comparison.
std::string title_of(const ReportedFile& file);

}  // namespace gradhaul
