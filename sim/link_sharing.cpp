#include "sim/link_sharing.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace gradhaul {
namespace {

class LinkBytes {
 public:
  LinkBytes(const TaskWorld& world, std::size_t groups)
      : world_(world), bytes_(world.fabric().links().size()) {
    for (auto& of_link : bytes_) of_link.resize(groups);
  }

  void add(std::size_t group, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      add_connection(group, world_.plan().wiring.connections[i].data, world_.payloads()[i]);
    }
  }
  const std::vector<Bytes>& of(std::size_t link) const { return bytes_[link]; }

 private:
  void add_connection(std::size_t group, const Path& path, std::int64_t payload) {
    constexpr std::array kWithPayload{FlowKind::kCompletion, FlowKind::kWrite,   FlowKind::kPeer,
                                      FlowKind::kRelay,      FlowKind::kCopyOut, FlowKind::kCopyIn};
    for (const FlowKind kind : kWithPayload) add_flow(group, path.flow(kind), payload);
    if (path.flow(FlowKind::kWire) == kNone) return;
    for (int pair = 0; pair < path.queue_pairs; ++pair) {
      add_flow(group, path.flow(FlowKind::kWire, pair),
               world_.transport().payload_of_queue_pair(path.first_queue_pair + pair));
    }
  }
  void add_flow(std::size_t group, FlowId flow, std::int64_t payload) {
    if (flow == kNone) return;
    for (const RouteHop& hop : world_.plan().wiring.flows[static_cast<std::size_t>(flow)].route) {
      bytes_[static_cast<std::size_t>(hop.link)][group] += Bytes{payload};
    }
  }

  const TaskWorld& world_;
  std::vector<std::vector<Bytes>> bytes_;  // by link, then group
};

Bytes sum_of(const std::vector<Bytes>& bytes) {
  Bytes sum;
  for (const Bytes each : bytes) sum += each;
  return sum;
}

}  // namespace

std::vector<LinkShare> shared_links(const TaskWorld& world) {
  const std::size_t communicators = world.graph().communicators.size();
  LinkBytes bytes(world, communicators + world.plan().background.size());
  for (const TaskWiring& wiring : world.plan().wirings) {
    bytes.add(static_cast<std::size_t>(wiring.communicator), wiring.first_connection,
              wiring.connections);
  }
  for (std::size_t i = 0; i < world.plan().background.size(); ++i) {
    const TrafficPlan& traffic = world.plan().background[i];
    bytes.add(communicators + i, traffic.first_connection, traffic.connections);
  }
  std::map<std::string, LinkShare> shares;
  for (std::size_t link = 0; link < world.fabric().links().size(); ++link) {
    const std::vector<Bytes>& of_groups = bytes.of(link);
    const auto carried = std::count_if(of_groups.begin(), of_groups.end(),
                                       [](Bytes each) { return each.count > 0; });
    const bool any_task = std::any_of(
        of_groups.begin(), of_groups.begin() + static_cast<std::ptrdiff_t>(communicators),
        [](Bytes each) { return each.count > 0; });
    if (carried < 2 || !any_task) continue;
    const ResourceId resource = world.fabric().links()[link].resource;
    const std::string& name = world.fabric().resources()[static_cast<std::size_t>(resource)].name;
    LinkShare& share = shares[name];
    if (sum_of(share.bytes) >= sum_of(of_groups)) continue;
    share = {name, of_groups};
  }
  std::vector<LinkShare> result;
  for (auto& [name, share] : shares) result.push_back(std::move(share));
  return result;
}

}  // namespace gradhaul
