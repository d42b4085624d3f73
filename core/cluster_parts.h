#pragma once

// The parts of a cluster by their names ("node0.nic0", "leaf0-spine1"), and what each of them has
// nominally.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/cluster.h"

namespace gradhaul {

enum class PartKind : std::uint8_t { kNetworkLink, kNvlink, kPcieLink, kGpu };

struct ClusterPart {
  PartKind kind = PartKind::kNetworkLink;
  int node = -1;  // -1: a link between switches
  int gpu = -1;   // kGpu
  BitRate rate;   // kNetworkLink, and nominal of kNvlink
  PcieLink pcie;  // kPcieLink, as narrow as what it hangs at makes it
};

// Takes "nic" and the number behind it off the front of a name, which is written as names are: no
// sign, no zero before other digits. Nothing, and nothing taken: it begins with something else.
std::optional<int> take_number(std::string_view& text, std::string_view prefix);

// Nothing: the cluster has no part of this name, or no such link; a sized topology is required.
std::optional<ClusterPart> find_part(const Cluster& cluster, std::string_view name);

// Of a device in the PCIe tree ("gpu3"): its own link, capped by that of its socket's branch.
// Nothing: it hangs on no PCIe.
std::optional<PcieLink> device_link(const Node& node, std::string_view device);
// The uplink of a PCIe switch; nothing where there is no switch of this name.
std::optional<PcieLink> switch_uplink(const Node& node, std::string_view name);

}  // namespace gradhaul
