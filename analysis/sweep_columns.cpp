#include "analysis/sweep_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace gradhaul {
namespace {

struct Column {
  std::string_view name;
  std::string_view unit;
  double (*value)(const SweepRow& row);
  std::string (*text)(const SweepRow& row);
};

const std::array<Column, 5>& columns() {
  static const std::array<Column, 5> all{
      {{"cores", "", [](const SweepRow& row) { return row.cpu_cores; },
        [](const SweepRow& row) { return fmt::format("{:.2f}", row.cpu_cores); }},
       {"SMs", "", [](const SweepRow& row) { return static_cast<double>(row.gpu_sms); },
        [](const SweepRow& row) { return fmt::format("{}", row.gpu_sms); }},
       {"QPs", "(a NIC)",
        [](const SweepRow& row) { return static_cast<double>(row.queue_pairs_per_nic); },
        [](const SweepRow& row) { return fmt::format("{}", row.queue_pairs_per_nic); }},
       {"pinned", "(MB)",
        [](const SweepRow& row) { return static_cast<double>(row.registered_bytes); },
        [](const SweepRow& row) {
          return fmt::format("{:.1f}", static_cast<double>(row.registered_bytes) / 1e6);
        }},
       {"setup", "(ms)", [](const SweepRow& row) { return row.setup_us; },
        [](const SweepRow& row) { return fmt::format("{:.1f}", row.setup_us / 1e3); }}}};
  return all;
}

bool differs(const SweepResult& sweep, const Column& column) {
  std::optional<double> first;
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome) continue;
    for (const SweepRow& row : point.outcome->rows()) {
      if (!first) first = column.value(row);
      if (column.value(row) != *first) return true;
    }
  }
  return false;
}

}  // namespace

SweepColumns::SweepColumns(const SweepResult& sweep) {
  for (std::size_t i = 0; i < columns().size(); ++i) {
    if (differs(sweep, columns()[i])) shown_.push_back(i);
  }
}

std::string SweepColumns::names() const {
  std::string text;
  for (const std::size_t i : shown_) text += fmt::format("  {:>7}", columns()[i].name);
  return text;
}

std::string SweepColumns::units() const {
  const auto has_unit = [](std::size_t i) { return !columns()[i].unit.empty(); };
  if (std::none_of(shown_.begin(), shown_.end(), has_unit)) return "";
  std::string text;
  for (const std::size_t i : shown_) text += fmt::format("  {:>7}", columns()[i].unit);
  return text;
}

std::string SweepColumns::of(const SweepRow& row) const {
  std::string text;
  for (const std::size_t i : shown_) text += fmt::format("  {:>7}", columns()[i].text(row));
  return text;
}

}  // namespace gradhaul
