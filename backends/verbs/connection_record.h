#pragma once

// What a rank tells all others of its ends of connections, before queue pairs are joined: a record
// with a version, in big-endian order whatever the host's, read with every length checked.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/connection.h"

namespace gradhaul {

struct RailRecord {
  std::string device;
  std::uint8_t port = 1;
  std::uint8_t link_layer = 0;
  std::uint8_t active_mtu = 0;  // ibv_mtu
  std::uint16_t lid = 0;
  std::uint16_t pkey = 0;
  std::uint32_t gid_type = 0;
  std::array<std::uint8_t, 16> gid{};
};

struct QueuePairRecord {
  std::uint32_t number = 0;
  std::uint32_t packet_number = 0;  // its first, 24 bits
};

struct EndRecord {
  ConnectionKey key;
  bool sends = false;
  std::uint32_t rail = 0;  // index into the rank's rails
  // At a receiving end: where its slots lie, and the key that opens them.
  std::uint64_t slots_address = 0;
  std::uint32_t slots_key = 0;
  std::vector<QueuePairRecord> queue_pairs;
};

struct ConnectionRecord {
  std::string error;  // why this rank can't go on; the rest is then empty
  std::uint32_t slots = 0;
  std::uint64_t slot_size = 0;
  std::uint32_t queue_pairs = 0;
  bool split_writes = false;
  bool immediate_apart = false;
  std::vector<RailRecord> rails;
  std::vector<EndRecord> ends;
};

std::vector<std::byte> encode(const ConnectionRecord& record);
// Throws VerbsError where the bytes are no such record, or of another version.
ConnectionRecord decode(std::span<const std::byte> bytes);

// The first setting that must be alike and is not, in words; empty: none.
// "slot_size is 524288, that of rank 0 1048576"
std::string first_difference(const ConnectionRecord& rank0, const ConnectionRecord& other);

}  // namespace gradhaul
