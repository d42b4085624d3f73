// What a device answers where ranks were told wrong of each other, and what is said of it. One rank
// of two lies in its record: the other writes with a wrong rkey, or beyond the end of what is
// registered. Prints what each rank has to say. Two threads, so that it needs no rendezvous.
//
//   broken_join rkey|length FROM_DEVICE TO_DEVICE

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "backends/verbs/connection_record.h"
#include "backends/verbs/verbs_backend.h"
#include "tests/fake_verbs/memory_exchange.h"

namespace gradhaul {
namespace {

constexpr Bytes kSlotSize{65536};

// Changes what this rank tells of its slots.
class LyingExchange final : public Exchange {
 public:
  LyingExchange(Exchange& honest, std::string lie) : honest_(honest), lie_(std::move(lie)) {}
  Rank rank() const override { return honest_.rank(); }
  Rank ranks() const override { return honest_.ranks(); }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) override {
    if (bytes.empty() || rank() == 0) return honest_.all_gather(bytes);
    ConnectionRecord record = decode(bytes);
    for (EndRecord& end : record.ends) {
      if (lie_ == "rkey") end.slots_key ^= 0x5a5a00;
    }
    if (lie_ == "length") record.slot_size = static_cast<std::uint64_t>(kSlotSize.count);
    return honest_.all_gather(encode(record));
  }
  void abort(const RankFailure& failure) override { honest_.abort(failure); }
  std::optional<RankFailure> aborted() override { return honest_.aborted(); }

 private:
  Exchange& honest_;
  std::string lie_;
};

class Statuses final : public CompletionSink {
 public:
  void on_completion(const Completion& completion) override {
    failed = failed || completion.status != CompletionStatus::kOk;
  }
  bool failed = false;
};

void run_rank(Rank rank, const std::string& lie, const std::string& device,
              fake::MemoryExchangeHub& hub) {
  fake::MemoryExchange honest(hub, rank);
  LyingExchange exchange(honest, lie);
  VerbsSettings settings;
  settings.devices = "=" + device;
  const auto verbs = open_verbs(settings);
  std::vector<std::byte> bytes(static_cast<std::size_t>(kSlotSize.count));
  VerbsWiring wiring;
  wiring.connections = {{{0, 0, 1, 0}, rank == 0, {}}};
  wiring.slot_size = rank == 1 && lie == "length" ? Bytes{4096} : kSlotSize;
  if (rank == 0) {
    wiring.memory = {bytes, bytes, {}};
  } else {
    const auto slot = static_cast<std::size_t>(wiring.slot_size.count);
    wiring.memory = {{}, {}, std::span(bytes).first(slot)};
  }
  const auto endpoint = verbs->make_endpoint(wiring, exchange);
  Statuses seen;
  if (rank == 0) {
    endpoint->post_write({.source = {Region::kInput, {0}}, .length = kSlotSize, .slot = 0});
    endpoint->flush();
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (!seen.failed && std::chrono::steady_clock::now() < end) {
    if (!endpoint->poll(seen)) endpoint->wait(std::chrono::microseconds{1000});
    // Who is written to need not hear of it.
    if (rank == 1 && exchange.aborted()) break;
  }
  const auto failure = endpoint->failure();
  if (failure && rank == 0) exchange.abort(*failure);
  std::printf("rank %d: %s\n", rank, failure ? failure->what.c_str() : "no failure");
  static_cast<void>(exchange.all_gather({}));
}

}  // namespace
}  // namespace gradhaul

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: broken_join rkey|length FROM TO\n");
    return 2;
  }
  gradhaul::fake::MemoryExchangeHub hub(2);
  gradhaul::fake::for_ranks_at_once(2, [&](gradhaul::Rank rank) {
    try {
      gradhaul::run_rank(rank, argv[1], argv[2 + rank], hub);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      std::exit(1);
    }
  });
  return 0;
}
