#include "backends/verbs/join_exchange.h"

#include <cstring>

#include "core/assert.h"

namespace gradhaul {
namespace {

[[noreturn]] void throw_of_rank(std::size_t rank, const std::string& what) {
  throw JoinFailed({static_cast<Rank>(rank), -1, what});
}

}  // namespace

std::vector<ConnectionRecord> gather_records(Exchange& exchange, const ConnectionRecord& own) {
  std::vector<ConnectionRecord> records;
  for (const std::vector<std::byte>& bytes : exchange.all_gather(encode(own))) {
    try {
      records.push_back(decode(bytes));
    } catch (const VerbsError& error) {
      throw_of_rank(records.size(), error.what());
    }
  }
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    if (!records[rank].error.empty()) throw_of_rank(rank, records[rank].error);
  }
  for (std::size_t rank = 1; rank < records.size(); ++rank) {
    const std::string difference = first_difference(records[0], records[rank]);
    if (!difference.empty()) throw_of_rank(rank, difference + ": all ranks have to use the same");
  }
  return records;
}

void gather_readiness(Exchange& exchange, const std::string& error) {
  std::vector<std::byte> own(error.size());
  if (!error.empty()) std::memcpy(own.data(), error.data(), error.size());
  const auto answers = exchange.all_gather(own);
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const std::vector<std::byte>& answer = answers[rank];
    if (answer.empty()) continue;
    throw_of_rank(rank, {reinterpret_cast<const char*>(answer.data()), answer.size()});
  }
}

void refuse_to_join(Exchange& exchange, const std::string& error) {
  ConnectionRecord record;
  record.error = error;
  static_cast<void>(gather_records(exchange, record));
  assertion_failed("a refusal is thrown", __FILE__, __LINE__, "gather_records() throws errors");
}

}  // namespace gradhaul
