#include "sim/plan_ranges.h"

#include <iterator>

namespace gradhaul {

std::string plan_text(const WeighedPlan& plan) { return plan.algorithm + "/" + plan.protocol; }

std::string size_text(Bytes size) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::int64_t count = size.count;
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && count >= 1024 && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return std::to_string(count) + " " + kUnits[unit];
}

std::string plan_ranges(const std::vector<ResultRow>& rows, const PlanOfRow& plan) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = plan_text(plan(rows[i]));
    const bool last = i + 1 == rows.size();
    if (!last && plan_text(plan(rows[i + 1])) == name) continue;
    if (!text.empty()) text += last ? ", then " : ", ";
    text += name;
    if (!last) text += " up to " + size_text(rows[i].size);
  }
  return text;
}

void add_switch_note(const std::vector<ResultRow>& rows, const PlanOfRow& plan,
                     std::vector<std::string>& notes) {
  const auto in_switches = [&](const ResultRow& row) {
    return plan(row).algorithm.rfind("nvls", 0) == 0;
  };
  std::string sizes;
  for (const ResultRow& row : rows) {
    if (!in_switches(row)) continue;
    if (sizes.empty()) sizes = size_text(row.size);
    if (&row == &rows.back() || !in_switches(*(&row + 1))) {
      const std::string end = size_text(row.size);
      if (end != sizes) sizes += " to " + end;
      notes.push_back(
          "for " + sizes +
          " NCCL would use NVLS, which reduces inside NVSwitch and is not modelled here: fewer "
          "bytes pass each link than in a ring, so that its busbw may lie above what links carry "
          "and compares with neither links nor rings (NCCL_NVLS_ENABLE=0 turns it off)");
      sizes.clear();
    }
  }
}

}  // namespace gradhaul
