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
  return fmt::format(" {:<28} {:>12} {:>12} {:>12}   {}\n", name, rate(time.one_way),
                     rate(time.both_ways), rate(predicted), word(verdict.pair_passes(i)));
}

std::string ring_line(const ClusterVerdict& verdict, const RingVerdict& ring) {
  const std::string name = fmt::format("{} over {} node{}", bytes_text(ring.size), ring.nodes,
                                       ring.nodes == 1 ? "" : "s");
  return fmt::format(" {:<28} {:>12} {:>12} {:>12}   {}\n", name, duration_text(ring.measured), "",
                     duration_text(ring.predicted),
                     word(verdict.passes(ring.measured, ring.predicted)));
}

}  // namespace

bool ClusterVerdict::passes(Duration measured, Duration predicted) const {
  return static_cast<double>(measured.ps) <= (1 + tolerance) * static_cast<double>(predicted.ps);
}

bool ClusterVerdict::pair_passes(std::size_t pair) const {
  const PairTime& time = pairs.times[pair];
  return passes(time.one_way, pairs.predicted[pair]) &&
         passes(time.both_ways, pairs.predicted[pair]);
}

bool ClusterVerdict::all_pass() const {
  for (std::size_t i = 0; i < pairs.times.size(); ++i) {
    if (!pair_passes(i)) return false;
  }
  return std::all_of(rings.begin(), rings.end(), [&](const RingVerdict& ring) {
    return passes(ring.measured, ring.predicted);
  });
}

std::string hosts_text(const std::vector<HostVerdict>& hosts) {
  std::string text;
  std::vector<bool> told(hosts.size(), false);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (told[i]) continue;
    std::vector<std::string> names;
    for (std::size_t other = i; other < hosts.size(); ++other) {
      if (hosts[other].findings != hosts[i].findings) continue;
      told[other] = true;
      names.push_back(fmt::format("{} (rank{} {})", hosts[other].host,
                                  hosts[other].ranks.size() == 1 ? "" : "s",
                                  fmt::join(hosts[other].ranks, ", ")));
    }
    text += fmt::format("#\n# Host{} {}:\n", names.size() == 1 ? "" : "s", fmt::join(names, "; "));
    text += hosts[i].findings;
  }
  return text;
}

std::string cluster_verdict_text(const ClusterVerdict& verdict) {
  const std::size_t count = verdict.pairs.times.size();
  std::string text = fmt::format(
      "#\n# Between {} nodes over {}, beside {}; a time may be {} over the predicted one.\n"
      "# Writes of {}{}, one way, and each way of both at once:\n"
      "# {:<27} {:>12} {:>12} {:>12}\n",
      verdict.pairs.nodes, verdict.pairs.backend, verdict.pairs.scenario,
      percent_text(verdict.tolerance), bytes_text(verdict.pairs.settings.size),
      verdict.pairs.settings.gpu_memory ? " from GPU memory" : "", "", "one way", "both ways",
      "predicted");
  std::size_t failed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool pass = verdict.pair_passes(i);
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
               {"hosts", Json::array()},
               {"notes", verdict.notes}};
  for (const HostVerdict& host : verdict.hosts) {
    const Json checkup = Json::parse(host.json, nullptr, false);
    json["hosts"].push_back({{"host", host.host},
                             {"ranks", host.ranks},
                             {"problem", host.problem},
                             {"checkup", checkup.is_discarded() ? Json() : checkup}});
  }
  for (std::size_t i = 0; i < verdict.pairs.times.size(); ++i) {
    const PairTime& time = verdict.pairs.times[i];
    const Duration predicted = verdict.pairs.predicted[i];
    json["pairs"].push_back({{"nic", time.nic},
                             {"from", time.from},
                             {"to", time.to},
                             {"measured_us", microseconds(time.one_way)},
                             {"both_ways_us", microseconds(time.both_ways)},
                             {"predicted_us", microseconds(predicted)},
                             {"one_way_pass", verdict.passes(time.one_way, predicted)},
                             {"both_ways_pass", verdict.passes(time.both_ways, predicted)},
                             {"pass", verdict.pair_passes(i)}});
  }
  for (const RingVerdict& ring : verdict.rings) {
    json["rings"].push_back({{"nodes", ring.nodes},
                             {"size_bytes", ring.size.count},
                             {"measured_us", microseconds(ring.measured)},
                             {"predicted_us", microseconds(ring.predicted)},
                             {"pass", verdict.passes(ring.measured, ring.predicted)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradhaul
