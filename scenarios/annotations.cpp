#include "scenarios/annotations.h"

#include <fmt/format.h>

#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

using Kind = TreeNode::Kind;

TreeNode* find_named(TreeNode& mapping, const std::string& name, const Location& location,
                     Problems& problems) {
  TreeNode* value = mapping.find_path(name);
  if (value == nullptr) {
    std::vector<std::string> known;
    for (const TreeNode& child : mapping.children) known.push_back(child.key);
    problems.add(location, fmt::format("\"{}\" is no key of this mapping{}", name,
                                       did_you_mean(name, known)));
  }
  return value;
}

constexpr std::string_view kEstimatesForm =
    "`estimates` is a list of keys, [read_latency, write_latency], or a mapping of them to what "
    "they lie between, {read_latency: [500ns, 1100ns]}";

void mark_estimate(TreeNode& value) {
  value.estimate = true;
  for (TreeNode& child : value.children) mark_estimate(child);
}

void mark_source(TreeNode& value, const std::string& text) {
  value.source = text;
  for (TreeNode& child : value.children) mark_source(child, text);
}

void mark_range(TreeNode& value, const TreeNode& range, Problems& problems) {
  mark_estimate(value);
  if (range.kind == Kind::kNull) return;
  const bool pair = range.kind == Kind::kSequence && range.children.size() == 2 &&
                    range.children[0].kind == Kind::kScalar &&
                    range.children[1].kind == Kind::kScalar;
  if (!pair) {
    problems.add(
        range.location,
        fmt::format("{}: what an estimate lies between is [low, high], or nothing", range.key));
  } else if (value.kind != Kind::kScalar) {
    problems.add(range.location, fmt::format("{} is not one value, and has no range", range.key));
  } else {
    value.range = {range.children[0].text, range.children[1].text, range.location};
  }
}

void take_ranges(TreeNode& mapping, const TreeNode& ranges, Problems& problems) {
  for (const TreeNode& range : ranges.children) {
    if (TreeNode* value = find_named(mapping, range.key, range.key_location, problems)) {
      mark_range(*value, range, problems);
    }
  }
}

void take_estimates(TreeNode& mapping, const TreeNode& names, Problems& problems) {
  if (names.kind == Kind::kNull) return;
  if (names.kind == Kind::kMapping) {
    take_ranges(mapping, names, problems);
    return;
  }
  if (names.kind != Kind::kSequence) {
    problems.add(names.location, std::string(kEstimatesForm));
    return;
  }
  for (const TreeNode& name : names.children) {
    if (name.kind != Kind::kScalar) {
      problems.add(name.location, "`estimates` is a list of keys, and this is none");
    } else if (TreeNode* value = find_named(mapping, name.text, name.location, problems)) {
      mark_estimate(*value);
    }
  }
}

void take_sources(TreeNode& mapping, const TreeNode& texts, Problems& problems) {
  if (texts.kind == Kind::kNull) return;
  if (texts.kind != Kind::kMapping) {
    problems.add(texts.location,
                 "`sources` is a mapping of keys to texts: {rate: \"a data sheet\"}");
    return;
  }
  for (const TreeNode& text : texts.children) {
    if (text.kind != Kind::kScalar) {
      problems.add(text.location, "a source is a text");
    } else if (TreeNode* value = find_named(mapping, text.key, text.key_location, problems)) {
      mark_source(*value, text.text);
    }
  }
}

}  // namespace

void annotate(TreeNode& tree, Problems& problems) {
  if (tree.kind == Kind::kMapping) {
    // Copies, since what they speak of lies in the same vector.
    const TreeNode* estimates = tree.find("estimates");
    const TreeNode names = estimates == nullptr ? TreeNode{} : *estimates;
    const TreeNode* sources = tree.find("sources");
    const TreeNode texts = sources == nullptr ? TreeNode{} : *sources;
    tree.erase("estimates");
    tree.erase("sources");
    take_estimates(tree, names, problems);
    take_sources(tree, texts, problems);
  }
  for (TreeNode& child : tree.children) annotate(child, problems);
}

}  // namespace gradhaul
