#pragma once

// Which entry of a port's GID table a connection goes out by. On RoCE it decides the version of the
// protocol, the VLAN and the address; the wrong one is the most frequent silent cause of "transport
// retry counter exceeded". Usable entries are ordered: RoCE v2 before v1, routable before
// link-local, IPv4 before IPv6, low index before high; and the first by which an address handle can
// be made is taken. On InfiniBand it is entry 0, the port's own.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/verbs/verbs_library.h"

namespace gradhaul {

struct GidChoice {
  std::uint32_t index = 0;
  ibv_gid gid{};
  std::uint32_t type = IBV_GID_TYPE_IB;  // ibv_gid_type
  std::string why;
};

bool is_ipv4_mapped(const ibv_gid& gid);
bool is_link_local(const ibv_gid& gid);
// Greater is better; below 0: not usable (an empty entry).
int gid_score(const ibv_gid_entry& entry);

// "::ffff:10.0.0.1" as 10.0.0.1, others as IPv6 addresses are written.
std::string gid_text(const ibv_gid& gid);
std::string gid_type_text(std::uint32_t type);  // "RoCE v2"

// `wanted`: an index that somebody asks for, or -1. Throws VerbsError where there is none, or not
// that one.
GidChoice choose_gid(VerbsLibrary& verbs, ibv_pd* pd, std::uint8_t port,
                     const ibv_port_attr& attributes, int wanted);

}  // namespace gradhaul
