#include "analysis/company_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/time_parts.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostGrowths = 3;
constexpr std::size_t kMostLinks = 8;
// A part that grew by less of the whole time is not worth a line.
constexpr double kWorthTelling = 0.02;

double ratio(Duration time, Duration alone) {
  return alone.ps == 0 ? 1 : static_cast<double>(time.ps) / static_cast<double>(alone.ps);
}

std::string times_as_long(const JobCompany& job) {
  const double slower = ratio(job.time, job.alone);
  if (job.time == job.alone) return "as alone";
  const std::string alone = fmt::format("{} alone", duration_text(job.alone));
  if (std::abs(slower - 1) < 0.0005) return fmt::format("{}, no more than 0.1 % off", alone);
  if (slower < 1) return fmt::format("{}; in company it is quicker, by chance", alone);
  return fmt::format("{}: {:.2f} times as long", alone, slower);
}

Duration grown_by(const PartGroup& here, const std::vector<PartGroup>& alone) {
  const auto before = std::find_if(alone.begin(), alone.end(), [&](const PartGroup& group) {
    return group.cause == here.cause && shape_of(group.resources) == shape_of(here.resources);
  });
  return before == alone.end() ? here.time : here.time - before->time;
}

std::string shares_text(const Company& company, const LinkShare& link) {
  Bytes whole;
  for (const Bytes bytes : link.bytes) whole += bytes;
  std::string text;
  for (std::size_t i = 0; i < link.bytes.size(); ++i) {
    if (link.bytes[i].count == 0) continue;
    const double share =
        static_cast<double>(link.bytes[i].count) / static_cast<double>(whole.count);
    text += fmt::format("{}{} {} ({:.1f} %)", text.empty() ? "" : ", ", company.parties[i],
                        bytes_text(link.bytes[i]), share * 100);
  }
  return text;
}

Bytes whole_of(const LinkShare& link) {
  Bytes whole;
  for (const Bytes bytes : link.bytes) whole += bytes;
  return whole;
}

// The most used link of that shape that the party shares.
const LinkShare* shared_link(const Company& company, const std::string& shape, std::size_t party) {
  const LinkShare* most = nullptr;
  for (const LinkShare& link : company.shared_links) {
    if (shape_of(link.resource) != shape || link.bytes[party].count == 0) continue;
    if (most == nullptr || whole_of(link) > whole_of(*most)) most = &link;
  }
  return most;
}

