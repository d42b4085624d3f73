#include "scenarios/nccl_topology_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <pugixml.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/xml_text.h"

namespace gradhaul {
namespace {

// More is damage.
constexpr std::int64_t kMostMegabits = 100'000'000;
constexpr int kMostNvlinks = 1000;

struct NvlinkGeneration {
  int from;        // compute capability
  double nominal;  // GB/s of one link and direction, by the makers' data sheets
  double of_nccl;  // what NCCL takes of it (src/graph/topo.h)
};
constexpr NvlinkGeneration kNvlinks[] = {
    {100, 50, 40.1}, {90, 25, 20.6}, {80, 25, 20}, {70, 25, 20}};

// As NCCL reads them: by how the text begins; what it does not know is generation 3.
int generation_of(std::string_view speed) {
  static constexpr std::pair<std::string_view, int> kSpeeds[] = {{"2.5", 1}, {"5", 2},  {"8", 3},
                                                                 {"16", 4},  {"32", 5}, {"64", 6}};
  for (const auto& [begin, generation] : kSpeeds) {
    if (speed.starts_with(begin)) return generation;
  }
  return 3;
}

// Links have 1, 2, 4, 8 or 16 lanes; 0 is what the kernel did not tell.
int lanes_of(int width) {
  if (width <= 0) return 16;
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(width, 16))));
}

enum class PciKind : std::uint8_t { kGpu, kNic, kNvswitch, kBridge };

PciKind kind_of(const pugi::xml_node& pci) {
  const std::string_view pci_class = pci.attribute("class").as_string();
  if (pci_class.starts_with("0x03")) return PciKind::kGpu;
  if (pci_class.starts_with("0x02")) return PciKind::kNic;
  if (pci_class.starts_with("0x0680")) return PciKind::kNvswitch;
  return PciKind::kBridge;
}

// -1: not told, or told as what no vendor has.
int number_of(const pugi::xml_node& pci, const char* name) {
  const int number = pci.attribute(name).as_int(-1);
  return number == 0 || number == 0xffff ? -1 : number;
}

class TopologyReader {
 public:
  TopologyReader(const std::string& file, const DeviceIdentifier& identify, Problems& problems)
      : file_(file), problems_(problems), node_(identify) {}

  std::optional<NodeDraft> read(const std::string& text) {
    pugi::xml_document document;
    if (!load_xml(text, file_, problems_, document)) return std::nullopt;
    const pugi::xml_node system = document.child("system");
    if (!system || !system.child("cpu")) {
      problems_.add({file_, 1, 1}, "no topology of NCCL: it holds no <system> with a <cpu>");
      return std::nullopt;
    }
    read_sockets(system);
    if (!node_.has_gpus()) {
      problems_.add({file_, 1, 1}, "it has no GPU (class 0x03…), and a node has at least one");
      return std::nullopt;
    }
    read_nvlink(gpus_.at(node_.take_devices()));
    return std::move(node_.draft());
  }

 private:
  void read_sockets(const pugi::xml_node& system) {
    const std::string first_host = system.child("cpu").attribute("host_hash").as_string();
    int sockets = 0;
    for (const pugi::xml_node& cpu : system.children("cpu")) {
      if (cpu.attribute("host_hash").as_string() != first_host) {
        node_.note("it is of several hosts; only the first is here");
        break;
      }
      if (sockets == kMostImportedSockets) {
        node_.note("more than eight <cpu>; the others are left out");
        break;
      }
      const std::string socket = fmt::format("socket{}", sockets++);
      for (const pugi::xml_node& pci : cpu.children("pci")) read_pci(pci, socket, -1, 0);
      if (cpu.child("nic")) node_.note("NICs without a place on PCIe are left out");
    }
    node_.draft().sockets = sockets;
    node_.draft().cpu = processors(system.child("cpu"));
    if (sockets > 2) node_.note("each <cpu> is a NUMA domain, and stands here for a socket");
  }

  // NCCL writes the family of processors with the extended one shifted into it.
  static std::string processors(const pugi::xml_node& cpu) {
    const std::string_view vendor = cpu.attribute("vendor").as_string();
    const int family = cpu.attribute("familyid").as_int();
    const int model = cpu.attribute("modelid").as_int();
    if (vendor == "AuthenticAMD" &&
        (family == 23 || family == 143 || family == 25 || family == 175)) {
      const bool rome = (family == 23 || family == 143) && model == 0x31;
      const bool milan = (family == 25 || family == 175) && model <= 0x0f;
      return rome || milan ? "epyc-rome-milan" : "";
    }
    if (vendor != "GenuineIntel" || family != 6) return "";
    return model == 143 ? "sapphire-rapids" : model == 85 ? "skylake" : "";
  }

