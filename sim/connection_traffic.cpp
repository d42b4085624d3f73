#include "sim/connection_traffic.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/protocol.h"

namespace gradhaul {
namespace {

// The connections that the items of one lane send on, in the order in which it first does.
class LaneSends {
 public:
  LaneSends(Bytes element, std::int64_t slot_elements, TrafficSink& sink)
      : element_(element), slot_elements_(slot_elements), sink_(sink) {}

  void add(Rank rank, int channel, const Item& item) {
    for (int i = 0; i < item.send_count; ++i) {
      const ItemSend& send = item.sends[static_cast<std::size_t>(i)];
      if (send.span.count == 0) continue;
      ConnectionTraffic& traffic = find({channel, rank, send.peer, send.stream});
      traffic.add(element_ * slot_elements_, send.span.count / slot_elements_);
      traffic.add(element_ * (send.span.count % slot_elements_), 1);
    }
  }
  void flush() {
    for (const ConnectionTraffic& traffic : traffic_) sink_.on_connection(traffic);
    traffic_.clear();
    places_.clear();
    last_ = 0;
  }

 private:
  // Most lanes meet few peers, or each again and again in the same order.
  ConnectionTraffic& find(const ConnectionKey& key) {
    for (std::size_t tried = 0; tried < std::min<std::size_t>(traffic_.size(), 2); ++tried) {
      const std::size_t place = (last_ + tried) % traffic_.size();
      if (traffic_[place].key == key) return traffic_[last_ = place];
    }
    const auto [known, added] = places_.try_emplace({key.destination, key.stream}, traffic_.size());
    if (added) traffic_.emplace_back().key = key;
    return traffic_[last_ = known->second];
  }

  Bytes element_;
  std::int64_t slot_elements_;
  TrafficSink& sink_;
  std::vector<ConnectionTraffic> traffic_;
  std::map<std::pair<Rank, int>, std::size_t> places_;  // by destination and stream
  std::size_t last_ = 0;
};

void add_operations(const Item& item, Bytes element, std::int64_t slot_elements,
                    KernelTraffic& kernel) {
  if (item.operation == Operation::kNone || item.span.count == 0) return;
  const std::int64_t times = std::max(1, item.receive_count);
  const Bytes bytes = element * item.span.count * times;
  kernel.operations += (item.span.count + slot_elements - 1) / slot_elements * times;
  kernel.bytes += bytes;
  kernel.memory += bytes * (item.operation == Operation::kReduce ? 3 : 2);
}

// One channel of a ring, as core/ring_schedule.h has it. The rank at position p sends every chunk
// twice, but chunks p + 1 and p + 2 once; it reduces every chunk but its own, and copies every one
// but p + 1.
class RingChannel {
 public:
  RingChannel(Span channel, const std::vector<Rank>& ring, Bytes element,
              std::int64_t slot_elements)
      : channel_(channel), ring_(ring), element_(element), slot_elements_(slot_elements) {
    places_.resize(ring.size());
    for (std::size_t p = 0; p < ring.size(); ++p) places_[static_cast<std::size_t>(ring[p])] = p;
  }

  void tell(Rank rank, int channel, TrafficSink& sink) const {
    const auto n = static_cast<std::int64_t>(ring_.size());
    const auto p = static_cast<std::int64_t>(places_[static_cast<std::size_t>(rank)]);
    const std::int64_t own = chunk(p);
    const std::int64_t next = chunk((p + 1) % n);
    const std::int64_t after = chunk((p + 2) % n);
    ConnectionTraffic sends;
    sends.key = {channel, rank, ring_[static_cast<std::size_t>((p + 1) % n)], 0};
    for (const std::int64_t size : {larger_size(), larger_size() - 1}) {
      const std::int64_t times = 2 * chunks_of(size) - (next == size) - (after == size);
      sends.add(element_ * slot_elements_, size / slot_elements_ * times);
      sends.add(element_ * (size % slot_elements_), times);
    }
    if (sends.sizes > 0) sink.on_connection(sends);
    KernelTraffic kernel;
    kernel.bytes = element_ * (2 * channel_.count - own - next);
    kernel.memory = element_ * (3 * (channel_.count - own) + 2 * (channel_.count - next));
    kernel.operations = 2 * all_slices() - slices(own) - slices(next);
    sink.on_kernel(rank, channel, kernel);
  }

 private:
  std::int64_t chunk(std::int64_t index) const {
    return part_of(channel_, index, static_cast<std::int64_t>(ring_.size())).count;
  }
  std::int64_t larger_size() const {
    return channel_.count / static_cast<std::int64_t>(ring_.size()) + 1;
  }
  // Chunks of this size, the larger or the smaller one.
  std::int64_t chunks_of(std::int64_t size) const {
    const auto n = static_cast<std::int64_t>(ring_.size());
    const std::int64_t larger = channel_.count % n;
    return size == larger_size() ? larger : n - larger;
  }
  std::int64_t slices(std::int64_t elements) const {
    return (elements + slot_elements_ - 1) / slot_elements_;
  }
  std::int64_t all_slices() const {
    const std::int64_t size = larger_size();
    return chunks_of(size) * slices(size) + chunks_of(size - 1) * slices(size - 1);
  }

