#pragma once

// The releases of NCCL whose behaviour this program knows, each by its own constants: formulas and
// numbers changed between them. Facts of the v2.22.3-1 and v2.30 source trees.

#include <cstdint>
#include <string_view>

namespace gradhaul {

enum class NcclVersion : std::uint8_t { k2_22, k2_30 };

constexpr std::string_view version_text(NcclVersion version) {
  return version == NcclVersion::k2_22 ? "2.22" : "2.30";
}

// That of the profile; of one that is not NCCL's the latest.
constexpr NcclVersion nccl_version_of(std::string_view profile) {
  return profile == "nccl-2.22" ? NcclVersion::k2_22 : NcclVersion::k2_30;
}

}  // namespace gradhaul
