#pragma once

// How many messages of a schedule must follow each other, whatever the network: its number of
// steps. Every rank's items are played as soon as what they wait for is there, with as many slots
// as wanted; nothing but messages counts.

#include "core/schedule.h"

namespace gradhaul::oracle {

// The longest chain of messages. The schedule does not stall.
int longest_message_chain(const Schedule& schedule);

}  // namespace gradhaul::oracle
