#include "analysis/run_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/json_text.h"
#include "analysis/log_lines.h"
#include "analysis/row_agreement.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;

const Json& network_of(const ComparedRun& predicted) {
  return member(member(predicted.effective, "cluster"), "network");
}

bool predicts_rdma(const ComparedRun& predicted) {
  return text_of(member(network_of(predicted), "kind")) != "ethernet" &&
         text_of(member(member(predicted.effective, "communication"), "transport")) != "tcp";
}

bool predicts_gpudirect(const ComparedRun& predicted) {
  // As core/gpudirect.h says of what it stages.
  for (const std::string& note : predicted.notes) {
    if (note.starts_with("gpudirect auto: ")) return false;
  }
  const Json& key = member(member(predicted.effective, "communication"), "gpudirect");
  if (key.is_boolean()) return key.get<bool>();
  return text_of(key) == "auto" || text_of(key) == "on";
}

bool predicts_nvlink(const ComparedRun& predicted) {
  return member(member(member(predicted.effective, "cluster"), "node"), "nvlink").is_object();
}

std::string seen_on(const NcclFacts::Transport& transport) {
  const std::string more =
      transport.count > 1 ? fmt::format(", and {} more lines", transport.count - 1) : "";
  return fmt::format("line {}: \"{}\"{}", transport.line, transport.example, more);
}

const NcclFacts::Transport* transport(const NcclFacts& nccl, const char* name) {
  const auto found = nccl.transports.find(name);
  return found == nccl.transports.end() ? nullptr : &found->second;
}

void find_sockets(const ComparedRun& predicted, const NcclFacts& nccl,
                  std::vector<RunFinding>& findings) {
  if (!predicts_rdma(predicted)) return;
  if (const auto* socket = transport(nccl, "NET/Socket")) {
    findings.push_back({"network", fmt::format("data between nodes went over TCP sockets, where "
                                               "the prediction has RDMA ({})",
                                               seen_on(*socket))});
  } else if (nccl.network && nccl.network->value.starts_with("Socket")) {
    findings.push_back(
        {"network", fmt::format("NCCL chose TCP sockets as its network, where the prediction has "
                                "RDMA (line {}: \"Using network {}\")",
                                nccl.network->line, nccl.network->value)});
  }
}

void find_staging(const ComparedRun& predicted, const NcclFacts& nccl,
                  std::vector<RunFinding>& findings) {
  if (!predicts_gpudirect(predicted) || !predicts_rdma(predicted)) return;
  // Within one node there is no NIC to reach.
  if (whole_of(member(member(predicted.effective, "cluster"), "nodes")).value_or(1) < 2) return;
  const auto* staged = transport(nccl, "NET/IB");
  const auto* direct = transport(nccl, "NET/IB GDRDMA");
  if (staged != nullptr) {
    const std::string part =
        direct == nullptr
            ? ""
            : fmt::format(" on {} of {} connections", staged->count, staged->count + direct->count);
    findings.push_back({"GPU to NIC", fmt::format("without GPUDirect{}: data went through host "
                                                  "memory, where the prediction has the NIC read "
                                                  "and write GPU memory ({})",
                                                  part, seen_on(*staged))});
  } else if (nccl.rings_use_gdr && !nccl.rings_use_gdr->value && direct == nullptr &&
             transport(nccl, "NET/Socket") == nullptr) {
    findings.push_back({"GPU to NIC", fmt::format("the rings use no GPUDirect, where the "
                                                  "prediction has it (line {}: \"GDR 0\")",
                                                  nccl.rings_use_gdr->line)});
  }
  const bool shown = !findings.empty() && findings.back().layer == "GPU to NIC";
  if (shown && nccl.gdr_disabled) {
    findings.back().text +=
        fmt::format("; line {}: \"{}\"", nccl.gdr_disabled->line, nccl.gdr_disabled->value);
  }
}

