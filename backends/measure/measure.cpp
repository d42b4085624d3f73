#include "backends/measure/measure.h"

#include <algorithm>
#include <new>

#include "backends/bootstrap/failure_order.h"
#include "backends/bootstrap/wire_bytes.h"
#include "backends/measure/calibrate.h"
#include "backends/measure/half_row.h"
#include "backends/measure/measure_ladder.h"
#include "backends/measure/measure_pairs.h"
#include "backends/measure/measure_rings.h"
#include "backends/measure/rank_failed.h"
#include "core/placement.h"

namespace gradhaul {
namespace {

constexpr const char* kVictim = "a victim: ";
constexpr const char* kUnknownCause = "the run failed, and nobody says why";

std::string failure_sentence(const RankFailure& failure) {
  const std::string who = "rank " + std::to_string(failure.rank) + ": ";
  return who + failure.what;
}

class RankMeasurement {
 public:
  RankMeasurement(const MeasureRequest& request, const RankResources& rank)
      : request_(request), rank_(rank) {
    if (request.chosen.empty()) take_place(request.communication);
  }

  Measurement run() {
    try {
      if (request_.calibration) {
        run_calibration();
      } else if (request_.pairs) {
        run_pairs();
      } else {
        run_rows();
      }
    } catch (const RankFailed& failed) {
      give_up(failed.failure());
    } catch (const OthersFailed& failed) {
      stopped_ = failed.what();
      tell_failures();
    } catch (const ExchangeError& error) {
      if (rank_.exchange.aborted()) {
        tell_failures();
      } else {
        give_up({rank_.exchange.rank(), -1, error.what()});
      }
    } catch (const WireError& error) {
      give_up({rank_.exchange.rank(), -1, error.what()});
    } catch (const RankMemoryError& error) {
      give_up({rank_.exchange.rank(), -1, error.what()});
    } catch (const std::bad_alloc&) {
      give_up({rank_.exchange.rank(), -1, "out of memory"});
    }
    return std::move(measured_);
  }

 private:
  // Whether a NIC reaches the ranks' memory itself is what the backend finds, and says.
  void take_place(Communication communication) {
    communication.gpudirect = GpuDirect::kOn;
    placement_ = place(request_.cluster, communication, request_.workload.collective);
    measured_.channels = placement_.channels;
    measured_.rings = placement_.rings;
    for (const std::string& note : placement_.notes) {
      const auto& notes = measured_.notes;
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
        measured_.notes.push_back(note);
      }
    }
  }

  void run_calibration() {
    auto found = calibrate(request_, rank_);
    measured_.interrupted = !found;
    if (found && request_.calibrated != nullptr) *request_.calibrated = std::move(*found);
  }

  void run_pairs() {
    const auto times = measure_pairs(request_, rank_);
    measured_.interrupted = !times;
    if (!times) return;
    if (request_.pair_times != nullptr) *request_.pair_times = *times;
    const auto rings = measure_rings(request_, rank_);
    measured_.interrupted = !rings;
    if (rings && request_.ring_times != nullptr) *request_.ring_times = *rings;
  }

  void run_rows() {
    const bool in_place_too = runs_in_place(request_.workload.collective, request_.communication);
    const std::size_t halves = request_.workload.sizes.size() * (in_place_too ? 2 : 1);
    for (std::size_t i = 0; i < request_.workload.sizes.size(); ++i) {
      const Bytes asked = request_.workload.sizes[i];
      const bool own = !request_.chosen.empty();
      const Communication& communication = own ? request_.chosen[i] : request_.communication;
      if (own) take_place(communication);
      const std::int64_t element = size_of(request_.workload.datatype).count;
      const Bytes size{asked.count / element * element};
      std::optional<std::vector<LadderRow>> rungs;
      if (request_.ladder) {
        rungs = measure_rungs(request_, placement_, rank_, size);
        measured_.interrupted = !rungs;
        if (!rungs) return;
      }
      // A size is finished when both of its halves are.
      std::vector<ResultRow> rows;
      for (const bool in_place : {false, true}) {
        if (in_place && !in_place_too) continue;
        if (request_.progress != nullptr) {
          const auto done = static_cast<double>(measured_.rows.size() + rows.size());
          request_.progress->on_progress(done / static_cast<double>(halves), size);
        }
        HalfRow half(request_, communication, placement_, rank_, size, in_place);
        const std::optional<ResultRow> row = half.measure();
        measured_.interrupted = !row;
        if (!row) return;
        if (measured_.facts.empty()) measured_.facts = half.facts();
        rows.push_back(*row);
      }
      measured_.rows.insert(measured_.rows.end(), rows.begin(), rows.end());
      if (!rungs) continue;
      rungs->push_back(collective_rung(request_, placement_, rows.front()));
      measured_.ladder.insert(measured_.ladder.end(), rungs->begin(), rungs->end());
    }
  }

  void give_up(const RankFailure& failure) {
    rank_.exchange.abort(failure);
    tell_failures();
  }

  void tell_failures() {
    const std::vector<RankFailure> failures = by_likeliest_cause(rank_.exchange.failures());
    for (const RankFailure& failure : failures) {
      const bool cause = measured_.failures.empty();
      measured_.failures.push_back((cause ? "" : kVictim) + failure_sentence(failure));
    }
    if (failures.empty()) measured_.failures.emplace_back(kUnknownCause);
    if (!stopped_.empty()) {
      measured_.failures.push_back(kVictim + std::string("rank ") +
                                   std::to_string(rank_.exchange.rank()) + ": stopped " + stopped_);
    }
  }

  const MeasureRequest& request_;
  const RankResources& rank_;
  Placement placement_;
  Measurement measured_;
  std::string stopped_;  // where this rank was when others failed
};

}  // namespace

Measurement measure(const MeasureRequest& request, const RankResources& rank) {
  return RankMeasurement(request, rank).run();
}

void put_cause_first(std::string cause, std::vector<std::string>& failures) {
  if (!failures.empty() && failures.front() == kUnknownCause) failures.erase(failures.begin());
  if (!failures.empty() && !failures.front().starts_with(kVictim))
    failures.front().insert(0, kVictim);
  failures.insert(failures.begin(), std::move(cause));
}

}  // namespace gradhaul
