#include "scenarios/sweep_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scenarios/flow_text.h"
#include "scenarios/value_range.h"

namespace gradhaul {
namespace {

using Kind = TreeNode::Kind;

constexpr const char* kAxisForm =
    "an axis is PATH=A,B,C or PATH=FROM..TO:xFACTOR, as cluster.nodes=2,4,8 or "
    "workload.size=8B..8GiB:x2";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

// At commas that stand in no brackets and no quotes.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

// Values of a text: a range, or a list with commas.
void add_values(SweepAxis& axis, const std::string& text, Problems& problems) {
  const bool quoted = text.find_first_of("[{\"',") != text.npos;
  if (!quoted && is_value_range(text)) {
    RangeValues range = values_of_range(text);
    if (!range.error.empty()) {
      problems.add(axis.location, fmt::format("{}: \"{}\" {}", axis.path, text, range.error));
    }
    axis.values = std::move(range.values);
    return;
  }
  axis.values = split_list(text);
}

void check_axis(const SweepAxis& axis, Problems& problems) {
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) {
      problems.add(
          axis.location,
          fmt::format("{}: an empty value; values stand between commas, as 2,4,8", axis.path));
    } else if (!seen.insert(value).second) {
      problems.add(axis.location, fmt::format("{}: {} stands there twice", axis.path, value));
    }
  }
  if (axis.values.size() > kMostAxisValues) {
    problems.add(axis.location, fmt::format("{}: more than {} values", axis.path, kMostAxisValues));
  }
}

// {from: 8B, to: 8GiB, factor: 2} or {from: 1, to: 64, step: 1}, as the text of a range.
void add_range(SweepAxis& axis, const TreeNode& node, Problems& problems) {
  const TreeNode* const from = node.find("from");
  const TreeNode* const to = node.find("to");
  const TreeNode* const factor = node.find("factor");
  const TreeNode* const step = node.find("step");
  const TreeNode* const by = factor != nullptr ? factor : step;
  if (by == nullptr || (factor != nullptr && step != nullptr) || node.children.size() != 3) {
    problems.add(axis.location, fmt::format("{}: a range is {{from: 8B, to: 8GiB, factor: 2}} or "
                                            "{{from: 1, to: 64, step: 1}}",
                                            axis.path));
    return;
  }
  add_values(
      axis,
      fmt::format("{}..{}:{}{}", from->text, to->text, factor != nullptr ? 'x' : '+', by->text),
      problems);
}

void add_axes(const TreeNode& node, const std::string& path, std::vector<SweepAxis>& axes,
              Problems& problems) {
  const bool range = node.find("from") != nullptr && node.find("to") != nullptr;
  if (node.kind == Kind::kMapping && !range) {
    for (const TreeNode& child : node.children) {
      add_axes(child, path.empty() ? child.key : path + "." + child.key, axes, problems);
    }
    return;
  }
  if (node.kind == Kind::kBroken) return;
  SweepAxis axis{path, {}, node.location};
  const std::size_t before = problems.size();
  if (node.kind == Kind::kMapping) {
    add_range(axis, node, problems);
  } else if (node.kind == Kind::kScalar) {
    add_values(axis, node.text, problems);
  } else {
    for (const TreeNode& value : node.children) axis.values.push_back(flow_text(value));
    if (node.children.empty()) {
      problems.add(axis.location, fmt::format("{}: no values to vary it over; as [2, 4, 8]", path));
    }
  }
  if (problems.size() == before) check_axis(axis, problems);
  axes.push_back(std::move(axis));
}

void check_paths(const std::vector<SweepAxis>& axes, Problems& problems) {
  std::set<std::string> seen;
  for (const SweepAxis& axis : axes) {
    if (!seen.insert(axis.path).second) {
      problems.add(axis.location, fmt::format("{} is varied twice", axis.path));
    }
  }
}

// --set vary.cluster.nodes=[…] stands beside "cluster.nodes" of the file, and replaces it.
std::vector<SweepAxis> with_options_applied(const std::vector<SweepAxis>& axes) {
  std::vector<SweepAxis> written;
  std::vector<SweepAxis> options;
  for (const SweepAxis& axis : axes) (axis.location.option() ? options : written).push_back(axis);
  return joined_axes(std::move(written), options);
}

}  // namespace

std::vector<SweepAxis> axes_of_tree(const TreeNode& vary, Problems& problems) {
  std::vector<SweepAxis> axes;
  if (vary.kind == Kind::kMapping) {
    add_axes(vary, "", axes, problems);
    axes = with_options_applied(axes);
  } else if (vary.kind != Kind::kNull && vary.kind != Kind::kBroken) {
    problems.add(vary.location,
                 "\"vary\" is a mapping of keys to values, as {cluster.nodes: [2, 4, 8], "
                 "workload.size: 8B..8GiB:x2}");
  }
  check_paths(axes, problems);
  return axes;
}

std::vector<SweepAxis> axes_of_options(const std::vector<std::string>& options,
                                       Problems& problems) {
  std::vector<SweepAxis> axes;
  for (const std::string& option : options) {
    const Location location{"--vary " + option, 0, 0};
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == option.size()) {
      problems.add(location, kAxisForm);
      continue;
    }
    SweepAxis axis{option.substr(0, equals), {}, location};
    const std::size_t before = problems.size();
    add_values(axis, option.substr(equals + 1), problems);
    if (problems.size() == before) check_axis(axis, problems);
    axes.push_back(std::move(axis));
  }
  check_paths(axes, problems);
  return axes;
}

std::vector<SweepAxis> joined_axes(std::vector<SweepAxis> scenario,
                                   const std::vector<SweepAxis>& options) {
  for (const SweepAxis& axis : options) {
    const auto same = std::find_if(scenario.begin(), scenario.end(),
                                   [&axis](const SweepAxis& own) { return own.path == axis.path; });
    if (same == scenario.end()) {
      scenario.push_back(axis);
    } else {
      *same = axis;
    }
  }
  return scenario;
}

std::size_t points_of(const std::vector<SweepAxis>& axes) {
  std::size_t points = 1;
  for (const SweepAxis& axis : axes) {
    points = std::min(points * axis.values.size(), kMostSweepPoints + 1);
  }
  return points;
}

std::vector<std::string> values_at(const std::vector<SweepAxis>& axes, std::size_t point) {
  std::vector<std::string> values(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::vector<std::string>& all = axes[i].values;
    values[i] = all[point % all.size()];
    point /= all.size();
  }
  return values;
}

std::vector<std::string> settings_at(const std::vector<SweepAxis>& axes, std::size_t point) {
  std::vector<std::string> settings = values_at(axes, point);
  for (std::size_t i = 0; i < axes.size(); ++i) settings[i] = axes[i].path + "=" + settings[i];
  return settings;
}

}  // namespace gradhaul
