#include "backends/measure/calibrate.h"

#include <algorithm>

#include "backends/cpu/host_rank_memory.h"
#include "backends/measure/half_row.h"
#include "backends/measure/write_stream.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// Enough for the spread that is told.
constexpr int kLeastRepetitions = 5;
// Written in one repetition, so that its start and end weigh little; of the largest messages few.
constexpr std::int64_t kStreamed{8 << 20};
constexpr std::int64_t kPassedOn{2 << 20};
constexpr std::int64_t kMostTurns = 100;
constexpr std::int64_t kFewestMessages = 4;
// What memory does in one repetition: well above what reading a clock takes.
constexpr std::int64_t kWorked{4 << 20};
// More than the caches that one core reaches: what memory gives, and not they.
constexpr Bytes kLargeCopy{std::int64_t{128} << 20};
// Slices of a chunk, so that a ring's first one and last one weigh little.
constexpr std::int64_t kSlices = 64;

// `parts`: how many of what is asked for one repetition has.
CalibrationSample sample_of(CalibrationSample about, std::vector<nanoseconds> times,
                            std::int64_t parts) {
  std::sort(times.begin(), times.end());
  const auto part = [&](std::size_t percent) {
    return Duration{std::max<std::int64_t>(nearest_rank(times, percent).count() * 1000 / parts, 1)};
  };
  about.low = part(10);
  about.median = part(50);
  about.high = part(90);
  about.repetitions = static_cast<int>(times.size());
  return about;
}

class CompletedReductions final : public CompletionSink {
 public:
  void on_completion(const Completion& /*completion*/) override { ++count; }
  std::int64_t count = 0;
};

class CalibrationRun {
 public:
  CalibrationRun(const MeasureRequest& request, const RankResources& rank)
      : request_(request), settings_(*request.calibration), rank_(rank), series_(request.series) {
    series_.least = kLeastRepetitions;
  }

  // Whether it was not interrupted.
  bool run() {
    for (const Bytes size : settings_.sizes) {
      if (!run_latency(size)) return false;
    }
    for (const int queue_pairs : settings_.queue_pairs) {
      for (const int depth : settings_.depths) {
        for (const Bytes size : settings_.sizes) {
          if (!run_bandwidth(size, queue_pairs, depth)) return false;
        }
      }
    }
    if (!run_step()) return false;
    return run_memory();
  }

  Calibration take() { return std::move(found_); }

 private:
  std::int64_t messages(Bytes size, std::int64_t bytes) const {
    return std::clamp<std::int64_t>(
        bytes / size.count, kFewestMessages,
        std::max<std::int64_t>(settings_.most_messages, kFewestMessages));
  }

  // The first rank's times: of one clock, from its own start.
  bool run_stream(const WriteStreamSettings& settings, const CalibrationSample& about,
                  std::int64_t parts) {
    WriteStream stream(settings, rank_.exchange, rank_.endpoints, rank_.memory);
    const auto by_iteration = stream.times(series_, request_.interrupted);
    if (!by_iteration) return false;
    std::vector<nanoseconds> times;
    for (const std::vector<nanoseconds>& iteration : *by_iteration) times.push_back(iteration[0]);
    found_.samples.push_back(sample_of(about, times, parts));
    if (found_.facts.empty()) found_.facts = stream.facts();
    return true;
  }

  bool run_latency(Bytes size) {
    const std::int64_t count = std::min(messages(size, kPassedOn), kMostTurns);
    WriteStreamSettings settings;
    settings.writes = {{.source = 0, .destination = 1}, {.source = 1, .destination = 0}};
    settings.size = size * count;
    settings.slice = size;
    settings.in_turns = true;
    settings.timeout = request_.timeout;
    return run_stream(settings, {.kind = CalibrationKind::kLatency, .size = size}, 2 * count);
  }

  bool run_bandwidth(Bytes size, int queue_pairs, int depth) {
    const std::int64_t count = messages(size, kStreamed);
    WriteStreamSettings settings;
    settings.writes = {{.source = 0, .destination = 1}};
    settings.size = size * count;
    settings.slice = size;
    settings.slots = depth;
    settings.queue_pairs = queue_pairs;
    settings.until_returned = true;
    settings.timeout = request_.timeout;
    return run_stream(settings,
                      {.kind = CalibrationKind::kBandwidth,
                       .size = size,
                       .queue_pairs = queue_pairs,
                       .depth = depth},
                      count);
  }

  // Of the smallest size: what is left beside the bytes.
  bool run_step() {
    MeasureRequest ring = request_;
    ring.series = series_;
    ring.workload.collective = Collective::kAllReduce;
    ring.communication.channels = 1;
    const Bytes element = size_of(ring.workload.datatype);
    const Bytes slice = std::max(settings_.sizes.front(), element);
    ring.communication.slot_size = slice;
    const Rank ranks = request_.cluster.ranks();
    const Placement placement = place(ring.cluster, ring.communication, ring.workload.collective);
    const std::int64_t slices = ring_slices(settings_);
    const Bytes size = slice * slices * ranks;
    const auto times = HalfRow(ring, ring.communication, placement, rank_, size, false).times();
    if (!times) return false;
    found_.samples.push_back(sample_of({.kind = CalibrationKind::kStep, .size = slice}, *times,
                                       2 * (ranks - 1) * slices));
    return true;
  }

