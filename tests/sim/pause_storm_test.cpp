// A NIC that pauses its switch without need: how long, how it spreads to who sends there, and that
// the critical path names it.

#include <gtest/gtest.h>

#include <string>

#include "core/roce_framing.h"
#include "sim/predict.h"
#include "tests/sim/incast.h"
#include "tests/sim/roce_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kFrameTime = 84'000;  // ps, rounded up

Cluster stormy_switch(Duration lasts) {
  Cluster cluster = roce_switch(3, 400_Gbps);
  // High enough for the link not to run dry until the sender's packets come again.
  cluster.network.pause.xon = {90'000};
  if (lasts.ps > 0) cluster.faults.storms = {{"node1.nic0", 20_us, lasts}};
  return cluster;
}

// The link stands still for as long; the sender's from when the switch is filled up to xoff until
// it has drained to xon.
TEST(PauseStorm, HoldsUpTheLinkAndThenItsSender) {
  const std::vector<IncastStream> stream{{0, 1, {1 << 20}, 8}};
  Incast calm(stormy_switch({}), stream);
  calm.run();
  for (const Duration lasts : {50_us, 100_us}) {
    Incast stormy(stormy_switch(lasts), stream);
    stormy.run();
    EXPECT_NEAR(static_cast<double>(stormy.last_arrival() - calm.last_arrival()),
                static_cast<double>(lasts.ps), kFrameTime);
    const PacketEngine& engine = stormy.world().engine();
    const LosslessBuffers::Totals there = engine.pauses(stormy.link(into(1)));
    EXPECT_NEAR(static_cast<double>(there.paused), static_cast<double>(lasts.ps), kFrameTime);
    EXPECT_EQ(there.frames, 2 + lasts.ps / pause_renewal(400_Gbps).ps);
    // On a free way a packet is in the switch for its latency.
    const LinkId sender = stormy.link(out_of(0));
    const double filling = 100'000 / 50e9 * 1e12 - 400'000;
    const double drained = static_cast<double>(engine.buffers().most(sender) - 90'000);
    EXPECT_NEAR(static_cast<double>(engine.pauses(sender).paused),
                static_cast<double>(lasts.ps) - filling + drained / 50e9 * 1e12, 4 * kFrameTime);
  }
}

TEST(PauseStorm, IsNamedByTheCriticalPath) {
  PredictionRequest request = request_for(stormy_switch(100_us), 16_MiB);
  request.workload.collective = Collective::kSendRecv;
  const Prediction prediction = predict(request);
  Duration paused;
  for (const TimePart& part : prediction.rows.at(0).parts) {
    EXPECT_NE(part.cause, "paused") << "no buffer was full but for the storm";
    if (part.cause == "pause storm" && part.resource == "node1.nic0") paused += part.time;
  }
  EXPECT_GT(paused, 90_us);
  EXPECT_LE(paused, 101_us);
  EXPECT_EQ(prediction.failure, "");
}

}  // namespace
}  // namespace gradhaul
