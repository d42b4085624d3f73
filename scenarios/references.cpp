#include "scenarios/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "scenarios/annotations.h"
#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestBase = 8;

struct ReferencePath {
  std::string_view path;
  std::string_view kind;
};

// Outer ones first: a node names its devices.
constexpr std::array kReferencePaths{
    ReferencePath{"cluster.node", "nodes"},
    ReferencePath{"cluster.network", "networks"},
    ReferencePath{"cluster.node.gpus.model", "devices"},
    ReferencePath{"cluster.node.nics.model", "devices"},
    ReferencePath{"workload.training_step.model", "models"},
};

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

std::string_view singular(std::string_view kind) {
  if (kind.empty()) return "scenario";
  kind.remove_suffix(1);
  return kind;
}

// What `base` says and `value` does not, its name apart; mappings within them likewise.
void lay_over(const TreeNode& base, TreeNode& value) {
  for (const TreeNode& child : base.children) {
    if (child.key == "name") continue;
    TreeNode* const own = value.find(child.key);
    if (own == nullptr) {
      value.children.push_back(child);
    } else if (own->kind == TreeNode::Kind::kMapping && child.kind == TreeNode::Kind::kMapping) {
      lay_over(child, *own);
    }
  }
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string unknown_name(const std::string& name, std::string_view kind,
                         const std::vector<std::string>& known) {
  const std::string guess = did_you_mean(name, known);
  if (!guess.empty()) return fmt::format("no {} is called \"{}\"{}", singular(kind), name, guess);
  return fmt::format("no {} is called \"{}\"; there are {}, or give the path of a file",
                     singular(kind), name, known.empty() ? "none" : join_or(known));
}

}  // namespace

std::vector<std::string> Library::names(std::string_view kind) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(kind.empty() ? folder_ : folder_ / kind, error), end;
       !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<fs::path> Library::find_scenario(const std::string& name, Problems& problems) const {
  if (is_path(name) || is_there(name)) return fs::path(name);
  const fs::path shipped = folder_ / (name + ".yaml");
  if (!name.empty() && is_there(shipped)) return shipped;
  problems.add({name, 0, 0}, unknown_name(name, "", names("")));
  return std::nullopt;
}

std::string_view Library::kind_at(std::string_view path) {
  for (const ReferencePath& reference : kReferencePaths) {
    if (reference.path == path) return reference.kind;
  }
  return {};
}

void Library::resolve(TreeNode& value, std::string_view kind, Problems& problems) const {
  resolve(value, kind, 0, problems);
}

void Library::resolve(TreeNode& value, std::string_view kind, int depth, Problems& problems) const {
  if (value.kind == TreeNode::Kind::kScalar) load(value, kind, problems);
  TreeNode* const named = value.find("base");
  if (value.kind != TreeNode::Kind::kMapping || named == nullptr) return;
  TreeNode base = *named;
  value.erase("base");
  if (base.kind != TreeNode::Kind::kScalar) {
    problems.add(base.location, fmt::format("base: the name or the path of a {}, over which the "
                                            "other keys stand",
                                            singular(kind)));
    return;
  }
  if (depth == kDeepestBase) {
    problems.add(base.location, fmt::format("base: more than {} files, each over the next; does "
                                            "one name itself?",
                                            kDeepestBase));
    return;
  }
  resolve(base, kind, depth + 1, problems);
  if (base.kind == TreeNode::Kind::kMapping) {
    lay_over(base, value);
  } else {
    value.kind = TreeNode::Kind::kBroken;
  }
}

// In place of a name.
void Library::load(TreeNode& value, std::string_view kind, Problems& problems) const {
  const std::string name = value.text;
  const Location asked_by = value.location;
  value.kind = TreeNode::Kind::kBroken;
  fs::path path = folder_ / kind / (name + ".yaml");
  if (is_path(name)) {
    path = path_beside(value);
  } else if (name.empty() || !is_there(path)) {
    problems.add(asked_by, unknown_name(name, kind, names(kind)));
    return;
  }
  const auto text = read_file(path, asked_by, problems);
  if (!text) return;
  auto tree = parse_document(*text, path.string(), problems);
  if (!tree) return;
  if (tree->kind != TreeNode::Kind::kMapping) {
    problems.add({path.string(), 1, 1}, fmt::format("a {} is a mapping of keys", singular(kind)));
    return;
  }
  annotate(*tree, problems);
  tree->key = value.key;
  tree->key_location = value.key_location;
  tree->reference = name;
  tree->reference_location = asked_by;
  value = std::move(*tree);
}

void Library::resolve_all(TreeNode& scenario, Problems& problems) const {
  for (const ReferencePath& reference : kReferencePaths) {
    if (TreeNode* value = scenario.find_path(reference.path)) {
      resolve(*value, reference.kind, problems);
    }
  }
}

fs::path path_beside(const TreeNode& value) {
  if (value.location.option()) return value.text;
  return fs::path(value.location.source).parent_path() / value.text;
}

std::optional<std::string> read_file(const fs::path& path, const Location& asked_by,
                                     Problems& problems, FileLimit limit) {
  const auto fail = [&](std::string_view why) {
    problems.add(asked_by, fmt::format("cannot read {}: {}", path.string(), why));
    return std::nullopt;
  };
  const std::string too_large = fmt::format("it is too large for {}", limit.what);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return fail(error ? error.message() : "no such file");
  if (fs::is_directory(status)) return fail("it is a folder");
  if (fs::is_regular_file(status) && fs::file_size(path, error) > limit.bytes) {
    return fail(too_large);
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return fail(std::strerror(errno));
  std::string text;
  std::istreambuf_iterator<char> at(stream);
  // Bounded: a pipe or a device has no size to ask for.
  for (; at != std::istreambuf_iterator<char>() && text.size() <= limit.bytes; ++at) text += *at;
  if (text.size() > limit.bytes) return fail(too_large);
  return text;
}

}  // namespace gradhaul
