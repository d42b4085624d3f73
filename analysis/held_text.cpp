#include "analysis/held_text.h"

#include <fmt/format.h>

#include "analysis/quantity_text.h"

namespace gradhaul {

std::vector<std::pair<std::string, std::string>> held_terms(const ResultRow& row) {
  const HeldResources& held = row.held;
  std::vector<std::pair<std::string, std::string>> terms;
  if (held.gpu_sms > 0) {
    terms.emplace_back("multiprocessors of each GPU", fmt::format("{}", held.gpu_sms));
  }
  if (row.cpu_cores > 0) {
    terms.emplace_back("CPU cores of a node", fmt::format("{:.3g}", row.cpu_cores));
  }
  if (held.queue_pairs > 0) {
    terms.emplace_back("queue pairs of a NIC", fmt::format("{}", held.queue_pairs_per_nic));
    terms.emplace_back("queue pairs of all NICs", fmt::format("{}", held.queue_pairs));
  }
  if (held.registered.count > 0) {
    terms.emplace_back("memory that a rank registers", bytes_text(held.registered));
  }
  if (row.setup.queue_pairs.ps > 0) {
    terms.emplace_back("a rank making its queue pairs, once", duration_text(row.setup.queue_pairs));
  }
  if (row.setup.registration.ps > 0) {
    terms.emplace_back("a rank registering memory, once", duration_text(row.setup.registration));
  }
  return terms;
}

std::string held_text(const ResultRow& row) {
  std::string text;
  for (const auto& [name, value] : held_terms(row)) {
    text += fmt::format("#   {:>8}  {}\n", value, name);
  }
  return text.empty() ? "" : "# What it takes beside time:\n" + text;
}

}  // namespace gradhaul
