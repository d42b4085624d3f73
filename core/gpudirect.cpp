#include "core/gpudirect.h"

#include <map>
#include <utility>

namespace gradhaul {
namespace {

constexpr int kReadsFrom = 80;  // compute capability of Ampere

// Whether the cluster's NICs have a way round host memory at all.
bool has_choice(const Node& node, GpuDirect setting) {
  const bool pcie = node.gpu.pcie.has_value() && !node.pcie.empty();
  return setting != GpuDirect::kOn && pcie && node.nic_count > 0;
}

GpuDirectUse use_of(const Node& node, GpuDirect setting, PcieDistance distance) {
  if (setting == GpuDirect::kOff) return {false, false};
  return nccl_gpudirect(distance, node.gpu.compute_capability, node.nvlink.has_value(),
                        node.gpu_count);
}

std::string place_of(PcieDistance distance) {
  switch (distance) {
    case PcieDistance::kNothing:
      return "with nothing between them";
    case PcieDistance::kSameSwitch:
      return "below the same PCIe switch (PIX)";
    case PcieDistance::kSameRootPort:
      return "below several switches of one root port (PXB)";
    case PcieDistance::kSameSocket:
      return "beyond the root complex of the same socket (PHB)";
    case PcieDistance::kOtherSocket:
      return "at another socket (SYS)";
  }
  return "";
}

std::string note_of(const std::string& gpus, bool writes, PcieDistance distance) {
  if (writes) {
    return "gpudirect auto: what " + gpus +
           " of a node send passes host memory: NCCL has NICs read no GPU before Ampere that lacks "
           "NVLink";
  }
  return "gpudirect auto: data of " + gpus + " of a node passes host memory: the nearest NIC is " +
         place_of(distance) + ", and NCCL goes direct only below one root port";
}

std::string names_of(const std::vector<int>& gpus) {
  std::string names = "gpu" + std::to_string(gpus.front());
  if (gpus.size() > 1) names += " to gpu" + std::to_string(gpus.back());
  if (gpus.size() > 1 && gpus.back() - gpus.front() + 1 != static_cast<int>(gpus.size())) {
    names = std::to_string(gpus.size()) + " of " + names;
  }
  return names;
}

}  // namespace

GpuDirectUse nccl_gpudirect(PcieDistance distance, int compute_capability, bool nvlink, int gpus) {
  if (distance > PcieDistance::kSameRootPort) return {false, false};
  const bool recent = compute_capability == 0 || compute_capability >= kReadsFrom;
  return {recent || nvlink || gpus == 1 || distance == PcieDistance::kNothing, true};
}

GpuDirectPairs::GpuDirectPairs(const Node& node, GpuDirect setting) : nics_(node.nic_count) {
  if (!has_choice(node, setting)) return;
  const PcieDistances distances(node);
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    for (int nic = 0; nic < nics_; ++nic) {
      uses_.push_back(use_of(node, setting, distances.gpu_to_nic(gpu, nic)));
    }
  }
}

bool peers_are_staged(const Node& node, int gpu, int other) {
  if (node.nvlink || node.pcie.empty() || !node.gpu.pcie) return false;
  if (node.root_complex.peer_to_peer_across_sockets > BitRate{0}) return false;
  return PcieDistances(node).gpu_to_gpu(gpu, other) == PcieDistance::kOtherSocket;
}

std::vector<std::string> gpudirect_notes(const Node& node, GpuDirect setting, int gpus) {
  if (!has_choice(node, setting)) return {};
  if (setting == GpuDirect::kOff) {
    return {"gpudirect off: whatever leaves or enters a node is copied through host memory"};
  }
  const PcieDistances distances(node);
  std::map<std::pair<PcieDistance, bool>, std::vector<int>> staged;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const PcieDistance distance = distances.gpu_to_nic(gpu, distances.nearest_nics(gpu).front());
    const GpuDirectUse use = use_of(node, setting, distance);
    if (!use.reads) staged[{distance, use.writes}].push_back(gpu);
  }
  std::vector<std::string> notes;
  for (const auto& [key, members] : staged) {
    notes.push_back(note_of(names_of(members), key.second, key.first));
  }
  return notes;
}

}  // namespace gradhaul
