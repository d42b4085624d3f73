#include "sim/pcie_tree.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

const PcieBranch* branch_of_device(const Node& node, const std::string& device) {
  for (const PcieBranch& branch : node.pcie) {
    if (std::find(branch.devices.begin(), branch.devices.end(), device) != branch.devices.end()) {
      return &branch;
    }
  }
  return nullptr;
}

const PcieBranch* branch_of_switch(const Node& node, const std::string& name) {
  for (const PcieBranch& branch : node.pcie) {
    if (!branch.switch_name.empty() && branch.switch_name == name) return &branch;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> elements_above(const Node& node, const std::string& device) {
  std::vector<std::string> above;
  const PcieBranch* branch = branch_of_device(node, device);
  GRADHAUL_ASSERT(branch != nullptr, "every device hangs somewhere in the PCIe tree");
  std::string next = branch->switch_name.empty() ? branch->parent : branch->switch_name;
  while (true) {
    above.push_back(next);
    const PcieBranch* above_it = branch_of_switch(node, next);
    if (above_it == nullptr) return above;
    next = above_it->parent;
  }
}

}  // namespace gradhaul
