#pragma once

// What the readers of other tools' files have in common: devices are found here and there below
// sockets and switches, and become a node of one model of GPU and one of NIC.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/host_checkup.h"

namespace gradhaul {

// What a device is by its PCI numbers, -1 where a file does not tell them; without a link.
struct IdentifiedDevice {
  NodeDraft::Device device;
  double nvlink = 0;  // GB/s and direction of a GPU on NVSwitch; 0: none, or not known
  double nvlink_efficiency = 0;
};
using DeviceIdentifier = std::function<IdentifiedDevice(int vendor, int device)>;

// Sockets are told apart up to here, and bridges below bridges.
inline constexpr int kMostImportedSockets = 8;
inline constexpr int kDeepestImport = 64;

struct ImportedDevice {
  std::string place;              // as the file calls it: "0000:12:00.0"
  int order = 0;                  // devices are numbered by this, then by place
  std::size_t branch = 0;         // it hangs there
  std::pair<int, int> model{};    // vendor, device
  std::optional<PcieLink> link;   // its own
  std::optional<BitRate> rate{};  // of a NIC's port
};

class ImportedNode {
 public:
  explicit ImportedNode(const DeviceIdentifier& identify);

  NodeDraft& draft() { return draft_; }
  // Once, and not without end.
  void note(const std::string& text);
  // "sw0", "sw1", …
  std::string next_switch();
  // Returns its number. An empty name: devices at the parent itself.
  std::size_t add_branch(const std::string& name, const std::string& parent,
                         std::optional<PcieLink> link, const std::string& place);
  void add_gpu(const ImportedDevice& device) { gpus_.push_back(device); }
  void add_nic(const ImportedDevice& device) { nics_.push_back(device); }
  bool has_gpus() const { return !gpus_.empty(); }

  // Names the devices of the models there are most of; what hangs nowhere any more goes. Requires a
  // GPU. Returns the place of GPU 0.
  std::string take_devices();
  // What is known of NVLink by the GPU's model; 0 where nothing is. After take_devices().
  const IdentifiedDevice& gpu() const { return gpu_; }

 private:
  IdentifiedDevice take(std::vector<ImportedDevice>& found, const char* kind,
                        NodeDraft::Device& described, int& count);
  void drop_empty_branches();

  const DeviceIdentifier& identify_;
  NodeDraft draft_;
  std::vector<ImportedDevice> gpus_;
  std::vector<ImportedDevice> nics_;
  IdentifiedDevice gpu_;
  int switches_ = 0;
};

}  // namespace gradhaul
