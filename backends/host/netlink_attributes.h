#pragma once

// Attributes of netlink messages (linux/netlink.h): a length and a type before each value, padded
// to four bytes. Nothing is read beyond the bytes given, whatever lengths they claim.

#include <linux/netlink.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

namespace gradhaul {

using NetlinkBytes = std::span<const std::byte>;

constexpr std::size_t netlink_aligned(std::size_t length) { return (length + 3) & ~std::size_t{3}; }

// Nothing where there are too few bytes.
template <typename T>
std::optional<T> netlink_beginning(NetlinkBytes bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Each attribute of a list, up to one that cannot be.
inline void each_netlink_attribute(NetlinkBytes bytes,
                                   const std::function<void(int type, NetlinkBytes)>& visit) {
  while (const auto header = netlink_beginning<nlattr>(bytes)) {
    if (header->nla_len < sizeof(nlattr) || header->nla_len > bytes.size()) return;
    visit(header->nla_type & NLA_TYPE_MASK,
          bytes.subspan(sizeof(nlattr), header->nla_len - sizeof(nlattr)));
    bytes = bytes.subspan(std::min(netlink_aligned(header->nla_len), bytes.size()));
  }
}

}  // namespace gradhaul
