#pragma once

// Packets and the flows they belong to, as an engine keeps them.

#include <cstdint>
#include <vector>

#include "sim/fabric.h"
#include "sim/state_words.h"

namespace gradhaul {

using FlowId = std::int32_t;
using PacketId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

// Packets of one kind between two ends, in order, over one route.
struct FlowSpec {
  Route route;
  // More ways that each packet may go instead, all of as many links as `route`, which is way 0 of
  // them. They part behind their first link; behind the second, way i may go on as way i +
  // `spines`.
  std::vector<Route> others;
  int spines = 1;
  TrafficClass traffic_class = TrafficClass::kPosted;
  std::uint8_t kind = 0;               // for Endpoints
  bool data = false;                   // counts packet hops
  bool notify_start = false;           // Endpoints hears when a packet starts on the first link
  bool endpoint_keeps_buffer = false;  // credits of the last link are given back by what follows
  // The flow whose deliveries bring its packets about, each at the same distance in time; kNone:
  // they may come any time.
  FlowId answers = kNone;
};

// 64 bytes: a line of cache.
struct alignas(64) Packet {
  std::int64_t ready = 0;     // at the link it waits for
  std::int64_t sequence = 0;  // within its flow
  std::int32_t next = kNone;  // behind it in the link's queue
  FlowId flow = kNone;
  std::int32_t hop = 0;          // the engine's number of flow and link together
  std::int32_t message = kNone;  // Endpoints' own
  std::int32_t payload = 0;
  // Payload that a read request asks for. Where packets may be lost, on a wire, the packet's
  // sequence number in its queue pair (PSN); of an answer, the one that is expected.
  std::int32_t asked = 0;
  LinkId ingress = kNoLink;  // whose far-end buffer it fills
  std::int32_t trace = kNone;
  std::int16_t ingress_units = 0;  // how much of it, in that link's credits
  std::int16_t extra = 0;          // bytes beside payload and the hop's overhead
  std::int16_t units = 1;  // where the hop's unit is the whole packet: read requests may be several
  bool last_part = true;   // the end of the packet; false for a piece cut off its front
  bool last_of_message = false;
  bool marked = false;    // ECN: congestion experienced
  bool negative = false;  // an answer: something is missing (NAK)
  // Such an answer, where the receiver keeps what comes early: so many in a row, from `asked` on.
  std::int16_t missing = 0;
  int ingress_copy = 0;  // of the ingress link, counted as the copies of the flow's hops
};
static_assert(sizeof(Packet) == 64);

class Endpoints {
 public:
  // A packet with notify_start has begun on its first link.
  virtual void on_first_start(const Packet& packet, std::int64_t now) = 0;
  // The packet's last bit will be there at `delivered`, which is known now. It is gone afterwards.
  virtual void on_delivery(const Packet& packet, std::int64_t delivered) = 0;
  // Or it is lost on this link, and gone afterwards.
  virtual void on_loss(const Packet& /*packet*/, LinkId /*link*/) {}
  virtual void on_event(std::uint32_t kind, std::int32_t index) = 0;
  // The state that the event stands for.
  virtual void append_event(StateWords& /*words*/, std::uint32_t /*kind*/,
                            std::int32_t /*index*/) const {}

 protected:
  ~Endpoints() = default;
};

// A packet's form on a link: computed once for each size, nearly always the same one.
struct TrainForm {
  std::int64_t key = -1;       // of the packet's sizes
  std::int64_t time = 0;       // of serialisation, rounded down to ps
  std::int64_t remainder = 0;  // what was cut off: see SerialisationCarry
  std::int32_t units = 1;
  std::int32_t credits = 0;  // what it needs of the link's
};

constexpr std::int64_t form_key(const Packet& packet) {
  return static_cast<std::int64_t>(packet.payload) << 32 |
         static_cast<std::int64_t>(static_cast<std::uint16_t>(packet.extra)) << 16 |
         static_cast<std::uint16_t>(packet.units);
}

}  // namespace gradhaul
