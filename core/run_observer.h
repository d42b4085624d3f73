#pragma once

// What a simulated run is seen to do, told to whoever asked for it (PredictionRequest::observer) as
// plain data. Times are ps since the start of the row; links go by their numbers in the layout.
// Looking changes nothing of what happens.

#include <cstdint>
#include <string>
#include <vector>

#include "core/connection.h"
#include "core/quantities.h"

namespace gradhaul {

// One direction of a wire, a PCIe link or NVLink.
struct ObservedLink {
  std::string name;  // "node0.nic0.pcie.up"
  std::string port;  // "node0.nic0", as counters name it; empty: no port's
};

// What a row consists of.
struct RunLayout {
  Bytes size;
  int channels = 0;
  int lanes = 1;                   // of a channel
  std::vector<std::string> ranks;  // by rank: "node0.gpu0"
  std::vector<ObservedLink> links;
};

// Which slice of the schedule, as the rank in question sees it (core/schedule.h).
struct SlicePlace {
  std::int32_t channel = 0;
  std::int32_t lane = 0;
  std::int64_t step = 0;
  // Among the chunks of the channel, in the order of their elements.
  std::int64_t chunk = 0;
  std::int64_t slice = 0;  // of the chunk
};

// A slice that went from one rank to another.
struct ObservedTransfer {
  ConnectionKey connection;
  std::int64_t sequence = 0;  // among the writes of the connection
  SlicePlace place;           // at the sender
  Bytes bytes;
  std::int64_t ready = 0;    // could be sent but for a free slot at the receiver
  std::int64_t posted = 0;   // not before `ready`; equal where a slot was free
  std::int64_t left = 0;     // its first packet leaves the NIC, or the GPU for a peer in its node
  std::int64_t landing = 0;  // its first packet is in the NIC at the far end, or with the peer
  std::int64_t landed = 0;   // its last one
  std::int64_t arrived = 0;  // readable, and known to the receiver's kernel
  std::int64_t done = 0;     // completed at the sender
};

// What a kernel did for one slice.
struct ObservedOperation {
  Rank rank = 0;
  SlicePlace place;  // at this rank
  bool reduces = false;
  Bytes bytes;
  bool receives = false;  // from this connection, which write of it
  ConnectionKey connection;
  std::int64_t sequence = 0;
  std::int64_t asked = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// A link sent a packet, or a piece of one.
struct ObservedService {
  std::int32_t link = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  Bytes wire;
};

enum class HoldCause : std::uint8_t {
  kPaused,   // PFC held the transmitter, whether or not it had something to send
  kCredits,  // a packet was ready, and the receiver's credits lacked
};

class RunObserver {
 public:
  // Asked once for each link of a row, before on_row(): whether to tell of it.
  virtual bool watches(const ObservedLink& link) const = 0;

  virtual void on_row(const RunLayout& layout) = 0;
  // Each when it is over. Of one link, services come in the order of their starts.
  virtual void on_transfer(const ObservedTransfer& transfer) = 0;
  virtual void on_operation(const ObservedOperation& operation) = 0;
  virtual void on_service(const ObservedService& service) = 0;
  // So many wire bytes began, or (less than 0) ceased to wait before the link.
  virtual void on_queued(std::int32_t link, std::int64_t time, Bytes wire) = 0;
  virtual void on_hold(std::int32_t link, HoldCause cause, std::int64_t since,
                       std::int64_t until) = 0;
  // `finished`: else it was interrupted at `end`.
  virtual void on_row_end(std::int64_t end, bool finished) = 0;

 protected:
  ~RunObserver() = default;
};

}  // namespace gradhaul
