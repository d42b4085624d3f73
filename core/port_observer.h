#pragma once

// What crosses chosen ports of a simulated network, packet by packet, told to whoever asked for it
// (PredictionRequest::port_observer). Times are ps since the start of the row.

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

// Of reliable connections [IBTA vol. 1, 9.2; annex A17]. Each write brings immediate data.
enum class PacketKind : std::uint8_t {
  kWriteFirst,
  kWriteMiddle,
  kWriteLast,
  kWriteOnly,
  kAcknowledge,
  kNotification,  // of congestion (CNP)
};

struct NicPlace {
  int node = 0;
  int nic = 0;
};

struct PortPacket {
  std::int32_t port = 0;  // index of PortObserver::ports()
  bool sent = false;      // by the port; else it receives
  std::int64_t time = 0;  // of the first bit at the port
  PacketKind kind = PacketKind::kWriteMiddle;
  NicPlace source;
  NicPlace destination;
  std::uint16_t udp_source_port = 0;
  std::uint32_t queue_pair = 0;  // at the destination; 24 bits, as are all of these
  std::uint32_t sequence = 0;    // packet sequence number, of what is acknowledged for an answer
  std::uint32_t message_sequence = 0;  // kAcknowledge
  Bytes payload;
  bool markable = false;  // ECN-capable
  bool marked = false;
  // Of the write: where it goes, how long it is, and its immediate data.
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  Bytes length;
  std::uint32_t immediate = 0;
};

// A PFC frame.
struct PortPause {
  std::int32_t port = 0;
  bool sent = false;
  std::int64_t time = 0;
  bool pause = false;  // else: go on
  std::string sender;  // "node0.nic0", "leaf0:3"
};

class PortObserver {
 public:
  // As counters name them.
  virtual const std::vector<std::string>& ports() const = 0;

  // Both in the order of time.
  virtual void on_packet(const PortPacket& packet) = 0;
  virtual void on_pause_frame(const PortPause& pause) = 0;
  // Times of the next row begin anew.
  virtual void on_row_end(std::int64_t end) = 0;

 protected:
  ~PortObserver() = default;
};

}  // namespace gradhaul
