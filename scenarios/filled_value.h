#pragma once

// A scenario with every default filled in, as readers found it: what `gradhaul show` prints, and
// what a result file repeats. It is YAML that reads back as the same scenario.

#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/config_error.h"

namespace gradhaul {

// Where a value comes from.
struct Origin {
  bool from_default = true;
  Location location;      // where it was written, unless it is a default
  bool estimate = false;  // nobody has measured or stated it
  std::string source;     // who says so; may be empty
  // Between what an estimate lies, as a user would write it; empty: not known.
  std::string low = {};
  std::string high = {};
};

struct FilledValue {
  enum class Kind : std::uint8_t {
    kText,
    kInteger,
    kReal,
    kTruth,
    kList,     // one line: [a, b]
    kMapping,  // one key a line
    kEntries,  // a list of mappings, one a line
  };

  Kind kind = Kind::kText;
  std::string key;   // of a value in a mapping
  std::string text;  // of a scalar, as it would be written but for quotes
  Origin origin;
  std::list<FilledValue> children;  // a list: readers keep references into it

  const FilledValue* find(std::string_view name) const;
  // Of a dotted path; nullptr: there is none, as for find().
  const FilledValue* find_path(std::string_view dotted) const;
};

// A value of a mapping that nobody has measured or stated, under its key in it, dotted where it
// lies deeper.
struct FoundEstimate {
  std::string key;
  const FilledValue* value = nullptr;
};

std::vector<FoundEstimate> estimates_in(const FilledValue& mapping);

nlohmann::ordered_json json_of(const FilledValue& value);

// As YAML, each line with a comment that says where its value comes from.
std::string commented_yaml(const FilledValue& root);

}  // namespace gradhaul
