#include "scenarios/hwloc_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <pugixml.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/xml_text.h"

namespace gradhaul {
namespace {

constexpr int kNvidia = 0x10de;
constexpr int kAmd = 0x1002;
constexpr int kIntel = 0x8086;
// Kinds of what the system makes of a device: numbers until hwloc 2, bits of a mask since 3.
constexpr int kOpenFabrics = 3;
constexpr int kOpenFabricsBit = 32;

// "0302 [10de:2330] [10de:16c1] a1": class, vendor and device.
struct PciType {
  int pci_class = -1;
  int vendor = -1;
  int device = -1;
};

int hexadecimal(std::string_view text, std::size_t at) {
  int number = -1;
  if (at + 4 > text.size()) return -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, number, 16);
  return error == std::errc{} && end == text.data() + at + 4 ? number : -1;
}

PciType type_of(const pugi::xml_node& object) {
  const std::string_view text = object.attribute("pci_type").as_string();
  PciType type;
  type.pci_class = hexadecimal(text, 0);
  const std::size_t bracket = text.find('[');
  if (bracket == std::string_view::npos) return type;
  type.vendor = hexadecimal(text, bracket + 1);
  type.device = hexadecimal(text, bracket + 6);
  return type;
}

// What manages a server has a display too.
bool is_gpu(const PciType& type) {
  const bool display = type.pci_class >> 8 == 0x03;
  const bool plain = type.pci_class == 0x0300;
  return display &&
         (type.vendor == kNvidia || type.vendor == kAmd || (type.vendor == kIntel && !plain));
}

bool is_network(const PciType& type) { return type.pci_class >> 8 == 0x02; }

std::string_view kind_of(const pugi::xml_node& object) {
  return object.attribute("type").as_string();
}

bool is_package(std::string_view kind) { return kind == "Package" || kind == "Socket"; }

class HwlocReader {
 public:
  HwlocReader(const std::string& file, const DeviceIdentifier& identify, Problems& problems)
      : file_(file), problems_(problems), node_(identify) {}

  std::optional<NodeDraft> read(const std::string& text) {
    pugi::xml_document document;
    if (!load_xml(text, file_, problems_, document)) return std::nullopt;
    const pugi::xml_node topology = document.child("topology");
    if (!topology.child("object")) {
      return fail(
          "no topology of hwloc, as lstopo --of xml writes it: it holds no <topology> "
          "with an <object>");
    }
    masks_ = std::string_view(topology.attribute("version").as_string("1")) >= "3";
    survey(topology, 0);
    for (const pugi::xml_node& object : topology.children("object")) walk(object, -1, 0);
    if (!node_.has_gpus()) {
      return fail(
          "it has no GPU, and a node has at least one; lstopo --of xml keeps devices "
          "with --whole-io (--filter io:all)");
    }
    if (unplaced_ && packages_ > 1) {
      node_.note("it does not tell at which package some devices hang; socket0 stands in");
    }
    node_.draft().sockets = std::clamp(packages_, 1, kMostImportedSockets);
    node_.take_devices();
    read_nvlink(topology);
    return std::move(node_.draft());
  }

 private:
  std::nullopt_t fail(const std::string& what) {
    problems_.add({file_, 1, 1}, what);
    return std::nullopt;
  }

  bool opens_fabrics(const pugi::xml_node& device) const {
    for (const pugi::xml_node& below : device.children("object")) {
      if (kind_of(below) != "OSDev") continue;
      const int kind = below.attribute("osdev_type").as_int(-1);
      if (masks_ ? kind >= 0 && (kind & kOpenFabricsBit) != 0 : kind == kOpenFabrics) return true;
    }
    return false;
  }

  // What stands anywhere in it, and decides how the rest is taken.
  void survey(const pugi::xml_node& parent, int depth) {
    if (depth > kDeepestImport) return;
    for (const pugi::xml_node& object : parent.children("object")) {
      if (is_package(kind_of(object)) && packages_++ == 0) read_processor(object);
      const PciType type = type_of(object);
      nvswitch_ = nvswitch_ || (type.pci_class == 0x0680 && type.vendor == kNvidia);
      rdma_ = rdma_ || (is_network(type) && opens_fabrics(object));
      survey(object, depth + 1);
    }
  }

