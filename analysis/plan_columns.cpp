#include "analysis/plan_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

std::string plan_text(const WeighedPlan& plan) {
  return fmt::format("{}/{} x{}", plan.algorithm, plan.protocol, plan.channels);
}

std::string timed(const WeighedPlan& plan) {
  return fmt::format("{} {}", plan_text(plan), duration_text(plan.time));
}

std::array<std::string, 3> cells_of(const ResultRow& row) {
  return {plan_text({row.algorithm, row.protocol, row.channels, row.time}),
          row.weighed.size() > 1 ? timed(row.weighed[1]) : "-",
          row.nccl ? timed(row.nccl->plan) : ""};
}

// The last column needs no padding.
std::string padded(const std::array<std::string, 3>& cells,
                   const std::array<std::size_t, 3>& widths) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] > 0) text += fmt::format("   {:<{}}", cells[i], widths[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

PlanColumns::PlanColumns(const std::vector<ResultRow>& rows) {
  shown_ = std::any_of(rows.begin(), rows.end(),
                       [](const ResultRow& row) { return !row.weighed.empty(); });
  if (!shown_) return;
  heads_ = {"plan (channels)", "next best, estimated", ""};
  for (const ResultRow& row : rows) {
    if (row.nccl) heads_[2] = fmt::format("NCCL {} would take, expecting", row.nccl->version);
    const auto cells = cells_of(row);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths_[i] = std::max(widths_[i], cells[i].size());
    }
  }
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    widths_[i] = std::max(widths_[i], heads_[i].size());
  }
}

std::string PlanColumns::names() const { return shown_ ? padded(heads_, widths_) : ""; }

std::string PlanColumns::of(const ResultRow& row) const {
  return shown_ ? padded(cells_of(row), widths_) : "";
}

}  // namespace gradhaul
