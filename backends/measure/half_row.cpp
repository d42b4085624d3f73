#include "backends/measure/half_row.h"

#include <algorithm>
#include <cstring>

#include "backends/bootstrap/wire_bytes.h"
#include "backends/measure/test_pattern.h"
#include "core/asked_row.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

constexpr std::uint64_t kTimedSalt = 0;
constexpr std::uint64_t kCheckedSalt = 1;
constexpr std::int64_t kPiece = 1 << 20;  // bytes filled or compared at once
// Not what any run leaves: what nobody wrote counts as wrong.
constexpr std::byte kUnwritten{0xa5};

// No slice is larger than a channel's share of the message, so no slot need be: where there are
// many connections, slots that small messages hardly touch would cost more than these.
Bytes slot_size_for(Bytes slot_size, std::int64_t elements, Bytes element, int channels) {
  return std::min(slot_size,
                  element * std::max<std::int64_t>(1, (elements + channels - 1) / channels));
}

}  // namespace

HalfRow::HalfRow(const MeasureRequest& request, const Communication& communication,
                 const Placement& placement, const RankResources& rank, Bytes size, bool in_place)
    : request_(request),
      communication_(communication),
      rank_(rank),
      size_(size),
      in_place_(in_place),
      channels_(placement.channels),
      element_(size_of(request.workload.datatype)) {
  const Rank ranks = request.cluster.ranks();
  const std::int64_t count = size.count / element_.count;
  // Of what is about equal parts, what is left over stays where it is.
  elements_ = elements_of_message(request.workload.collective, count, ranks);
  const Bytes slot_size = slot_size_for(communication.slot_size, count, element_, channels_);
  schedule_ = make_schedule({.collective = request.workload.collective,
                             .algorithm = communication.algorithm,
                             .ranks = ranks,
                             .count = count,
                             .datatype = request.workload.datatype,
                             .slot_size = slot_size,
                             .listed = communication.listed,
                             .one_step = communication.one_step},
                            placement);
  run_.engine = {request.workload.datatype, request.workload.reduction, communication.slots,
                 slot_size};
  run_.timeout = request.timeout;
  run_.what = std::string(name_of(request.workload.collective)) + " of " +
              std::to_string(size.count) + " bytes" + (in_place ? " in place" : "");
}

std::optional<HalfRow::Times> HalfRow::times() {
  const std::unique_ptr<Endpoint> endpoint = make_endpoint();
  CollectiveRun run(*schedule_, run_, rank_.exchange, *endpoint, rank_.memory);
  return timed(run, kTimedSalt, request_.series);
}

std::optional<ResultRow> HalfRow::measure() {
  const std::unique_ptr<Endpoint> endpoint = make_endpoint();
  facts_ = joined_facts(endpoint->facts(), rank_.memory.facts());
  CollectiveRun run(*schedule_, run_, rank_.exchange, *endpoint, rank_.memory);
  Timed done;
  fill(kTimedSalt);
  const CountedAtPorts before = rank_.endpoints.port_counts();
  auto times = iterate(run, request_.series, done.runs);
  if (!times) return std::nullopt;
  done.times = std::move(*times);
  done.counted = growth(before, rank_.endpoints.port_counts());
  done.sent = run.bytes_sent();
  // Once more, with data that no iteration before left anywhere.
  if (!timed(run, kCheckedSalt, {.iterations = 1, .warmup = 0})) return std::nullopt;
  return row_of(done, count_wrong(kCheckedSalt));
}

std::optional<HalfRow::Times> HalfRow::timed(CollectiveRun& run, std::uint64_t salt,
                                             const SeriesSettings& series) {
  fill(salt);
  int runs = 0;
  return iterate(run, series, runs);
}

std::optional<HalfRow::Times> HalfRow::iterate(CollectiveRun& run, const SeriesSettings& series,
                                               int& runs) {
  return IterationSeries(rank_.exchange, series, request_.interrupted)
      .times({[&] { run.prepare(); },
              [&] {
                ++runs;
                return run.run();
              }});
}