  void read_processor(const pugi::xml_node& package) {
    std::string_view vendor;
    int family = 0;
    int model = 0;
    for (const pugi::xml_node& info : package.children("info")) {
      const std::string_view name = info.attribute("name").as_string();
      if (name == "CPUVendor") vendor = info.attribute("value").as_string();
      if (name == "CPUFamilyNumber") family = info.attribute("value").as_int();
      if (name == "CPUModelNumber") model = info.attribute("value").as_int();
    }
    std::string& cpu = node_.draft().cpu;
    if (vendor == "AuthenticAMD" &&
        ((family == 23 && model == 0x31) || (family == 25 && model <= 0x0f))) {
      cpu = "epyc-rome-milan";
    }
    if (vendor == "GenuineIntel" && family == 6 && model == 143) cpu = "sapphire-rapids";
    if (vendor == "GenuineIntel" && family == 6 && model == 85) cpu = "skylake";
  }

  // Packages are numbered as they come; bridges hang at the one that they stand in, or beside.
  void walk(const pugi::xml_node& object, int package, int depth) {
    if (depth > kDeepestImport) return;
    const std::string_view kind = kind_of(object);
    if (is_package(kind)) package = next_package_++;
    if (kind == "Bridge" || kind == "PCIDev") {
      add_below_socket(object, package, depth);
      return;
    }
    int beside = package;
    if (package < 0) {
      int packages = 0;
      for (const pugi::xml_node& below : object.children("object")) {
        if (is_package(kind_of(below))) ++packages;
      }
      if (packages == 1) beside = next_package_;
    }
    for (const pugi::xml_node& below : object.children("object")) {
      const bool io = kind_of(below) == "Bridge" || kind_of(below) == "PCIDev";
      walk(below, io ? beside : package, depth + 1);
    }
  }

  void add_below_socket(const pugi::xml_node& object, int package, int depth) {
    if (!counts(object, depth)) return;
    unplaced_ = unplaced_ || package < 0;
    const int socket = std::clamp(package, 0, kMostImportedSockets - 1);
    // A host bridge is the root complex; its ports are the links.
    const bool host = std::string_view(object.attribute("bridge_type").as_string()) == "0-1";
    const std::string parent = fmt::format("socket{}", socket);
    if (!host) {
      add(object, parent, -1, std::nullopt, depth);
      return;
    }
    for (const pugi::xml_node& port : object.children("object")) {
      if (counts(port, depth + 1)) add(port, parent, -1, std::nullopt, depth + 1);
    }
  }

  bool counts_itself(const pugi::xml_node& object) const {
    const PciType type = type_of(object);
    return is_gpu(type) || (is_network(type) && (!rdma_ || opens_fabrics(object)));
  }

  bool counts(const pugi::xml_node& object, int depth) const {
    if (depth > kDeepestImport) return false;
    if (kind_of(object) == "PCIDev") return counts_itself(object);
    if (kind_of(object) != "Bridge") return false;
    const auto below = object.children("object");
    return std::any_of(below.begin(), below.end(),
                       [&](const pugi::xml_node& each) { return counts(each, depth + 1); });
  }

  static double speed_of(const pugi::xml_node& object) {
    return object.attribute("pci_link_speed").as_double();
  }

