// The table of sweep_result.h.

#include <fmt/format.h>

#include <algorithm>

#include "analysis/quantity_text.h"
#include "analysis/sweep_columns.h"
#include "analysis/sweep_result.h"
#include "analysis/sweep_step.h"

namespace gradhaul {
namespace {

// "token" or "sample"; empty: no point that is done is a training step.
std::string item_of(const SweepResult& sweep) {
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome || !point.outcome->done()) continue;
    if (const auto step = step_of(point.outcome->result)) return step->item;
  }
  return "";
}

bool is_of_steps(const SweepResult& sweep) { return !item_of(sweep).empty(); }

struct BestRow {
  const SweepPoint* point = nullptr;
  SweepRow row;
};

std::vector<std::size_t> widths_of(const SweepResult& sweep) {
  std::vector<std::size_t> widths;
  for (const SweepAxisRecord& axis : sweep.axes) {
    std::size_t width = axis.path.size();
    for (const std::string& value : axis.values) width = std::max(width, value.size());
    widths.push_back(width);
  }
  return widths;
}

std::string head_of(const SweepResult& sweep, const std::vector<std::size_t>& widths,
                    const SweepColumns& further) {
  std::string axes;
  for (const SweepAxisRecord& axis : sweep.axes) {
    axes += fmt::format("{}{} ({})", axes.empty() ? "" : ", ", axis.path, axis.values.size());
  }
  const std::size_t points = sweep.points.size();
  const bool varied =
      std::any_of(sweep.axes.begin(), sweep.axes.end(), [](const SweepAxisRecord& axis) {
        return axis.path == "communication.profile" || axis.path == "communication";
      });
  const std::string profile = varied ? "" : profile_of(sweep.scenario.effective);
  std::string text =
      fmt::format("# gradhaul {}: sweep of scenario {}{} over {}: {} point{}\n#\n", sweep.version,
                  sweep.scenario.name, profile.empty() ? "" : ", profile " + profile + ",",
                  axes.empty() ? "nothing" : axes, points, points == 1 ? "" : "s");
  std::string names;
  std::string units;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    names += fmt::format("  {:>{}}", sweep.axes[i].path, widths[i]);
    units += fmt::format("  {:>{}}", "", widths[i]);
  }
  names = names.empty() ? "" : names.substr(1);
  units = units.empty() ? "" : units.substr(1);
  if (is_of_steps(sweep)) {
    return text +
           fmt::format("#{}  {:>12}  {:>12}  {:>7}  {:>12}  {:>13}\n", names, "step",
                       item_of(sweep) + "s/s", "of peak", "exposed", "communicating") +
           fmt::format("#{}  {:>12}  {:>12}  {:>7}  {:>12}  {:>13}\n", units, "(us)", "", "(%)",
                       "(us)", "(us)");
  }
  return text +
         fmt::format("#{}  {:>13}  {:>12}  {:>7}  {:>7}{}   limited by\n", names, "size", "time",
                     "algbw", "busbw", further.names()) +
         fmt::format("#{}  {:>13}  {:>12}  {:>7}  {:>7}{}\n", units, "(B)", "(us)", "(GB/s)",
                     "(GB/s)", further.units());
}

std::string step_line(const std::string& start, const SweepStep& step) {
  const std::string peak =
      step.share_of_peak ? fmt::format("{:.1f}", *step.share_of_peak * 100) : std::string("-");
  return fmt::format("{}  {:>12.2f}  {:>12.1f}  {:>7}  {:>12.2f}  {:>13.2f}\n", start, step.time_us,
                     step.items_per_s, peak, step.exposed_us, step.communicating_us);
}

std::string rows_of(const SweepPoint& point, const std::vector<std::size_t>& widths, bool steps,
                    const SweepColumns& further) {
  std::string start;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    start += fmt::format("  {:>{}}", point.values[i], widths[i]);
  }
  if (!point.outcome) return "";
  if (!point.outcome->done()) {
    if (steps) {
      return fmt::format("{}  {:>12}  {:>12}  {:>7}  {:>12}  {:>13}   failed\n", start, "-", "-",
                         "-", "-", "-");
    }
    return fmt::format("{}  {:>13}  {:>12}  {:>7}  {:>7}   failed\n", start, "-", "-", "-", "-");
  }
  if (const auto step = step_of(point.outcome->result)) return step_line(start, *step);
  std::string text;
  for (const SweepRow& row : point.outcome->rows()) {
    text +=
        fmt::format("{}  {:>13}  {:>12.2f}  {:>7.2f}  {:>7.2f}{}   {}\n", start, row.size_bytes,
                    row.time_us, row.algbw_GBps, row.busbw_GBps, further.of(row), row.limited_by);
  }
  return text;
}

// Of different sizes times cannot be compared; bus bandwidths can.
std::string best_text(const SweepResult& sweep) {
  std::optional<BestRow> best;
  std::optional<BestRow> worst;
  bool one_size = true;
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome) continue;
    for (const SweepRow& row : point.outcome->rows()) {
      if (!best || row.busbw_GBps > best->row.busbw_GBps) best = BestRow{&point, row};
      if (!worst || row.busbw_GBps < worst->row.busbw_GBps) worst = BestRow{&point, row};
      one_size = one_size && row.size_bytes == best->row.size_bytes;
    }
  }
  if (!best || best->point == worst->point) return "";
  const auto told = [&sweep, one_size](const BestRow& at) {
    const std::string size =
        one_size ? std::string() : fmt::format(" at {}", bytes_text(Bytes{at.row.size_bytes}));
    return fmt::format("{:.2f} GB/s{} with {}", at.row.busbw_GBps, size,
                       point_name(sweep, *at.point));
  };
  return fmt::format("# Highest busbw: {}\n# Lowest busbw : {}\n", told(*best), told(*worst));
}

std::string best_step_text(const SweepResult& sweep) {
  struct Told {
    const SweepPoint* point = nullptr;
    double time_us = 0;
  };
  std::optional<Told> shortest;
  std::optional<Told> longest;
  for (const SweepPoint& point : sweep.points) {
    if (!point.outcome || !point.outcome->done()) continue;
    const auto step = step_of(point.outcome->result);
    if (!step) continue;
    if (!shortest || step->time_us < shortest->time_us) shortest = Told{&point, step->time_us};
    if (!longest || step->time_us > longest->time_us) longest = Told{&point, step->time_us};
  }
  if (!shortest || shortest->point == longest->point) return "";
  const auto told = [&sweep](const Told& at) {
    return fmt::format("{:.2f} us with {}", at.time_us, point_name(sweep, *at.point));
  };
  return fmt::format("# Shortest step: {}\n# Longest step : {}\n", told(*shortest), told(*longest));
}

}  // namespace

std::string sweep_table(const SweepResult& sweep) {
  const std::vector<std::size_t> widths = widths_of(sweep);
  const SweepColumns further(sweep);
  std::string text = head_of(sweep, widths, further);
  const bool steps = is_of_steps(sweep);
  std::size_t missing = 0;
  std::size_t failed = 0;
  for (const SweepPoint& point : sweep.points) {
    text += rows_of(point, widths, steps, further);
    if (!point.outcome) ++missing;
    if (point.outcome && !point.outcome->done()) ++failed;
  }
  text += "#\n" + (steps ? best_step_text(sweep) : best_text(sweep));
  if (failed > 0) text += fmt::format("# Failed: {} of {} points\n", failed, sweep.points.size());
  if (missing > 0) {
    text += fmt::format("# Interrupted: {} of {} points are not finished\n", missing,
                        sweep.points.size());
  }
  return text;
}

}  // namespace gradhaul
