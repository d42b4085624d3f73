#pragma once

// A scenario run again with some of its keys changed: what explain and predict --uncertainty share.

#include <string>
#include <vector>

#include "core/prediction_request.h"

namespace gradhaul {

// Settings of --set, PATH=VALUE, and then others: of the same path the last one holds.
std::vector<std::string> joined(const std::vector<std::string>& first,
                                const std::vector<std::string>& then);

// Several runs told as one.
class RunOfSeveral final : public ProgressSink {
 public:
  // The run of that number, from 0, of `runs`.
  RunOfSeveral(ProgressSink& all, int run, int runs) : all_(all), run_(run), runs_(runs) {}
  void on_progress(double done, Bytes row) override;

 private:
  ProgressSink& all_;
  int run_;
  int runs_;
};

// Of a run that took so many seconds: whether somebody waits long enough for `more` others like it
// to be told why. Tells how to make it shorter then.
void warn_of_runs(double seconds, int more, const std::string& shorter);

}  // namespace gradhaul
