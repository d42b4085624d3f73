#include "backends/bootstrap/failure_order.h"

#include <algorithm>

namespace gradhaul {
namespace {

bool told(const std::vector<RankFailure>& reports, Rank rank) {
  return std::any_of(reports.begin(), reports.end(),
                     [rank](const RankFailure& report) { return report.rank == rank; });
}

}  // namespace

std::vector<RankFailure> by_likeliest_cause(const std::vector<RankFailure>& reports) {
  std::vector<RankFailure> ordered;
  for (const RankFailure& report : reports) {
    if (!told(ordered, report.rank)) ordered.push_back(report);
  }
  const auto distance = [&reports](const RankFailure& report) {
    if (report.peer < 0 || report.peer == report.rank) return 0;
    return told(reports, report.peer) ? 2 : 1;
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return ordered;
}

std::string victims_of(const std::vector<RankFailure>& ordered) {
  if (ordered.empty()) return "";
  const RankFailure& cause = ordered.front();
  const Rank culprit = cause.peer < 0 ? cause.rank : cause.peer;
  std::vector<Rank> victims;
  for (const RankFailure& report : ordered) {
    if (report.rank != culprit) victims.push_back(report.rank);
  }
  std::sort(victims.begin(), victims.end());
  std::string text;
  for (const Rank rank : victims) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

}  // namespace gradhaul
