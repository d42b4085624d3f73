#pragma once

// A port that a rank uses, opened: its protection domain, GID and partition key.

#include <string>
#include <vector>

#include "backends/verbs/device_memory.h"
#include "backends/verbs/gid_choice.h"
#include "backends/verbs/rdma_ports.h"
#include "backends/verbs/verbs_settings.h"

namespace gradhaul {

struct RdmaRail {
  VerbsPort port;
  ProtectionDomain pd;
  GidChoice gid;
  std::uint16_t pkey = 0;
  bool ethernet() const { return port.attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
};

// All usable ports that the settings' list takes, in the order of the survey. `notes` get what was
// skipped and what a user should know. Throws VerbsError where none is left.
std::vector<RdmaRail> open_rails(VerbsLibrary& verbs, const VerbsSettings& settings,
                                 std::vector<std::string>& notes);

// Memory that is to be registered, and how.
struct RegisteredBytes {
  void* address = nullptr;
  std::size_t length = 0;
  MemoryPath path = MemoryPath::kHost;
  const DeviceMemory* device = nullptr;  // of kDmaBuf
  bool read_back = false;                // may also be read by a peer
};

// Registers memory for local reads and for remote writes. All of it is data, which only a
// completion announces, so PCIe may reorder its writes: with relaxed ordering where the device
// takes it (`relaxed` says whether). Throws VerbsError.
MemoryRegion register_memory(VerbsLibrary& verbs, const RdmaRail& rail,
                             const RegisteredBytes& bytes, bool& relaxed);

}  // namespace gradhaul
