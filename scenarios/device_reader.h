#pragma once

// GPUs and NICs: scenarios/devices/*.yaml, or the mapping itself under `model`.

#include <optional>

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Nothing: it could not be had, or is a device of the other kind, which has been reported.
std::optional<GpuModel> read_gpu_model(MappingReader& reader);
std::optional<NicModel> read_nic_model(MappingReader& reader);

// "gen5x16"
std::optional<PcieLink> parse_pcie_link(std::string_view text);
std::string format_pcie_link(const PcieLink& link);
// What such a link looks like, for messages.
std::string_view describe_pcie_link();

// The name of a node, network or device: its own key, else that under which it was found.
std::string read_name(MappingReader& reader);

}  // namespace gradhaul