  Span channel_;
  const std::vector<Rank>& ring_;
  Bytes element_;
  std::int64_t slot_elements_;
  std::vector<std::size_t> places_;  // of ranks in the ring
};

void count_rings(const PredictionRequest& request, const Placement& placement, std::int64_t count,
                 TrafficSink& sink) {
  const Bytes element = size_of(request.workload.datatype);
  std::vector<RingChannel> channels;
  for (int channel = 0; channel < placement.channels; ++channel) {
    channels.emplace_back(part_of({0, count}, channel, placement.channels),
                          placement.rings[static_cast<std::size_t>(channel)], element,
                          elements_of_slot(request));
  }
  for (Rank rank = 0; rank < request.cluster.ranks(); ++rank) {
    for (int channel = 0; channel < placement.channels; ++channel) {
      channels[static_cast<std::size_t>(channel)].tell(rank, channel, sink);
    }
    sink.on_rank_end(rank);
  }
}

}  // namespace

ConnectionTraffic in_lines(Protocol protocol, ConnectionTraffic traffic) {
  for (int i = 0; i < traffic.sizes; ++i) {
    MessageCount& messages = traffic.by_size[static_cast<std::size_t>(i)];
    messages.size = with_flags(protocol, messages.size);
  }
  return traffic;
}

void ConnectionTraffic::add(Bytes size, std::int64_t count) {
  if (size.count == 0 || count == 0) return;
  for (int i = 0; i < sizes; ++i) {
    MessageCount& known = by_size[static_cast<std::size_t>(i)];
    if (known.size == size) {
      known.count += count;
      return;
    }
  }
  GRADHAUL_ASSERT(sizes < kMaxSizes, "the chunks of a connection are nearly equal");
  by_size[static_cast<std::size_t>(sizes++)] = {size, count};
}

std::int64_t ConnectionTraffic::messages() const {
  std::int64_t sum = 0;
  for (int i = 0; i < sizes; ++i) sum += by_size[static_cast<std::size_t>(i)].count;
  return sum;
}

Bytes ConnectionTraffic::payload() const {
  Bytes sum;
  for (int i = 0; i < sizes; ++i) {
    const MessageCount& messages = by_size[static_cast<std::size_t>(i)];
    sum += messages.size * messages.count;
  }
  return sum;
}

std::int64_t elements_of_slot(const PredictionRequest& request) {
  const Bytes element = size_of(request.workload.datatype);
  return std::max<std::int64_t>(1, request.communication.slot_size.count / element.count);
}

ScheduleRequest schedule_request(const PredictionRequest& request, std::int64_t count) {
  ScheduleRequest asked;
  asked.collective = request.workload.collective;
  asked.algorithm = request.communication.algorithm;
  asked.ranks = request.cluster.ranks();
  asked.count = count;
  asked.datatype = request.workload.datatype;
  asked.slot_size = request.communication.slot_size;
  asked.listed = request.communication.listed;
  asked.one_step = request.communication.one_step;
  return asked;
}

std::unique_ptr<Schedule> chunk_schedule(const PredictionRequest& request,
                                         const Placement& placement, std::int64_t count) {
  ScheduleRequest asked = schedule_request(request, count);
  asked.slot_size = size_of(asked.datatype) * std::max<std::int64_t>(1, count);
  return make_schedule(asked, placement);
}

void walk_traffic(const PredictionRequest& request, const Schedule& chunks, TrafficSink& sink) {
  const Bytes element = size_of(request.workload.datatype);
  const std::int64_t slot_elements = elements_of_slot(request);
  LaneSends sends(element, slot_elements, sink);
  for (Rank rank = 0; rank < chunks.ranks(); ++rank) {
    for (int channel = 0; channel < chunks.channels(); ++channel) {
      KernelTraffic kernel;
      for (int lane = 0; lane < chunks.lanes(); ++lane) {
        const std::int64_t items = chunks.items(rank, channel, lane);
        for (std::int64_t i = 0; i < items; ++i) {
          const Item item = chunks.item(rank, channel, lane, i);
          sends.add(rank, channel, item);
          add_operations(item, element, slot_elements, kernel);
        }
        sends.flush();
      }
      sink.on_kernel(rank, channel, kernel);
    }
    sink.on_rank_end(rank);
  }
}

void count_traffic(const PredictionRequest& request, const Placement& placement, std::int64_t count,
                   TrafficSink& sink) {
  const bool ring = request.workload.collective == Collective::kAllReduce &&
                    request.communication.algorithm == Algorithm::kRing &&
                    !request.communication.one_step;
  if (ring) {
    count_rings(request, placement, count, sink);
  } else {
    walk_traffic(request, *chunk_schedule(request, placement, count), sink);
  }
}

}  // namespace gradhaul
