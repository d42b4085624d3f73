#include "sim/station_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/infiniband_framing.h"
#include "core/packet_loss.h"
#include "sim/receive_wiring.h"

namespace gradhaul {
namespace {

// ps: what takes less is stepped by events as quickly.
constexpr std::int64_t kShortestWindow = 20'000;

bool world_allows(const PredictionRequest& request) {
  const Cluster& cluster = request.cluster;
  const Network& network = cluster.network;
  return network.kind != NetworkKind::kEthernet && !network.tcp && cluster.nodes > 1 &&
         !numbers_packets(cluster) && cluster.faults.storms.empty() &&
         cluster.node.nic.queue_pair_rate == 0 && !chooses_ways(network.routing) &&
         request.observer == nullptr && request.port_observer == nullptr;
}

class StationPlanner {
 public:
  StationPlanner(const PredictionRequest& request, const Fabric& fabric, const Wiring& wiring)
      : request_(request), fabric_(fabric), wiring_(wiring) {}

  std::optional<StationPlan> plan();

 private:
  bool take_flow(const FlowSpec& flow);
  bool take_pair(const Route& route, bool answers);
  bool take_wire(const Route& route);
  bool pairs_serve_alike(const Route& route) const;
  bool read_whole_packets() const;
  bool sends_at_once() const;
  void name_injectors();
  bool sort_wires();
  void measure_ways();
  bool goes_back() const;
  StationPlan::Nic& nic_of(LinkId link);

  const PredictionRequest& request_;
  const Fabric& fabric_;
  const Wiring& wiring_;
  std::map<std::string, StationPlan::Nic> nics_;  // "node0.nic3"
  std::map<LinkId, std::set<LinkId>> feeders_;    // of wires behind the NICs
  std::set<LinkId> taken_;                        // PCIe links
  StationPlan plan_;
};

// By the first two parts of the name of one of its links.
StationPlan::Nic& StationPlanner::nic_of(LinkId link) {
  const std::string& name = fabric_.link(link).name;
  const std::size_t end = name.find('.', name.find('.') + 1);
  return nics_[name.substr(0, end)];
}

bool StationPlanner::pairs_serve_alike(const Route& route) const {
  const Link& first = fabric_.link(route[0].link);
  const Link& second = fabric_.link(route[1].link);
  return first.kind == LinkKind::kPcie && second.kind == LinkKind::kPcie &&
         first.rate == second.rate && !first.rate.unlimited() && route[0].unit == route[1].unit &&
         route[0].overhead == route[1].overhead;
}

// Requests and writes leave by the NIC's own link, answers come in by it.
bool StationPlanner::take_pair(const Route& route, bool answers) {
  if (route.empty()) return true;  // the ideal GPU: it takes no time
  if (route.size() != 2 || !pairs_serve_alike(route)) return false;
  StationPlan::Nic& nic = nic_of(route[answers ? 1 : 0].link);
  LinkId(&pair)[2] = answers ? nic.answer : nic.up;
  for (int i = 0; i < 2; ++i) {
    const LinkId link = route[static_cast<std::size_t>(i)].link;
    if (pair[i] == kNoLink && !taken_.insert(link).second) return false;
    if (pair[i] != kNoLink && pair[i] != link) return false;
    pair[i] = link;
  }
  return true;
}

bool StationPlanner::take_wire(const Route& route) {
  if (route.empty()) return false;
  LinkId& out = nic_of(route.front().link).out;
  if (out != kNoLink && out != route.front().link) return false;  // a bond of ports
  out = route.front().link;
  for (std::size_t i = 1; i < route.size(); ++i) {
    feeders_[route[i].link].insert(route[i - 1].link);
  }
  return true;
}

bool StationPlanner::take_flow(const FlowSpec& flow) {
  switch (static_cast<FlowKind>(flow.kind)) {
    case FlowKind::kReadRequest:
      return flow.route.empty() || (read_whole_packets() && take_pair(flow.route, false));
    case FlowKind::kWrite:
      return take_pair(flow.route, false);
    case FlowKind::kCompletion:
      return take_pair(flow.route, true);
    case FlowKind::kWire:
    case FlowKind::kAcknowledge:
    case FlowKind::kNotify:
      return take_wire(flow.route);
    case FlowKind::kPeer:
    case FlowKind::kRelay:
      return std::all_of(flow.route.begin(), flow.route.end(), [&](const RouteHop& hop) {
        return fabric_.link(hop.link).kind == LinkKind::kNvlink;
      });
    default:
      return false;
  }
}

// Whether what a NIC sends may come before its wire at the very instant at which something has it
// do so. Of that and what waits there by then, credits and acknowledgements too, stations do not
// know who came first.
bool StationPlanner::sends_at_once() const {
  const bool free_control = request_.cluster.network.kind == NetworkKind::kIdeal;
  return !free_control && request_.cluster.node.nic.transmit_latency == Duration{};
}

// One read request for each packet, and never too few tags.
bool StationPlanner::read_whole_packets() const {
  const Node& node = request_.cluster.node;
  const std::int64_t request = node.pcie_settings.max_read_request.count;
  const std::int64_t packet = request_.cluster.network.mtu.count;
  const std::int64_t buffer = node.nic.transmit_buffer.count;
  return packet <= request && buffer > 0 &&
         (node.pcie_settings.tags == 0 || node.pcie_settings.tags > buffer / packet + 1);
}

void StationPlanner::name_injectors() {
  for (const WiredConnection& connection : wiring_.connections) {
    for (const Path* path : {&connection.data, &connection.credit}) {
      if (path->kind != PathKind::kNic) continue;
      const auto wire = static_cast<std::size_t>(path->flow(FlowKind::kWire));
      nic_of(wiring_.flows[wire].route.front().link).injector = path->injector;
    }
  }
}

bool StationPlanner::sort_wires() {
  std::set<LinkId> left;
  for (const auto& [link, feeders] : feeders_) left.insert(link);
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](LinkId link) {
      const std::set<LinkId>& feeders = feeders_.at(link);
      return std::none_of(feeders.begin(), feeders.end(),
                          [&](LinkId feeder) { return left.count(feeder) > 0; });
    });
    if (next == left.end()) return false;
    plan_.wires.push_back(*next);
    left.erase(next);
  }
  return true;
}

