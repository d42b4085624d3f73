#pragma once

// Columns of a sweep's table that say what plans take beside time. Each is there where the points
// differ in it.

#include <string>
#include <vector>

#include "analysis/sweep_outcome.h"
#include "analysis/sweep_result.h"

namespace gradhaul {

class SweepColumns {
 public:
  explicit SweepColumns(const SweepResult& sweep);

  std::string names() const;
  std::string units() const;
  std::string of(const SweepRow& row) const;

 private:
  std::vector<std::size_t> shown_;  // indices of what there is to show
};

}  // namespace gradhaul
