#include "scenarios/imported_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace gradhaul {
namespace {

constexpr std::size_t kMostNotes = 64;

}  // namespace

ImportedNode::ImportedNode(const DeviceIdentifier& identify) : identify_(identify) {
  draft_.name = "imported";
}

void ImportedNode::note(const std::string& text) {
  std::vector<std::string>& notes = draft_.notes;
  if (notes.size() == kMostNotes || std::find(notes.begin(), notes.end(), text) != notes.end()) {
    return;
  }
  notes.push_back(text);
}

std::string ImportedNode::next_switch() { return fmt::format("sw{}", switches_++); }

std::size_t ImportedNode::add_branch(const std::string& name, const std::string& parent,
                                     std::optional<PcieLink> link, const std::string& place) {
  PcieBranch branch;
  branch.switch_name = name;
  branch.parent = parent;
  branch.link = link;
  draft_.pcie.push_back(branch);
  draft_.places.push_back(place);
  return draft_.pcie.size() - 1;
}

std::string ImportedNode::take_devices() {
  gpu_ = take(gpus_, "gpu", draft_.gpu, draft_.gpu_count);
  take(nics_, "nic", draft_.nic, draft_.nic_count);
  drop_empty_branches();
  return gpus_.front().place;
}

// Of one model, the one there are most of.
IdentifiedDevice ImportedNode::take(std::vector<ImportedDevice>& found, const char* kind,
                                    NodeDraft::Device& described, int& count) {
  if (found.empty()) return {};
  std::map<std::pair<int, int>, int> models;
  for (const ImportedDevice& device : found) ++models[device.model];
  const auto most = std::max_element(models.begin(), models.end(), [](auto& a, auto& b) {
                      return a.second < b.second;
                    })->first;
  const auto others =
      std::erase_if(found, [&](const ImportedDevice& device) { return device.model != most; });
  if (others > 0) note(fmt::format("a node has {}s of one model; {} left out", kind, others));
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.order, a.place) < std::tie(b.order, b.place);
  });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string name = fmt::format("{}{}", kind, i);
    draft_.pcie[found[i].branch].devices.push_back(name);
    std::string& place = draft_.places[found[i].branch];
    place += fmt::format("{}{} is {}", place.empty() ? "" : ", ", name, found[i].place);
  }
  IdentifiedDevice identified = identify_(most.first, most.second);
  described = identified.device;
  described.pcie = found.front().link;
  described.rate = found.front().rate;
  count = static_cast<int>(found.size());
  return identified;
}

// Switches with nothing below them that counts are in nobody's way. A switch stands before what is
// below it.
void ImportedNode::drop_empty_branches() {
  std::set<std::string> parents;
  for (std::size_t i = draft_.pcie.size(); i-- > 0;) {
    const PcieBranch& branch = draft_.pcie[i];
    if (branch.devices.empty() && parents.count(branch.switch_name) == 0) {
      continue;
    }
    parents.insert(branch.parent);
  }
  std::vector<std::string> places;
  std::vector<PcieBranch> branches;
  for (std::size_t i = 0; i < draft_.pcie.size(); ++i) {
    const PcieBranch& branch = draft_.pcie[i];
    if (branch.devices.empty() && parents.count(branch.switch_name) == 0) continue;
    places.push_back(draft_.places[i]);
    branches.push_back(branch);
  }
  draft_.places = std::move(places);
  draft_.pcie = std::move(branches);
}

}  // namespace gradhaul
