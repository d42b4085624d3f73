#pragma once

// The chain of blame of what is happening: what is posted meanwhile continues it. Where it is one
// that ends some time after another, it is made when the first of those asks for it: most sends
// that end, and slots whose return is done, move nothing.

#include <cstdint>

#include "sim/blame.h"

namespace gradhaul {

class CauseChain {
 public:
  // Of a chain that the caller holds.
  CauseChain(Blame& blame, ChainId chain) : blame_(blame), chain_(chain) {}
  // `past`, which the caller holds until it is delivered, and then so much time, in ps, that no
  // resource is blamed for.
  CauseChain(Blame& blame, ChainId past, std::int64_t waited)
      : blame_(blame), past_(past), waited_(waited) {}
  ~CauseChain() {
    if (past_ != kNoChain && chain_ != kNoChain) blame_.let_go(chain_);
  }
  CauseChain(const CauseChain&) = delete;
  CauseChain& operator=(const CauseChain&) = delete;

  ChainId chain() {
    if (chain_ == kNoChain) {
      Trace wait;
      wait.add(kNoResource, Cause::kLatency, waited_);
      chain_ = blame_.extend(past_, wait);
    }
    return chain_;
  }

 private:
  static constexpr ChainId kNoChain = -1;

  Blame& blame_;
  ChainId past_ = kNoChain;
  ChainId chain_ = kNoChain;
  std::int64_t waited_ = 0;
};

}  // namespace gradhaul
