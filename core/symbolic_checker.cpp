#include "core/symbolic_checker.h"

#include <utility>

namespace gradhaul::oracle {
namespace {

// splitmix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ z >> 31) % bound);
  }

 private:
  std::uint64_t state_;
};

// Which queue delivers next.
class Order {
 public:
  explicit Order(const CheckSettings& settings)
      : starved_(settings.starved), random_(settings.seed.value_or(0)), shuffled_(settings.seed) {}

  void add(const std::vector<std::size_t>& queues, const SymbolicWorld& world) {
    for (const std::size_t queue : queues) {
      (world.kind(queue) == starved_ ? late_ : prompt_).entries.push_back(queue);
    }
  }
  std::optional<std::size_t> next() {
    for (List* list : {&prompt_, &late_}) {
      if (list->first == list->entries.size()) continue;
      if (shuffled_) {
        const std::size_t left = list->entries.size() - list->first;
        std::swap(list->entries[list->first], list->entries[list->first + random_.below(left)]);
      }
      return list->entries[list->first++];
    }
    return std::nullopt;
  }

 private:
  struct List {
    std::vector<std::size_t> entries;  // from `first` on
    std::size_t first = 0;
  };
  std::optional<CompletionKind> starved_;
  Random random_;
  bool shuffled_;
  List prompt_;
  List late_;
};

}  // namespace

Bytes CheckReport::total_bytes() const {
  Bytes total;
  for (const Bytes sent : bytes_sent) total += sent;
  return total;
}

std::string CheckReport::text() const {
  std::string text;
  for (const std::string& violation : violations) text += violation + '\n';
  return text;
}

Symbol expected_symbol(const Schedule& schedule, const CheckSettings& settings, Rank rank,
                       std::int64_t element) {
  const Rank n = schedule.ranks();
  const std::int64_t count = settings.world.count;
  const auto bit = [](Rank r) { return std::uint64_t{1} << r; };
  const Symbol of_all{~std::uint64_t{0} >> (64 - n), element,
                      settings.world.engine.reduction == Reduction::kAvg};
  switch (settings.collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
      return of_all;
    case Collective::kAllGather:
      return {bit(static_cast<Rank>(element / (count / n))), element, false};
    case Collective::kBroadcast:
      return {bit(0), element, false};
    case Collective::kAllToAll: {
      const std::int64_t part = count / n;
      const auto source = static_cast<Rank>(element / part);
      return {bit(source), rank * part + element % part, false};
    }
    case Collective::kSendRecv:
      return {bit((rank + n - 1) % n), element, false};
  }
  return {};
}

Span expected_span(const Schedule& schedule, const CheckSettings& settings, Rank rank) {
  const std::int64_t part = settings.world.count / schedule.ranks();
  switch (settings.collective) {
    case Collective::kReduceScatter:
      return {rank * part, part};
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return {0, part * schedule.ranks()};
    default:
      return {0, settings.world.count};
  }
}

void check_result(SymbolicWorld& world, const Schedule& schedule, const CheckSettings& settings) {
  if (!world.finished()) {
    world.violations().add("nothing left to come, and not finished:\n" + world.describe());
    return;
  }
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    const Span result = expected_span(schedule, settings, rank);
    for (std::int64_t i = result.first; i < result.first + result.count; ++i) {
      const Symbol& symbol = world.memory(rank).output(i);
      if (symbol == expected_symbol(schedule, settings, rank, i)) continue;
      world.violations().add("rank " + std::to_string(rank) + ", element " + std::to_string(i) +
                             ": holds " + text_of(symbol));
    }
    world.memory(rank).check_idle();
  }
}

CheckReport check_schedule(const Schedule& schedule, const CheckSettings& settings) {
  SymbolicWorld world(schedule, settings.world);
  Order order(settings);
  CheckReport report;
  world.start();
  order.add(world.take_new(), world);
  while (const std::optional<std::size_t> queue = order.next()) {
    world.deliver(*queue);
    order.add(world.take_new(), world);
    ++report.completions;
  }
  check_result(world, schedule, settings);
  report.violations = world.violations().first();
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    report.bytes_sent.push_back(world.engine(rank).bytes_sent());
  }
  return report;
}

}  // namespace gradhaul::oracle
