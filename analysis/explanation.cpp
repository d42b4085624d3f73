#include "analysis/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/bottleneck.h"
#include "analysis/capacity.h"
#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/run_difference.h"
#include "analysis/speed_text.h"
#include "analysis/time_parts.h"
#include "analysis/wrapped_text.h"
#include "core/assert.h"
#include "core/busbw.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

constexpr std::size_t kMaxLines = 10;
// Causes with less of the time than this are not worth a word of their own.
constexpr double kWorthAWord = 0.005;
// Busy for less of the time than this is as good as idle.
constexpr double kWorthNaming = 0.01;
// What limits by being busy is so at least for so much of the time.
constexpr double kBusy = 0.5;

double share(Duration part, Duration whole) {
  return whole.ps > 0 ? static_cast<double>(part.ps) / static_cast<double>(whole.ps) : 0;
}

std::string and_more(std::size_t all) {
  return all > kMaxLines ? fmt::format("  … and {} more, in --json\n", all - kMaxLines) : "";
}

std::string headline(const Explanation& explanation) {
  const ResultRow& row = explanation.prediction.rows.back();
  const double rate = busbw(row.collective, row.ranks, row.size, row.time);
  std::string text =
      wrapped(fmt::format("{}: {} of {} by {} ranks takes {}: {} of busbw, as nccl-tests "
                          "reckons it.",
                          explanation.run.scenario, name_of(row.collective), bytes_text(row.size),
                          row.ranks, duration_text(row.time), rate_text(rate)));
  const Prediction& prediction = explanation.prediction;
  const std::string cluster = explanation.run.cluster.empty() ? "" : explanation.run.cluster + "; ";
  const std::string& profile = explanation.run.profile;
  text +=
      wrapped(fmt::format("{}{}, {}, {} channel{}, {}fidelity {}.", cluster, row.algorithm,
                          row.protocol, row.channels, row.channels == 1 ? "" : "s",
                          profile.empty() ? "" : "profile " + profile + ", ", prediction.fidelity));
  if (!prediction.exact && prediction.error_bound) {
    text += wrapped(fmt::format("Times are right to within {}; smaller differences say nothing.",
                                duration_text(*prediction.error_bound)));
  }
  return text;
}

// "In 546 ms it carried 54.2 GB of data, both ways together: 99.3 GB/s."
std::string achieved_sentence(const ResourceUse& use, const ResultRow& row) {
  if (use.bytes.count == 0 || row.time.ps == 0) return "";
  const double rate = static_cast<double>(use.bytes.count) / row.time.seconds();
  const bool link = use.kind != "reduce" && use.kind != "memory";
  return fmt::format(" In {} it {} {}{}: {}.", duration_text(row.time),
                     use.kind == "reduce" ? "worked through" : "carried", bytes_text(use.bytes),
                     link ? " of data, both ways together" : "", rate_text(rate));
}

// What would be next, were the limit not there.
std::string next_sentence(const ResourceUse& use, const std::vector<ResourceUse>& resources) {
  for (const UseGroup& group : group_by_use(resources)) {
    if (group.kind == use.kind || group.highest < kWorthNaming) continue;
    return fmt::format(" Next comes {}, {}: busy {} of the time.", equal_names(group.names),
                       kind_in_words(group.kind), percent_text(group.highest));
  }
  return " Nothing else is busy.";
}

// What a reader who saw the parts would ask: why this, where most of the time goes elsewhere, or
// where it moves data so seldom?
std::string largest_part_sentence(const ResultRow& row) {
  const std::vector<PartGroup> groups = grouped_parts(row);
  if (groups.empty()) return "";
  const PartGroup& largest = groups.front();
  const std::string limiting = shape_of(first_name(row.limited_by));
  const bool here = !largest.resources.empty() && shape_of(largest.resources) == limiting;
  if (here && largest.cause == "busy") return "";
  const std::string place = largest.resources.empty() ? "" : largest.resources + ": ";
  return fmt::format(" The largest part of the path is {}\"{}{}\", {}.",
                     here ? "not moving data: " : "another: ", place,
                     cause_in_words(largest.cause, largest.resources),
                     duration_of_text(largest.time, row.time));
}