  // By the first rank alone; the others wait, and leave it the memory.
  bool run_memory() {
    if (rank_.exchange.rank() == 0) {
      for (const Bytes size : settings_.sizes) run_registration(size);
      for (const Bytes size : settings_.sizes) run_reduce(size);
      for (const Bytes size : settings_.sizes) run_copy(size);
      run_copy(kLargeCopy);
    }
    rank_.exchange.all_gather({});
    return request_.interrupted == nullptr || !*request_.interrupted;
  }

  // Until there are enough; each call of `work` does so many parts.
  template <typename Work>
  void repeat(const CalibrationSample& about, std::int64_t parts, const Work& work) {
    std::vector<nanoseconds> times;
    work();
    const Clock::time_point start = Clock::now();
    const auto enough = [&](int done) {
      if (series_.iterations) return done >= *series_.iterations;
      return done >= kMostIterations ||
             (done >= kLeastRepetitions && Clock::now() - start >= series_.budget);
    };
    while (!enough(static_cast<int>(times.size()))) {
      const Clock::time_point before = Clock::now();
      work();
      times.emplace_back(Clock::now() - before);
    }
    found_.samples.push_back(sample_of(about, times, parts));
  }

  void run_registration(Bytes size) {
    HostPages pages(size);
    std::fill(pages.bytes().begin(), pages.bytes().end(), std::byte{1});
    std::vector<nanoseconds> times;
    for (int i = 0; i < kMostIterations; ++i) {
      const auto time = rank_.endpoints.time_registration(pages.bytes());
      if (!time) return;
      times.push_back(*time);
    }
    found_.samples.push_back(
        sample_of({.kind = CalibrationKind::kRegistration, .size = size}, times, 1));
  }

  void run_reduce(Bytes size) { run_reductions(ReduceKind::kReduce, size); }

  void run_reductions(ReduceKind kind, Bytes size) {
    ReduceRequest request;
    request.kind = kind;
    const bool copies = kind == ReduceKind::kCopy;
    request.target = {Region::kOutput, {}};
    request.left = {copies ? Region::kSlots : Region::kOutput, {}};
    request.right = {Region::kSlots, {}};
    request.datatype = request_.workload.datatype;
    request.count = size.count / size_of(request.datatype).count;
    if (request.count == 0) return;
    rank_.memory.prepare({.input = size, .output = size, .slots = size});
    touch(size);
    const std::int64_t parts = messages(size, kWorked);
    const CalibrationKind of = copies ? CalibrationKind::kCopy : CalibrationKind::kReduce;
    repeat({.kind = of, .size = size}, parts, [&] {
      CompletedReductions done;
      for (std::int64_t i = 0; i < parts; ++i) {
        rank_.memory.reducer().post_reduce(request);
        while (done.count <= i) rank_.memory.poll(done);
      }
    });
  }

  // Within the memory itself: a GPU's by itself, since what comes from the host is held back
  // by what lies between.
  void run_copy(Bytes size) {
    if (rank_.memory.on_gpu()) return run_reductions(ReduceKind::kCopy, size);
    rank_.memory.prepare({.input = size, .output = size, .slots = {}});
    const std::vector<std::byte> source(static_cast<std::size_t>(size.count), std::byte{1});
    const std::int64_t parts = std::max<std::int64_t>(1, kWorked / size.count);
    repeat({.kind = CalibrationKind::kCopy, .size = size}, parts, [&] {
      for (std::int64_t i = 0; i < parts; ++i) {
        rank_.memory.write({Region::kOutput, {}}, source);
      }
    });
  }

  // Pages that nobody has touched are all the same one.
  void touch(Bytes size) {
    const std::vector<std::byte> filling(static_cast<std::size_t>(size.count));
    rank_.memory.write({Region::kOutput, {}}, filling);
    rank_.memory.write({Region::kSlots, {}}, filling);
  }

  const MeasureRequest& request_;
  const CalibrationSettings& settings_;
  const RankResources& rank_;
  SeriesSettings series_;
  Calibration found_;
};

}  // namespace

std::int64_t ring_slices(const CalibrationSettings& settings) {
  return std::clamp<std::int64_t>(settings.most_messages, kFewestMessages, kSlices);
}

std::optional<Calibration> calibrate(const MeasureRequest& request, const RankResources& rank) {
  CalibrationRun run(request, rank);
  if (!run.run()) return std::nullopt;
  return run.take();
}

}  // namespace gradhaul
