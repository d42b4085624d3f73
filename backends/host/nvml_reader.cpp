#include "backends/host/nvml_reader.h"

#include <algorithm>
#include <cctype>
#include <functional>

namespace gradhaul {
namespace {

// The library's "00000000:18:00.0" is sysfs's "0000:18:00.0", in capitals where letters are.
std::string sysfs_address(std::string address) {
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t domain = address.find(':');
  if (domain != std::string::npos && domain > 4) address.erase(0, domain - 4);
  return address;
}

// Each GPU of the host with its place among them, as far as the library knows it.
void for_each_gpu(NvmlLibrary& nvml, const HostInventory& host,
                  const std::function<void(int, NvmlDevice)>& visit) {
  unsigned count = 0;
  if (nvml.device_count(count) != kNvmlSuccess) return;
  std::vector<NvmlDevice> devices(host.gpus.size());
  for (unsigned index = 0; index < std::min(count, 1024U); ++index) {
    NvmlDevice device = nullptr;
    std::string address;
    if (nvml.device_by_index(index, device) != kNvmlSuccess ||
        nvml.pci_bus_id(device, address) != kNvmlSuccess) {
      continue;
    }
    address = sysfs_address(address);
    for (std::size_t gpu = 0; gpu < host.gpus.size(); ++gpu) {
      if (host.pci[static_cast<std::size_t>(host.gpus[gpu])].address == address) {
        devices[gpu] = device;
      }
    }
  }
  for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
    if (devices[gpu] != nullptr) visit(static_cast<int>(gpu), devices[gpu]);
  }
}

}  // namespace

std::vector<GpuState> read_gpu_states(NvmlLibrary& nvml, const HostInventory& host) {
  std::vector<GpuState> states;
  for_each_gpu(nvml, host, [&](int gpu, NvmlDevice device) {
    GpuState& state = states.emplace_back();
    state.pci = host.gpus[static_cast<std::size_t>(gpu)];
    for (unsigned link = 0; link < kNvmlMostLinks; ++link) {
      bool active = false;
      if (nvml.nvlink_active(device, link, active) != kNvmlSuccess) continue;
      ++state.nvlinks;
      if (active) {
        ++state.nvlinks_active;
      } else {
        state.nvlinks_inactive.push_back(static_cast<int>(link));
      }
    }
    std::uint64_t reasons = 0;
    if (nvml.throttle_reasons(device, reasons) == kNvmlSuccess) state.throttle_reasons = reasons;
    std::uint64_t errors = 0;
    if (nvml.uncorrected_errors(device, errors) == kNvmlSuccess) state.uncorrected_errors = errors;
  });
  return states;
}

std::vector<CounterValue> read_gpu_counters(NvmlLibrary& nvml, const HostInventory& host) {
  std::vector<CounterValue> counters;
  for_each_gpu(nvml, host, [&](int gpu, NvmlDevice device) {
    const std::string name = "gpu" + std::to_string(gpu);
    const std::string& address =
        host.pci[static_cast<std::size_t>(host.gpus[static_cast<std::size_t>(gpu)])].address;
    unsigned replays = 0;
    if (nvml.pcie_replays(device, replays) == kNvmlSuccess) {
      counters.push_back({name, "gpu_pcie_replays", "nvidia-smi -q -i " + address, replays});
    }
    for (unsigned link = 0; link < kNvmlMostLinks; ++link) {
      for (const unsigned kind : {kNvmlReplayErrors, kNvmlRecoveryErrors}) {
        std::uint64_t errors = 0;
        if (nvml.nvlink_errors(device, link, kind, errors) != kNvmlSuccess) continue;
        counters.push_back(
            {name + " NVLink " + std::to_string(link),
             kind == kNvmlReplayErrors ? "nvlink_replay_errors" : "nvlink_recovery_errors",
             "nvidia-smi nvlink -e -i " + address, errors});
      }
    }
  });
  return counters;
}

}  // namespace gradhaul
