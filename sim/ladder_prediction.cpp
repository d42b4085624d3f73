#include "sim/ladder_prediction.h"

#include <algorithm>

#include "core/assert.h"
#include "core/wire_time.h"
#include "sim/pair_write.h"
#include "sim/predict.h"
#include "sim/sized_cluster.h"

namespace gradhaul {
namespace {

class LadderPrediction {
 public:
  explicit LadderPrediction(const PredictionRequest& request)
      : request_(request),
        cluster_(with_sized_topology(request.cluster)),
        fabric_(cluster_),
        placement_(place(cluster_, request.communication, request.workload.collective)) {}

  // Whether all rungs could be found before an interruption.
  bool add(const ResultRow& row, std::vector<LadderRow>& rows) {
    const Collective collective = request_.workload.collective;
    const Algorithm algorithm = request_.communication.algorithm;
    size_ = row.size;
    const CarriedBytes carried =
        carried_by_nic(cluster_, placement_, collective, algorithm, row.size);
    rows.push_back(rung(Rung::kLink, carried.step(), link_time(carried.step())));
    rows.push_back(rung(Rung::kHostPair, carried.step(), pair_time(carried.step(), true)));
    rows.push_back(rung(Rung::kGpuPair, carried.step(), pair_time(carried.step(), false)));
    LadderRow step = rung(Rung::kRingStep, carried.step(), {});
    step.missing = why_no_ring_step(collective, algorithm);
    if (step.missing.empty()) step.time = step_time(row.size);
    const bool complete = !step.missing.empty() || step.time.ps > 0;
    if (!complete) return false;
    rows.push_back(step);
    rows.push_back(rung(Rung::kCollective, carried.whole, row.time));
    return true;
  }

 private:
  LadderRow rung(Rung rung, Bytes carried, Duration time) const {
    LadderRow row;
    row.rung = rung;
    row.size = size_;
    row.carried = carried;
    row.time = time;
    return row;
  }

  Duration link_time(Bytes bytes) const {
    const Network& network = cluster_.network;
    const BitRate rate = std::min(network.link, cluster_.node.nic.rate);
    return wire_time(network, network.mtu, rate, bytes);
  }

  // Of the first ranks of the first two nodes.
  Duration pair_time(Bytes bytes, bool host_memory) const {
    PairWrite pair;
    pair.hop = hop_between(placement_, cluster_, 0, 0, cluster_.ranks_per_node);
    pair.size = bytes;
    pair.slice = std::min(bytes, request_.communication.slot_size);
    pair.slots = std::max(1, request_.communication.slots);
    pair.blue_flame = request_.communication.blue_flame;
    pair.host_memory = host_memory;
    return pair_write_time(fabric_, cluster_.ranks_per_node, pair);
  }

  // 0: interrupted.
  Duration step_time(Bytes size) const {
    PredictionRequest step = request_;
    step.workload.collective = Collective::kAllReduce;
    step.workload.sizes = {size};
    step.communication.one_step = true;
    step.fidelity = Fidelity::kPacket;
    step.progress = nullptr;
    const Prediction prediction = predict(step);
    if (!prediction.failure.empty()) throw SimulationError(prediction.failure);
    return prediction.rows.empty() ? Duration{} : prediction.rows.front().time;
  }

  const PredictionRequest& request_;
  Cluster cluster_;
  Fabric fabric_;
  Placement placement_;
  Bytes size_;
};

}  // namespace

std::vector<LadderRow> predict_ladder(const PredictionRequest& request, const Prediction& whole) {
  GRADHAUL_ASSERT(request.cluster.nodes > 1, "a ladder stands between nodes");
  LadderPrediction prediction(request);
  std::vector<LadderRow> rows;
  for (const ResultRow& row : whole.rows) {
    if (!prediction.add(row, rows)) break;
  }
  return rows;
}

}  // namespace gradhaul
