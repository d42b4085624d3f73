// What NVIDIA's management library says of GPUs: NVLinks, clocks held down, memory errors.

#include <algorithm>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/doctor/number_text.h"
#include "backends/host/nvml_library.h"

namespace gradhaul {
namespace {

std::string address_of(const HostInventory& host, const GpuState& gpu) {
  return host.pci[static_cast<std::size_t>(gpu.pci)].address;
}

bool has_nvswitches(const HostInventory& host) {
  return std::any_of(host.pci.begin(), host.pci.end(), [](const PciFunction& function) {
    return is_nvswitch(function.vendor, function.pci_class);
  });
}

void find_inactive_links(const HostInventory& host, Findings& findings) {
  int most = 0;
  for (const GpuState& gpu : host.gpu_states) most = std::max(most, gpu.nvlinks_active);
  for (const GpuState& gpu : host.gpu_states) {
    // GPUs without a partner have links that lead nowhere: fewer than others is what is amiss.
    if (gpu.nvlinks == 0 || gpu.nvlinks_active >= most) continue;
    std::vector<std::string> links;
    for (const int link : gpu.nvlinks_inactive) links.push_back(std::to_string(link));
    findings.push_back(
        {Severity::kProblem,
         "nvlink-inactive",
         function_label(host, gpu.pci),
         std::to_string(gpu.nvlinks_active) + " of its NVLinks are active, of another GPU here " +
             std::to_string(most),
         {{"NVML, nvmlDeviceGetNvLinkState", "not active: " + list_text(links)}},
         "What it sends within the node takes so many links fewer, and all ranks of a ring wait "
         "for "
         "the slowest; where NCCL finds paths that differ, it may leave NVLink altogether.",
         "Look for Xid errors of this GPU (dmesg | grep -i xid); reset it, or the host; then have "
         "board and baseboard looked at.",
         "nvidia-smi nvlink -s -i " + address_of(host, gpu)});
  }
  if (most > 0 || !has_nvswitches(host)) return;
  for (const GpuState& gpu : host.gpu_states) {
    if (gpu.nvlinks == 0) continue;
    findings.push_back(
        {Severity::kProblem,
         "nvlink-no-fabric",
         "host",
         "none of its GPUs has an active NVLink, and there are NVSwitches on the PCI bus",
         {{"NVML, nvmlDeviceGetNvLinkState",
           "0 of " + std::to_string(gpu.nvlinks) + " active on " + function_label(host, gpu.pci)}},
         "NVSwitches are set up by NVIDIA's fabric manager; until then data between GPUs goes over "
         "PCIe, at an eighth of the bandwidth or less.",
         "Start the fabric manager, in the version of the driver: systemctl start "
         "nvidia-fabricmanager.",
         "systemctl status nvidia-fabricmanager; nvidia-smi nvlink -s"});
    return;
  }
}

void find_slow_clocks(const HostInventory& host, Findings& findings) {
  struct Reason {
    std::uint64_t bit;
    const char* text;
  };
  static constexpr Reason kReasons[] = {{kNvmlHwThermal, "too hot (hardware)"},
                                        {kNvmlSwThermal, "too hot (driver)"},
                                        {kNvmlPowerBrake, "told to by the power supply"},
                                        {kNvmlHwSlowdown, "hardware slowdown"}};
  for (const GpuState& gpu : host.gpu_states) {
    std::vector<std::string> reasons;
    for (const Reason& reason : kReasons) {
      if ((gpu.throttle_reasons.value_or(0) & reason.bit) != 0) reasons.emplace_back(reason.text);
    }
    if (reasons.empty()) continue;
    findings.push_back(
        {Severity::kProblem,
         "gpu-slowed-down",
         function_label(host, gpu.pci),
         "its clocks are held down: " + list_text(reasons),
         {{"NVML, nvmlDeviceGetCurrentClocksThrottleReasons",
           std::to_string(*gpu.throttle_reasons)}},
         "It computes and reduces slower than its peers, and every collective waits for the "
         "slowest rank.",
         "Look at its temperature, air flow or coolant, and the power supplies of the chassis.",
         "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i " + address_of(host, gpu)});
  }
}

void find_memory_errors(const HostInventory& host, Findings& findings) {
  for (const GpuState& gpu : host.gpu_states) {
    if (gpu.uncorrected_errors.value_or(0) == 0) continue;
    findings.push_back(
        {Severity::kProblem,
         "gpu-memory-errors",
         function_label(host, gpu.pci),
         count_of_things(static_cast<std::size_t>(*gpu.uncorrected_errors), "error") +
             " of its memory could not be corrected since its driver was loaded",
         {{"NVML, nvmlDeviceGetTotalEccErrors", std::to_string(*gpu.uncorrected_errors)}},
         "Each ends the process whose data it was, and a rank that is gone ends the job.",
         "Reset the GPU, which replaces the rows; where errors come again, replace it.",
         "nvidia-smi -q -d ECC,ROW_REMAPPER -i " + address_of(host, gpu)});
  }
}

}  // namespace

void find_in_gpus(const HostInventory& host, Findings& findings) {
  find_inactive_links(host, findings);
  find_slow_clocks(host, findings);
  find_memory_errors(host, findings);
}

}  // namespace gradhaul
