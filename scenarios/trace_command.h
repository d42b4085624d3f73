#pragma once

// predict --trace: what is asked for, and the file.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run_recorder.h"
#include "core/prediction_request.h"
#include "core/result.h"
#include "scenarios/command_context.h"
#include "scenarios/scenario.h"

namespace gradhaul {

struct TraceOptions {
  std::string file;    // empty: none is written
  std::string window;  // "FROM..TO"; empty: all of it
  std::string ranks;   // "0,1,8..15"; empty: all
  std::string links;   // "node0.nic0,leaf0"; empty: all
  std::int64_t most_events = 1'000'000;
};

// What stands between commas.
std::vector<std::string> split_list(const std::string& text);

// Ranks as "0,1,8..15". Throws ConfigError, which names `option`.
std::set<Rank> parse_ranks(const std::string& text, int ranks, const std::string& option);

// A span of time as "1ms..2ms", in ps; either side may be left out. Throws ConfigError.
std::pair<std::int64_t, std::int64_t> parse_window(const std::string& text,
                                                   const std::string& option);

class TraceRecording {
 public:
  // Throws ConfigError where the scenario cannot be traced as asked.
  TraceRecording(const TraceOptions& options, const Scenario& scenario,
                 const CommandContext& context);
  // The run is looked at, and nothing of it is skipped. Nothing where no trace was asked for.
  void join(PredictionRequest& request);
  // Whether the file could be written; complains where not, and says what it lacks.
  bool write(const Prediction& prediction) const;

 private:
  std::string file_;
  std::string program_;
  std::string scenario_;
  std::unique_ptr<RunRecorder> recorder_;
};

}  // namespace gradhaul
