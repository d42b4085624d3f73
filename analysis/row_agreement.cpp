#include "analysis/row_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/comparison.h"

namespace gradhaul {
namespace {

std::string joined(const std::set<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::set<std::string> all_of(const std::vector<ComparedRow>& rows, std::string ComparedRow::*key) {
  std::set<std::string> values;
  for (const ComparedRow& row : rows) {
    if (!(row.*key).empty()) values.insert(row.*key);
  }
  return values;
}

std::set<int> all_of(const std::vector<ComparedRow>& rows, std::optional<int> ComparedRow::*key) {
  std::set<int> values;
  for (const ComparedRow& row : rows) {
    if (row.*key) values.insert(*(row.*key));
  }
  return values;
}

void drop_other_collectives(const ComparedRow& predicted, ComparedRun& measured,
                            std::vector<std::string>& reasons, std::vector<std::string>& notes) {
  std::set<std::string> others = all_of(measured.rows, &ComparedRow::collective);
  const bool has_it = others.erase(predicted.collective) > 0;
  if (others.empty()) {
    if (!has_it && !measured.rows.empty()) {
      notes.push_back(
          fmt::format("the measured side does not say which collective it ran; its "
                      "rows are taken for {}",
                      predicted.collective));
      for (ComparedRow& row : measured.rows) row.collective = predicted.collective;
    }
    return;
  }
  if (!has_it) {
    std::string advice;
    if (measured.perftest) {
      advice =
          "; lay perftest beside a prediction of send_recv on two ranks, as the shipped "
          "scenario link-test";
    }
    reasons.push_back(fmt::format("predicted is {}, measured is {}{}", predicted.collective,
                                  joined(others), advice));
    return;
  }
  std::erase_if(measured.rows, [&](const ComparedRow& row) {
    return !row.collective.empty() && row.collective != predicted.collective;
  });
  notes.push_back(fmt::format("rows of {} are left out", joined(others)));
}

// 2(n-1)/n and the like, taken from the row with the most digits.
const ComparedRow* widest(const std::vector<ComparedRow>& rows) {
  const ComparedRow* widest = nullptr;
  for (const ComparedRow& row : rows) {
    if (!row.busbw_GBps || row.algbw_GBps < 10) continue;
    if (widest == nullptr || row.algbw_GBps > widest->algbw_GBps) widest = &row;
  }
  return widest;
}

void check_unnamed_ranks(const ComparedRow& predicted, ComparedRun& measured,
                         std::vector<std::string>& reasons, std::vector<std::string>& notes) {
  if (measured.nccl.ranks) {
    for (ComparedRow& row : measured.rows) row.ranks = measured.nccl.ranks->value;
    return;
  }
  const ComparedRow* row = widest(measured.rows);
  if (row == nullptr || !predicted.busbw_GBps || predicted.algbw_GBps <= 0) {
    notes.emplace_back("the measured side does not say how many ranks took part");
    return;
  }
  const double expected = *predicted.busbw_GBps / predicted.algbw_GBps;
  const double found = *row->busbw_GBps / row->algbw_GBps;
  if (std::abs(found / expected - 1) > 0.01) {
    reasons.push_back(fmt::format(
        "the measured side names no ranks, and its busbw/algbw of {:.3f} (line {}) is not that of "
        "the {} predicted ranks, {:.3f}",
        found, row->line, predicted.ranks.value_or(0), expected));
    return;
  }
  notes.push_back(
      fmt::format("the measured side names no ranks; its busbw/algbw of {:.3f} (line {}) is that "
                  "of the {} predicted ones",
                  found, row->line, predicted.ranks.value_or(0)));
}

void check_ranks(const ComparedRow& predicted, ComparedRun& measured,
                 std::vector<std::string>& reasons, std::vector<std::string>& notes) {
  if (measured.rows.empty()) return;
  std::set<int> ranks = all_of(measured.rows, &ComparedRow::ranks);
  if (ranks.empty()) {
    check_unnamed_ranks(predicted, measured, reasons, notes);
    ranks = all_of(measured.rows, &ComparedRow::ranks);
  }
  if (ranks.contains(1)) {
    reasons.emplace_back(
        "measured with one rank, which communicates with nobody; where more were started, "
        "nccl-tests was built without MPI=1");
    return;
  }
  if (ranks.empty() || (ranks.size() == 1 && ranks.contains(predicted.ranks.value_or(0)))) return;
  if (ranks.contains(predicted.ranks.value_or(0))) {
    std::erase_if(measured.rows, [&](const ComparedRow& row) {
      return row.ranks && row.ranks != predicted.ranks;
    });
    notes.push_back(fmt::format("only rows of {} ranks are compared", predicted.ranks.value_or(0)));
    return;
  }
  reasons.push_back(
      fmt::format("predicted for {} ranks, measured with {}: times and algbw of different rank "
                  "counts do not compare; predict with as many (--set cluster.nodes=…, "
                  "cluster.ranks_per_node=…)",
                  predicted.ranks.value_or(0), fmt::join(ranks, ", ")));
}

void check_perftest(const ComparedRun& measured, std::vector<std::string>& reasons) {
  if (!measured.perftest) return;
  const std::string& test = measured.perftest->test;
  const auto has = [&](std::string_view word) { return test.find(word) != std::string::npos; };
  if (has("Atomic")) {
    reasons.push_back(
        fmt::format("\"{}\" moves eight bytes at a time; no prediction stands for "
                    "that",
                    test));
  } else if (has("Read") && has("Latency")) {
    reasons.push_back(
        fmt::format("\"{}\" times a whole round trip, a prediction of send_recv one "
                    "way; ib_write_lat and ib_send_lat do compare",
                    test));
  }
}

void note_difference(std::string_view what, const std::set<std::string>& predicted,
                     const std::set<std::string>& measured, std::vector<std::string>& notes) {
  if (predicted.empty() || measured.empty() || predicted == measured) return;
  notes.push_back(
      fmt::format("{}: predicted {}, measured {}", what, joined(predicted), joined(measured)));
}

void note_differences(const ComparedRun& predicted, const ComparedRun& measured,
                      std::vector<std::string>& notes) {
  const auto compare_texts = [&](std::string_view what, std::string ComparedRow::*key) {
    note_difference(what, all_of(predicted.rows, key), all_of(measured.rows, key), notes);
  };
  compare_texts("data type", &ComparedRow::datatype);
  compare_texts("reduction", &ComparedRow::reduction);
  compare_texts("algorithm", &ComparedRow::algorithm);
  compare_texts("protocol", &ComparedRow::protocol);
  const auto channels = all_of(predicted.rows, &ComparedRow::channels);
  const auto other = all_of(measured.rows, &ComparedRow::channels);
  if (!channels.empty() && !other.empty() && channels != other) {
    notes.push_back(fmt::format("channels: predicted {}, measured {}", fmt::join(channels, ", "),
                                fmt::join(other, ", ")));
  }
}

}  // namespace

void require_agreement(const ComparedRun& predicted, ComparedRun& measured,
                       std::vector<std::string>& notes) {
  std::vector<std::string> reasons;
  if (!predicted.predicted) {
    throw Incomparable(fmt::format(
        "{} is no prediction ({}); the first file is what `gradhaul predict --json` wrote, the "
        "second what was measured{}",
        predicted.source, predicted.format, measured.predicted ? "; are they swapped?" : ""));
  }
  if (predicted.rows.empty()) {
    throw Incomparable(fmt::format("{} holds no rows to compare with", predicted.source));
  }
  const ComparedRow& first = predicted.rows.front();
  drop_other_collectives(first, measured, reasons, notes);
  if (reasons.empty()) check_ranks(first, measured, reasons, notes);
  check_perftest(measured, reasons);
  if (!reasons.empty()) throw Incomparable(fmt::format("{}", fmt::join(reasons, "\n")));
  note_differences(predicted, measured, notes);
}

const NcclFacts::Choice* choice_for(const ComparedRow& row, const NcclFacts& nccl) {
  // NCCL counts what one rank hands over, which of these is a share of nccl-tests' size.
  const std::int64_t share = row.collective == "all_gather" || row.collective == "reduce_scatter"
                                 ? row.size_bytes / std::max(row.ranks.value_or(1), 1)
                                 : row.size_bytes;
  for (const std::int64_t bytes : {row.size_bytes, share}) {
    for (const std::string& collective : {row.collective, std::string()}) {
      const auto found = nccl.choices.find({collective, bytes});
      if (found != nccl.choices.end()) return &found->second;
    }
  }
  return nullptr;
}

std::string choice_remark(const ComparedRow& predicted, const ComparedRow& measured,
                          const NcclFacts& nccl) {
  const NcclFacts::Choice* choice = choice_for(measured, nccl);
  const std::string& algorithm = choice != nullptr ? choice->algorithm : measured.algorithm;
  const std::string& protocol = choice != nullptr ? choice->protocol : measured.protocol;
  const std::optional<int> channels = choice != nullptr ? choice->channels : measured.channels;
  std::vector<std::string> differences;
  if (!algorithm.empty() && algorithm != predicted.algorithm) differences.push_back(algorithm);
  if (!protocol.empty() && protocol != predicted.protocol) differences.push_back(protocol);
  if (channels && predicted.channels && *channels != *predicted.channels) {
    differences.push_back(fmt::format("{} channel{}", *channels, *channels == 1 ? "" : "s"));
  }
  if (differences.empty()) return "";
  const std::string where = choice != nullptr ? fmt::format(" (line {})", choice->line) : "";
  return fmt::format("ran {}{}", fmt::join(differences, ", "), where);
}

}  // namespace gradhaul
