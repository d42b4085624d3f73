#pragma once

// Nodes, networks, devices and models by name: a name is looked up in the shipped scenarios/nodes,
// networks, devices or models; a path (it has a slash, or ends in .yaml or .yml) is relative to the
// file that names it, or to the working directory for an option.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/config_error.h"
#include "scenarios/document.h"

namespace gradhaul {

// A folder of scenarios with its nodes/, networks/, devices/ and models/.
class Library {
 public:
  explicit Library(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The file of a scenario given as a path or a shipped name; reports it where there is none.
  std::optional<std::filesystem::path> find_scenario(const std::string& name,
                                                     Problems& problems) const;
  // Shipped names of a kind: "nodes", "networks", "devices", "models"; "": the scenarios. In order.
  std::vector<std::string> names(std::string_view kind) const;

  // The kind of thing that the value at this dotted path of a scenario may name; empty: none.
  static std::string_view kind_at(std::string_view path);
  // Puts the tree of the file that `value` names in its place; a value that is no name stays. A
  // mapping, in a file or not, may name another by `base`: what it says itself stands over that.
  void resolve(TreeNode& value, std::string_view kind, Problems& problems) const;
  // The same for everything in a scenario that can be named.
  void resolve_all(TreeNode& scenario, Problems& problems) const;

 private:
  void resolve(TreeNode& value, std::string_view kind, int depth, Problems& problems) const;
  void load(TreeNode& value, std::string_view kind, Problems& problems) const;

  std::filesystem::path folder_;
};

// The path that a value of a scenario is: relative to the file where it is written, or of an option
// to the working directory.
std::filesystem::path path_beside(const TreeNode& value);

// The most that is read of a file in bytes, and of what it is too large if it is larger.
struct FileLimit {
  std::size_t bytes = 0;
  const char* what = "";
};
constexpr FileLimit kScenarioLimit{16U << 20U, "a scenario"};
constexpr FileLimit kResultLimit{256U << 20U, "a result"};

// The whole text of a file; reports why it cannot be read.
std::optional<std::string> read_file(const std::filesystem::path& path, const Location& asked_by,
                                     Problems& problems, FileLimit limit = kScenarioLimit);

}  // namespace gradhaul
