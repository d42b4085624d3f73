#include "backends/verbs/gid_choice.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "backends/verbs/verbs_objects.h"

namespace gradhaul {
namespace {

bool is_zero(const ibv_gid& gid) {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](auto byte) { return byte == 0; });
}

std::string description(const ibv_gid_entry& entry) {
  return gid_type_text(entry.gid_type) + ", " + gid_text(entry.gid);
}

// To ourselves, since the peer is not known yet: shows that the kernel has a route and an interface
// for this entry. That nobody answers for the address is no fault of the entry: a host may not be
// asked for its own by the wire.
int try_address_handle(VerbsLibrary& verbs, ibv_pd* pd, std::uint8_t port,
                       const ibv_gid_entry& entry) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = port;
  attributes.grh.dgid = entry.gid;
  attributes.grh.sgid_index = static_cast<std::uint8_t>(entry.gid_index);
  attributes.grh.hop_limit = 64;
  errno = 0;
  const AddressHandle handle(verbs.create_ah(pd, &attributes), {&verbs});
  return handle || errno == ETIMEDOUT ? 0 : errno;
}

std::vector<ibv_gid_entry> entries_of(VerbsLibrary& verbs, ibv_context* context, std::uint8_t port,
                                      int table_length) {
  std::vector<ibv_gid_entry> entries;
  for (int index = 0; index < table_length; ++index) {
    ibv_gid_entry entry{};
    // An entry of another network namespace can't be read: others may.
    if (verbs.query_gid(context, port, static_cast<std::uint32_t>(index), &entry) != 0) continue;
    entry.gid_index = static_cast<std::uint32_t>(index);
    if (gid_score(entry) >= 0) entries.push_back(entry);
  }
  return entries;
}

GidChoice wanted_gid(const std::vector<ibv_gid_entry>& entries, int wanted, int table_length) {
  for (const ibv_gid_entry& entry : entries) {
    if (static_cast<int>(entry.gid_index) != wanted) continue;
    return {entry.gid_index, entry.gid, entry.gid_type, description(entry) + ", as asked for"};
  }
  std::string text = "GID index ";
  text.append(std::to_string(wanted));
  text.append(" is empty, or not to be seen from here (the table has ");
  text.append(std::to_string(table_length)).append(" entries). In use:");
  for (const ibv_gid_entry& entry : entries) {
    text.append(" ").append(std::to_string(entry.gid_index));
    text.append(" (").append(description(entry)).append(")");
  }
  throw VerbsError(text + (entries.empty() ? " none" : ""));
}

}  // namespace

bool is_ipv4_mapped(const ibv_gid& gid) {
  static constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix.data(), kPrefix.size()) == 0;
}

bool is_link_local(const ibv_gid& gid) {
  if (is_ipv4_mapped(gid)) return gid.raw[12] == 169 && gid.raw[13] == 254;  // RFC 3927
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;                  // RFC 4291, 2.5.6
}

int gid_score(const ibv_gid_entry& entry) {
  if (is_zero(entry.gid)) return -1;
  return (entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 4 : 0) + (is_link_local(entry.gid) ? 0 : 2) +
         (is_ipv4_mapped(entry.gid) ? 1 : 0);
}

std::string gid_text(const ibv_gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ipv4_mapped(gid)) {
    inet_ntop(AF_INET, gid.raw + 12, text.data(), text.size());
  } else {
    inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
  }
  return text.data();
}

std::string gid_type_text(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return "RoCE v2";
  return type == IBV_GID_TYPE_ROCE_V1 ? "RoCE v1" : "InfiniBand";
}

GidChoice choose_gid(VerbsLibrary& verbs, ibv_pd* pd, std::uint8_t port,
                     const ibv_port_attr& attributes, int wanted) {
  std::vector<ibv_gid_entry> entries = entries_of(verbs, pd->context, port, attributes.gid_tbl_len);
  if (wanted >= 0) return wanted_gid(entries, wanted, attributes.gid_tbl_len);
  if (entries.empty()) {
    throw VerbsError(
        "no entry of its GID table is in use: the network interface below it is down, "
        "or in another network namespace. Check `ip addr` and `rdma link`");
  }
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
    const ibv_gid_entry& own = entries.front();
    return {own.gid_index, own.gid, own.gid_type, "the port's own, " + gid_text(own.gid)};
  }
  std::ranges::stable_sort(entries, std::greater<>(), gid_score);
  std::string passed_over;
  for (const ibv_gid_entry& entry : entries) {
    const int error = try_address_handle(verbs, pd, port, entry);
    if (error == 0) {
      return {entry.gid_index, entry.gid, entry.gid_type,
              description(entry) + (is_link_local(entry.gid) ? ", link-local: not routed" : "") +
                  passed_over};
    }
    passed_over.append("; not ").append(std::to_string(entry.gid_index));
    passed_over.append(" (").append(description(entry)).append("): ").append(errno_text(error));
  }
  throw VerbsError("no entry of its GID table has a route" + passed_over);
}

}  // namespace gradhaul
