#pragma once

// Columns of a table whose plan was chosen size by size: what was taken, what would have been
// next, and what NCCL would take, the last two with their estimated times. They come after all
// others; a table without a choice has none.

#include <array>
#include <string>
#include <vector>

#include "core/result.h"

namespace gradhaul {

class PlanColumns {
 public:
  explicit PlanColumns(const std::vector<ResultRow>& rows);

  // Whether there are any; the rest is empty else.
  bool shown() const { return shown_; }
  std::string names() const;
  std::string of(const ResultRow& row) const;

 private:
  bool shown_ = false;
  std::array<std::string, 3> heads_;
  std::array<std::size_t, 3> widths_{};
};

}  // namespace gradhaul