void find_shared_memory(const ComparedRun& predicted, const NcclFacts& nccl,
                        std::vector<RunFinding>& findings) {
  if (!predicts_nvlink(predicted)) return;
  if (const auto* shared = transport(nccl, "SHM")) {
    findings.push_back({"within a node", fmt::format("GPUs of one node reached each other through "
                                                     "host memory, where the prediction has NVLink "
                                                     "({})",
                                                     seen_on(*shared))});
  }
}

std::set<std::string> predicted_nics(const ComparedRun& predicted) {
  std::set<std::string> names;
  for (const ResourceUse& use : predicted.resources) {
    if (use.kind == "nic" && use.bytes.count > 0 && use.name.starts_with("node0.")) {
      names.insert(use.name);
    }
  }
  return names;
}

void find_nics(const ComparedRun& predicted, const NcclFacts& nccl,
               std::vector<RunFinding>& findings) {
  const std::size_t expected = predicted_nics(predicted).size();
  if (nccl.nics && nccl.nics->value.size() < expected) {
    findings.push_back(
        {"NICs", fmt::format("NCCL found {} NIC{} in a node, the prediction uses {} "
                             "(line {}: {})",
                             nccl.nics->value.size(), nccl.nics->value.size() == 1 ? "" : "s",
                             expected, nccl.nics->line, fmt::join(nccl.nics->value, " "))});
    return;
  }
  // Only a log that holds the whole set-up shows all of them.
  if (!nccl.connected || nccl.nics_used.empty() || nccl.nics_used.size() >= expected) return;
  std::vector<std::string> used;
  for (const auto& [nic, line] : nccl.nics_used) used.push_back(fmt::format("{}", nic));
  findings.push_back(
      {"NICs", fmt::format("connections use {} NIC{} of a node ({}; line {}), the "
                           "prediction {}",
                           used.size(), used.size() == 1 ? "" : "s", fmt::join(used, ", "),
                           nccl.nics_used.begin()->second, expected)});
}

void find_choices(const ComparedRun& predicted, const ComparedRun& measured,
                  std::vector<RunFinding>& findings) {
  std::size_t sizes = 0;
  std::string example;
  std::set<std::int64_t> seen;
  const ComparedRow& first = predicted.rows.front();
  for (const ComparedRow& row : measured.rows) {
    if (!seen.insert(row.size_bytes).second) continue;
    const NcclFacts::Choice* choice = choice_for(row, measured.nccl);
    if (choice == nullptr) continue;
    if (choice->algorithm == first.algorithm && choice->protocol == first.protocol) continue;
    if (sizes++ == 0) {
      example = fmt::format("line {}: {} with {} at {} B", choice->line, choice->algorithm,
                            choice->protocol, row.size_bytes);
    }
  }
  if (sizes == 0) return;
  findings.push_back({"algorithm", fmt::format("NCCL chose another algorithm or protocol than {} "
                                               "with {} at {} size{} ({})",
                                               first.algorithm, first.protocol, sizes,
                                               sizes == 1 ? "" : "s", example)});
}

void find_channels(const ComparedRun& predicted, const NcclFacts& nccl,
                   std::vector<RunFinding>& findings) {
  const auto expected = predicted.rows.front().channels;
  if (!nccl.channels || !expected || nccl.channels->value == *expected) return;
  findings.push_back(
      {"channels", fmt::format("NCCL has {} channels (line {}), the prediction {}",
                               nccl.channels->value, nccl.channels->line, *expected)});
}

// A ring has no first rank: the predicted one is turned to where NCCL's begins. Of a long ring a
// log lists the first ranks only.
bool is_ring(const std::vector<int>& predicted, const std::vector<int>& listed) {
  const auto begin = std::find(predicted.begin(), predicted.end(), listed.front());
  if (begin == predicted.end() || listed.size() > predicted.size()) return false;
  std::vector<int> turned(begin, predicted.end());
  turned.insert(turned.end(), predicted.begin(), begin);
  return std::equal(listed.begin(), listed.end(), turned.begin());
}

