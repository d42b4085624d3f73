#include "scenarios/answered_scenario.h"

#include <utility>

namespace gradhaul {

void unwrap_result(TreeNode& tree, const Location& whole, Problems& problems) {
  const TreeNode* schema = tree.find("schema");
  if (schema == nullptr || !schema->text.starts_with("gradhaul.result/")) return;
  TreeNode* effective = tree.find_path("scenario.effective");
  if (effective == nullptr || effective->kind != TreeNode::Kind::kMapping) {
    problems.add(whole, "a result file that does not hold its scenario (scenario.effective)");
    return;
  }
  TreeNode scenario = std::move(*effective);
  scenario.key.clear();
  tree = std::move(scenario);
}

}  // namespace gradhaul
