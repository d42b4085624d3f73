#include "sim/flow_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "core/channel_groups.h"
#include "core/collective_algorithms.h"
#include "sim/connection_traffic.h"
#include "sim/item_sources.h"

namespace gradhaul {
namespace {

class FlowPlanner {
 public:
  FlowPlanner(const PredictionRequest& request, const Placement& placement, std::int64_t count,
              HopLatency& latency)
      : request_(request),
        placement_(placement),
        count_(count),
        latency_(latency),
        element_(size_of(request.workload.datatype)),
        slot_elements_(elements_of_slot(request)) {}

  FlowPlan plan() {
    const Collective collective = request_.workload.collective;
    const Algorithm algorithm = running_algorithm(collective, request_.communication.algorithm);
    const bool ring = algorithm == Algorithm::kRing && collective != Collective::kBroadcast;
    plan_.ring = ring;
    pairwise_ = algorithm == Algorithm::kPairwise;
    for (std::vector<int> group : channel_groups(placement_, request_.cluster)) {
      std::erase_if(group, [&](int channel) { return elements_of(channel) == 0; });
      if (group.empty()) continue;
      plan_.groups.push_back(group);
      if (ring) {
        add_ring(group);
      } else {
        add_scheduled(group);
      }
    }
    return std::move(plan_);
  }

 private:
  using Key = std::tuple<Rank, Rank, int>;  // source, destination, stream

  // Of the message, or of one of the parts that a collective is about.
  std::int64_t elements_of(int channel) const {
    const Rank ranks = request_.cluster.ranks();
    const bool parts = elements_of_message(request_.workload.collective, ranks - 1, ranks) == 0;
    return part_of({0, parts ? count_ / ranks : count_}, channel, placement_.channels).count;
  }
  std::int32_t group_number() const { return static_cast<std::int32_t>(plan_.groups.size()) - 1; }
  void add_ring(const std::vector<int>& group);
  void add_scheduled(const std::vector<int>& group);
  void add_sends(const Schedule& chunks, const std::vector<int>& group, Rank rank, int lane);
  void add_inputs(const Schedule& chunks, int channel, Rank rank);
  void set_slices(Conveyor& conveyor, std::int64_t elements) const;
  void split_last(Conveyor& conveyor, std::int64_t elements) const;
  Conveyor& add(Conveyor conveyor);
  void time(Conveyor& conveyor);