std::string limit_text(const Explanation& explanation) {
  const Prediction& prediction = explanation.prediction;
  const ResultRow& row = prediction.rows.back();
  if (row.limited_by.empty()) return "\nWhat limits it\n  This result does not say.\n";
  std::string text = bottleneck_sentence(row, prediction.resources);
  const std::string_view name = first_name(row.limited_by);
  for (const ResourceUse& use : prediction.resources) {
    if (use.name != name) continue;
    text += achieved_sentence(use, row);
    if (explanation.cluster) {
      const std::string capacity =
          capacity_sentence(use, *explanation.cluster, row.channels, explanation.stages);
      if (!capacity.empty()) text += " " + capacity;
    }
    if (use.utilisation >= kBusy) text += next_sentence(use, prediction.resources);
    text += largest_part_sentence(row);
    break;
  }
  return "\nWhat limits it\n" + wrapped(text, "  ");
}

// What ports count, from the counters that an operator knows from real ones.
std::string counters_text(const Prediction& prediction) {
  const std::vector<CounterDifference> counters = counter_differences({}, prediction);
  if (counters.empty()) return "";
  std::string text = "\nCounters that are not zero (sums over the ports)\n";
  bool waited = false;
  for (const CounterDifference& counter : counters) {
    waited = waited || counter.is_time;
    text += fmt::format(
        "  {} {}: {}\n", counter.ports, counter.counter,
        counter.is_time ? duration_text({counter.after}) : fmt::format("{}", counter.after));
  }
  if (waited) {
    text += wrapped("A port counts xmit_wait while it has something to send and may not.", "  ");
  }
  return text;
}

std::string part_line(Duration time, Duration whole, const std::string& what) {
  return wrapped(
      what, std::string(22, ' '),
      fmt::format("  {:>9}  {:>6}   ", duration_text(time), percent_text(share(time, whole))));
}

// For whoever meets these words for the first time.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kCauseWords{
    {{"busy", "moving data: a faster link, kernel or memory shortens it"},
     {"credits",
      "waiting for credits: a sender sends only what the receiver has promised room for, and "
      "what cannot go on from there holds that room, also from those whose way is free"},
     {"paused",
      "paused: the other end's buffer filled up, so it had the port stop; a buffer that stays "
      "full has those before it pause others in turn, whose way may be free"},
     {"pause storm",
      "pause storm: a NIC told its switch to pause though nothing had filled up, and what cannot "
      "go on fills up the switches before it, which pause others in turn"},
     {"paced",
      "held to a lower rate: switches mark packets where a queue grows (ECN), and NICs slow "
      "down (DCQCN)"},
     {"reads outstanding", "waiting for reads: a NIC can have asked for only so much data at once"},
     {"latency",
      "on the way: signals travel and devices pass them on; more bandwidth does not shorten it"},
     {"retransmission",
      "sending again: a receiver takes a gap for a loss, and what is behind it waits, or is "
      "dropped, until what is missing has come again"},
     {"taken for lost",
      "taken for lost: packets go several ways, and the receiver's NIC takes what is overtaken "
      "for a loss and has it sent again; nothing was lost"},
     {"ACK timeout",
      "waiting for the ACK timeout: nothing followed the lost packet that would have told of it; "
      "communication.timeout says how long"},
     {"no receive posted",
      "waiting for a receive: data with a notification came when the receiver had posted nothing "
      "for it, and its sender waits for so long as the answer says (RNR NAK)"},
     {"reordering",
      "reordering: packets go several ways, and a message is whole when the last of them is "
      "there"},
     {"post and doorbell", "post and doorbell: the NIC is told what to send"},
     {"completion", "completion: the NIC reports what is done, and somebody sees it"},
     {"kernel and host flags",
      "kernel and host flags: the GPU's kernel and the host tell each other by memory"},
     {"starting copies",
      "starting copies: the host tells the GPU to copy a slice to or from host memory"},
     {"communication thread",
      "communication thread: the one of each rank posts and polls for all of its channels, one "
      "thing after the other"},
     {"interrupt and wake-up",
      "interrupt and wake-up: a thread that sleeps is woken for what has come"},
     {"registering memory",
      "registering memory: pages are pinned, and the NIC is told where they lie"},
     {"flush",
      "flush: on GPUs before Hopper the receiver's NIC reads back one element before the kernel "
      "is told, lest that read what is not there yet"},
     {"context misses",
      "context misses: more queue pairs or memory regions are in use than the NIC holds, and "
      "each "
      "that it does not hold is read from host memory over PCIe"},
     {"queue pair rate",
      "queue pair rate: a queue pair takes only so many work requests a second; several share "
      "the work"},
     {"kernel launch", "kernel launch: the collective's kernel starts on the GPU, once"},
     {"slot credits",
      "waiting for a free receive slot: the peer has not yet emptied the buffers it lent"}}};

