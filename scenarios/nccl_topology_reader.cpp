#include "scenarios/nccl_topology_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <pugixml.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace gradhaul {
namespace {

constexpr int kMostSockets = 8;

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

struct FoundDevice {
  pugi::xml_node node;
  std::string busid;
  int order = 0;           // as NCCL numbers them; where it does not, by bus
  std::size_t branch = 0;  // it hangs there
  std::pair<int, int> model;
};

class TopologyReader {
 public:
  TopologyReader(const std::string& file, const DeviceIdentifier& identify, Problems& problems)
      : file_(file), identify_(identify), problems_(problems) {}

  std::optional<NodeDraft> read(const std::string& text) {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
      const auto line = 1 + std::count(text.begin(), text.begin() + parsed.offset, '\n');
      problems_.add({file_, static_cast<int>(line), 1},
                    fmt::format("no XML: {}", parsed.description()));
      return std::nullopt;
    }
    const pugi::xml_node system = document.child("system");
    if (!system || !system.child("cpu")) {
      problems_.add({file_, 1, 1}, "no topology of NCCL: it holds no <system> with a <cpu>");
      return std::nullopt;
    }
    read_sockets(system);
    if (gpus_.empty()) {
      problems_.add({file_, 1, 1}, "it has no GPU (class 0x03…), and a node has at least one");
      return std::nullopt;
    }
    take_devices(gpus_, "gpu", draft_.gpu, draft_.gpu_count);
    take_devices(nics_, "nic", draft_.nic, draft_.nic_count);
    read_nvlink();
    drop_empty_branches();
    return std::move(draft_);
  }

 private:
  void note(const std::string& text) { draft_.notes.push_back(text); }