  // `narrowest`: of the ports above that lead to nothing else.
  void add(const pugi::xml_node& object, const std::string& parent, int branch,
           std::optional<double> narrowest, int depth) {
    if (kind_of(object) == "PCIDev") {
      add_device(object, parent, branch, narrowest);
      return;
    }
    if (const double own = speed_of(object); own > 0) {
      narrowest = std::min(own, narrowest.value_or(own));
    }
    std::vector<pugi::xml_node> kept;
    for (const pugi::xml_node& below : object.children("object")) {
      if (counts(below, depth + 1)) kept.push_back(below);
    }
    if (kept.size() == 1) {
      add(kept.front(), parent, branch, narrowest, depth + 1);
      return;
    }
    const std::string place = object.attribute("pci_busid").as_string("?");
    auto link = pcie_link_of_speed(narrowest.value_or(0));
    if (!link) {
      node_.note("it does not tell the link of switch " + place + "; gen4x16 stands in");
      link = PcieLink{4, 16};
    }
    const std::string name = node_.next_switch();
    const std::size_t own = node_.add_branch(name, parent, link, "switch " + place);
    for (const pugi::xml_node& below : kept) {
      add(below, name, static_cast<int>(own), std::nullopt, depth + 1);
    }
  }

  void add_device(const pugi::xml_node& object, const std::string& parent, int branch,
                  std::optional<double> narrowest) {
    const PciType type = type_of(object);
    ImportedDevice device;
    device.place = object.attribute("pci_busid").as_string("?");
    device.model = {type.vendor, type.device};
    const double own = speed_of(object);
    device.link = pcie_link_of_speed(own > 0 ? own : narrowest.value_or(0));
    std::optional<PcieLink> at_socket = pcie_link_of_speed(
        std::min(own > 0 ? own : narrowest.value_or(0), narrowest.value_or(own)));
    if (device.link && (device.link->generation == 1 || device.link->lanes == 1)) {
      node_.note(
          fmt::format("{} had a link of gen{}x{} when lstopo looked, as GPUs do that have "
                      "nothing to do; its model's own stands here",
                      device.place, device.link->generation, device.link->lanes));
      device.link.reset();
      at_socket.reset();
    }
    device.branch = branch >= 0 ? static_cast<std::size_t>(branch)
                                : node_.add_branch("", parent, at_socket, "");
    is_gpu(type) ? node_.add_gpu(device) : node_.add_nic(device);
  }

  void read_nvlink(const pugi::xml_node& topology) {
    bool told = nvswitch_;
    for (const char* table : {"distances2", "distances2hetero"}) {
      for (const pugi::xml_node& distances : topology.children(table)) {
        told =
            told || std::string_view(distances.attribute("name").as_string()) == "NVLinkBandwidth";
      }
    }
    if (told && node_.gpu().nvlink > 0) {
      node_.draft().nvlink = BitRate{static_cast<std::int64_t>(node_.gpu().nvlink * 8e9)};
      node_.draft().nvlink_efficiency = node_.gpu().nvlink_efficiency;
      return;
    }
    node_.note("it tells of no NVSwitch: add `nvlink` where there is one (nvidia-smi topo -m)");
  }

  const std::string& file_;
  Problems& problems_;
  ImportedNode node_;
  int packages_ = 0;
  int next_package_ = 0;
  bool masks_ = false;
  bool rdma_ = false;  // some NIC does RDMA; then others don't count
  bool nvswitch_ = false;
  bool unplaced_ = false;
};

}  // namespace

std::optional<PcieLink> pcie_link_of_speed(double gigabytes) {
  static constexpr std::pair<int, double> kLanes[] = {{1, 0.25},
                                                      {2, 0.5},
                                                      {3, 8.0 / 8 * 128 / 130},
                                                      {4, 2.0 * 128 / 130},
                                                      {5, 4.0 * 128 / 130},
                                                      {6, 8.0 * 128 / 130}};
  if (!(gigabytes > 0) || !std::isfinite(gigabytes)) return std::nullopt;
  PcieLink nearest;
  double least = HUGE_VAL;
  for (const int lanes : {16, 8, 4, 2, 1}) {
    for (const auto& [generation, lane] : kLanes) {
      const double off = std::abs(std::log(gigabytes / (lane * lanes)));
      if (off >= least - 0.02) continue;
      least = off;
      nearest = {generation, lanes};
    }
  }
  return nearest;
}

std::optional<NodeDraft> read_hwloc(const std::string& text, const std::string& file,
                                    const DeviceIdentifier& identify, Problems& problems) {
  return HwlocReader(file, identify, problems).read(text);
}

}  // namespace gradhaul
