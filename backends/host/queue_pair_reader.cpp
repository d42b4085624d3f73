#include "backends/host/queue_pair_reader.h"

#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>

#include "backends/host/netlink_attributes.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostQueuePairs = 65536;
constexpr std::size_t kLongestText = 4 << 20;  // some 40,000 of them
constexpr const char* kTextFile = "/rdma/qp";
constexpr const char* kDebugFolder = "/sys/kernel/debug/mlx5";
// The kernel answers at once; nobody is to wait for it where it does not.
constexpr auto kLongestAnswer = std::chrono::seconds(3);

// enum ib_qp_state and ib_qp_type (include/rdma/ib_verbs.h), by the names that rdma(8) prints.
constexpr std::array kStates{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
constexpr std::array kTypes{"SMI",      "GSI",           "RC",      "UC",         "UD",
                            "RAW_IPV6", "RAW_ETHERTYPE", "UNKNOWN", "RAW_PACKET", "XRC_INI",
                            "XRC_TGT"};
constexpr unsigned kDriverType = 0xff;

std::string type_name(unsigned type) {
  if (type == kDriverType) return "DRIVER";
  return type < kTypes.size() ? kTypes[type] : "UNKNOWN";
}

std::string kernel_text(const std::string& part) {
  std::string text = "the kernel";
  return part.empty() ? text : text.append(" (").append(part).append(")");
}

std::string owner_text(const HostTree& tree, std::int64_t process, const std::string& kernel) {
  if (process <= 0) return kernel.empty() ? "" : kernel_text(kernel);
  const std::string number = std::to_string(process);
  const std::string command = tree.read("/proc/" + number + "/comm").text;
  return (command.empty() ? "" : command + ", ") + "pid " + number;
}

// A text with its terminating zero; empty where it is none, or not printable.
std::string text_in(NetlinkBytes bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    const char c = static_cast<char>(b);
    if (c == '\0') return text;
    if (c <= ' ' || c > '~') return "";
    text += c;
  }
  return "";
}

template <typename T>
void take_number(NetlinkBytes bytes, std::optional<T>& number) {
  number = netlink_beginning<T>(bytes);
}

void add_pair(const std::string& device, NetlinkBytes entry, RdmaAnswer& answer) {
  std::optional<std::uint32_t> number;
  std::optional<std::uint8_t> type;
  std::optional<std::uint8_t> state;
  std::optional<std::uint32_t> process;
  RdmaAnswer::Owned owned;
  each_netlink_attribute(entry, [&](int kind, NetlinkBytes value) {
    if (kind == RDMA_NLDEV_ATTR_RES_LQPN) take_number(value, number);
    if (kind == RDMA_NLDEV_ATTR_RES_TYPE) take_number(value, type);
    if (kind == RDMA_NLDEV_ATTR_RES_STATE) take_number(value, state);
    if (kind == RDMA_NLDEV_ATTR_RES_PID) take_number(value, process);
    if (kind == RDMA_NLDEV_ATTR_RES_KERN_NAME) owned.kernel = text_in(value);
  });
  if (!number || !state || *state >= kStates.size() || answer.pairs.size() >= kMostQueuePairs) {
    return;
  }
  HostQueuePair& pair = owned.pair;
  pair.device = device;
  pair.number = std::to_string(*number);
  if (type) pair.type = type_name(*type);
  pair.state = kStates[*state];
  pair.file = "rdma resource show qp link " + device + " lqpn " + pair.number;
  owned.process = process.value_or(0);
  answer.pairs.push_back(std::move(owned));
}

// Of one message, without its header.
void read_attributes(NetlinkBytes attributes, RdmaAnswer& answer) {
  std::optional<std::uint32_t> index;
  std::string name;
  NetlinkBytes table;
  each_netlink_attribute(attributes, [&](int kind, NetlinkBytes value) {
    if (kind == RDMA_NLDEV_ATTR_DEV_INDEX) take_number(value, index);
    if (kind == RDMA_NLDEV_ATTR_DEV_NAME) name = text_in(value);
    if (kind == RDMA_NLDEV_ATTR_RES_QP) table = value;
  });
  if (!index || name.empty()) return;
  answer.devices.push_back({*index, name});
  each_netlink_attribute(table, [&](int kind, NetlinkBytes entry) {
    if (kind == RDMA_NLDEV_ATTR_RES_QP_ENTRY) add_pair(name, entry, answer);
  });
}

