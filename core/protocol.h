#pragma once

// What the protocols of a collective put on the wire, and in what pieces. Facts of NCCL
// (src/include/device.h): eight slots, of 512 KiB in Simple; in LL of 64 KiB, half of which is
// data; in LL128 of 614,400 B, of which 576,000 are.
//
//   simple   data, and then a flag. Over a NIC the host learns of the completion, tells the
//            receiver's kernel by a flag, and that waits for it.
//   ll       lines of 8 B, 4 of them data and 4 a flag, so that the kernel that polls them sees
//            data as it comes: nobody waits for completion and flag at the receiving end. Lines
//            lie in buffers of the protocol's own, so that the sender waits for no completion
//   ll128    lines of 128 B, 120 of them data; the same
//
// Credits return as in Simple: the sending end learns of free slots from its peer's kernel.

#include <string_view>

#include "core/communication.h"
#include "core/quantities.h"

namespace gradhaul {

constexpr std::string_view protocol_name(Protocol protocol) {
  if (protocol == Protocol::kSimple) return "simple";
  return protocol == Protocol::kLl ? "ll" : "ll128";
}

// Of each `whole` bytes `data` are data.
struct ProtocolLine {
  std::int64_t whole = 1;
  std::int64_t data = 1;
};
constexpr ProtocolLine line_of(Protocol protocol) {
  if (protocol == Protocol::kLl) return {8, 4};
  if (protocol == Protocol::kLl128) return {128, 120};
  return {};
}

// What a message of so much data is with its flags, in whole lines.
constexpr Bytes with_flags(Protocol protocol, Bytes data) {
  const ProtocolLine line = line_of(protocol);
  return {(data.count + line.data - 1) / line.data * line.whole};
}
// The same of many messages together, each of which may be more by part of a line.
constexpr Bytes with_flags_at_least(Protocol protocol, Bytes data) {
  const ProtocolLine line = line_of(protocol);
  return {static_cast<std::int64_t>(Int128{data.count} * line.whole / line.data)};
}

// Whether the receiver's kernel polls flags among the data.
constexpr bool polls_data(Protocol protocol) { return protocol != Protocol::kSimple; }

// The data of a slot where none is asked for.
constexpr Bytes usual_slot_size(Protocol protocol) {
  if (protocol == Protocol::kLl) return {32 * 1024};
  if (protocol == Protocol::kLl128) return {576'000};
  return {512 * 1024};
}

// The same plan in another protocol, with its slots.
inline Communication with_protocol(Communication communication, Protocol protocol) {
  communication.protocol = protocol;
  communication.choose_protocol = false;
  if (!communication.own_slot_size) communication.slot_size = usual_slot_size(protocol);
  return communication;
}

}  // namespace gradhaul
