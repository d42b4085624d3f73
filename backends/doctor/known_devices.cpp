#include "backends/doctor/known_devices.h"

#include <algorithm>
#include <array>

#include "backends/host/host_inventory.h"

namespace gradhaul {
namespace {

constexpr int kMellanox = 0x15b3;
constexpr int kAmd = 0x1002;
constexpr int kAmazon = 0x1d0f;

// NVLink: data sheets; efficiencies: NCCL's GB/s a link over the link's 25 (src/graph/topo.h).
constexpr std::array kDevices{
    KnownDevice{kNvidia, 0x1db1, "V100 SXM2 16GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x1db4, "V100 PCIe 16GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x1db5, "V100 SXM2 32GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x20b0, "A100 SXM4 40GB", "a100-sxm", 0, false, 300, 0.80},
    KnownDevice{kNvidia, 0x20b1, "A100 PCIe 40GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x20b2, "A100 SXM4 80GB", "a100-sxm", 0, false, 300, 0.80},
    KnownDevice{kNvidia, 0x20b5, "A100 PCIe 80GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x20f1, "A100 PCIe 40GB", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x20b7, "A30", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x2236, "A10", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x2330, "H100 SXM5 80GB", "h100-sxm", 0, false, 450, 0.824},
    KnownDevice{kNvidia, 0x2331, "H100 PCIe", "", 0, false, 0, 0},
    // NVIDIA/gpu-admin-tools, gpu/devid_names.py; and NVIDIA's list of supported chips.
    KnownDevice{kNvidia, 0x2321, "H100 NVL", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x2335, "H200 SXM", "h200-sxm", 0, false, 450, 0.824},
    KnownDevice{kNvidia, 0x2901, "B200 SXM", "b200-sxm", 0, false, 900, 0.802},
    KnownDevice{kNvidia, 0x26b9, "L40S", "", 0, false, 0, 0},
    KnownDevice{kNvidia, 0x2684, "GeForce RTX 4090", "", 0, false, 0, 0},
    KnownDevice{kAmd, 0x738c, "Instinct MI100", "", 0, false, 0, 0},
    KnownDevice{kAmd, 0x7408, "Instinct MI250X", "", 0, false, 0, 0},
    KnownDevice{kAmd, 0x740c, "Instinct MI250", "", 0, false, 0, 0},
    KnownDevice{kAmd, 0x740f, "Instinct MI210", "", 0, false, 0, 0},
    KnownDevice{kAmd, 0x74a1, "Instinct MI300X", "", 0, false, 0, 0},
    KnownDevice{kMellanox, 0x1013, "ConnectX-4", "", 100, true, 0, 0},
    KnownDevice{kMellanox, 0x1015, "ConnectX-4 Lx", "", 50, true, 0, 0},
    KnownDevice{kMellanox, 0x1017, "ConnectX-5", "connectx-5", 100, true, 0, 0},
    KnownDevice{kMellanox, 0x1019, "ConnectX-5 Ex", "connectx-5", 100, true, 0, 0},
    KnownDevice{kMellanox, 0x101b, "ConnectX-6", "connectx-6", 200, true, 0, 0},
    KnownDevice{kMellanox, 0x101d, "ConnectX-6 Dx", "connectx-6-dx", 200, true, 0, 0},
    KnownDevice{kMellanox, 0x101f, "ConnectX-6 Lx", "", 50, true, 0, 0},
    KnownDevice{kMellanox, 0x1021, "ConnectX-7", "connectx-7", 400, true, 0, 0},
    KnownDevice{kMellanox, 0x1023, "ConnectX-8", "", 800, true, 0, 0},
    KnownDevice{kMellanox, 0xa2d6, "BlueField-2", "", 200, true, 0, 0},
    KnownDevice{kMellanox, 0xa2dc, "BlueField-3", "connectx-7", 400, true, 0, 0},
    // What a cloud gives its guests of one of the above.
    KnownDevice{kMellanox, 0x101a, "ConnectX-5 Ex Virtual Function", "connectx-5", 100, true, 0, 0},
    KnownDevice{kMellanox, 0x101c, "ConnectX-6 Virtual Function", "connectx-6", 200, true, 0, 0},
    KnownDevice{kMellanox, 0x101e, "ConnectX Virtual Function", "", 0, true, 0, 0},
    KnownDevice{kAmazon, 0xefa0, "Elastic Fabric Adapter", "", 0, true, 0, 0},
    KnownDevice{kAmazon, 0xefa1, "Elastic Fabric Adapter", "", 0, true, 0, 0},
    KnownDevice{kAmazon, 0xefa2, "Elastic Fabric Adapter", "", 0, true, 0, 0},
};

std::string hexadecimal(int number) {
  std::string digits(4, '0');
  for (int place = 3; place >= 0; --place, number >>= 4) {
    digits[place] = "0123456789abcdef"[number & 0xf];
  }
  return digits;
}

}  // namespace

const KnownDevice* known_device(int vendor, int device) {
  const auto found =
      std::find_if(kDevices.begin(), kDevices.end(), [&](const KnownDevice& candidate) {
        return candidate.vendor == vendor && candidate.device == device;
      });
  return found == kDevices.end() ? nullptr : &*found;
}

std::string device_name(int vendor, int device) {
  if (const KnownDevice* known = known_device(vendor, device)) return known->name;
  return hexadecimal(vendor) + ":" + hexadecimal(device);
}

bool is_nvswitch(int vendor, int pci_class) {
  return vendor == kNvidia && pci_class >> 8 == 0x0680;
}

}  // namespace gradhaul