std::vector<std::byte> question(int command, std::optional<std::uint32_t> device) {
  std::vector<std::byte> message(NLMSG_HDRLEN + (device ? sizeof(nlattr) + sizeof *device : 0));
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
  header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  std::memcpy(message.data(), &header, sizeof header);
  if (device) {
    nlattr attribute{};
    attribute.nla_len = sizeof attribute + sizeof *device;
    attribute.nla_type = RDMA_NLDEV_ATTR_DEV_INDEX;
    std::byte* at = message.data() + NLMSG_HDRLEN;
    std::memcpy(at, &attribute, sizeof attribute);
    std::memcpy(at + sizeof attribute, &*device, sizeof *device);
  }
  return message;
}

RdmaAnswer ask_kernel(int command, std::optional<std::uint32_t> device) {
  RdmaAnswer answer;
  const int asked = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
  if (asked < 0) {
    answer.error = errno;
    return answer;
  }
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  setsockopt(asked, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  const std::vector<std::byte> message = question(command, device);
  // The kernel fills at most 32 KiB at once.
  std::vector<std::byte> bytes(64 * 1024);
  const Clock::time_point until = Clock::now() + kLongestAnswer;
  ssize_t length = send(asked, message.data(), message.size(), 0);
  while (length > 0 && !answer.ended && answer.error == 0 && Clock::now() < until) {
    length = recv(asked, bytes.data(), bytes.size(), 0);
    if (length > 0) {
      parse_rdma_answer(NetlinkBytes(bytes).first(static_cast<std::size_t>(length)), answer);
    }
  }
  if (length < 0) answer.error = errno;
  close(asked);
  if (!answer.ended && answer.error == 0) answer.error = ETIMEDOUT;
  return answer;
}

// Answers of which devices it was told all.
std::set<std::string> ask_of_each_device(const HostTree& tree, HostInventory& host) {
  std::set<std::string> told;
  // Asking would have the kernel load what it takes to answer.
  if (host.rdma.empty()) return told;
  const RdmaAnswer known = ask_kernel(RDMA_NLDEV_CMD_GET, std::nullopt);
  int error = known.error;
  for (const RdmaAnswer::Device& device : known.devices) {
    RdmaAnswer answer = ask_kernel(RDMA_NLDEV_CMD_RES_QP_GET, device.index);
    // One that does not answer is the same with all: nobody waits for each.
    if (answer.error != 0) {
      error = answer.error;
      break;
    }
    told.insert(device.name);
    for (RdmaAnswer::Owned& owned : answer.pairs) {
      if (host.queue_pairs.size() >= kMostQueuePairs) break;
      owned.pair.owner = owner_text(tree, owned.process, owned.kernel);
      host.queue_pairs.push_back(std::move(owned.pair));
    }
  }
  host.queue_pairs_missing =
      error == 0 ? "the kernel knows no such device by netlink"
                 : "the kernel, asked by netlink: " + std::string(std::strerror(error));
  return told;
}

std::set<std::string> read_text(const HostTree& tree, HostInventory& host) {
  const FileText file = tree.read(kTextFile, kLongestText);
  host.queue_pairs = parse_rdma_text(file.text);
  std::set<std::string> told;
  // Where nothing came out, not even the kernel's own, nobody knows what it was asked.
  if (host.queue_pairs.empty()) {
    host.queue_pairs_missing = file.read() ? "it names none" : reason_of(file.status);
    return told;
  }
  for (const RdmaDevice& device : host.rdma) told.insert(device.name);
  return told;
}

void read_debug_folder(const HostTree& tree, const std::string& folder, const std::string& device,
                       HostInventory& host) {
  for (const std::string& number : tree.list(folder)) {
    HostQueuePair pair;
    pair.device = device;
    pair.number = number;
    pair.file = folder + "/" + number + "/state";
    pair.state = tree.read(pair.file).text;
    if (pair.state.empty() || host.queue_pairs.size() >= kMostQueuePairs) continue;
    const auto process = tree.number(folder + "/" + number + "/pid");
    if (process) {
      pair.owner = *process > 0 ? owner_text(tree, *process, "") : kernel_text("");
    }
    host.queue_pairs.push_back(std::move(pair));
  }
}

// Of functions of whose devices nothing else told.
void read_debug_files(const HostTree& tree, std::set<std::string>& told, HostInventory& host) {
  const bool all_told = std::all_of(host.rdma.begin(), host.rdma.end(),
                                    [&](const auto& device) { return told.contains(device.name); });
  for (std::size_t i = 0; i < host.pci.size(); ++i) {
    const std::string& address = host.pci[i].address;
    const std::string folder = std::string(kDebugFolder) + "/" + address + "/QPs";
    const std::vector<const RdmaDevice*> devices = host.rdma_of(static_cast<int>(i));
    const bool known =
        devices.empty() ? all_told && !told.empty() : told.contains(devices.front()->name);
    if (known || !tree.exists(folder)) continue;
    read_debug_folder(tree, folder, devices.empty() ? address : devices.front()->name, host);
    for (const RdmaDevice* device : devices) told.insert(device->name);
  }
}

}  // namespace

