#include "backends/measure/measure_rings.h"

#include <algorithm>

#include "backends/measure/half_row.h"

namespace gradhaul {
namespace {

using Times = std::vector<std::chrono::nanoseconds>;

std::optional<Times> take_part(const MeasureRequest& request, const RingSettings& ring,
                               const RankResources& rank) {
  MeasureRequest own = request;
  own.cluster = ring.cluster;
  own.workload = ring.workload;
  own.communication = ring.communication;
  // Whether a NIC reaches the ranks' memory itself is what the backend finds, and says.
  own.communication.gpudirect = GpuDirect::kOn;
  const Placement placement = place(own.cluster, own.communication, own.workload.collective);
  const Bytes element = size_of(own.workload.datatype);
  const Bytes size{own.workload.sizes.back().count / element.count * element.count};
  return HalfRow(own, own.communication, placement, rank, size, false).times();
}

// Meets the others as often as they meet.
std::optional<Times> look_on(const MeasureRequest& request, const RingSettings& ring,
                             const RankResources& rank) {
  rank.memory.prepare({});
  const auto endpoint = rank.endpoints.make({.connections = {},
                                             .memory = rank.memory.regions(),
                                             .slots = ring.communication.slots,
                                             .slot_size = ring.communication.slot_size,
                                             .queue_pairs = streams_of(ring.communication)});
  return IterationSeries(rank.exchange, request.series, request.interrupted)
      .times({[] {}, [] { return std::chrono::nanoseconds{}; }});
}

}  // namespace

std::optional<std::vector<Duration>> measure_rings(const MeasureRequest& request,
                                                   const RankResources& rank) {
  std::vector<Duration> medians;
  for (const RingSettings& ring : request.rings) {
    const bool has_part = rank.exchange.rank() < ring.cluster.ranks();
    const auto times = has_part ? take_part(request, ring, rank) : look_on(request, ring, rank);
    if (!times) return std::nullopt;
    medians.push_back(summary_of(*times).p50);
  }
  return medians;
}

}  // namespace gradhaul
