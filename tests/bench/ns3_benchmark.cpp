// ns-3 as a peer of the packet model: the ring all-reduce of scenarios/ideal-ring.yaml, packet by
// packet over the same two wires a rank has there, NIC to switch and switch to NIC.
//
//     bench_ns3 [--ranks=N] [--size=BYTES] [--slice=BYTES] [--packet=BYTES] [--rate=BYTES_PER_S]
//               [--latency=PS]
//
// prints one line of JSON: the simulated time, the CPU time of the event loop alone, hops, memory.
//
// This is the leanest use of ns-3 that still moves packets as ns-3 does, chosen in its favour: bare
// PointToPointNetDevices and channels; no internet stack, no TCP, no acknowledgements, no routing
// (the switch hands on by port, as a ring needs no more), no headers but the two bytes that the
// device itself puts before each packet, payload without bytes, no checksums.
//
// What differs from gradhaul's `ideal` network, and how both are made to say the same thing:
// - The two bytes are made up for in the rate of the wire, so that a packet of P bytes takes
// P/rate.
// - ns-3's switch stores a packet before it sends it on; `ideal` defines that n bytes arrive after
//   latency + n/rate. The time of storing one full packet is therefore taken out of the latency,
//   which is the same for every packet where all are full: chunks and slices must be whole packets.

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-channel.h>
#include <ns3/point-to-point-net-device.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace gradhaul {
namespace {

constexpr std::uint16_t kProtocol = 0x0800;  // one of the two that the device knows how to frame
constexpr std::int64_t kFramingBytes = 2;    // the point-to-point protocol's field, RFC 1661

struct Ring {
  std::int64_t ranks = 32;
  std::int64_t size = 64 << 20;        // bytes a rank holds
  std::int64_t slice = 0;              // bytes received before they go on; 0: a chunk
  std::int64_t packet = 4096;          // bytes of payload
  std::int64_t rate = 50'000'000'000;  // bytes of payload a second and wire
  std::int64_t latency = 1'000'000;    // ps, last byte out of the sender to last byte in

  std::int64_t chunk() const { return size / ranks; }
  std::int64_t steps() const { return 2 * (ranks - 1); }
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "bench_ns3: %s\n", why.c_str());
  std::exit(2);
}

Ring read_ring(int count, char** arguments) {
  Ring ring;
  ns3::CommandLine command;
  command.AddValue("ranks", "ranks of the ring", ring.ranks);
  command.AddValue("size", "bytes of the message", ring.size);
  command.AddValue("slice", "bytes received before they go on; 0: a chunk", ring.slice);
  command.AddValue("packet", "bytes of payload in a packet", ring.packet);
  command.AddValue("rate", "bytes of payload a second", ring.rate);
  command.AddValue("latency", "picoseconds from NIC to NIC", ring.latency);
  command.Parse(count, arguments);
  if (ring.ranks < 2) refuse("--ranks: a ring has two ranks or more");
  if (ring.size % (ring.ranks * ring.packet) != 0) {
    refuse("--size: chunks must be whole packets, a multiple of ranks x packet");
  }
  if (ring.slice == 0) ring.slice = ring.chunk();
  if (ring.slice % ring.packet != 0 || ring.chunk() % ring.slice != 0) {
    refuse("--slice: slices must be whole packets, and a chunk whole slices");
  }
  return ring;
}

// One wire, both of whose ends are devices of their own: what a NIC sends to the switch.
struct Wire {
  ns3::Ptr<ns3::PointToPointNetDevice> near;
  ns3::Ptr<ns3::PointToPointNetDevice> far;
};

struct Sender {
  std::int64_t unsent = 0;  // packets that the NIC has not been given
  bool waiting = false;     // the NIC holds one that is not on its way yet
};

class RingWorld {
 public:
  explicit RingWorld(const Ring& ring)
      : ring_(ring),
        packets_of_slice_(ring.slice / ring.packet),
        to_forward_((ring.steps() - 1) * ring.chunk() / ring.packet),
        to_receive_(ring.steps() * ring.chunk() / ring.packet),
        senders_(static_cast<std::size_t>(ring.ranks)),
        received_(static_cast<std::size_t>(ring.ranks), 0) {
    const ns3::Ptr<ns3::Node> fabric = ns3::CreateObject<ns3::Node>();
    for (std::int64_t rank = 0; rank < ring_.ranks; ++rank) {
      wires_.push_back(connect(ns3::CreateObject<ns3::Node>(), fabric));
    }
    for (std::size_t rank = 0; rank < wires_.size(); ++rank) {
      const Wire& next = wires_[(rank + 1) % wires_.size()];
      wires_[rank].far->SetReceiveCallback(
          [this, out = next.far](ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet,
                                 std::uint16_t, const ns3::Address& to) {
            ++hops_;
            out->Send(packet->Copy(), to, kProtocol);
            return true;
          });
      wires_[rank].near->TraceConnectWithoutContext(
          "PhyTxBegin", ns3::MakeBoundCallback(&RingWorld::begin_packet, this, rank));
      wires_[rank].near->SetReceiveCallback([this, rank](ns3::Ptr<ns3::NetDevice>,
                                                         ns3::Ptr<const ns3::Packet>, std::uint16_t,
                                                         const ns3::Address&) {
        ++hops_;
        receive(rank);
        return true;
      });
    }
  }