std::unique_ptr<Endpoint> HalfRow::make_endpoint() {
  const CollectiveEngine engine(*schedule_, rank_.exchange.rank(), run_.engine);
  const Bytes bytes = element_ * elements_;
  const Bytes scratch = element_ * schedule_->scratch(rank_.exchange.rank());
  rank_.memory.prepare({.input = bytes,
                        .output = bytes + scratch,
                        .slots = engine.slots_bytes(),
                        .in_place = in_place_});
  return rank_.endpoints.make({.connections = engine.connections(),
                               .memory = rank_.memory.regions(),
                               .slots = communication_.slots,
                               .slot_size = run_.engine.slot_size,
                               .queue_pairs = streams_of(communication_)});
}

void HalfRow::fill(std::uint64_t salt) {
  const TestPattern pattern(
      {request_.workload.collective, request_.workload.datatype, request_.workload.reduction,
       request_.cluster.ranks(), elements_, salt},
      rank_.exchange.rank());
  const std::int64_t per_piece = kPiece / element_.count;
  std::vector<std::byte> piece;
  for (std::int64_t first = 0; first < elements_; first += per_piece) {
    const std::int64_t count = std::min(per_piece, elements_ - first);
    piece.assign(static_cast<std::size_t>(count * element_.count), kUnwritten);
    if (!in_place_) rank_.memory.write({Region::kOutput, element_ * first}, piece);
    pattern.input(first, piece);
    rank_.memory.write({Region::kInput, element_ * first}, piece);
  }
}

std::int64_t HalfRow::count_wrong(std::uint64_t salt) {
  const TestPattern pattern(
      {request_.workload.collective, request_.workload.datatype, request_.workload.reduction,
       request_.cluster.ranks(), elements_, salt},
      rank_.exchange.rank());
  const std::int64_t per_piece = kPiece / element_.count;
  const auto element = static_cast<std::size_t>(element_.count);
  std::vector<std::byte> found;
  std::vector<std::byte> expected;
  std::int64_t wrong = 0;
  const Span result = result_of(request_.workload.collective, elements_, request_.cluster.ranks(),
                                rank_.exchange.rank());
  const std::int64_t end = result.first + result.count;
  for (std::int64_t first = result.first; first < end; first += per_piece) {
    const std::int64_t count = std::min(per_piece, end - first);
    found.resize(static_cast<std::size_t>(count) * element);
    expected.resize(found.size());
    rank_.memory.read({Region::kOutput, element_ * first}, found);
    pattern.expected(first, expected);
    if (found == expected) continue;
    for (std::size_t at = 0; at < found.size(); at += element) {
      if (std::memcmp(&found[at], &expected[at], element) != 0) ++wrong;
    }
  }
  return wrong;
}

ResultRow HalfRow::row_of(const Timed& timed, std::int64_t wrong) {
  WireWriter mine;
  mine.i64(wrong);
  mine.i64(timed.sent.count);
  mine.text(counted_text(timed.counted));
  std::int64_t wrong_of_all = 0;
  Bytes sent;
  std::vector<std::string> counted;
  std::vector<int> nodes;
  for (const std::vector<std::byte>& record : rank_.exchange.all_gather(mine.bytes())) {
    WireReader theirs(record);
    wrong_of_all += theirs.i64();
    sent = std::max(sent, Bytes{theirs.i64()});
    counted.push_back(theirs.text());
    nodes.push_back(static_cast<int>(nodes.size()) / request_.cluster.ranks_per_node);
  }
  const TimeSummary summary = summary_of(timed.times);
  ResultRow row =
      asked_row(request_.workload, communication_, request_.cluster.ranks(), channels_, size_);
  row.time = summary.mean;
  row.bytes_sent_per_rank = sent;
  row.measured = IterationTimes{.in_place = in_place_,
                                .wrong = wrong_of_all,
                                .iterations = static_cast<int>(timed.times.size()),
                                .min = summary.min,
                                .p50 = summary.p50,
                                .p99 = summary.p99,
                                .each = summary.each};
  row.counted.ports = counters_of_ranks(counted, nodes);
  if (!row.counted.ports.empty()) row.counted.runs = timed.runs;
  return row;
}

}  // namespace gradhaul