void find_rings(const ComparedRun& predicted, const NcclFacts& nccl,
                std::vector<RunFinding>& findings) {
  if (predicted.rings.empty() || predicted.rows.front().algorithm != "ring") return;
  const std::size_t ranks = predicted.rings.front().size();
  std::size_t strange = 0;
  const Seen<std::vector<int>>* first = nullptr;
  for (const auto& [channel, ring] : nccl.rings) {
    if (ring.value.size() > ranks || (ring.value.size() < ranks && ring.value.size() < 20)) return;
    const bool known = std::any_of(predicted.rings.begin(), predicted.rings.end(),
                                   [&](const auto& other) { return is_ring(other, ring.value); });
    if (known) continue;
    if (strange++ == 0) first = &ring;
  }
  if (strange == 0) return;
  const std::size_t shown = std::min<std::size_t>(first->value.size(), 16);
  const std::string ring =
      fmt::format("{}", fmt::join(first->value.begin(),
                                  first->value.begin() + static_cast<std::ptrdiff_t>(shown), " "));
  findings.push_back({"rings", fmt::format("{} of NCCL's {} rings go otherwise than any predicted "
                                           "one (line {}: {}{})",
                                           strange, nccl.rings.size(), first->line, ring,
                                           shown < first->value.size() ? " …" : "")});
}

void find_perftest(const ComparedRun& predicted, const PerftestFacts& facts, bool has_rows,
                   std::vector<RunFinding>& findings) {
  const std::string kind = text_of(member(network_of(predicted), "kind"));
  if (facts.link_type && facts.link_type->value == "Ethernet" && kind == "infiniband") {
    findings.push_back({"network", fmt::format("the link is Ethernet (line {}), the predicted one "
                                               "InfiniBand",
                                               facts.link_type->line)});
  }
  const std::string mtu = text_of(member(network_of(predicted), "mtu"));
  const auto bytes = integer_after(mtu, "");
  // "auto" takes what the port allows: 4096 on InfiniBand.
  const std::int64_t expected = bytes ? *bytes * (mtu.ends_with("KiB") ? 1024 : 1) : 4096;
  if (facts.mtu && (bytes || kind == "infiniband") && facts.mtu->value != expected) {
    findings.push_back({"network", fmt::format("the path MTU is {} B (line {}), the predicted one "
                                               "{} B",
                                               facts.mtu->value, facts.mtu->line, expected)});
  }
  const auto pairs = whole_of(member(member(predicted.effective, "communication"), "queue_pairs"));
  if (facts.queue_pairs && pairs && facts.queue_pairs->value != *pairs) {
    findings.push_back(
        {"queue pairs", fmt::format("{} queue pairs (line {}), the prediction has "
                                    "{} for each connection",
                                    facts.queue_pairs->value, facts.queue_pairs->line, *pairs)});
  }
  if (facts.gpu_memory_line || !has_rows) return;
  findings.push_back({"",
                      "nothing in the output speaks of GPU memory (--use_cuda): perftest then "
                      "moves host memory, the prediction GPU memory"});
}

}  // namespace

std::vector<RunFinding> findings_of(const ComparedRun& predicted, const ComparedRun& measured) {
  std::vector<RunFinding> findings;
  const NcclFacts& nccl = measured.nccl;
  find_sockets(predicted, nccl, findings);
  find_staging(predicted, nccl, findings);
  find_shared_memory(predicted, nccl, findings);
  find_nics(predicted, nccl, findings);
  find_choices(predicted, measured, findings);
  find_channels(predicted, nccl, findings);
  find_rings(predicted, nccl, findings);
  if (measured.perftest) {
    find_perftest(predicted, *measured.perftest, !measured.rows.empty(), findings);
  }
  for (const Seen<std::string>& warning : nccl.warnings) {
    findings.push_back({"", fmt::format("line {} warns: \"{}\"", warning.line, warning.value)});
  }
  for (const Seen<std::string>& setting : nccl.settings) {
    findings.push_back({"", fmt::format("line {}: \"{}\"", setting.line, setting.value)});
  }
  return findings;
}

}  // namespace gradhaul
