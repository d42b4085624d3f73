#pragma once

// What a reducer says is done.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/completion.h"

namespace gradhaul {

// What arrives, in order: the streams.
class ReducedStreams final : public CompletionSink {
 public:
  void on_completion(const Completion& completion) override {
    EXPECT_EQ(completion.kind, CompletionKind::kReduceDone);
    EXPECT_EQ(completion.status, CompletionStatus::kOk);
    seen.push_back(completion.id);
  }
  std::vector<std::int32_t> seen;
};

}  // namespace gradhaul
