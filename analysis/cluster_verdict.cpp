#include "analysis/cluster_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 64;

const char* word(bool pass) { return pass ? "pass" : "FAIL"; }

std::string pair_line(const ClusterVerdict& verdict, std::size_t i) {
  const PairTime& time = verdict.pairs.times[i];
  const Duration predicted = verdict.pairs.predicted[i];
  const auto rate = [&](Duration duration) {
    return rate_text(static_cast<double>(verdict.pairs.settings.size.count) / duration.seconds());
  };
  const std::string name = fmt::format("node{} to node{}, nic{}", time.from, time.to, time.nic);
  return fmt::format(" {:<28} {:>12} {:>12}   {}\n", name, rate(time.one_way), rate(predicted),
                     word(verdict.passes(time.one_way, predicted)));
}

std::string ring_line(const ClusterVerdict& verdict, const RingVerdict& ring) {
  const std::string name = fmt::format("{} over {} node{}", bytes_text(ring.size), ring.nodes,
                                       ring.nodes == 1 ? "" : "s");
  return fmt::format(" {:<28} {:>12} {:>12}   {}\n", name, duration_text(ring.measured),
                     duration_text(ring.predicted),
                     word(verdict.passes(ring.measured, ring.predicted)));
}

}  // namespace

bool ClusterVerdict::passes(Duration measured, Duration predicted) const {
  return static_cast<double>(measured.ps) <= (1 + tolerance) * static_cast<double>(predicted.ps);
}

bool ClusterVerdict::all_pass() const {
  for (std::size_t i = 0; i < pairs.times.size(); ++i) {
    if (!passes(pairs.times[i].one_way, pairs.predicted[i])) return false;
  }
  return std::all_of(rings.begin(), rings.end(), [&](const RingVerdict& ring) {
    return passes(ring.measured, ring.predicted);
  });
}

std::string cluster_verdict_text(const ClusterVerdict& verdict) {
  const std::size_t count = verdict.pairs.times.size();
  std::string text = fmt::format(
      "#\n# Between {} nodes over {}, beside {}; a time may be {} over the predicted one.\n"
      "# Writes of {} one way:\n"
      "# {:<27} {:>12} {:>12}\n",
      verdict.pairs.nodes, verdict.pairs.backend, verdict.pairs.scenario,
      percent_text(verdict.tolerance), bytes_text(verdict.pairs.settings.size), "", "measured",
      "predicted");
  std::size_t failed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool pass = verdict.passes(verdict.pairs.times[i].one_way, verdict.pairs.predicted[i]);
    if (!pass) ++failed;
    if (!pass || count <= kMostLines) text += pair_line(verdict, i);
  }
  text += fmt::format("# {} of {} pairs pass.\n", count - failed, count);
  if (!verdict.rings.empty()) text += "# All-reduce of more and more nodes:\n";
  for (const RingVerdict& ring : verdict.rings) text += ring_line(verdict, ring);
  if (failed > 0) {
    for (const Suspect& suspect : suspects_of(verdict.pairs)) {
      text += fmt::format("# {}.\n", sentence_of(suspect));
    }
  }
  for (const std::string& note : verdict.notes) text += fmt::format("# Note: {}\n", note);
  return text;
}

std::string cluster_verdict_json(const ClusterVerdict& verdict, const std::string& version) {
  Json json = {{"schema", "gradhaul.cluster_check/1"},
               {"kind", "measured"},
               {"version", version},
               {"scenario", verdict.pairs.scenario},
               {"backend", verdict.pairs.backend},
               {"tolerance", verdict.tolerance},
               {"size_bytes", verdict.pairs.settings.size.count},
               {"pairs", Json::array()},
               {"rings", Json::array()},
               {"pass", verdict.all_pass()},
               {"notes", verdict.notes}};
  for (std::size_t i = 0; i < verdict.pairs.times.size(); ++i) {
    const PairTime& time = verdict.pairs.times[i];
    const Duration predicted = verdict.pairs.predicted[i];
    json["pairs"].push_back({{"nic", time.nic},
                             {"from", time.from},
                             {"to", time.to},
                             {"measured_us", microseconds(time.one_way)},
                             {"predicted_us", microseconds(predicted)},
                             {"pass", verdict.passes(time.one_way, predicted)}});
  }
  for (const RingVerdict& ring : verdict.rings) {
    json["rings"].push_back({{"nodes", ring.nodes},
                             {"size_bytes", ring.size.count},
                             {"measured_us", microseconds(ring.measured)},
                             {"predicted_us", microseconds(ring.predicted)},
                             {"pass", verdict.passes(ring.measured, ring.predicted)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace gradhaul
