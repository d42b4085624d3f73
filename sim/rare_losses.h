#pragma once

// Bit errors too rare to show in one run: how often they come if such runs follow each other, and
// what one of them costs, in closed form.
//
//   in the middle   what is sent from the lost packet on until its sender is told is sent again:
//   one
//                   round of an idle path, and what the NIC has asked for and not sent by then, its
//                   transmit buffer or what the wire takes while a read is on its way:
//                     max(buffer / rate, read) + way + slot + way of the answer
//                   Where the receiver keeps what comes behind it (selective repeat), its own slot.
//                   Where it places what comes in any order, and a gap is no sign of a loss, nobody
//                   is told: as at the end.
//   at the end      of a queue pair's last packet, or of its acknowledgement, nobody is told: the
//   ACK
//                   timeout
//
// Expected losses are bits times rate, of all bits that came to cross such links in the run.

#include <string>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

class Fabric;
class FinishedRun;
class PacketTransport;
struct Path;
struct Wiring;

struct LossCost {
  Duration middle;
  Duration end;      // 0: the timer is off
  bool told = true;  // of one in the middle
};

// Of the packets of one path, which is of a NIC.
LossCost loss_cost(const Fabric& fabric, const Wiring& wiring, const Path& path);

// A sentence, where bit errors are so rare; nothing where there are none, or where the run has seen
// enough of them.
std::vector<std::string> loss_notes(const FinishedRun& world, const Wiring& wiring,
                                    const PacketTransport& transport);

}  // namespace gradhaul
