#pragma once

// What a rank tells the others of its node, so that they can write into its slots.

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/connection.h"
#include "core/quantities.h"

namespace gradhaul {

// Where one of its receiving connections lies.
struct OfferedConnection {
  Bytes slots_offset;  // in its slots
  Bytes link_offset;   // of its MemoryLink, in its links
};

struct NodeOffer {
  // Processes that say the same see each other's files: of this run of the system, of this
  // namespace of processes. Empty: it has nothing to share.
  std::string host;
  pid_t process = 0;
  int slots_file = -1;                  // of pages of the host
  std::vector<std::byte> slots_handle;  // of a device's memory (device_slots.h)
  Bytes slots_size;
  int links_file = -1;
  Bytes links_size;
  std::map<ConnectionKey, OfferedConnection> connections;
};

// Of this process; empty where the system does not say.
std::string host_identity();

std::vector<std::byte> body_of(const NodeOffer& offer);
// Throws WireError.
NodeOffer offer_in(std::span<const std::byte> body);

}  // namespace gradhaul