std::string_view cause_explained(std::string_view cause, std::string_view resources) {
  if (resources.ends_with(".iommu")) {
    return "translating addresses: with the IOMMU on, each page that a device reads or writes is "
           "looked up in memory first, so many at a time";
  }
  if (resources.ends_with(".ordered")) {
    return "writing in strict order: without relaxed ordering a root complex takes a device's "
           "writes one by one";
  }
  for (const auto& [name, words] : kCauseWords) {
    if (name == cause) return words;
  }
  return {};
}

std::string causes_explained(const std::vector<PartGroup>& groups, Duration whole) {
  std::set<std::string_view> told;
  std::string text;
  for (const PartGroup& group : groups) {
    const std::string_view words = cause_explained(group.cause, group.resources);
    const bool small = share(group.time, whole) < kWorthAWord;
    if (small || words.empty() || !told.insert(words).second) continue;
    text += wrapped(words, "      ", "    ");
  }
  return text.empty() ? "" : "  In these words:\n" + text;
}

std::string path_text(const ResultRow& row) {
  std::string text = "\nWhere the time goes\n";
  if (row.parts.empty()) return text + "  This result does not say: it has no critical path.\n";
  text += wrapped(
      "Along the critical path: the chain of what had to be waited for, one after the other, up to "
      "the end. What is not on it costs no time.",
      "  ");
  const std::vector<PartGroup> groups = grouped_parts(row);
  for (std::size_t i = 0; i < std::min(groups.size(), kMaxLines); ++i) {
    const PartGroup& group = groups[i];
    const std::string place = group.resources.empty() ? "" : group.resources + ": ";
    text += part_line(group.time, row.time, place + cause_in_words(group.cause, group.resources));
  }
  text += and_more(groups.size()) + causes_explained(groups, row.time);
  text += "  By resource:\n";
  const std::vector<ResourceBlame> blames = blame_of_resources(row);
  for (std::size_t i = 0; i < std::min(blames.size(), kMaxLines); ++i) {
    const std::string& name = blames[i].resources;
    text +=
        part_line(blames[i].time, row.time,
                  name.empty() ? "no link or kernel: software, and answers of GPU memory" : name);
  }
  return text + and_more(blames.size());
}

std::string then_sentence(const TriedChange& change, const ResultRow& before) {
  const bool same = change.limited_by == before.limited_by;
  std::string then;
  if (change.limited_by == "slots") {
    then = same ? "Receive slots still limit" : "Then receive slots limit";
  } else if (change.limited_by == "latency") {
    then = same ? "Latency still limits" : "Then latency limits";
  } else {
    then = fmt::format("{}{} limits", same ? "Still " : "Then ", change.limited_by);
  }
  if (change.limiting_use > 0) then += fmt::format(", busy {}", percent_text(change.limiting_use));
  if (change.channels != before.channels) {
    then += fmt::format("; {} channels instead of {}", change.channels, before.channels);
  }
  return then + ".";
}

// A reader expects that what is better makes nothing slower.
std::string grown_sentence(const TriedChange& change, const ResultRow& before) {
  if (!change.grown) return "";
  const PartDifference& part = *change.grown;
  const std::string place = part.resources.empty() ? "" : part.resources + ": ";
  std::string text = fmt::format("On its critical path \"{}{}\" grew most: {} instead of {}.",
                                 place, cause_in_words(part.cause, part.resources),
                                 duration_text(part.after), duration_text(part.before));
  if (part.cause == "communication thread" && change.channels == before.channels) {
    text += " A thread does first what comes first, and small differences decide what that is.";
  }
  return text;
}

std::vector<const TriedChange*> by_time(const std::vector<TriedChange>& changes) {
  std::vector<const TriedChange*> tried;
  for (const TriedChange& change : changes) {
    if (change.obstacle.empty()) tried.push_back(&change);
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const TriedChange* a, const TriedChange* b) { return a->time < b->time; });
  return tried;
}

