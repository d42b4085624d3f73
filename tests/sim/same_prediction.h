#pragma once

// A prediction that skipped what it could beside one that simulated every packet: the same to the
// last number, cost apart.

#include <gtest/gtest.h>

#include "sim/predict.h"

namespace gradhaul::examples {

inline Prediction in_full(PredictionRequest request) {
  request.skip_recurrences = false;
  return predict(request);
}

inline void expect_same_parts(const ResultRow& a, const ResultRow& b) {
  ASSERT_EQ(a.parts.size(), b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    EXPECT_EQ(a.parts[i].resource, b.parts[i].resource);
    EXPECT_EQ(a.parts[i].cause, b.parts[i].cause);
    EXPECT_EQ(a.parts[i].time.ps, b.parts[i].time.ps) << a.parts[i].resource;
  }
  EXPECT_EQ(a.limited_by, b.limited_by);
}

inline void expect_same_run(const Prediction& a, const Prediction& b) {
  EXPECT_EQ(a.digest, b.digest);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].time.ps, b.rows[i].time.ps);
    EXPECT_EQ(a.rows[i].bytes_sent_per_rank, b.rows[i].bytes_sent_per_rank);
  }
  ASSERT_EQ(a.resources.size(), b.resources.size());
  for (std::size_t i = 0; i < a.resources.size(); ++i) {
    EXPECT_EQ(a.resources[i].name, b.resources[i].name);
    EXPECT_EQ(a.resources[i].bytes, b.resources[i].bytes) << a.resources[i].name;
    EXPECT_EQ(a.resources[i].utilisation, b.resources[i].utilisation) << a.resources[i].name;
  }
  ASSERT_EQ(a.counters.size(), b.counters.size());
  for (std::size_t i = 0; i < a.counters.size(); ++i) {
    EXPECT_EQ(a.counters[i].port, b.counters[i].port);
    EXPECT_EQ(a.counters[i].as_on_host, b.counters[i].as_on_host) << a.counters[i].port;
    EXPECT_EQ(a.counters[i].xmit_wait.ps, b.counters[i].xmit_wait.ps) << a.counters[i].port;
    EXPECT_EQ(a.counters[i].ecn_marked, b.counters[i].ecn_marked) << a.counters[i].port;
    EXPECT_EQ(a.counters[i].pfc_paused.ps, b.counters[i].pfc_paused.ps) << a.counters[i].port;
    EXPECT_EQ(a.counters[i].pfc_pause_frames, b.counters[i].pfc_pause_frames);
    EXPECT_EQ(a.counters[i].pfc_pause_frames_sent, b.counters[i].pfc_pause_frames_sent);
  }
  EXPECT_EQ(a.cost.packet_hops + a.cost.skipped_packet_hops,
            b.cost.packet_hops + b.cost.skipped_packet_hops);
  EXPECT_TRUE(a.exact);
}

// And the same put down to the same.
inline void expect_same(const Prediction& skipped, const Prediction& full) {
  expect_same_run(skipped, full);
  for (std::size_t i = 0; i < full.rows.size(); ++i) {
    expect_same_parts(skipped.rows[i], full.rows[i]);
  }
  for (std::size_t i = 0; i < full.resources.size(); ++i) {
    EXPECT_EQ(skipped.resources[i].blame.ps, full.resources[i].blame.ps) << full.resources[i].name;
  }
  EXPECT_EQ(full.cost.skipped_packet_hops, 0);
}

}  // namespace gradhaul::examples