void parse_rdma_answer(std::span<const std::byte> messages, RdmaAnswer& answer) {
  while (!answer.ended) {
    const auto header = netlink_beginning<nlmsghdr>(messages);
    if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > messages.size()) break;
    const NetlinkBytes body = messages.first(header->nlmsg_len).subspan(NLMSG_HDRLEN);
    if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
      // Both begin with an errno, negated; 0 is none.
      const int code = netlink_beginning<int>(body).value_or(0);
      answer.ended = true;
      if (code < 0 && code > -4096) answer.error = -code;
    } else if (RDMA_NL_GET_CLIENT(header->nlmsg_type) == RDMA_NL_NLDEV) {
      read_attributes(body, answer);
    }
    messages = messages.subspan(std::min(netlink_aligned(header->nlmsg_len), messages.size()));
  }
}

std::vector<HostQueuePair> parse_rdma_text(const std::string& text) {
  std::vector<HostQueuePair> pairs;
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0] != "link" || pairs.size() >= kMostQueuePairs) continue;
    HostQueuePair pair;
    pair.device = words[1].substr(0, words[1].rfind('/'));
    std::string process;
    std::string command;
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      if (words[i] == "lqpn") pair.number = words[i + 1];
      if (words[i] == "type") pair.type = words[i + 1];
      if (words[i] == "state") pair.state = words[i + 1];
      if (words[i] == "pid" && words[i + 1] != "0") process = words[i + 1];
      if (words[i] != "comm") continue;
      command = words[i + 1];
      // A name may have spaces in it.
      for (; i + 2 < words.size() && words[i + 2] != "pid"; ++i) {
        command.append(" ").append(words[i + 2]);
      }
    }
    if (!whole_number(pair.number) || pair.state.empty()) continue;
    if (!process.empty()) {
      pair.owner = (command.empty() ? "" : command + ", ") + "pid " + process;
    } else if (!command.empty()) {
      // In brackets, since iproute2 5.9.
      std::erase_if(command, [](char c) { return c == '[' || c == ']'; });
      pair.owner = kernel_text(command);
    }
    pair.file = kTextFile;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

void read_queue_pairs(const HostTree& tree, HostInventory& host) {
  std::set<std::string> told =
      tree.is_running_host() ? ask_of_each_device(tree, host) : read_text(tree, host);
  read_debug_files(tree, told, host);
  for (const RdmaDevice& device : host.rdma) {
    if (!told.contains(device.name)) host.queue_pairs_hidden.push_back(device.name);
  }
}

}  // namespace gradhaul
