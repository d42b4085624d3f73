#include "analysis/captured_frame.h"

#include <algorithm>
#include <string>

#include "analysis/packet_checks.h"
#include "core/infiniband_framing.h"
#include "core/roce_framing.h"

namespace gradhaul {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

constexpr std::size_t kIcrc = 4;
constexpr std::size_t kVcrc = 2;
constexpr std::size_t kEthernet = 14;
constexpr std::uint64_t kVlan = 100;
constexpr std::size_t kIpv4 = 20;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kLeastEthernet = 60;  // without FCS
constexpr std::uint16_t kRocePort = 4791;

// In network order.
void put(Bytes8& to, std::uint64_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
void put_low_first(Bytes8& to, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_mac(Bytes8& to, const NicPlace& nic) {
  put(to, 0x0200'00, 3);
  put(to, static_cast<std::uint64_t>(nic.node), 2);
  put(to, static_cast<std::uint64_t>(nic.nic), 1);
}

// Any that is no NIC's.
void put_switch_mac(Bytes8& to, const std::string& port) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : port) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619;
  put(to, 0x0201, 2);
  put(to, hash, 4);
}

std::uint8_t opcode_of(PacketKind kind) {
  switch (kind) {
    case PacketKind::kWriteFirst:
      return 0x06;
    case PacketKind::kWriteMiddle:
      return 0x07;
    case PacketKind::kWriteLast:
      return 0x09;  // with immediate
    case PacketKind::kWriteOnly:
      return 0x0B;  // with immediate
    case PacketKind::kAcknowledge:
      return 0x11;
    case PacketKind::kNotification:
      break;
  }
  return 0x81;
}

std::size_t padding_of(const PortPacket& packet) {
  return static_cast<std::size_t>(-packet.payload.count & 3);
}

void put_base_transport(Bytes8& to, const PortPacket& packet) {
  const bool ends = packet.kind == PacketKind::kWriteLast || packet.kind == PacketKind::kWriteOnly;
  const bool notifies = packet.kind == PacketKind::kNotification;
  put(to, opcode_of(packet.kind), 1);
  // Migrated, the usual state of a connection that knows no other path; and the padding.
  put(to, notifies ? 0 : 0x40 | padding_of(packet) << 4, 1);
  put(to, 0xFFFF, 2);               // the default partition
  put(to, notifies ? 0x40 : 0, 1);  // BECN
  put(to, packet.queue_pair, 3);
  put(to, ends ? 0x80 : 0, 1);  // asks for an acknowledgement
  put(to, packet.sequence, 3);
}

// What follows BTH.
void put_extended_transport(Bytes8& to, const PortPacket& packet) {
  const bool begins =
      packet.kind == PacketKind::kWriteFirst || packet.kind == PacketKind::kWriteOnly;
  const bool ends = packet.kind == PacketKind::kWriteLast || packet.kind == PacketKind::kWriteOnly;
  if (begins) {
    put(to, packet.address, 8);
    put(to, packet.key, 4);
    put(to, static_cast<std::uint64_t>(packet.length.count), 4);
  }
  if (ends) put(to, packet.immediate, 4);
  if (packet.kind == PacketKind::kAcknowledge) {
    put(to, 0x1F, 1);  // ACK, without end-to-end credits
    put(to, packet.message_sequence, 3);
  }
  if (packet.kind == PacketKind::kNotification) {
    to.insert(to.end(), static_cast<std::size_t>(kNotificationBytes.count), 0);
  }
}

// DSCP and ECN.
std::uint64_t traffic_class_of(const PortPacket& packet) {
  const bool notifies = packet.kind == PacketKind::kNotification;
  const int ecn = packet.marked ? 3 : packet.markable ? 2 : 0;
  return static_cast<std::uint64_t>((notifies ? kNotificationDscp : kDataDscp) << 2 | ecn);
}

// The tag and the type of what follows. Notifications have a priority of their own, that of their
// DSCP.
void put_type(Bytes8& to, const PortPacket& packet, const FrameForm& form) {
  if (form.vlan) {
    const bool notifies = packet.kind == PacketKind::kNotification;
    const std::uint64_t priority = notifies ? kNotificationDscp / 8 : kLosslessPriority;
    put(to, 0x8100, 2);
    put(to, priority << 13 | kVlan, 2);
  }
  put(to, form.ipv6 ? 0x86DD : 0x0800, 2);
}

void put_ipv4(Bytes8& to, const PortPacket& packet, std::size_t payload) {
  const std::size_t begin = to.size();
  put(to, 0x45, 1);
  put(to, traffic_class_of(packet), 1);
  put(to, kIpv4 + payload, 2);
  put(to, 0, 2);
  put(to, 0x4000, 2);  // not to be fragmented
  put(to, 64, 1);      // time to live
  put(to, 17, 1);
  put(to, 0, 2);
  for (const NicPlace& nic : {packet.source, packet.destination}) {
    put(to, 10, 1);
    put(to, static_cast<std::uint64_t>(nic.node), 2);
    put(to, static_cast<std::uint64_t>(nic.nic + 1), 1);
  }
  const std::uint16_t sum = internet_checksum(to.data() + begin, kIpv4);
  to[begin + 10] = static_cast<std::uint8_t>(sum >> 8);
  to[begin + 11] = static_cast<std::uint8_t>(sum);
}

// IPv6's header, and GRH, which is like it.
void put_ipv6(Bytes8& to, const PortPacket& packet, std::uint64_t traffic_class,
              std::size_t payload, std::uint64_t next, std::uint64_t prefix) {
  put(to, 6U << 28 | traffic_class << 20, 4);
  put(to, payload, 2);
  put(to, next, 1);
  put(to, 64, 1);  // hop limit
  for (const NicPlace& nic : {packet.source, packet.destination}) {
    put(to, prefix, 2);
    put(to, 0, 8);
    put(to, static_cast<std::uint64_t>(nic.node / 256), 2);
    put(to, static_cast<std::uint64_t>(nic.node % 256), 2);
    put(to, static_cast<std::uint64_t>(nic.nic + 1), 2);
  }
}

void put_udp(Bytes8& to, const PortPacket& packet, std::size_t transport) {
  put(to, packet.udp_source_port, 2);
  put(to, kRocePort, 2);
  put(to, kUdp + transport, 2);
  put(to, 0, 2);  // no checksum: ICRC is there for that
}

// The headers, then as much of the payload as is kept; whether all of it is.
bool put_payload(Bytes8& to, std::size_t payload, std::size_t checks, std::size_t snap) {
  const bool whole = to.size() + payload + checks <= snap;
  const std::size_t room = snap > to.size() ? snap - to.size() : 0;
  to.insert(to.end(), whole ? payload : std::min(payload, room), 0);
  if (to.size() > snap) to.resize(snap);
  return whole;
}

}  // namespace

CapturedFrame roce_frame(const PortPacket& packet, std::size_t snap, const FrameForm& form) {
  Bytes8 transport;
  put_base_transport(transport, packet);
  put_extended_transport(transport, packet);
  const std::size_t payload = static_cast<std::size_t>(packet.payload.count) + padding_of(packet);
  CapturedFrame frame;
  put_mac(frame.bytes, packet.destination);
  put_mac(frame.bytes, packet.source);
  put_type(frame.bytes, packet, form);
  const std::size_t behind_udp = transport.size() + payload + kIcrc;
  if (form.ipv6) {
    put_ipv6(frame.bytes, packet, traffic_class_of(packet), kUdp + behind_udp, 17, 0xFD00);
  } else {
    put_ipv4(frame.bytes, packet, kUdp + behind_udp);
  }
  put_udp(frame.bytes, packet, behind_udp);
  frame.bytes.insert(frame.bytes.end(), transport.begin(), transport.end());
  frame.length = frame.bytes.size() + payload + kIcrc;
  if (put_payload(frame.bytes, payload, kIcrc, snap)) {
    const std::ptrdiff_t link = kEthernet + (form.vlan ? kVlanTag.count : 0);
    put_low_first(frame.bytes,
                  invariant_crc_of_roce({frame.bytes.begin() + link, frame.bytes.end()}), kIcrc);
  }
  return frame;
}

CapturedFrame infiniband_frame(const PortPacket& packet, int nics, std::size_t snap,
                               const FrameForm& form) {
  const auto lid = [&](const NicPlace& nic) {
    return static_cast<std::uint64_t>(1 + nic.node * nics + nic.nic);
  };
  Bytes8 transport;
  put_base_transport(transport, packet);
  put_extended_transport(transport, packet);
  const std::size_t payload = static_cast<std::size_t>(packet.payload.count) + padding_of(packet);
  constexpr std::size_t kLocalRoute = 8;
  const std::size_t behind = transport.size() + payload + kIcrc;
  const std::size_t global = form.grh ? static_cast<std::size_t>(kGrhBytes.count) : 0;
  CapturedFrame frame;
  put(frame.bytes, 0, 1);                 // virtual lane 0
  put(frame.bytes, form.grh ? 3 : 2, 1);  // service level 0; GRH or BTH follows
  put(frame.bytes, lid(packet.destination), 2);
  put(frame.bytes, (kLocalRoute + global + behind) / 4, 2);
  put(frame.bytes, lid(packet.source), 2);
  if (form.grh) put_ipv6(frame.bytes, packet, 0, behind, 0x1B, 0xFE80);
  frame.bytes.insert(frame.bytes.end(), transport.begin(), transport.end());
  frame.length = frame.bytes.size() + payload + kIcrc + kVcrc;
  if (put_payload(frame.bytes, payload, kIcrc + kVcrc, snap)) {
    put_low_first(frame.bytes, invariant_crc_of_infiniband(frame.bytes), kIcrc);
    put_low_first(frame.bytes, variant_crc(frame.bytes), kVcrc);
  }
  return frame;
}

CapturedFrame pause_frame(const PortPause& pause) {
  CapturedFrame frame;
  put(frame.bytes, 0x0180'C200'0001, 6);
  NicPlace nic;
  if (std::sscanf(pause.sender.c_str(), "node%d.nic%d", &nic.node, &nic.nic) == 2) {
    put_mac(frame.bytes, nic);
  } else {
    put_switch_mac(frame.bytes, pause.sender);
  }
  put(frame.bytes, 0x8808, 2);
  put(frame.bytes, 0x0101, 2);
  put(frame.bytes, 1U << kLosslessPriority, 2);
  for (int priority = 0; priority < 8; ++priority) {
    const bool paused = pause.pause && priority == kLosslessPriority;
    put(frame.bytes, paused ? static_cast<std::uint64_t>(kMostPauseQuanta) : 0, 2);
  }
  frame.bytes.resize(kLeastEthernet, 0);
  frame.length = kLeastEthernet;
  return frame;
}

}  // namespace gradhaul
