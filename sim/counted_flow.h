#pragma once

// What messages that travel alike put on a way, as sim/load_counter.cpp counts it.

#include <cstdint>

namespace gradhaul {

// So many pieces, at least one, of `piece` bytes.
constexpr std::int64_t pieces(std::int64_t bytes, std::int64_t piece) {
  return bytes <= piece ? 1 : (bytes + piece - 1) / piece;
}

struct CountedFlow {
  std::int64_t connections = 0;
  std::int64_t messages = 0;
  std::int64_t payload = 0;
  std::int64_t packets = 0;
  std::int64_t requests = 0;    // reads of the payload
  std::int64_t tlps = 0;        // of max_payload
  std::int64_t split_tlps = 0;  // of what a root complex makes of them
  std::int64_t host_tlps = 0;   // in which a root complex answers
  // Staged, and counted on the socket's memory as what a NIC or another copy moves: there the
  // connections are the same.
  bool known_in_memory = false;
  CountedFlow again() const {
    CountedFlow same = *this;
    same.known_in_memory = true;
    return same;
  }
  void add(const CountedFlow& other, std::int64_t times) {
    connections += other.connections * times;
    messages += other.messages * times;
    payload += other.payload * times;
    packets += other.packets * times;
    requests += other.requests * times;
    tlps += other.tlps * times;
    split_tlps += other.split_tlps * times;
    host_tlps += other.host_tlps * times;
  }
};

}  // namespace gradhaul
