#include "scenarios/queue_pair_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostReceives = 32'768;  // max_qp_wr of ConnectX

// What waits for whom, and how often it is tried again; as NCCL 2.x has it where NCCL has such a
// thing (NCCL documentation, environment variables).
void read_patience(MappingReader& reader, Communication& communication) {
  communication.timeout = static_cast<int>(reader.count(
      "timeout",
      {.otherwise = {"20", false, "4.3 s, as NCCL_IB_TIMEOUT"}, .least = 0, .most = 31}));
  communication.retry = static_cast<int>(reader.count(
      "retry", {.otherwise = {"7", false, "as NCCL_IB_RETRY_CNT"}, .least = 0, .most = 7}));
  communication.rnr_timer = static_cast<int>(reader.count(
      "rnr_timer", {.otherwise = {"12", false, "0.64 ms, as NCCL"}, .least = 0, .most = 31}));
  communication.rnr_retry = static_cast<int>(reader.count(
      "rnr_retry", {.otherwise = {"7", false, "for ever, as NCCL"}, .least = 0, .most = 7}));
}

}  // namespace

void read_queue_pair_settings(MappingReader& reader, Communication& communication) {
  const NumberSpec classes{.otherwise = {"auto", false, "that of the lossless priority, if any"},
                           .least = 0,
                           .most = 255,
                           .words = {{"auto", -1}}};
  const std::int64_t traffic_class = reader.count("traffic_class", classes);
  if (traffic_class >= 0) communication.traffic_class = static_cast<int>(traffic_class);
  read_patience(reader, communication);
  const std::int64_t receives = reader.count("receives", {.otherwise = {"auto", false, "as slots"},
                                                          .least = 1,
                                                          .most = kMostReceives,
                                                          .words = {{"auto", 0}}});
  if (receives > 0) communication.receives = static_cast<int>(receives);
  if (receives > 0 && communication.tcp) {
    reader.report("receives", "receives: with transport: tcp none are posted; leave it out");
  }
  communication.splits_over_queue_pairs =
      reader.truth("split_over_queue_pairs", {"false", false, "as NCCL_IB_SPLIT_DATA_ON_QPS"});
  // A key that later versions will honour; it has its one value here.
  reader.fixed("service_level", "0");
}

}  // namespace gradhaul
