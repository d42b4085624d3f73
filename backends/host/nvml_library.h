#pragma once

// The calls of NVIDIA's management library that are made, so that it can be opened at run time and
// a fake can stand in its place. Names and results are the library's own (nvml.h): 0 is success.

#include <cstdint>
#include <memory>
#include <string>

namespace gradhaul {

inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlNotSupported = 3;
inline constexpr unsigned kNvmlMostLinks = 18;          // NVML_NVLINK_MAX_LINKS
inline constexpr unsigned kNvmlReplayErrors = 0;        // NVML_NVLINK_ERROR_DL_REPLAY
inline constexpr unsigned kNvmlRecoveryErrors = 1;      // NVML_NVLINK_ERROR_DL_RECOVERY
inline constexpr std::uint64_t kNvmlHwSlowdown = 0x08;  // nvmlClocksThrottleReason…
inline constexpr std::uint64_t kNvmlSwThermal = 0x20;
inline constexpr std::uint64_t kNvmlHwThermal = 0x40;
inline constexpr std::uint64_t kNvmlPowerBrake = 0x80;

using NvmlDevice = void*;

class NvmlLibrary {
 public:
  virtual ~NvmlLibrary() = default;

  virtual int device_count(unsigned& count) = 0;
  virtual int device_by_index(unsigned index, NvmlDevice& device) = 0;
  // "00000000:18:00.0"
  virtual int pci_bus_id(NvmlDevice device, std::string& address) = 0;
  virtual int nvlink_active(NvmlDevice device, unsigned link, bool& active) = 0;
  virtual int nvlink_errors(NvmlDevice device, unsigned link, unsigned kind,
                            std::uint64_t& count) = 0;
  virtual int throttle_reasons(NvmlDevice device, std::uint64_t& reasons) = 0;
  // Of ECC, since the driver was loaded.
  virtual int uncorrected_errors(NvmlDevice device, std::uint64_t& count) = 0;
  virtual int pcie_replays(NvmlDevice device, unsigned& count) = 0;
};

// Opens libnvidia-ml.so.1 and starts it; nothing, and why, where that can't be.
std::unique_ptr<NvmlLibrary> open_nvml(std::string& why_not);

}  // namespace gradhaul
