// Flows of packets over chains of wires, moved by ns-3: a peer for the packet engine, asked by
// packet_flows_test.cpp.
//
//     ns3_flows FILE
//
// FILE holds, a line each:
//   link RATE LATENCY                         bits a second; ps from the last bit sent to it there
//   flow START PACKETS BYTES LINK [LINK …]    ps; bytes on the wire; links by their line, from 0
// Printed is for each flow, a line each, the picosecond at which its last packet is there whole.
//
// A link is a PointToPointNetDevice with an endless queue, first come first served; whoever
// receives a packet hands it to the next link of its flow when it is there whole. No stack, no
// headers but the two bytes of the device's own, which are part of BYTES.

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-channel.h>
#include <ns3/point-to-point-net-device.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace gradhaul {
namespace {

constexpr std::uint16_t kProtocol = 0x0800;  // one of the two that the device knows how to frame
constexpr std::uint32_t kFramingBytes = 2;   // the point-to-point protocol's field, RFC 1661

struct Flow {
  std::int64_t start = 0;
  std::int64_t packets = 0;
  std::uint32_t bytes = 0;
  std::vector<std::size_t> links;
  std::int64_t end = 0;
};

// Where a packet is, by ns-3's number of it, which copies keep.
struct Progress {
  std::size_t flow = 0;
  std::size_t hop = 0;
};

class World {
 public:
  bool read(const char* file) {
    std::ifstream input(file);
    for (std::string line; std::getline(input, line);) {
      std::istringstream words(line);
      std::string kind;
      words >> kind;
      if (kind == "link") {
        std::uint64_t rate = 0;
        std::int64_t latency = 0;
        if (!(words >> rate >> latency)) return false;
        add_link(rate, latency);
      } else if (kind == "flow") {
        Flow flow;
        if (!(words >> flow.start >> flow.packets >> flow.bytes)) return false;
        for (std::size_t link = 0; words >> link;) flow.links.push_back(link);
        flows_.push_back(flow);
      }
    }
    return !links_.empty() && !flows_.empty();
  }

  void run() {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      ns3::Simulator::Schedule(ns3::PicoSeconds(flows_[i].start), &World::begin, this, i);
    }
    ns3::Simulator::Run();
    for (const Flow& flow : flows_) std::printf("%" PRId64 "\n", flow.end);
  }

 private:
  void add_link(std::uint64_t rate, std::int64_t latency) {
    const auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
    channel->SetAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(latency)));
    const auto device = [&] {
      const auto node = ns3::CreateObject<ns3::Node>();
      auto made = ns3::CreateObject<ns3::PointToPointNetDevice>();
      made->SetDataRate(ns3::DataRate(rate));
      const auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
      queue->SetMaxSize(ns3::QueueSize("4000000000p"));
      made->SetQueue(queue);
      made->SetAddress(ns3::Mac48Address::Allocate());
      node->AddDevice(made);
      made->Attach(channel);
      return made;
    };
    links_.push_back(device());
    device()->SetReceiveCallback([this](ns3::Ptr<ns3::NetDevice>,
                                        ns3::Ptr<const ns3::Packet> packet, std::uint16_t,
                                        const ns3::Address&) {
      arrive(packet);
      return true;
    });
  }

  void begin(std::size_t index) {
    const Flow& flow = flows_[index];
    for (std::int64_t i = 0; i < flow.packets; ++i) {
      const auto packet = ns3::Create<ns3::Packet>(flow.bytes - kFramingBytes);
      under_way_[packet->GetUid()] = {index, 0};
      send(flow.links.front(), packet);
    }
  }

  void send(std::size_t link, const ns3::Ptr<ns3::Packet>& packet) {
    links_[link]->Send(packet, links_[link]->GetBroadcast(), kProtocol);
  }

  void arrive(const ns3::Ptr<const ns3::Packet>& packet) {
    Progress& progress = under_way_.at(packet->GetUid());
    Flow& flow = flows_[progress.flow];
    if (++progress.hop < flow.links.size()) return send(flow.links[progress.hop], packet->Copy());
    flow.end = ns3::Simulator::Now().GetPicoSeconds();
  }

  std::vector<ns3::Ptr<ns3::PointToPointNetDevice>> links_;  // their sending ends
  std::vector<Flow> flows_;
  std::unordered_map<std::uint64_t, Progress> under_way_;
};

int run(int count, char** arguments) {
  ns3::Time::SetResolution(ns3::Time::PS);
  World world;
  if (count != 2 || !world.read(arguments[1])) {
    std::fprintf(stderr, "ns3_flows: FILE with lines \"link …\" and \"flow …\"\n");
    return 2;
  }
  world.run();
  ns3::Simulator::Destroy();
  return 0;
}

}  // namespace
}  // namespace gradhaul

int main(int count, char** arguments) { return gradhaul::run(count, arguments); }
