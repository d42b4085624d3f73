// The packet model against closed forms in worlds where these are exact.

#include <gtest/gtest.h>

#include "core/busbw.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

double run_us(const PredictionRequest& request) {
  return predict(request).rows.at(0).time.microseconds();
}

// 2 (N - 1) steps of latency and one chunk each: nothing overlaps where a slice is a chunk.
TEST(IdealRing, TakesTheTextbookTime) {
  const struct {
    Bytes size;
    double expected_us;
  } cases[] = {{1_MiB, 102.63}, {64_MiB, 2662.47}, {1024_MiB, 41669.5}};
  for (const auto& c : cases) {
    PredictionRequest request = request_for(ideal_cluster(32), c.size);
    request.communication.slot_size = 32_MiB;
    request.communication.channels = 1;
    EXPECT_NEAR(run_us(request), c.expected_us, c.expected_us * 1e-3);
  }
}

TEST(InfinibandFraming, LeavesTheShareOfTheWireThatHeadersLeave) {
  // Payload over payload and 26 bytes a packet; 512 KiB messages add 20 bytes each.
  const struct {
    Bytes mtu;
    double efficiency;
  } cases[] = {{{4096}, 0.99369}, {{1024}, 0.97524}};
  for (const auto& c : cases) {
    PredictionRequest request = request_for(bare_pair(5, 400_Gbps, c.mtu), 1024_MiB);
    request.communication.channels = 1;
    const double bus = busbw(Collective::kAllReduce, 2, 1024_MiB, predict(request).rows[0].time);
    EXPECT_LE(bus, 50e9 * c.efficiency);
    EXPECT_NEAR(bus, 50e9 * c.efficiency, 50e9 * 0.0015);
  }
}

}  // namespace
}  // namespace gradhaul
