#pragma once

#include <stdexcept>

#include "backends/bootstrap/exchange.h"

namespace gradhaul {

// This rank cannot go on; thrown up to where the others are told.
class RankFailed : public std::runtime_error {
 public:
  explicit RankFailed(RankFailure failure)
      : std::runtime_error(failure.what), failure_(std::move(failure)) {}
  const RankFailure& failure() const { return failure_; }

 private:
  RankFailure failure_;
};

// Another rank gave up, or is gone: this one is a victim and has nothing to tell.
class OthersFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gradhaul