  void run() {
    for (std::size_t rank = 0; rank < wires_.size(); ++rank) {
      for (std::int64_t sent = 0; sent < ring_.chunk(); sent += ring_.slice) send_slice(rank);
    }
    ns3::Simulator::Run();
    for (const std::int64_t count : received_) {
      if (count != to_receive_) refuse("a rank did not receive all of its packets");
    }
  }

  std::int64_t hops() const { return hops_; }

 private:
  Wire connect(const ns3::Ptr<ns3::Node>& host, const ns3::Ptr<ns3::Node>& fabric) const {
    // Exact for packets of 4096 bytes: 50 GB/s of payload are 400'195'312'500 b/s with framing.
    const auto framed = static_cast<std::uint64_t>(
        8 * (ring_.rate / ring_.packet * (ring_.packet + kFramingBytes) +
             ring_.rate % ring_.packet * (ring_.packet + kFramingBytes) / ring_.packet));
    const std::int64_t stored = ring_.packet * 1'000'000'000'000 / ring_.rate;
    if (ring_.latency < stored || (ring_.latency - stored) % 2 != 0) {
      refuse("--latency: storing one packet and twice a wire's latency, in whole picoseconds");
    }
    const auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
    channel->SetAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds((ring_.latency - stored) / 2)));
    const auto device = [&](const ns3::Ptr<ns3::Node>& node) {
      auto made = ns3::CreateObject<ns3::PointToPointNetDevice>();
      made->SetDataRate(ns3::DataRate(framed));
      made->SetMtu(static_cast<std::uint16_t>(ring_.packet));
      made->SetQueue(ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>());
      made->SetAddress(ns3::Mac48Address::Allocate());
      node->AddDevice(made);
      made->Attach(channel);
      return made;
    };
    return {device(host), device(fabric)};
  }

  void send_slice(std::size_t rank) {
    senders_[rank].unsent += packets_of_slice_;
    offer(rank);
  }

  // One packet waits in the NIC while another is on its way: a queue of all of them gives the
  // same answer, but takes ns-3 half as long again, as they fall out of the caches.
  void offer(std::size_t rank) {
    Sender& sender = senders_[rank];
    if (sender.unsent == 0 || sender.waiting) return;
    --sender.unsent;
    sender.waiting = true;
    const ns3::Ptr<ns3::PointToPointNetDevice>& nic = wires_[rank].near;
    nic->Send(ns3::Create<ns3::Packet>(static_cast<std::uint32_t>(ring_.packet)),
              nic->GetBroadcast(), kProtocol);
  }

  static void begin_packet(RingWorld* world, std::size_t rank, ns3::Ptr<const ns3::Packet>) {
    world->senders_[rank].waiting = false;
    world->offer(rank);
  }

  // Packets of a wire stay in order, so that their count says which slice is whole.
  void receive(std::size_t rank) {
    const std::int64_t count = ++received_[rank];
    if (count <= to_forward_ && count % packets_of_slice_ == 0) send_slice(rank);
  }

  Ring ring_;
  std::int64_t packets_of_slice_;
  std::int64_t to_forward_;  // packets of a rank that go on: all steps' but the last one's
  std::int64_t to_receive_;
  std::vector<Wire> wires_;             // one a rank
  std::vector<Sender> senders_;         // one a rank
  std::vector<std::int64_t> received_;  // packets, one count a rank
  std::int64_t hops_ = 0;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Of this program alone: getrusage counts what the process held that became this one by exec, too.
std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

int benchmark(int count, char** arguments) {
  ns3::Time::SetResolution(ns3::Time::PS);
  const Ring ring = read_ring(count, arguments);
  RingWorld world(ring);
  const double start = cpu_seconds();
  world.run();
  const double cpu = cpu_seconds() - start;
  std::printf("{\"ranks\": %" PRId64 ", \"size_bytes\": %" PRId64 ", \"time_ps\": %" PRId64
              ", \"cpu_s\": %.6f, \"packet_hops\": %" PRId64 ", \"peak_rss_bytes\": %" PRId64 "}\n",
              ring.ranks, ring.size, ns3::Simulator::Now().GetPicoSeconds(), cpu, world.hops(),
              peak_resident_bytes());
  ns3::Simulator::Destroy();
  return 0;
}

}  // namespace
}  // namespace gradhaul

int main(int count, char** arguments) { return gradhaul::benchmark(count, arguments); }
