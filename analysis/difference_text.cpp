#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/quantity_text.h"
#include "analysis/report.h"
#include "analysis/resource_group.h"
#include "analysis/run_difference.h"
#include "analysis/time_parts.h"
#include "analysis/wrapped_text.h"
#include "core/assert.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxLines = 12;
// Smaller differences of the whole are told as none.
constexpr double kSame = 0.0005;

std::string signed_duration(std::int64_t ps) {
  if (ps == 0) return "0 us";
  return fmt::format("{}{}", ps > 0 ? "+" : "-", duration_text({std::abs(ps)}));
}

std::string part_name(const PartDifference& part) {
  const std::string words = cause_in_words(part.cause, part.resources);
  return part.resources.empty() ? words : part.resources + ": " + words;
}

// "It takes 1.60 ms longer (2.3 %)."
std::string verdict(const ResultRow& before, const ResultRow& after) {
  const std::int64_t more = after.time.ps - before.time.ps;
  const double share = static_cast<double>(std::abs(more)) /
                       static_cast<double>(std::max<std::int64_t>(before.time.ps, 1));
  if (share < kSame) return "It takes as long.";
  return fmt::format("It takes {} {} ({}).", duration_text({std::abs(more)}),
                     more > 0 ? "longer" : "less", percent_text(share));
}

// What made most of the difference, in its direction.
std::string main_cause(const ResultRow& before, const ResultRow& after) {
  const std::int64_t more = after.time.ps - before.time.ps;
  for (const PartDifference& part : part_differences(before, after)) {
    const std::int64_t own = part.after.ps - part.before.ps;
    if (own == 0 || (own > 0) != (more > 0)) continue;
    return fmt::format(" The part that {} most is \"{}\": {} instead of {}.",
                       own > 0 ? "grew" : "shrank", part_name(part), duration_text(part.after),
                       duration_text(part.before));
  }
  return "";
}

std::string limits(const ResultRow& before, const ResultRow& after) {
  if (before.limited_by.empty() || after.limited_by.empty()) return "";
  if (before.limited_by == after.limited_by) {
    return fmt::format(" Limited by {}, before and after.", before.limited_by);
  }
  return fmt::format(" Limited by {} before, by {} after.", before.limited_by, after.limited_by);
}

std::string run_line(std::string_view which, const ExplainedRun& run) {
  const ResultRow& row = run.prediction.rows.back();
  return wrapped(fmt::format("{}: {}: {} of {} by {} ranks takes {}.", which, run.name,
                             name_of(row.collective), bytes_text(row.size), row.ranks,
                             duration_text(row.time)),
                 "  ", "");
}

std::string parts_table(const ResultRow& before, const ResultRow& after) {
  std::string text = "\nWhere the time goes, along the critical path\n";
  if (before.parts.empty() || after.parts.empty()) {
    return text + "  Not both results say: one has no critical path.\n";
  }
  text += fmt::format("  {:>9}  {:>9}  {:>10}\n", "before", "after", "difference");
  const auto line = [](Duration first, Duration second, const std::string& what) {
    return fmt::format("  {:>9}  {:>9}  {:>10}  {}\n", duration_text(first), duration_text(second),
                       signed_duration(second.ps - first.ps), what);
  };
  const std::vector<PartDifference> parts = part_differences(before, after);
  PartDifference others;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i < kMaxLines) {
      text += line(parts[i].before, parts[i].after, part_name(parts[i]));
    } else {
      others.before += parts[i].before;
      others.after += parts[i].after;
    }
  }
  if (parts.size() > kMaxLines) {
    text += line(others.before, others.after,
                 fmt::format("{} others, in --json", parts.size() - kMaxLines));
  }
  return text + line(before.time, after.time, "in all");
}

std::string settings_table(const ExplainedRun& before, const ExplainedRun& after) {
  std::string text = "\nSettings that differ\n";
  if (before.effective.is_null() || after.effective.is_null()) {
    return text + "  Not known: not both results hold their scenario.\n";
  }
  const auto settings = setting_differences(before.effective, after.effective);
  if (settings.empty()) return text + "  None.\n";
  const auto shown = [](const std::string& value) { return value.empty() ? "(none)" : value; };
  for (const SettingDifference& setting : settings) {
    text +=
        fmt::format("  {}: {} -> {}\n", setting.path, shown(setting.before), shown(setting.after));
  }
  return text;
}

