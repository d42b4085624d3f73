#include "backends/measure/measure_ladder.h"

#include <algorithm>

#include "backends/measure/half_row.h"
#include "backends/measure/write_stream.h"

namespace gradhaul {
namespace {

using std::chrono::nanoseconds;

void set_times(LadderRow& row, const std::vector<nanoseconds>& times) {
  const TimeSummary summary = summary_of(times);
  row.time = summary.mean;
  row.iterations = static_cast<int>(times.size());
  row.min = summary.min;
  row.p50 = summary.p50;
  row.p99 = summary.p99;
}

LadderRow rung_of_size(Rung rung, Bytes size, Bytes carried, std::string missing = {}) {
  LadderRow row;
  row.rung = rung;
  row.size = size;
  row.carried = carried;
  row.missing = std::move(missing);
  return row;
}

CarriedBytes carried_by(const MeasureRequest& request, const Placement& placement, Bytes size) {
  return carried_by_nic(request.cluster, placement, request.workload.collective,
                        request.communication.algorithm, size);
}

// Empty: it can be measured.
std::string why_no_pair(Rung rung, const RankResources& rank) {
  if (rung == Rung::kGpuPair) {
    return rank.memory.on_gpu() ? "" : "ranks here have host memory alone (--memory host)";
  }
  return rank.memory.on_gpu() && !rank.host ? "ranks here have memory of GPUs alone" : "";
}

// From the memory that the rung says: the ranks' own, or that of the host beside a GPU's.
HostSide side_of(Rung rung, const RankResources& rank) {
  if (rung == Rung::kHostPair && rank.memory.on_gpu()) return *rank.host;
  return {rank.endpoints, rank.memory};
}

// Between the first ranks of the first two nodes, as it is predicted.
std::optional<LadderRow> measure_pair(const MeasureRequest& request, const RankResources& rank,
                                      Rung rung, Bytes size, Bytes carried) {
  LadderRow row = rung_of_size(rung, size, carried, why_no_pair(rung, rank));
  if (!row.missing.empty()) return row;
  WriteStreamSettings settings;
  settings.writes = {{.channel = 0, .source = 0, .destination = request.cluster.ranks_per_node}};
  settings.size = carried;
  settings.slice = std::min(carried, request.communication.slot_size);
  settings.slots = request.communication.slots;
  settings.queue_pairs = streams_of(request.communication);
  settings.timeout = request.timeout;
  const HostSide side = side_of(rung, rank);
  WriteStream stream(settings, rank.exchange, side.endpoints, side.memory);
  const auto by_iteration = stream.times(request.series, request.interrupted);
  if (!by_iteration) return std::nullopt;
  std::vector<nanoseconds> times;
  for (const std::vector<nanoseconds>& iteration : *by_iteration) {
    times.push_back(*std::max_element(iteration.begin(), iteration.end()));
  }
  set_times(row, times);
  return row;
}

std::optional<LadderRow> measure_step(const MeasureRequest& request, const Placement& placement,
                                      const RankResources& rank, Bytes size, Bytes carried) {
  LadderRow row =
      rung_of_size(Rung::kRingStep, size, carried,
                   why_no_ring_step(request.workload.collective, request.communication.algorithm));
  if (!row.missing.empty()) return row;
  MeasureRequest step = request;
  step.workload.collective = Collective::kAllReduce;
  step.communication.one_step = true;
  const auto times = HalfRow(step, step.communication, placement, rank, size, false).times();
  if (!times) return std::nullopt;
  set_times(row, *times);
  return row;
}

}  // namespace

std::optional<std::vector<LadderRow>> measure_rungs(const MeasureRequest& request,
                                                    const Placement& placement,
                                                    const RankResources& rank, Bytes size) {
  const Bytes carried = carried_by(request, placement, size).step();
  std::vector<LadderRow> rows{
      rung_of_size(Rung::kLink, size, carried, "no backend sees the wire alone")};
  for (const Rung rung : {Rung::kHostPair, Rung::kGpuPair}) {
    const auto pair = measure_pair(request, rank, rung, size, carried);
    if (!pair) return std::nullopt;
    rows.push_back(*pair);
  }
  const auto step = measure_step(request, placement, rank, size, carried);
  if (!step) return std::nullopt;
  rows.push_back(*step);
  return rows;
}

LadderRow collective_rung(const MeasureRequest& request, const Placement& placement,
                          const ResultRow& row) {
  LadderRow rung =
      rung_of_size(Rung::kCollective, row.size, carried_by(request, placement, row.size).whole);
  rung.time = row.time;
  rung.iterations = row.measured->iterations;
  rung.min = row.measured->min;
  rung.p50 = row.measured->p50;
  rung.p99 = row.measured->p99;
  return rung;
}

}  // namespace gradhaul