  const PredictionRequest& request_;
  const Placement& placement_;
  std::int64_t count_;
  HopLatency& latency_;
  Bytes element_;
  std::int64_t slot_elements_;
  FlowPlan plan_;
  bool pairwise_ = false;
  std::map<Key, std::vector<std::int32_t>> numbers_;  // of the group at hand, in order
};

Conveyor& FlowPlanner::add(Conveyor conveyor) {
  if (static_cast<std::int64_t>(plan_.conveyors.size()) >= kMostGroupedConnections) {
    throw SimulationError("fidelity flow carries no more than " +
                          std::to_string(kMostGroupedConnections) +
                          " pairs of ranks and groups of channels; analytic has no such limit");
  }
  conveyor.group = group_number();
  conveyor.channels = static_cast<std::int64_t>(plan_.groups.back().size());
  plan_.conveyors.push_back(std::move(conveyor));
  return plan_.conveyors.back();
}

void FlowPlanner::set_slices(Conveyor& conveyor, std::int64_t elements) const {
  conveyor.chunk = element_ * elements;
  conveyor.slice = element_ * std::min(slot_elements_, elements);
  const std::int64_t slices = (elements + slot_elements_ - 1) / slot_elements_;
  const std::int64_t slots = request_.communication.slots;
  conveyor.window = slices > slots ? 0 : (slots + slices - 1) / slices;
}

void FlowPlanner::time(Conveyor& conveyor) {
  const MessageTime message = latency_.message(conveyor.hop, conveyor.slice);
  conveyor.kernel = latency_.kernel(conveyor.kind, conveyor.slice) * conveyor.operations;
  conveyor.first = message.arrived + conveyor.kernel;
  conveyor.spacing = message.spacing;
  conveyor.slot_return = latency_.slot_return(conveyor.hop);
  conveyor.round_trips =
      (conveyor.first + conveyor.slot_return) * (conveyor.chunk.count / conveyor.slice.count);
  const Bytes rest{conveyor.chunk.count % conveyor.slice.count};
  if (rest.count == 0) return;
  conveyor.round_trips += latency_.message(conveyor.hop, rest).arrived +
                          latency_.kernel(conveyor.kind, rest) * conveyor.operations +
                          conveyor.slot_return;
}

void FlowPlanner::add_ring(const std::vector<int>& group) {
  const std::vector<Rank>& ring = placement_.rings[static_cast<std::size_t>(group.front())];
  const auto n = static_cast<std::int64_t>(ring.size());
  const Collective collective = request_.workload.collective;
  const bool whole = collective == Collective::kAllReduce;  // else of a part for each rank
  std::int64_t bytes = 0;
  for (const int channel : group) {
    bytes += elements_of(channel) * element_.count * (whole ? 1 : n);
  }
  const std::int64_t largest =
      whole ? (elements_of(group.front()) + n - 1) / n : elements_of(group.front());
  const auto first = static_cast<std::int32_t>(plan_.conveyors.size());
  for (std::int64_t p = 0; p < n; ++p) {
    Conveyor conveyor;
    conveyor.hop =
        hop_between(placement_, request_.cluster, group.front(), ring[static_cast<std::size_t>(p)],
                    ring[static_cast<std::size_t>((p + 1) % n)]);
    conveyor.transfers = whole ? 2 * n - 2 : n - 1;
    conveyor.units = std::max<std::int64_t>(1, (bytes * kFlowUnitsPerByte + n / 2) / n);
    conveyor.last_units = conveyor.units;
    conveyor.inputs = {{first + static_cast<std::int32_t>((p + n - 1) % n), 1}};
    set_slices(conveyor, largest);
    conveyor.kind = collective == Collective::kAllGather ? ReduceKind::kCopy : ReduceKind::kReduce;
    time(add(std::move(conveyor)));
  }
}

void FlowPlanner::add_scheduled(const std::vector<int>& group) {
  const std::unique_ptr<Schedule> chunks = chunk_schedule(request_, placement_, count_);
  numbers_.clear();
  const auto first = plan_.conveyors.size();
  for (Rank rank = 0; rank < chunks->ranks(); ++rank) {
    for (int lane = 0; lane < chunks->lanes(); ++lane) add_sends(*chunks, group, rank, lane);
  }
  for (Rank rank = 0; rank < chunks->ranks(); ++rank) add_inputs(*chunks, group.front(), rank);
  for (auto number = first; number < plan_.conveyors.size(); ++number) {
    time(plan_.conveyors[number]);
  }
}

// The last `slots` slices, where there are more, as a transfer of their own.
void FlowPlanner::split_last(Conveyor& conveyor, std::int64_t elements) const {
  const std::int64_t slots = request_.communication.slots;
  const std::int64_t slices = (elements + slot_elements_ - 1) / slot_elements_;
  conveyor.transfers = 1;
  conveyor.last_units = conveyor.units;
  if (slices <= slots) return;
  const Int128 head = Int128{conveyor.units} * (slices - slots) / slices;
  conveyor.transfers = 2;
  conveyor.last_units = conveyor.units - static_cast<std::int64_t>(head);
  conveyor.units = static_cast<std::int64_t>(head);
}

void FlowPlanner::add_sends(const Schedule& chunks, const std::vector<int>& group, Rank rank,
                            int lane) {
  std::int32_t before = -1;
  const std::int64_t items = chunks.items(rank, group.front(), lane);
  for (std::int64_t i = 0; i < items; ++i) {
    const Item item = chunks.item(rank, group.front(), lane, i);
    for (int k = 0; k < item.send_count; ++k) {
      const ItemSend& send = item.sends[static_cast<std::size_t>(k)];
      if (send.span.count == 0) continue;
      Conveyor conveyor;
      conveyor.hop = hop_between(placement_, request_.cluster, group.front(), rank, send.peer);
      for (const int channel : group) {
        const Item same = chunks.item(rank, channel, lane, i);
        conveyor.units +=
            same.sends[static_cast<std::size_t>(k)].span.count * element_.count * kFlowUnitsPerByte;
      }
      set_slices(conveyor, send.span.count);
      conveyor.last_units = conveyor.units;
      std::vector<std::int32_t>& same = numbers_[{rank, send.peer, send.stream}];
      if (pairwise_) {
        if (items > 1) split_last(conveyor, send.span.count);
        conveyor.after = before;
      } else if (!same.empty()) {
        conveyor.follows = same.back();
      }
      add(std::move(conveyor));
      same.push_back(static_cast<std::int32_t>(plan_.conveyors.size()) - 1);
    }
    if (item.send_count > 0) before = static_cast<std::int32_t>(plan_.conveyors.size()) - 1;
  }
}

// What a rank's sends wait for: what their item receives, and what came before it to the same place
// (sim/item_sources.h).
void FlowPlanner::add_inputs(const Schedule& chunks, int channel, Rank rank) {
  std::map<Key, std::size_t> met;
  const auto next = [&](const Key& key) {
    const auto found = numbers_.find(key);
    if (found == numbers_.end()) return -1;
    const std::size_t number = met[key]++;
    return number < found->second.size() ? found->second[number] : -1;
  };
  const ItemSources sources(chunks, channel, rank, [&](const Item& item, int i) {
    const ItemReceive& receive = item.receives[static_cast<std::size_t>(i)];
    const std::int32_t number = next({receive.peer, rank, receive.stream});
    if (number < 0) return number;
    Conveyor& incoming = plan_.conveyors[static_cast<std::size_t>(number)];
    incoming.kind = item.operation == Operation::kReduce ? ReduceKind::kReduce : ReduceKind::kCopy;
    incoming.operations = item.receive_count;
    return number;
  });
  for (int lane = 0; lane < chunks.lanes(); ++lane) {
    for (std::int64_t i = 0; i < chunks.items(rank, channel, lane); ++i) {
      const Item item = chunks.item(rank, channel, lane, i);
      for (int k = 0; k < item.send_count; ++k) {
        const ItemSend& send = item.sends[static_cast<std::size_t>(k)];
        if (send.span.count == 0) continue;
        const std::int32_t number = next({rank, send.peer, send.stream});
        if (number < 0) continue;
        for (const std::int32_t source : sources.of(lane, i, send)) {
          plan_.conveyors[static_cast<std::size_t>(number)].inputs.push_back({source, 0});
        }
      }
    }
  }
}

}  // namespace

FlowPlan make_flow_plan(const PredictionRequest& request, const Placement& placement,
                        std::int64_t count, HopLatency& latency) {
  return FlowPlanner(request, placement, count, latency).plan();
}

}  // namespace gradhaul
