// Drivers and firmware: what keeps GPUs and NICs from working together.

#include <algorithm>
#include <map>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/doctor/number_text.h"

namespace gradhaul {
namespace {

bool is_loaded(const HostInventory& host, const std::string& module) {
  const auto& modules = host.settings.modules;
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

void find_missing_gpu_drivers(const HostInventory& host, Findings& findings) {
  for (const int gpu : host.gpus) {
    const PciFunction& function = host.pci[gpu];
    if (!function.driver.empty()) continue;
    findings.push_back({Severity::kProblem,
                        "gpu-without-driver",
                        function_label(host, gpu),
                        device_name(function.vendor, function.device) + " has no driver",
                        {{function.folder + "/driver", "no such link"}},
                        "Nothing can use it.",
                        function.vendor == kNvidia
                            ? "Install and load the nvidia module; dmesg | grep -i nvidia says why "
                              "it is not bound."
                            : "Load the amdgpu module; dmesg | grep -i amdgpu says why it is not "
                              "bound.",
                        "lspci -ks " + function.address});
  }
}

// A member of a bond does RDMA through the bond's device, which belongs to another member.
bool is_in_bond(const HostInventory& host, int nic) {
  return std::any_of(host.net.begin(), host.net.end(), [&](const NetDevice& device) {
    return device.pci == nic && !device.bond.empty();
  });
}

void find_nics_without_rdma(const HostInventory& host, Findings& findings) {
  for (const int nic : host.nics) {
    const PciFunction& function = host.pci[nic];
    const KnownDevice* known = known_device(function.vendor, function.device);
    if (known == nullptr || !known->rdma || !host.rdma_of(nic).empty() || is_in_bond(host, nic)) {
      continue;
    }
    const bool loaded = is_loaded(host, "mlx5_ib");
    const bool mellanox = function.vendor == 0x15b3;
    findings.push_back(
        {host.rdma.empty() && !host.gpus.empty() ? Severity::kProblem : Severity::kWarning,
         "nic-without-rdma",
         function_label(host, nic),
         std::string(known->name) + " can do RDMA, and has no RDMA device" +
             (mellanox && host.settings.modules_listed
                  ? loaded ? "; mlx5_ib is loaded" : "; mlx5_ib is not loaded"
                  : ""),
         {{function.folder + "/driver",
           function.driver.empty() ? "no such link" : function.driver}},
         "Its traffic has to go over TCP, with a copy or two on each side.",
         mellanox ? "modprobe mlx5_ib; if that changes nothing, dmesg | grep mlx5."
                  : "Load its RDMA driver.",
         "ls /sys/class/infiniband; lspci -ks " + function.address});
  }
}

void find_different_firmware(const HostInventory& host, Findings& findings) {
  std::map<std::string, std::map<std::string, std::vector<const RdmaDevice*>>> boards;
  for (const RdmaDevice& device : host.rdma) {
    if (device.pci < 0 || device.firmware.empty() || device.board.empty()) continue;
    boards[device.board][device.firmware].push_back(&device);
  }
  for (const auto& [board, versions] : boards) {
    if (versions.size() < 2) continue;
    std::vector<std::string> parts;
    std::vector<Evidence> evidence;
    for (const auto& [version, devices] : versions) {
      std::vector<std::string> names;
      for (const RdmaDevice* device : devices) {
        names.push_back(device->name);
        evidence.push_back({device->folder + "/fw_ver", version});
      }
      parts.push_back(version + " on " + list_text(names));
    }
    findings.push_back({Severity::kWarning, "firmware-differs", board,
                        "NICs of one board run different firmware: " + list_text(parts),
                        std::move(evidence),
                        "They may differ in defaults (congestion control, relaxed ordering) and in "
                        "faults; what is slow on one rail is then hard to explain.",
                        "Bring all to one version (mlxfwmanager), here and on the other hosts.",
                        "cat /sys/class/infiniband/*/fw_ver"});
  }
}

// Whether a kernel release is at least this: "5.15.0-91-generic".
bool kernel_at_least(const std::string& release, int major, int minor) {
  const std::size_t dot = release.find('.');
  if (dot == std::string::npos) return false;
  const auto first = whole_number(std::string_view(release).substr(0, dot));
  std::size_t end = dot + 1;
  while (end < release.size() && release[end] >= '0' && release[end] <= '9') ++end;
  const auto second = whole_number(std::string_view(release).substr(dot + 1, end - dot - 1));
  return first && second && (*first > major || (*first == major && *second >= minor));
}

void find_gpudirect(const HostInventory& host, Findings& findings) {
  const HostSettings& settings = host.settings;
  const bool nvidia = std::any_of(host.gpus.begin(), host.gpus.end(), [&](int gpu) {
    return host.pci[gpu].vendor == kNvidia && host.pci[gpu].driver == "nvidia";
  });
  if (!nvidia || host.rdma.empty() || !settings.modules_listed) return;
  if (is_loaded(host, "nvidia_peermem") || is_loaded(host, "nv_peer_mem")) {
    findings.push_back({Severity::kFact,
                        "gpudirect-peermem",
                        "host",
                        "nvidia_peermem is loaded",
                        {{"/proc/modules", "nvidia_peermem"}},
                        "NICs can reach GPU memory (GPUDirect RDMA).",
                        "",
                        "lsmod | grep peermem"});
    return;
  }
  if (!settings.gpu_driver.read() || settings.kernel.empty()) return;
  const bool open = settings.gpu_driver.text.find("Open Kernel Module") != std::string::npos;
  // DMA-BUF of GPU memory: NVIDIA's open modules (515 and later) on Linux 5.12 and later.
  if (open && kernel_at_least(settings.kernel, 5, 12)) {
    findings.push_back({Severity::kFact,
                        "gpudirect-dmabuf",
                        "host",
                        "nvidia_peermem is not loaded; the open GPU driver on Linux " +
                            settings.kernel + " offers DMA-BUF",
                        {{"/proc/driver/nvidia/version", "Open Kernel Module"},
                         {"/proc/sys/kernel/osrelease", settings.kernel}},
                        "NICs can reach GPU memory through DMA-BUF, in libraries that use it "
                        "(NCCL 2.13 and later).",
                        "",
                        "modinfo -F license nvidia; uname -r"});
    return;
  }
  findings.push_back(
      {Severity::kProblem,
       "gpudirect-missing",
       "host",
       std::string("NICs cannot reach GPU memory: nvidia_peermem is not loaded, and ") +
           (open ? "Linux " + settings.kernel + " is older than 5.12, which DMA-BUF needs"
                 : "the GPU driver is not the open one, which DMA-BUF needs"),
       {{"/proc/modules", "no nvidia_peermem"},
        {"/proc/driver/nvidia/version", lines_of(settings.gpu_driver.text).empty()
                                            ? ""
                                            : lines_of(settings.gpu_driver.text).front()},
        {"/proc/sys/kernel/osrelease", settings.kernel}},
       "Data goes through host memory: four NICs of 200 Gb/s in each of two hosts did 33 instead "
       "of "
       "93 GB/s (NCCL, issue 1412).",
       "modprobe nvidia_peermem, and at each boot; or the open GPU driver with Linux 5.12 or "
       "later.",
       "lsmod | grep peermem; cat /proc/driver/nvidia/version; uname -r"});
}

}  // namespace

void find_in_drivers(const HostInventory& host, Findings& findings) {
  find_missing_gpu_drivers(host, findings);
  find_nics_without_rdma(host, findings);
  find_different_firmware(host, findings);
  find_gpudirect(host, findings);
}

}  // namespace gradhaul
