#include "backends/host/priority_reader.h"

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "backends/host/netlink_attributes.h"

namespace gradhaul {
namespace {

std::vector<std::byte> question(const std::string& interface) {
  const std::size_t name_length = sizeof(nlattr) + interface.size() + 1;
  std::vector<std::byte> message(NLMSG_HDRLEN + sizeof(dcbmsg) + netlink_aligned(name_length));
  nlmsghdr header{};
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  header.nlmsg_type = RTM_GETDCB;
  header.nlmsg_flags = NLM_F_REQUEST;
  dcbmsg body{};
  body.dcb_family = AF_UNSPEC;
  body.cmd = DCB_CMD_IEEE_GET;
  nlattr name{};
  name.nla_len = static_cast<std::uint16_t>(name_length);
  name.nla_type = DCB_ATTR_IFNAME;
  std::byte* at = message.data();
  std::memcpy(at, &header, sizeof header);
  std::memcpy(at += NLMSG_HDRLEN, &body, sizeof body);
  std::memcpy(at += sizeof body, &name, sizeof name);
  std::memcpy(at + sizeof name, interface.c_str(), interface.size() + 1);
  return message;
}

std::optional<PortPriorities> ask_kernel(const std::string& interface) {
  const int asked = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (asked < 0) return std::nullopt;
  // It always answers; nobody is to wait for it where it does not.
  const timeval second{.tv_sec = 1, .tv_usec = 0};
  setsockopt(asked, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  const std::vector<std::byte> message = question(interface);
  std::array<std::byte, 16384> answer;
  ssize_t length = send(asked, message.data(), message.size(), 0);
  if (length > 0) length = recv(asked, answer.data(), answer.size(), 0);
  close(asked);
  if (length <= 0) return std::nullopt;
  return parse_dcb_answer(NetlinkBytes(answer).first(static_cast<std::size_t>(length)));
}

void read_applications(NetlinkBytes table, PortPriorities& priorities) {
  each_netlink_attribute(table, [&](int type, NetlinkBytes value) {
    const auto entry = netlink_beginning<dcb_app>(value);
    if (type != DCB_ATTR_IEEE_APP || !entry || entry->selector != IEEE_8021QAZ_APP_SEL_DSCP) return;
    if (entry->protocol < 64 && entry->priority < 8) {
      priorities.of_dscp[entry->protocol] = entry->priority;
    }
  });
}

}  // namespace

std::optional<PortPriorities> parse_dcb_answer(std::span<const std::byte> message) {
  const auto header = netlink_beginning<nlmsghdr>(message);
  if (!header || header->nlmsg_type != RTM_GETDCB || header->nlmsg_len > message.size() ||
      header->nlmsg_len < NLMSG_HDRLEN + sizeof(dcbmsg)) {
    return std::nullopt;
  }
  std::optional<PortPriorities> priorities;
  const NetlinkBytes attributes =
      message.first(header->nlmsg_len).subspan(NLMSG_HDRLEN + sizeof(dcbmsg));
  each_netlink_attribute(attributes, [&](int type, NetlinkBytes of_ieee) {
    if (type != DCB_ATTR_IEEE) return;
    PortPriorities read;
    bool told = false;
    each_netlink_attribute(of_ieee, [&](int kind, NetlinkBytes value) {
      if (kind == DCB_ATTR_IEEE_APP_TABLE) read_applications(value, read);
      // Capabilities, then a bit for each priority.
      if (kind != DCB_ATTR_IEEE_PFC || value.size() < 2) return;
      told = true;
      read.pfc = std::to_integer<unsigned>(value[offsetof(ieee_pfc, pfc_en)]);
    });
    if (told) priorities = read;
  });
  return priorities;
}

std::optional<PortPriorities> parse_dcb_text(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words.front() != "prio-pfc") continue;
    PortPriorities priorities;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.size() < 4 || word[0] < '0' || word[0] > '7' || word[1] != ':') return std::nullopt;
      if (word.substr(2) == "on") priorities.pfc |= 1U << (word[0] - '0');
    }
    if (words.size() == 9) return priorities;
  }
  return std::nullopt;
}

std::optional<PortPriorities> read_priorities(const HostTree& tree, const std::string& interface) {
  if (tree.is_running_host()) return ask_kernel(interface);
  return parse_dcb_text(tree.read("/dcb/" + interface).text);
}

}  // namespace gradhaul