// What starts on the last wire leads to acknowledgements, writes and completions no sooner than it
// is there and the NIC has taken it in; what is written is seen so long after its first link.
void StationPlanner::measure_ways() {
  const Node& node = request_.cluster.node;
  plan_.arrival = plan_.crossing = plan_.writing = INT64_MAX;
  for (const FlowSpec& flow : wiring_.flows) {
    const auto kind = static_cast<FlowKind>(flow.kind);
    if (kind != FlowKind::kWire && kind != FlowKind::kAcknowledge) continue;
    Duration crossing = node.nic.receive_latency;
    for (const RouteHop& hop : flow.route) crossing += fabric_.link(hop.link).latency;
    const Link& last = fabric_.link(flow.route.back().link);
    plan_.arrival = std::min(plan_.arrival, (last.latency + node.nic.receive_latency).ps);
    plan_.crossing = std::min(plan_.crossing, crossing.ps);
  }
  for (const auto& [name, nic] : nics_) {
    if (nic.up[0] == kNoLink) continue;
    const std::int64_t there =
        (fabric_.link(nic.up[0]).latency + fabric_.link(nic.up[1]).latency).ps;
    plan_.writing = std::min(plan_.writing, there + node.gpu.write_latency.ps);
  }
}

// Whether what comes in from the network has a NIC do something by itself.
bool StationPlanner::goes_back() const {
  return std::any_of(wiring_.flows.begin(), wiring_.flows.end(), [](const FlowSpec& flow) {
    const auto kind = static_cast<FlowKind>(flow.kind);
    return !flow.route.empty() && (kind == FlowKind::kWrite || kind == FlowKind::kAcknowledge);
  });
}

std::optional<StationPlan> StationPlanner::plan() {
  if (!world_allows(request_) || lacks_receives(wiring_) || sends_at_once()) return std::nullopt;
  for (const FlowSpec& flow : wiring_.flows) {
    if (!take_flow(flow)) return std::nullopt;
  }
  name_injectors();
  if (!sort_wires()) return std::nullopt;
  measure_ways();
  if (goes_back() && std::min(plan_.arrival, plan_.writing) < kShortestWindow) return std::nullopt;
  for (auto& [name, nic] : nics_) {
    // A NIC has a wire, if only for acknowledgements, and no other leads into that.
    if (nic.out == kNoLink || feeders_.count(nic.out) > 0) return std::nullopt;
    plan_.nics.push_back(nic);
  }
  if (plan_.nics.empty()) return std::nullopt;
  return std::move(plan_);
}

}  // namespace

std::optional<StationPlan> plan_stations(const PredictionRequest& request, const Fabric& fabric,
                                         const Wiring& wiring) {
  return StationPlanner(request, fabric, wiring).plan();
}

}  // namespace gradhaul
