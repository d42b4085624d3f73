// How fast one rank writes to another over verbs, through the endpoint that collectives use: rank 0
// keeps its peer's slots full, rank 1 returns each slot as its write arrives. Two threads, so that
// it needs no rendezvous. Prints `bytes queue_pairs MB/s` (1 MB is 10^6 bytes), as ib_write_bw's
// average counts.
//
//   pair_write FROM_DEVICE TO_DEVICE BYTES QUEUE_PAIRS WRITES

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "backends/verbs/verbs_backend.h"
#include "tests/fake_verbs/memory_exchange.h"

namespace gradhaul {
namespace {

struct Plan {
  std::string devices[2];
  Bytes size;
  int queue_pairs = 1;
  std::int64_t writes = 0;
};

constexpr int kSlots = 16;

class PairWriter final : public CompletionSink {
 public:
  PairWriter(Endpoint& endpoint, const Plan& plan, bool sends)
      : endpoint_(endpoint), plan_(plan), sends_(sends) {}

  void on_completion(const Completion& completion) override {
    failed_ = failed_ || completion.status != CompletionStatus::kOk;
    if (completion.kind == CompletionKind::kWriteDone) ++done_;
    if (completion.kind == CompletionKind::kCreditDone) ++credits_done_;
    if (completion.kind == CompletionKind::kCreditArrived) credits_ += completion.amount;
    if (completion.kind == CompletionKind::kWriteArrived) {
      ++arrived_;
      WriteRequest credit;
      credit.kind = WriteKind::kCredit;
      credit.slots_returned = 1;
      endpoint_.post_write(credit);
      endpoint_.flush();
    }
    if (sends_) post();
  }

  void post() {
    const std::int64_t before = posted_;
    for (; posted_ < plan_.writes && posted_ < credits_; ++posted_) {
      endpoint_.post_write({.source = {Region::kInput, {0}},
                            .length = plan_.size,
                            .slot = static_cast<std::int32_t>(posted_ % kSlots)});
    }
    if (posted_ > before) endpoint_.flush();
  }

  void run() {
    if (sends_) post();
    const auto finished = [&] {
      return sends_ ? done_ == plan_.writes : credits_done_ == plan_.writes;
    };
    while (!finished()) {
      if (!endpoint_.poll(*this)) endpoint_.wait(std::chrono::microseconds{50});
      if (!failed_) continue;
      std::fprintf(stderr, "%s\n", endpoint_.failure().value_or(RankFailure{}).what.c_str());
      std::exit(1);
    }
  }

 private:
  Endpoint& endpoint_;
  const Plan& plan_;
  bool sends_;
  bool failed_ = false;
  std::int64_t posted_ = 0;
  std::int64_t done_ = 0;
  std::int64_t arrived_ = 0;
  std::int64_t credits_ = kSlots;
  std::int64_t credits_done_ = 0;
};

void run_rank(Rank rank, const Plan& plan, fake::MemoryExchangeHub& hub) {
  fake::MemoryExchange exchange(hub, rank);
  VerbsSettings settings;
  settings.devices = "=" + plan.devices[rank];
  settings.queue_pairs = plan.queue_pairs;
  const auto verbs = open_verbs(settings);
  std::vector<std::byte> bytes(static_cast<std::size_t>(plan.size.count) *
                               (rank == 0 ? 1 : kSlots));
  VerbsWiring wiring;
  wiring.connections = {{{0, 0, 1, 0}, rank == 0, {}}};
  wiring.slots = kSlots;
  wiring.slot_size = plan.size;
  if (rank == 0) {
    wiring.memory = {bytes, bytes, {}};
  } else {
    wiring.memory = {{}, {}, bytes};
  }
  const auto endpoint = verbs->make_endpoint(wiring, exchange);
  static_cast<void>(exchange.all_gather({}));
  const auto start = std::chrono::steady_clock::now();
  PairWriter(*endpoint, plan, rank == 0).run();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  static_cast<void>(exchange.all_gather({}));
  if (rank != 0) return;
  for (const auto& [name, value] : endpoint->facts()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), value.c_str());
  }
  std::printf("%lld %d %.1f\n", static_cast<long long>(plan.size.count), plan.queue_pairs,
              static_cast<double>(plan.size.count * plan.writes) / time.count() / 1e6);
}

}  // namespace
}  // namespace gradhaul

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: pair_write FROM TO BYTES QUEUE_PAIRS WRITES\n");
    return 2;
  }
  const gradhaul::Plan plan{
      {argv[1], argv[2]}, {std::atoll(argv[3])}, std::atoi(argv[4]), std::atoll(argv[5])};
  gradhaul::fake::MemoryExchangeHub hub(2);
  gradhaul::fake::for_ranks_at_once(2, [&](gradhaul::Rank rank) {
    try {
      gradhaul::run_rank(rank, plan, hub);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      std::exit(1);
    }
  });
  return 0;
}