  PcieLink link_of(const pugi::xml_node& pci) {
    const PcieLink link{generation_of(pci.attribute("link_speed").as_string()),
                        lanes_of(pci.attribute("link_width").as_int())};
    if (link.generation == 1 || link.lanes == 1) {
      node_.note(
          fmt::format("{} is said to have a link of gen{}x{}, which an idle device or a virtual "
                      "machine may say wrongly",
                      pci.attribute("busid").as_string("a device"), link.generation, link.lanes));
    }
    return link;
  }

  // `branch`: of the switch above; -1: at a socket.
  void read_pci(const pugi::xml_node& pci, const std::string& parent, int branch, int depth) {
    if (depth > kDeepestImport) return;
    const PciKind kind = kind_of(pci);
    const std::string busid = pci.attribute("busid").as_string("?");
    if (kind == PciKind::kNvswitch) {
      nvswitch_ = true;
      return;
    }
    if (kind == PciKind::kBridge) {
      if (!pci.child("pci")) return;
      const std::string name = node_.next_switch();
      const std::size_t own = node_.add_branch(name, parent, link_of(pci), "switch " + busid);
      for (const pugi::xml_node& below : pci.children("pci")) {
        read_pci(below, name, static_cast<int>(own), depth + 1);
      }
      return;
    }
    ImportedDevice device;
    device.place = busid;
    device.branch = branch >= 0 ? static_cast<std::size_t>(branch)
                                : node_.add_branch("", parent, link_of(pci), busid);
    device.model = {number_of(pci, "vendor"), number_of(pci, "device")};
    // As NCCL numbers them; where it does not, by bus.
    const pugi::xml_node numbered =
        kind == PciKind::kGpu ? pci.child("gpu") : pci.child("nic").child("net");
    device.order = numbered.attribute("dev").as_int(-1);
    device.link = link_of(pci);
    device.rate = rate_of(pci);
    if (kind == PciKind::kGpu) {
      gpus_[busid] = pci;
      node_.add_gpu(device);
    } else {
      node_.add_nic(device);
    }
  }

  static std::optional<BitRate> rate_of(const pugi::xml_node& pci) {
    std::int64_t megabits = 0;
    for (const pugi::xml_node& net : pci.child("nic").children("net")) {
      megabits = std::max<std::int64_t>(megabits, net.attribute("speed").as_llong());
    }
    if (megabits <= 0 || megabits > kMostMegabits) return std::nullopt;
    return BitRate{megabits * 1'000'000};
  }

  void read_nvlink(const pugi::xml_node& pci) {
    const pugi::xml_node gpu = pci.child("gpu");
    int links = 0;
    for (const pugi::xml_node& link : gpu.children("nvlink")) {
      links = std::min(links + std::clamp(link.attribute("count").as_int(), 0, kMostNvlinks),
                       kMostNvlinks);
      const std::string_view target = link.attribute("tclass").as_string();
      nvswitch_ = nvswitch_ || target.starts_with("0x0680");
    }
    if (links > 0 && nvswitch_) {
      const int capability = gpu.attribute("sm").as_int();
      for (const NvlinkGeneration& generation : kNvlinks) {
        if (capability < generation.from) continue;
        node_.draft().nvlink = BitRate{static_cast<std::int64_t>(links * generation.nominal * 8e9)};
        node_.draft().nvlink_efficiency = generation.of_nccl / generation.nominal;
        return;
      }
    }
    node_.note(links > 0
                   ? "its NVLinks lead from GPU to GPU or are of an old kind, and are left out"
                   : "it tells of no NVLink: add `nvlink` where there is one (nvidia-smi topo -m)");
  }

  const std::string& file_;
  Problems& problems_;
  ImportedNode node_;
  std::map<std::string, pugi::xml_node> gpus_;  // by bus
  bool nvswitch_ = false;
};

}  // namespace

std::optional<NodeDraft> read_nccl_topology(const std::string& text, const std::string& file,
                                            const DeviceIdentifier& identify, Problems& problems) {
  return TopologyReader(file, identify, problems).read(text);
}

}  // namespace gradhaul
