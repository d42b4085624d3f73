#include "scenarios/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "scenarios/annotations.h"

namespace gradhaul {
namespace {

using Kind = TreeNode::Kind;

struct Setting {
  Location option;
  std::string path;
  std::vector<std::string> keys;
  TreeNode value;
};

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> keys{""};
  for (const char c : path) {
    if (c == '.') {
      keys.emplace_back();
    } else {
      keys.back() += c;
    }
  }
  return keys;
}

std::optional<Setting> parse_setting(const std::string& text, Problems& problems) {
  Setting setting;
  setting.option = {"--set " + text, 0, 0};
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    problems.add(setting.option, "a setting is PATH=VALUE, as in cluster.network.mtu=1024B");
    return std::nullopt;
  }
  setting.path = text.substr(0, equals);
  setting.keys = split(setting.path);
  if (std::count(setting.keys.begin(), setting.keys.end(), "") > 0) {
    problems.add(setting.option, "a path is keys with dots between, as in cluster.network.mtu");
    return std::nullopt;
  }
  auto value = parse_option_value(text.substr(equals + 1), setting.option, problems);
  if (!value) return std::nullopt;
  annotate(*value, problems);
  setting.value = std::move(*value);
  return setting;
}

// The child of `parent` that `key` names; a mapping grows it. Nothing: reported.
TreeNode* step(TreeNode& parent, const std::string& key, const Setting& setting,
               const std::string& parent_path, Problems& problems) {
  if (parent.kind == Kind::kNull) parent.kind = Kind::kMapping;
  if (parent.kind == Kind::kMapping) {
    if (TreeNode* child = parent.find(key)) return child;
    TreeNode child;
    child.key = key;
    child.location = child.key_location = setting.option;
    parent.children.push_back(std::move(child));
    return &parent.children.back();
  }
  if (parent.kind == Kind::kSequence) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error == std::errc{} && end == key.data() + key.size() && index < parent.children.size()) {
      return &parent.children[index];
    }
    problems.add(setting.option,
                 fmt::format(R"("{}" is a list of {} entries, the first being 0; it has no "{}")",
                             parent_path, parent.children.size(), key));
  } else if (parent.kind == Kind::kScalar) {
    problems.add(setting.option, fmt::format(R"("{}" is one value, "{}", with no keys below it)",
                                             parent_path, parent.text));
  }
  return nullptr;
}

void keep_datatype_of_model(TreeNode& workload) {
  const TreeNode* model = workload.find("model");
  const TreeNode* datatype = model == nullptr ? nullptr : model->find("gradient_datatype");
  if (datatype == nullptr || workload.find("datatype") != nullptr) return;
  TreeNode kept = *datatype;
  kept.key = "datatype";
  workload.children.push_back(std::move(kept));
}

// Size and model say the same thing twice, and a training step makes its own collectives: whichever
// is set replaces the others.
void drop_alternative(TreeNode& scenario, const Setting& setting) {
  if (setting.keys.size() < 2 || setting.keys[0] != "workload") return;
  TreeNode* workload = scenario.find("workload");
  if (workload == nullptr) return;
  const std::string& key = setting.keys[1];
  // Two settings at odds are for the reader to report.
  const auto drop = [workload](std::string_view name) {
    const TreeNode* found = workload->find(name);
    if (found != nullptr && !found->place().option()) workload->erase(name);
  };
  if (key == "size") {
    const TreeNode* model = workload->find("model");
    if (model != nullptr && !model->location.option()) keep_datatype_of_model(*workload);
  }
  if (key == "size" || key == "model") {
    drop(key == "size" ? "model" : "size");
    drop("training_step");
    drop("goal");
  } else if (key == "training_step" || key == "goal") {
    for (const char* name : {"collective", "size", "model", "datatype", "reduction"}) drop(name);
    drop(key == "goal" ? "training_step" : "goal");
  }
}

void apply(TreeNode& scenario, Setting& setting, const Library& library, Problems& problems) {
  drop_alternative(scenario, setting);
  TreeNode* at = &scenario;
  std::string path;
  for (const std::string& key : setting.keys) {
    if (const auto kind = Library::kind_at(path); !kind.empty())
      library.resolve(*at, kind, problems);
    at = step(*at, key, setting, path, problems);
    if (at == nullptr) return;
    path += path.empty() ? key : "." + key;
  }
  setting.value.key = at->key;
  setting.value.key_location = setting.option;
  *at = std::move(setting.value);
}

}  // namespace

void apply_settings(TreeNode& scenario, const std::vector<std::string>& settings,
                    const Library& library, Problems& problems) {
  std::vector<Setting> parsed;
  for (const std::string& text : settings) {
    if (auto setting = parse_setting(text, problems)) parsed.push_back(std::move(*setting));
  }
  std::stable_sort(parsed.begin(), parsed.end(), [](const Setting& a, const Setting& b) {
    return a.keys.size() < b.keys.size();
  });
  for (Setting& setting : parsed) apply(scenario, setting, library, problems);
}

}  // namespace gradhaul