  void read_sockets(const pugi::xml_node& system) {
    draft_.name = "imported";
    const std::string first_host = system.child("cpu").attribute("host_hash").as_string();
    int sockets = 0;
    for (const pugi::xml_node& cpu : system.children("cpu")) {
      if (cpu.attribute("host_hash").as_string() != first_host) {
        note("it is of several hosts; only the first is here");
        break;
      }
      if (sockets == kMostSockets) {
        note("more than eight <cpu>; the others are left out");
        break;
      }
      const std::string socket = fmt::format("socket{}", sockets++);
      for (const pugi::xml_node& pci : cpu.children("pci")) read_pci(pci, socket, -1);
      if (cpu.child("nic")) note("NICs without a place on PCIe are left out");
    }
    draft_.sockets = sockets;
    draft_.cpu = processors(system.child("cpu"));
    if (sockets > 2) note("each <cpu> is a NUMA domain, and stands here for a socket");
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
      note(
          fmt::format("{} is said to have a link of gen{}x{}, which an idle device or a virtual "
                      "machine may say wrongly",
                      pci.attribute("busid").as_string("a device"), link.generation, link.lanes));
    }
    return link;
  }

  std::size_t add_branch(const std::string& name, const std::string& parent, PcieLink link,
                         const std::string& place) {
    PcieBranch branch;
    branch.switch_name = name;
    branch.parent = parent;
    branch.link = link;
    draft_.pcie.push_back(branch);
    draft_.places.push_back(place);
    return draft_.pcie.size() - 1;
  }

  // `branch`: of the switch above; -1: at a socket.
  void read_pci(const pugi::xml_node& pci, const std::string& parent, int branch) {
    const PciKind kind = kind_of(pci);
    const std::string busid = pci.attribute("busid").as_string("?");
    if (kind == PciKind::kNvswitch) {
      nvswitch_ = true;
      return;
    }
    if (kind == PciKind::kBridge) {
      if (!pci.child("pci")) return;
      const std::string name = fmt::format("sw{}", switches_++);
      const std::size_t own = add_branch(name, parent, link_of(pci), "switch " + busid);
      for (const pugi::xml_node& below : pci.children("pci")) {
        read_pci(below, name, static_cast<int>(own));
      }
      return;
    }
    FoundDevice device;
    device.node = pci;
    device.busid = busid;
    device.branch = branch >= 0 ? static_cast<std::size_t>(branch)
                                : add_branch("", parent, link_of(pci), busid);
    device.model = {number_of(pci, "vendor"), number_of(pci, "device")};
    const pugi::xml_node numbered =
        kind == PciKind::kGpu ? pci.child("gpu") : pci.child("nic").child("net");
    device.order = numbered.attribute("dev").as_int(-1);
    (kind == PciKind::kGpu ? gpus_ : nics_).push_back(device);
  }

  // Of one model, the one there are most of, in NCCL's order.
  void take_devices(std::vector<FoundDevice>& found, const char* kind, NodeDraft::Device& described,
                    int& count) {
    if (found.empty()) return;
    std::map<std::pair<int, int>, int> models;
    for (const FoundDevice& device : found) ++models[device.model];
    const auto most = std::max_element(models.begin(), models.end(), [](auto& a, auto& b) {
                        return a.second < b.second;
                      })->first;
    const auto others =
        std::erase_if(found, [&](const FoundDevice& device) { return device.model != most; });
    if (others > 0) note(fmt::format("a node has {}s of one model; {} left out", kind, others));
    std::stable_sort(found.begin(), found.end(), [](const FoundDevice& a, const FoundDevice& b) {
      return std::pair(a.order, a.busid) < std::pair(b.order, b.busid);
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string name = fmt::format("{}{}", kind, i);
      draft_.pcie[found[i].branch].devices.push_back(name);
      draft_.places[found[i].branch] += fmt::format(", {} is {}", name, found[i].busid);
    }
    described = identify_(most.first, most.second);
    described.pcie = link_of(found.front().node);
    std::int64_t megabits = 0;
    for (const pugi::xml_node& net : found.front().node.child("nic").children("net")) {
      megabits = std::max<std::int64_t>(megabits, net.attribute("speed").as_llong());
    }
    if (megabits > 0) described.rate = BitRate{megabits * 1'000'000};
    count = static_cast<int>(found.size());
  }

  void read_nvlink() {
    const pugi::xml_node gpu = gpus_.front().node.child("gpu");
    int links = 0;
    for (const pugi::xml_node& link : gpu.children("nvlink")) {
      links += link.attribute("count").as_int();
      const std::string_view target = link.attribute("tclass").as_string();
      nvswitch_ = nvswitch_ || target.starts_with("0x0680");
    }
    if (links > 0 && nvswitch_) {
      const int capability = gpu.attribute("sm").as_int();
      for (const NvlinkGeneration& generation : kNvlinks) {
        if (capability < generation.from) continue;
        draft_.nvlink = BitRate{static_cast<std::int64_t>(links * generation.nominal * 8e9)};
        draft_.nvlink_efficiency = generation.of_nccl / generation.nominal;
        return;
      }
    }
    note(links > 0 ? "its NVLinks lead from GPU to GPU or are of an old kind, and are left out"
                   : "it tells of no NVLink: add `nvlink` where there is one (nvidia-smi topo -m)");
  }

  // Switches with nothing below them that counts are in nobody's way.
  void drop_empty_branches() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < draft_.pcie.size() && !again; ++i) {
        const PcieBranch& branch = draft_.pcie[i];
        const bool parent =
            std::any_of(draft_.pcie.begin(), draft_.pcie.end(), [&](const PcieBranch& other) {
              return !branch.switch_name.empty() && other.parent == branch.switch_name;
            });
        if (!branch.devices.empty() || parent) continue;
        draft_.pcie.erase(draft_.pcie.begin() + static_cast<std::ptrdiff_t>(i));
        draft_.places.erase(draft_.places.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
  }

  const std::string& file_;
  const DeviceIdentifier& identify_;
  Problems& problems_;
  NodeDraft draft_;
  std::vector<FoundDevice> gpus_;
  std::vector<FoundDevice> nics_;
  int switches_ = 0;
  bool nvswitch_ = false;
};

}  // namespace

std::optional<NodeDraft> read_nccl_topology(const std::string& text, const std::string& file,
                                            const DeviceIdentifier& identify, Problems& problems) {
  return TopologyReader(file, identify, problems).read(text);
}

}  // namespace gradhaul
