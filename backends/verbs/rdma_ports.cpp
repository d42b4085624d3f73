#include "backends/verbs/rdma_ports.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <tuple>
#include <utility>

namespace gradhaul {
namespace {

std::string state_text(const ibv_port_attr& attributes) {
  const char* state = "unknown";
  switch (attributes.state) {
    case IBV_PORT_DOWN:
      state = "DOWN";
      break;
    case IBV_PORT_INIT:
      state = "INIT";
      break;
    case IBV_PORT_ARMED:
      state = "ARMED";
      break;
    case IBV_PORT_ACTIVE:
      state = "ACTIVE";
      break;
    default:
      break;
  }
  // Physical states [IBTA vol. 1, 14.2.5.6, PortPhysicalState].
  static constexpr const char* kPhysical[] = {
      "unknown",           "Sleep",  "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
      "LinkErrorRecovery", "PhyTest"};
  const auto physical = std::min<std::size_t>(attributes.phys_state, std::size(kPhysical) - 1);
  return std::string(state) + " (" + kPhysical[physical] + ")";
}

// Why a port can't be used, from what was read of it; empty: it can.
std::string unusable(const ibv_port_attr& attributes) {
  if (attributes.state != IBV_PORT_ACTIVE) {
    std::string text = state_text(attributes) + ", not ACTIVE";
    if (attributes.link_layer == IBV_LINK_LAYER_ETHERNET) {
      return text + ": its network interface is down or has no carrier";
    }
    const bool up = attributes.phys_state == 5;
    return text +
           (up ? ": the link is up, and no subnet manager has brought it to ACTIVE" : ": no link");
  }
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET &&
      attributes.link_layer != IBV_LINK_LAYER_INFINIBAND &&
      attributes.link_layer != IBV_LINK_LAYER_UNSPECIFIED) {
    return "link layer " + std::to_string(attributes.link_layer) +
           ", neither InfiniBand nor Ethernet";
  }
  return "";
}

void survey_device(VerbsLibrary& verbs, ibv_device* device, const DeviceFilter& filter,
                   PortSurvey& survey) {
  const std::string name = verbs.get_device_name(device);
  const auto open = [&] {
    errno = 0;
    return DeviceContext(verbs.open_device(device), {&verbs});
  };
  DeviceContext context = open();
  if (!context) {
    survey.skipped.push_back(name + ": can't be opened: " + errno_text(errno) +
                             ". Check the rights on /dev/infiniband/uverbs*");
    return;
  }
  ibv_device_attr device_attributes{};
  if (const int error = verbs.query_device(context.get(), &device_attributes); error != 0) {
    survey.skipped.push_back(name + ": can't be queried: " + errno_text(error));
    return;
  }
  for (int number = 1; number <= device_attributes.phys_port_cnt; ++number) {
    VerbsPort port{.device = name,
                   .port = static_cast<std::uint8_t>(number),
                   .pci_path = verbs.pci_path(device),
                   .context = context ? std::move(context) : open(),
                   .device_attributes = device_attributes,
                   .attributes = {}};
    std::string reason;
    if (!filter.takes(name, number)) {
      survey.left_out.push_back(port.name() + ": left out by the list of devices");
      context = std::move(port.context);
      continue;
    }
    if (!port.context) {
      reason = "can't be opened again: " + errno_text(errno);
    } else if (const int error = verbs.query_port(port.context.get(), port.port, &port.attributes);
               error != 0) {
      reason = "can't be queried: " + errno_text(error);
    } else {
      reason = unusable(port.attributes);
    }
    if (reason.empty()) {
      survey.usable.push_back(std::move(port));
    } else {
      survey.skipped.push_back(port.name() + ": " + reason);
      context = std::move(port.context);
    }
  }
}

}  // namespace

DeviceFilter::DeviceFilter(const std::string& text) {
  std::string rest = text;
  excludes_ = rest.starts_with('^');
  if (excludes_) rest.erase(0, 1);
  exact_ = rest.starts_with('=');
  if (exact_) rest.erase(0, 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string word = rest.substr(0, comma);
    rest.erase(0, comma == std::string::npos ? comma : comma + 1);
    if (word.empty()) continue;
    Entry entry;
    if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      const char* first = word.data() + colon + 1;
      const char* last = word.data() + word.size();
      const auto [end, error] = std::from_chars(first, last, entry.port);
      if (error != std::errc() || end != last || entry.port < 1 || entry.port > 255) {
        throw VerbsError("a list of RDMA devices is like mlx5_0,mlx5_1:2 (name:port), not `" +
                         text + "`");
      }
      word.erase(colon);
    }
    entry.name = word;
    entries_.push_back(entry);
  }
}

bool DeviceFilter::takes(const std::string& device, int port) const {
  if (entries_.empty()) return true;
  const bool listed = std::ranges::any_of(entries_, [&](const Entry& entry) {
    const bool named = exact_ ? device == entry.name : device.starts_with(entry.name);
    return named && (entry.port == 0 || entry.port == port);
  });
  return listed != excludes_;
}

PortSurvey survey_ports(VerbsLibrary& verbs, const DeviceFilter& filter) {
  int count = 0;
  errno = 0;
  ibv_device** devices = verbs.get_device_list(&count);
  if (devices == nullptr) {
    throw VerbsError("RDMA devices can't be listed: " + errno_text(errno) +
                     (errno == ENOSYS ? ": the kernel has no ib_uverbs (modprobe ib_uverbs)" : ""));
  }
  const auto free_list = [&](ibv_device** list) { verbs.free_device_list(list); };
  const std::unique_ptr<ibv_device*, decltype(free_list)> list(devices, free_list);
  PortSurvey survey;
  for (int i = 0; i < count; ++i) survey_device(verbs, devices[i], filter, survey);
  std::ranges::sort(survey.usable, {}, [](const VerbsPort& port) {
    return std::tuple(port.pci_path, port.device, port.port);
  });
  return survey;
}

int mtu_bytes(ibv_mtu mtu) { return 128 << static_cast<int>(mtu); }

ibv_mtu mtu_of(std::int64_t bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (256 << code) <= bytes) ++code;
  return static_cast<ibv_mtu>(code);
}

}  // namespace gradhaul
