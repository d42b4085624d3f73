#pragma once

// Netlink messages as the kernel lays them out: values padded to four bytes, lists of attributes.

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gradhaul {

using NetlinkMessage = std::vector<std::byte>;

inline void append_bytes(NetlinkMessage& message, const void* bytes, std::size_t length) {
  const auto* at = static_cast<const std::byte*>(bytes);
  message.insert(message.end(), at, at + length);
  message.resize((message.size() + 3) / 4 * 4);
}

// Of any value: its length is told without the padding.
inline NetlinkMessage netlink_attribute(int type, const void* value, std::size_t length) {
  nlattr header{};
  header.nla_type = static_cast<std::uint16_t>(type);
  header.nla_len = static_cast<std::uint16_t>(sizeof header + length);
  NetlinkMessage bytes;
  append_bytes(bytes, &header, sizeof header);
  append_bytes(bytes, value, length);
  return bytes;
}

inline NetlinkMessage netlink_attribute(int type, const NetlinkMessage& value) {
  return netlink_attribute(type, value.data(), value.size());
}

template <typename T>
NetlinkMessage netlink_number(int type, T value) {
  return netlink_attribute(type, &value, sizeof value);
}

inline NetlinkMessage netlink_text(int type, const std::string& text) {
  return netlink_attribute(type, text.c_str(), text.size() + 1);
}

inline NetlinkMessage joined_messages(const std::vector<NetlinkMessage>& parts) {
  NetlinkMessage all;
  for (const NetlinkMessage& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A whole one: the header, then what follows it.
inline NetlinkMessage netlink_message(int type, const NetlinkMessage& body) {
  nlmsghdr header{};
  header.nlmsg_type = static_cast<std::uint16_t>(type);
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
  NetlinkMessage message;
  append_bytes(message, &header, sizeof header);
  return joined_messages({message, body});
}

}  // namespace gradhaul
