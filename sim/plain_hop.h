#pragma once

// Packets of which a message has many alike: whole, read at once by the NIC, neither the first nor
// the last of their message. Nearly all packets are; stations (sim/stations.h) know beforehand what
// becomes of one on each link, and of the packet itself keep where it is.

#include <cstdint>

#include "sim/link_digest.h"
#include "sim/link_state.h"
#include "sim/packet.h"
#include "sim/waiting_ring.h"

namespace gradhaul {

// A plain packet on one link of its flow.
struct PlainHop {
  std::int64_t time = 0;  // as TrainForm has it
  std::int64_t remainder = 0;
  std::int64_t full_carry = INT64_MAX;  // remainders that make up a picosecond
  std::uint64_t part = 0;               // LinkDigest::part() of it
  // LinkDigest::record() of the last one, which began so long after the one before it on the link:
  // most often the next one does too.
  std::int64_t after = INT64_MIN;
  std::uint64_t record = 0;
  std::int32_t payload = 0;  // on this link
  std::int32_t units = 0;
  std::int32_t credits = 0;  // 0: the link wants none
  // Of what is given back as it leaves by this link, if it has not waited: what CreditRun calls so;
  // and copies on from its ingress link to here.
  ResourceId culprit = kNoResource;
  std::int32_t order = 0;
  int shift = 0;
  // What the engine counts of each: packet hops, and how often its payload was taken in by a flow
  // and put out by one, with what follows at once.
  std::int8_t hops = 0;
  std::int8_t sent = 0;
  std::int8_t delivered = 0;
  std::int8_t packets = 0;  // put on a NIC's wire
  // And not yet counted: those served, and those that the flow took in before its first link.
  std::int64_t served = 0;
  std::int64_t entered = 0;
  FlowId flow = kNone;  // of a first link
};

// What comes after a wire; no ring: nothing that takes time.
struct PlainWay {
  LinkId link = kNoLink;
  bool last = false;  // the next link is a NIC's own
  // How much of its serialisation the head does not wait for before it goes on.
  std::int64_t not_waited_for = INT64_MAX;
  WaitingRing* ring = nullptr;   // before the next link
  std::int64_t* next = nullptr;  // when the station there has something to do
  std::int32_t hop = 0;          // by which it waits there
  std::int32_t ordinal = 0;
  PlainHop* entered = nullptr;  // where that is another flow's: into the GPU's memory
  // Of the link's credits, where they are given back at once.
  ResourceId culprit = kNoResource;
  std::int32_t order = 0;
};

// By which hops plain packets of a flow of the wire go, from the GPU's memory; what is kNone takes
// no time.
struct PlainLane {
  std::int32_t request = kNone;  // the first of the pair
  std::int32_t completion = kNone;
  std::int32_t wire = kNone;
  std::int32_t request_ordinal = 0;
  std::int32_t wire_ordinal = 0;
};

}  // namespace gradhaul