std::string settings_text(const TriedChange& change) {
  std::string text;
  for (const std::string& setting : change.settings) {
    text += (text.empty() ? "--set " : " --set ") + shell_word(setting);
  }
  return text;
}

std::string changes_text(const Explanation& explanation) {
  std::string text = "\nWhat would help\n";
  if (!explanation.untried.empty()) return text + wrapped(explanation.untried, "  ");
  const ResultRow& row = explanation.prediction.rows.back();
  const auto tried = by_time(explanation.changes);
  if (!tried.empty()) {
    text += wrapped(
        "Each is a run of its own with this one change and all else as it is; "
        "the options make it.",
        "  ");
  }
  constexpr const char* kIndent = "             ";
  for (const TriedChange* change : tried) {
    text += wrapped(fmt::format("{}: {}.", speed_text(row.time, change->time), change->change),
                    kIndent, fmt::format("  {:>9}  ", duration_text(change->time)));
    const std::string grown = grown_sentence(*change, row);
    text += wrapped(then_sentence(*change, row) + (grown.empty() ? "" : " " + grown), kIndent);
    text += kIndent + settings_text(*change) + "\n";
  }
  for (const TriedChange& change : explanation.changes) {
    if (change.obstacle.empty()) continue;
    text +=
        wrapped(fmt::format("Not tried: {}; {}.", change.change, change.obstacle), "    ", "  ");
  }
  if (explanation.interrupted) text += "  Interrupted: what else might help was not tried.\n";
  if (explanation.changes.empty() && !explanation.interrupted) {
    text += "  Nothing on the critical path that one change could shorten by a thousandth.\n";
  }
  return text;
}

std::string see_yourself(const Explanation& explanation) {
  std::string text = "\nSee it yourself\n";
  const auto tried = by_time(explanation.changes);
  const std::string& command = explanation.command;
  text += fmt::format("  gradhaul predict {}\n", command);
  if (!tried.empty()) {
    text += fmt::format("  {}\n", tried.front()->command);
    std::string against;
    for (const std::string& setting : tried.front()->settings) {
      against += " --against " + shell_word(setting);
    }
    text += fmt::format("  gradhaul explain {}{}   # what that changes, part by part\n", command,
                        against);
  }
  return text;
}

}  // namespace

std::vector<ResourceBlame> blame_of_resources(const ResultRow& row) {
  std::map<std::string, std::pair<std::set<std::string_view>, Duration>> by_shape;
  for (const TimePart& part : row.parts) {
    auto& [names, time] = by_shape[shape_of(part.resource)];
    if (!part.resource.empty()) names.insert(part.resource);
    time += part.time;
  }
  std::vector<ResourceBlame> blames;
  for (const auto& [shape, members] : by_shape) {
    const std::vector<std::string_view> names(members.first.begin(), members.first.end());
    blames.push_back(
        {names.empty() ? "" : common_name(names), static_cast<int>(names.size()), members.second});
  }
  std::stable_sort(blames.begin(), blames.end(),
                   [](const ResourceBlame& a, const ResourceBlame& b) { return a.time > b.time; });
  return blames;
}

std::optional<PartDifference> grown_part(const ResultRow& before, const ResultRow& after) {
  if (!speed_text(before.time, after.time).starts_with("slower")) return {};
  std::optional<PartDifference> most;
  for (const PartDifference& part : part_differences(before, after)) {
    const Duration growth = part.after - part.before;
    if (growth.ps > 0 && (!most || growth > most->after - most->before)) most = part;
  }
  return most;
}

std::string explanation_text(const Explanation& explanation) {
  const Prediction& prediction = explanation.prediction;
  GRADHAUL_ASSERT(!prediction.rows.empty(), "a row is explained");
  std::string text = headline(explanation) + limit_text(explanation);
  text += path_text(prediction.rows.back()) + counters_text(prediction);
  text += changes_text(explanation);
  if (!prediction.notes.empty()) text += "\nNotes\n";
  for (const std::string& note : prediction.notes) text += wrapped(note, "  ");
  if (!explanation.command.empty()) text += see_yourself(explanation);
  return text;
}

}  // namespace gradhaul
