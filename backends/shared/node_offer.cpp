#include "backends/shared/node_offer.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "backends/bootstrap/connection_wire.h"

namespace gradhaul {

namespace {

bool lies_in(Bytes offset, Bytes size) { return offset.count >= 0 && offset.count < size.count; }

}  // namespace

std::string host_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::array<char, 64> space{};
  const ssize_t length = readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || length <= 0) return "";
  return boot + " " + std::string(space.data(), static_cast<std::size_t>(length)) + " user " +
         std::to_string(geteuid());
}

std::vector<std::byte> body_of(const NodeOffer& offer) {
  WireWriter writer;
  writer.text(offer.host);
  writer.i32(offer.process);
  writer.i32(offer.slots_file);
  writer.u32(static_cast<std::uint32_t>(offer.slots_handle.size()));
  writer.raw(offer.slots_handle);
  writer.i64(offer.slots_size.count);
  writer.i32(offer.links_file);
  writer.i64(offer.links_size.count);
  writer.u32(static_cast<std::uint32_t>(offer.connections.size()));
  for (const auto& [key, place] : offer.connections) {
    write_key(writer, key);
    writer.i64(place.slots_offset.count);
    writer.i64(place.link_offset.count);
  }
  return writer.bytes();
}

NodeOffer offer_in(std::span<const std::byte> body) {
  WireReader reader(body);
  NodeOffer offer;
  offer.host = reader.text();
  offer.process = reader.i32();
  offer.slots_file = reader.i32();
  const std::span<const std::byte> handle = reader.raw(reader.u32());
  offer.slots_handle.assign(handle.begin(), handle.end());
  offer.slots_size.count = reader.i64();
  offer.links_file = reader.i32();
  offer.links_size.count = reader.i64();
  for (std::uint32_t left = reader.u32(); left > 0; --left) {
    OfferedConnection& place = offer.connections[read_key(reader)];
    place.slots_offset.count = reader.i64();
    place.link_offset.count = reader.i64();
    if (!lies_in(place.slots_offset, offer.slots_size) ||
        !lies_in(place.link_offset, offer.links_size)) {
      throw WireError("a connection that lies beyond the memory that is offered");
    }
  }
  reader.expect_end();
  return offer;
}

}  // namespace gradhaul
