#pragma once

// What the sections of a report share.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/html_report.h"

namespace gradhaul {

// The title, and the question where there is one.
std::string html_title(const ReportedFile& file);

// All pictures, or one sentence of why there are none.
std::string html_pictures(const ReportedFile& file);

// A scenario as it took effect, as YAML.
std::string yaml_text(const nlohmann::ordered_json& effective);

// Three or more digits: "70123.5", "12.3", "0.0456".
std::string digits_text(double value);

// `make` gives the section; what it finds wrong with the JSON becomes a ReportError.
template <typename Make>
std::string section_of(const ReportedFile& file, Make make) {
  try {
    return make();
  } catch (const nlohmann::json::exception& error) {
    throw ReportError(file.name + ": is not what gradhaul writes: " + error.what());
  }
}

}  // namespace gradhaul
