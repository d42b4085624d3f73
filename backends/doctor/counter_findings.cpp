// Counters: what grew while the host was watched, or stands at more than nothing.

#include <algorithm>
#include <set>

#include "backends/doctor/counter_meanings.h"
#include "backends/doctor/findings.h"
#include "backends/doctor/number_text.h"

namespace gradhaul {
namespace {

// Where nothing was seen in a time T, the rate is below this over T with 95 %: of a Poisson
// process, -ln 0.05 = 2.996, the rule of three.
constexpr double kUpperBound = 3;
// Links go down at boot.
constexpr std::uint64_t kUsualDowns = 2;

std::string see(const CounterReading& counter) {
  if (counter.file.starts_with("ethtool")) return counter.file + " | grep " + counter.name;
  if (counter.file.starts_with("nvidia-smi")) return counter.file;
  return "cat " + counter.file;
}

Finding finding_of(const CounterReading& counter, const CounterMeaning& meaning, Severity severity,
                   const std::string& seen) {
  return {severity,
          "counter-" + counter.name,
          counter.device,
          seen,
          {{counter.file, std::to_string(counter.second.value_or(counter.first))}},
          meaning.why,
          meaning.remedy,
          see(counter)};
}

void find_standing(const CounterReading& counter, const CounterMeaning& meaning,
                   Findings& findings) {
  const std::string& name = counter.name;
  const bool downs =
      name == "link_downed" || name == "link_down_events_phy" || name == "carrier_down_count";
  if (counter.first <= (downs ? kUsualDowns : 0)) return;
  findings.push_back(finding_of(counter, meaning, meaning.standing,
                                name + " stands at " + std::to_string(counter.first) + " (" +
                                    meaning.counts +
                                    ") since it was last reset; --watch 10m tells whether it "
                                    "still grows"));
}

void find_grown(const CounterReading& counter, const CounterMeaning& meaning, double seconds,
                Findings& findings) {
  if (*counter.second < counter.first) {
    findings.push_back(finding_of(counter, meaning, Severity::kFact,
                                  counter.name + " went from " + std::to_string(counter.first) +
                                      " to " + std::to_string(*counter.second) +
                                      ": somebody reset it meanwhile"));
    return;
  }
  const std::uint64_t grown = *counter.second - counter.first;
  if (grown == 0) return;
  findings.push_back(finding_of(
      counter, meaning, meaning.growing,
      counter.name + " grew by " + std::to_string(grown) + " in " + seconds_text(seconds) + " (" +
          meaning.counts + "): " + number_text(static_cast<double>(grown) / seconds * 3600) +
          " an hour"));
}

void find_quiet(const std::vector<CounterReading>& counters, double seconds, Findings& findings) {
  std::size_t quiet = 0;
  std::set<std::string> devices;
  for (const CounterReading& counter : counters) {
    if (counter_meaning(counter.name) == nullptr || counter.second != counter.first) continue;
    ++quiet;
    devices.insert(counter.device);
  }
  if (quiet == 0) return;
  findings.push_back({Severity::kFact,
                      "counters-quiet",
                      "host",
                      count_of_things(quiet, "counter") + " of trouble, of " +
                          count_of_things(devices.size(), "device or port") + ", stood still for " +
                          seconds_text(seconds),
                      {},
                      "With 95 % each of these comes less often than " + number_text(kUpperBound) +
                          " times in " + seconds_text(seconds) + ", " +
                          number_text(kUpperBound * 3600 / seconds) +
                          " an hour (rule of three); nothing smaller can be said after so long.",
                      "",
                      "gradhaul doctor --watch, for longer"});
}

void find_traffic(const CounterReading& counter, double seconds, Findings& findings) {
  const bool sent = counter.name == "port_xmit_data";
  if ((!sent && counter.name != "port_rcv_data") || *counter.second <= counter.first) return;
  const double words = static_cast<double>(*counter.second - counter.first);
  findings.push_back({Severity::kFact,
                      "port-traffic",
                      counter.device,
                      std::string(sent ? "it sent " : "it received ") +
                          number_text(words * 4 / seconds / 1e9) + " GB/s on average",
                      {{counter.file, std::to_string(*counter.second)}},
                      "Counted in words of four bytes, headers included.",
                      "",
                      see(counter)});
}

}  // namespace

void find_in_counters(const std::vector<CounterReading>& counters, double seconds,
                      Findings& findings) {
  for (const CounterReading& counter : counters) {
    if (counter.second && seconds > 0) find_traffic(counter, seconds, findings);
    const CounterMeaning* meaning = counter_meaning(counter.name);
    if (meaning == nullptr) continue;
    if (counter.second && seconds > 0) {
      find_grown(counter, *meaning, seconds, findings);
    } else {
      find_standing(counter, *meaning, findings);
    }
  }
  if (seconds > 0) find_quiet(counters, seconds, findings);
}

}  // namespace gradhaul
