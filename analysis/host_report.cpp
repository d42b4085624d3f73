#include "analysis/host_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace gradhaul {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kEvidenceShown = 3;

// Words in lines of at most kWidth columns, each behind the indent but the first.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column > indent && column + 1 + word.size() > kWidth) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    at = end + 1;
  }
  return lines;
}

void write_item(const HostItem& item, std::size_t depth, std::string& text) {
  const std::string head =
      std::string(2 * depth, ' ') + (item.kind == "switch" ? "switch " : "") + item.name;
  text += head + (item.text.empty() ? "" : ": ");
  text += wrapped(item.text, head.size() + 2) + "\n";
  for (const HostItem& child : item.children) write_item(child, depth + 1, text);
}

std::string distance_table(const HostDistances& distances) {
  if (distances.gpus.empty() || distances.nics.empty()) return "";
  std::string text =
      "\nGPU to NIC (PIX one switch, PXB several, PHB root complex, SYS another socket, ? not "
      "told)\n";
  text += fmt::format("{:8}", "");
  for (const std::string& nic : distances.nics) text += fmt::format("{:>7}", nic);
  text += "\n";
  for (std::size_t gpu = 0; gpu < distances.gpus.size(); ++gpu) {
    text += fmt::format("{:8}", distances.gpus[gpu]);
    for (const auto& distance : distances.of[gpu]) {
      text += fmt::format("{:>7}", distance_word(distance));
    }
    text += "\n";
  }
  return text;
}

std::string count_of(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Findings that say the same of several things are told once.
bool same_story(const Finding& left, const Finding& right) {
  return left.severity == right.severity && left.id == right.id && left.why == right.why;
}

void write_line(std::string_view label, std::string_view line, std::string& text) {
  if (line.empty()) return;
  text += fmt::format("  {:6}{}\n", label, wrapped(line, 8));
}

// `first` to `last`: of one story. Answers how many of their files were not named.
void write_story(const std::vector<Finding>& findings, std::size_t first, std::size_t last,
                 std::string& text) {
  const Finding& finding = findings[first];
  text += fmt::format("\n{} {}", upper(severity_word(finding.severity)), finding.id);
  if (last - first > 1) text += fmt::format(" ({} times)", last - first);
  text += "\n";
  std::size_t files = 0;
  for (std::size_t i = first; i < last; ++i) {
    write_line(i == first ? "seen" : "", findings[i].subject + ": " + findings[i].seen, text);
    for (const Evidence& evidence : findings[i].evidence) {
      // All of the first thing's, unless they are many; the others are like them.
      if (files < kEvidenceShown) write_line("", evidence.file + ": " + evidence.text, text);
      ++files;
    }
  }
  if (files > kEvidenceShown) {
    write_line("", fmt::format("… and {} more files (--json has all)", files - kEvidenceShown),
               text);
  }
  write_line("why", finding.why, text);
  write_line("do", finding.remedy, text);
  write_line("see", finding.command, text);
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (std::size_t first = 0; first < findings.size();) {
    std::size_t last = first + 1;
    while (last < findings.size() && same_story(findings[first], findings[last])) ++last;
    write_story(findings, first, last, text);
    first = last;
  }
  return text;
}

std::string unseen_text(const std::vector<Unseen>& unseen) {
  if (unseen.empty()) return "";
  std::string text = "\nNOT SEEN\n";
  for (const Unseen& each : unseen) {
    text +=
        "  " +
        wrapped(each.what + ": " + each.reason + (each.file.empty() ? "" : " (" + each.file + ")"),
                4) +
        "\n";
    text += "    " + wrapped("takes: " + each.takes, 4) + "\n";
  }
  return text;
}

std::size_t count_severity(const HostCheckup& checkup, Severity severity) {
  const auto& findings = checkup.findings;
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [&](const Finding& finding) { return finding.severity == severity; }));
}

std::string verdict(const HostCheckup& checkup) {
  const std::size_t problems = count_severity(checkup, Severity::kProblem);
  const std::size_t warnings = count_severity(checkup, Severity::kWarning);
  const std::string found = problems + warnings == 0 ? "Nothing is found at fault"
                                                     : count_of(problems, "problem") + ", " +
                                                           count_of(warnings, "warning");
  return fmt::format("{}; {}; {} could not be seen.\n", found,
                     count_of(count_severity(checkup, Severity::kFact), "fact"),
                     count_of(checkup.unseen.size(), "thing"));
}

}  // namespace

std::string distance_word(const std::optional<PcieDistance>& distance) {
  if (!distance) return "?";
  switch (*distance) {
    case PcieDistance::kNothing:
      return "X";
    case PcieDistance::kSameSwitch:
      return "PIX";
    case PcieDistance::kSameRootPort:
      return "PXB";
    case PcieDistance::kSameSocket:
      return "PHB";
    case PcieDistance::kOtherSocket:
      return "SYS";
  }
  return "?";
}

std::string severity_word(Severity severity) {
  switch (severity) {
    case Severity::kProblem:
      return "problem";
    case Severity::kWarning:
      return "warning";
    case Severity::kFact:
      return "fact";
  }
  return "";
}

std::string host_report(const HostCheckup& checkup, const std::string& version) {
  std::string text = fmt::format("# gradhaul {}: doctor, {}", version, checkup.source);
  if (checkup.watched_seconds > 0) {
    text += fmt::format(", watched for {:.6g} s{}", checkup.watched_seconds,
                        checkup.cut_short ? " (cut short)" : "");
  }
  text += "\n\n";
  for (const HostItem& item : checkup.items) write_item(item, 0, text);
  text += distance_table(checkup.distances);
  text += "\n" + verdict(checkup);
  text += findings_text(checkup.findings);
  text += unseen_text(checkup.unseen);
  return text;
}

std::string host_faults(const HostCheckup& checkup) {
  std::vector<Finding> faults = checkup.findings;
  std::erase_if(faults, [](const Finding& each) { return each.severity == Severity::kFact; });
  return verdict(checkup) + findings_text(faults);
}

}  // namespace gradhaul