std::string growths_text(const Company& company, std::size_t party, const ResultRow& row) {
  const JobCompany& job = company.jobs[party];
  ResultRow alone;
  alone.parts = job.alone_parts;
  const std::vector<PartGroup> alone_groups = grouped_parts(alone);
  std::vector<std::pair<Duration, PartGroup>> growths;
  for (const PartGroup& group : grouped_parts(row)) {
    const Duration growth = grown_by(group, alone_groups);
    if (static_cast<double>(growth.ps) < kWorthTelling * static_cast<double>(job.time.ps)) continue;
    growths.emplace_back(growth, group);
  }
  std::stable_sort(growths.begin(), growths.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (growths.size() > kMostGrowths) growths.resize(kMostGrowths);
  std::string text;
  for (const auto& [growth, group] : growths) {
    text += fmt::format("#     +{}  {}{}{}\n", duration_text(growth), group.resources,
                        group.resources.empty() ? "" : ": ",
                        cause_in_words(group.cause, group.resources));
    const LinkShare* link =
        group.resources.empty() ? nullptr : shared_link(company, shape_of(group.resources), party);
    if (link == nullptr) continue;
    text += fmt::format("#       {} carries {}\n", link->resource, shares_text(company, *link));
  }
  return text;
}

std::string who_text(const JobCompany& job) {
  std::string text;
  for (const auto& [party, saved] : job.saved_without) {
    const double share = static_cast<double>(saved.ps) / static_cast<double>(job.time.ps);
    if (std::abs(share) < 0.0005) continue;
    text +=
        fmt::format("{}{} {} without {}", text.empty() ? "" : ", ",
                    duration_text({std::abs(saved.ps)}), saved.ps > 0 ? "sooner" : "later", party);
  }
  return text.empty() ? "" : "#     " + text + "\n";
}

std::string links_text(const Company& company) {
  std::vector<const LinkShare*> links;
  for (const LinkShare& link : company.shared_links) links.push_back(&link);
  if (links.empty()) return "# Shared links: none.\n";
  std::stable_sort(links.begin(), links.end(), [](const LinkShare* a, const LinkShare* b) {
    return whole_of(*a) > whole_of(*b);
  });
  std::string text = "# Shared links, in the direction that carries more:\n";
  for (std::size_t i = 0; i < std::min(links.size(), kMostLinks); ++i) {
    text += fmt::format("#   {}: {}\n", links[i]->resource, shares_text(company, *links[i]));
  }
  if (links.size() > kMostLinks)
    text += fmt::format("#   … and {} more\n", links.size() - kMostLinks);
  return text;
}

std::string background_text(const BackgroundResult& background) {
  std::string text = fmt::format(
      "# Background {} ({} NICs send): {:.1f} % of a wire offered, {:.1f} % carried; {} messages, "
      "{}",
      background.name, background.sources, background.offered * 100, background.carried * 100,
      count_text(background.messages), bytes_text(background.sent));
  if (background.held_back > 0) {
    text += fmt::format("; {} held back, so many others being under way",
                        count_text(background.held_back));
  }
  return text + ".\n";
}

}  // namespace

std::string company_text(const Company& company, const std::vector<ResultRow>& rows) {
  std::string text = "# Who slows whom:\n";
  const std::size_t first = rows.size() - company.jobs.size();
  for (std::size_t i = 0; i < company.jobs.size(); ++i) {
    const JobCompany& job = company.jobs[i];
    text += fmt::format("#   {}: {}, {}\n", job.job, duration_text(job.time), times_as_long(job));
    text += who_text(job) + growths_text(company, i, rows[first + i]);
  }
  text += links_text(company);
  for (const BackgroundResult& background : company.background) text += background_text(background);
  return text;
}

Json company_json(const Company& company) {
  Json json = {
      {"jobs", Json::array()}, {"shared_links", Json::array()}, {"background", Json::array()}};
  for (const JobCompany& job : company.jobs) {
    Json parts = Json::object();
    for (const TimePart& part : job.alone_parts) {
      const std::string key =
          part.resource.empty() ? part.cause : part.resource + ": " + part.cause;
      parts[key] = microseconds(part.time);
    }
    Json saved = Json::object();
    for (const auto& [party, time] : job.saved_without) saved[party] = microseconds(time);
    json["jobs"].push_back({{"job", job.job},
                            {"gpus", job.gpus},
                            {"start_us", microseconds(job.start)},
                            {"time_us", microseconds(job.time)},
                            {"alone_us", microseconds(job.alone)},
                            {"slowdown", ratio(job.time, job.alone)},
                            {"saved_without_us", saved},
                            {"alone_parts_us", parts}});
  }
  for (const LinkShare& link : company.shared_links) {
    Json bytes = Json::object();
    for (std::size_t i = 0; i < link.bytes.size(); ++i) {
      if (link.bytes[i].count > 0) bytes[company.parties[i]] = link.bytes[i].count;
    }
    json["shared_links"].push_back({{"resource", link.resource}, {"bytes", bytes}});
  }
  for (const BackgroundResult& background : company.background) {
    json["background"].push_back({{"name", background.name},
                                  {"sources", background.sources},
                                  {"offered", background.offered},
                                  {"carried", background.carried},
                                  {"messages", background.messages},
                                  {"held_back", background.held_back},
                                  {"bytes", background.sent.count}});
  }
  return json;
}

}  // namespace gradhaul
