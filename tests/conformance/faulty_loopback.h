#pragma once

// Loopback worlds that break the contract in one way each, to see that the suite notices.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/conformance/loopback_harness.h"

namespace gradhaul::conformance {

enum class Fault : std::uint8_t {
  kNone,
  kDeliversFromPost,      // 1
  kDeliversFromFlush,     // 1
  kLoses,                 // 2: the fifth completion of its kind
  kDoubles,               // 2: the fifth
  kSwaps,                 // 3: the fifth with the next of its kind on its connection
  kShowsBytesLate,        // 4: after kWriteArrived
  kReadsSourceAfterDone,  // 5: kWriteDone as soon as something was posted
  kSucceedsAfterFailure,  // 7
  kInventsFailure,        // 7
  kHidesFailure,          // 7: no completion of a failed write at its sender
};

struct FaultPlan {
  Fault fault = Fault::kNone;
  CompletionKind kind = CompletionKind::kWriteArrived;  // for those that pick one
};

class FaultyWorld final : public ConformanceWorld {
 public:
  FaultyWorld(const WorldShape& shape, const FaultPlan& plan, std::uint64_t seed)
      : plan_(plan),
        inner_(std::make_unique<LoopbackConformanceWorld>(shape, LoopbackSettings{},
                                                          std::make_unique<RandomChooser>(seed))) {
    for (Rank rank = 0; rank < shape.ranks(); ++rank) {
      ranks_.push_back(std::make_unique<FaultyRank>(*this, rank));
      inner_->connect(rank, *ranks_.back());
    }
  }

  Transport& transport(Rank rank) override { return *ranks_[static_cast<std::size_t>(rank)]; }
  Reducer& reducer(Rank rank) override { return inner_->reducer(rank); }
  void connect(Rank rank, CompletionSink& sink) override {
    ranks_[static_cast<std::size_t>(rank)]->sink = &sink;
  }
  bool step() override {
    show_late_bytes();
    return deliver_early_done() || inner_->step();
  }
  std::span<std::byte> memory(Rank rank, Region region) override {
    return inner_->memory(rank, region);
  }
  bool fail_write(const ConnectionKey& key, std::int64_t ordinal) override {
    return inner_->fail_write(key, ordinal);
  }

 private:
  // Stands before the inner transport, and before the rank's sink.
  class FaultyRank final : public Transport, public CompletionSink {
   public:
    FaultyRank(FaultyWorld& world, Rank rank) : world_(world), rank_(rank) {}
    TransportLimits limits() const override { return world_.inner_->transport(rank_).limits(); }
    void post_write(const WriteRequest& request) override {
      world_.inner_->transport(rank_).post_write(request);
      if (world_.is(Fault::kDeliversFromPost)) world_.inner_->step();
      const bool data = request.kind == WriteKind::kData;
      if (data && world_.is(Fault::kReadsSourceAfterDone)) {
        world_.early_done_.push_back({rank_,
                                      {CompletionKind::kWriteDone, CompletionStatus::kOk,
                                       request.connection, request.length.count}});
      }
    }
    void flush() override {
      world_.inner_->transport(rank_).flush();
      if (world_.is(Fault::kDeliversFromFlush)) world_.inner_->step();
    }
    void on_completion(const Completion& completion) override {
      world_.on_completion(rank_, completion);
    }

    CompletionSink* sink = nullptr;

   private:
    FaultyWorld& world_;
    Rank rank_;
  };

  bool is(Fault fault) const { return plan_.fault == fault; }

  void pass_on(Rank rank, const Completion& completion) {
    ranks_[static_cast<std::size_t>(rank)]->sink->on_completion(completion);
  }

  void on_completion(Rank rank, const Completion& completion) {
    Completion told = completion;
    switch (plan_.fault) {
      case Fault::kLoses:
      case Fault::kDoubles:
      case Fault::kSwaps:
        return meddle(rank, completion);
      case Fault::kShowsBytesLate:
        if (completion.kind == CompletionKind::kWriteArrived) hide_bytes(rank);
        return pass_on(rank, completion);
      case Fault::kReadsSourceAfterDone:
        // Has been told already.
        if (completion.kind != CompletionKind::kWriteDone) pass_on(rank, completion);
        return;
      case Fault::kSucceedsAfterFailure:
        if (completion.status == CompletionStatus::kFlushed) told.status = CompletionStatus::kOk;
        return pass_on(rank, told);
      case Fault::kInventsFailure:
        if (++seen_ == 5) told.status = CompletionStatus::kFailed;
        return pass_on(rank, told);
      case Fault::kHidesFailure:
        if (completion.kind == CompletionKind::kWriteDone) told.status = CompletionStatus::kOk;
        if (completion.kind == CompletionKind::kCreditArrived &&
            completion.status != CompletionStatus::kOk) {
          return;
        }
        return pass_on(rank, told);
      default:
        return pass_on(rank, completion);
    }
  }

  // Loses or doubles the fifth completion of the kind, or exchanges it with the next one there.
  void meddle(Rank rank, const Completion& completion) {
    if (held_ && held_->first == rank && held_->second.kind == completion.kind &&
        held_->second.id == completion.id) {
      const Completion earlier = std::exchange(held_, std::nullopt)->second;
      pass_on(rank, completion);
      return pass_on(rank, earlier);
    }
    if (completion.kind != plan_.kind || ++seen_ != 5) return pass_on(rank, completion);
    if (is(Fault::kSwaps)) {
      held_ = {rank, completion};
    } else if (is(Fault::kDoubles)) {
      pass_on(rank, completion);
      pass_on(rank, completion);
    }
  }

  // All slots of the rank, until the next step.
  void hide_bytes(Rank rank) {
    const std::span<std::byte> slots = inner_->memory(rank, Region::kSlots);
    hidden_ = {rank, std::vector<std::byte>(slots.begin(), slots.end())};
    std::ranges::fill(slots, kPoison);
  }

  void show_late_bytes() {
    if (!hidden_) return;
    std::ranges::copy(hidden_->second, inner_->memory(hidden_->first, Region::kSlots).begin());
    hidden_.reset();
  }

  bool deliver_early_done() {
    if (early_done_.empty()) return false;
    const auto [rank, completion] = early_done_.front();
    early_done_.erase(early_done_.begin());
    pass_on(rank, completion);
    return true;
  }

  FaultPlan plan_;
  std::unique_ptr<ConformanceWorld> inner_;
  std::vector<std::unique_ptr<FaultyRank>> ranks_;
  int seen_ = 0;
  std::optional<std::pair<Rank, Completion>> held_;
  std::optional<std::pair<Rank, std::vector<std::byte>>> hidden_;
  std::vector<std::pair<Rank, Completion>> early_done_;
};

class FaultyLoopback final : public TransportHarness {
 public:
  explicit FaultyLoopback(const FaultPlan& plan) : plan_(plan) {}
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    return std::make_unique<FaultyWorld>(shape, plan_, seed);
  }

 private:
  FaultPlan plan_;
};

}  // namespace gradhaul::conformance
