#pragma once

// YAML as a plain tree in which everything knows where it was written. Mappings keep the order of
// their keys; a duplicate key is a problem, reported where it stands the second time. Anchors and
// aliases work; merge keys and several documents in one file do not.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/config_error.h"

namespace gradhaul {

// Between what an estimate is thought to lie, as it was written.
struct EstimateRange {
  std::string low;
  std::string high;
  Location location;
};

struct TreeNode {
  enum class Kind {
    kNull,  // "key:" with nothing behind it, "~", "null"
    kScalar,
    kSequence,
    kMapping,
    kBroken,  // already reported; readers pass over it in silence
  };

  Kind kind = Kind::kNull;
  std::string text;  // of a scalar
  Location location;
  // Of a value in a mapping.
  std::string key;
  Location key_location;
  std::vector<TreeNode> children;  // of a mapping, each with its key, or of a sequence

  // Said by `estimates` and `sources` beside the value (scenarios/annotations.h).
  bool estimate = false;
  std::optional<EstimateRange> range;
  std::string source;
  // The name or path under which a node, network or device was found (scenarios/references.h).
  std::string reference;
  Location reference_location;  // where that was written

  TreeNode* find(std::string_view name);
  const TreeNode* find(std::string_view name) const;
  // The same along "a.b.c".
  TreeNode* find_path(std::string_view dotted);
  const TreeNode* find_path(std::string_view dotted) const;
  // Where the value was written, or where it was named, for one that was found by its name.
  const Location& place() const { return reference.empty() ? location : reference_location; }
  // Of a mapping; does nothing where there is no such key.
  void erase(std::string_view name);
};

// Parses the text of a file called `source`; nothing where it is no YAML at all. An empty text is a
// null. Never throws.
std::optional<TreeNode> parse_document(std::string_view text, const std::string& source,
                                       Problems& problems);

// Parses the value of an option; every location in it is the option itself.
std::optional<TreeNode> parse_option_value(std::string_view text, const Location& option,
                                           Problems& problems);

}  // namespace gradhaul