std::string uses_table(const Prediction& before, const Prediction& after) {
  const auto uses = use_differences(before, after);
  if (uses.empty()) return "";
  std::string text = "\nHow busy the busiest of each kind is\n";
  for (const UseDifference& use : uses) {
    text += fmt::format("  {:5.1f} % -> {:5.1f} %  {}\n", use.before * 100, use.after * 100,
                        kind_in_words(use.kind));
  }
  return text;
}

std::string counters_table(const Prediction& before, const Prediction& after) {
  const auto counters = counter_differences(before, after);
  std::string text = "\nCounters that differ (sums over the ports)\n";
  if (counters.empty()) return text + "  None.\n";
  for (const CounterDifference& counter : counters) {
    const auto value = [&counter](std::int64_t number) {
      return counter.is_time ? duration_text({number}) : fmt::format("{}", number);
    };
    text += fmt::format("  {} {}: {} -> {}\n", counter.ports, counter.counter,
                        value(counter.before), value(counter.after));
  }
  return text;
}

Json run_json(const ExplainedRun& run) {
  const ResultRow& row = run.prediction.rows.back();
  return {{"name", run.name},
          {"collective", name_of(row.collective)},
          {"ranks", row.ranks},
          {"channels", row.channels},
          {"size_bytes", row.size.count},
          {"fidelity", run.prediction.fidelity},
          {"digest", digest_text(run.prediction.digest)},
          {"time_us", microseconds(row.time)},
          {"limited_by", row.limited_by}};
}

Json counters_json(const Prediction& before, const Prediction& after) {
  Json list = Json::array();
  for (const CounterDifference& counter : counter_differences(before, after)) {
    Json entry = {{"ports", counter.ports},
                  {"counter", counter.is_time ? counter.counter + "_us" : counter.counter}};
    if (counter.is_time) {
      entry["before"] = microseconds({counter.before});
      entry["after"] = microseconds({counter.after});
    } else {
      entry["before"] = counter.before;
      entry["after"] = counter.after;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::string difference_text(const ExplainedRun& before, const ExplainedRun& after) {
  GRADHAUL_ASSERT(!before.prediction.rows.empty() && !after.prediction.rows.empty(),
                  "both runs have a row");
  const ResultRow& first = before.prediction.rows.back();
  const ResultRow& second = after.prediction.rows.back();
  std::string text = run_line("Before", before) + run_line("After", after);
  std::string sentence = verdict(first, second) + main_cause(first, second);
  if (first.size != second.size || first.collective != second.collective ||
      first.ranks != second.ranks) {
    sentence += " These are not the same message between the same ranks.";
  }
  text += wrapped(sentence + limits(first, second));
  text += settings_table(before, after) + parts_table(first, second);
  text += uses_table(before.prediction, after.prediction);
  return text + counters_table(before.prediction, after.prediction);
}

Json difference_json(const ExplainedRun& before, const ExplainedRun& after) {
  Json json;
  json["schema"] = "gradhaul.difference/1";
  json["before"] = run_json(before);
  json["after"] = run_json(after);
  json["settings"] = Json::array();
  for (const auto& setting : setting_differences(before.effective, after.effective)) {
    json["settings"].push_back(
        {{"path", setting.path}, {"before", setting.before}, {"after", setting.after}});
  }
  json["parts"] = Json::array();
  for (const PartDifference& part :
       part_differences(before.prediction.rows.back(), after.prediction.rows.back())) {
    json["parts"].push_back({{"resources", part.resources},
                             {"cause", part.cause},
                             {"before_us", microseconds(part.before)},
                             {"after_us", microseconds(part.after)}});
  }
  json["uses"] = Json::array();
  for (const UseDifference& use : use_differences(before.prediction, after.prediction)) {
    json["uses"].push_back({{"kind", use.kind}, {"before", use.before}, {"after", use.after}});
  }
  json["counters"] = counters_json(before.prediction, after.prediction);
  json["text"] = difference_text(before, after);
  return json;
}

}  // namespace gradhaul
