#pragma once

// What ranks tell each other as they are joined. Each of these is called by every rank, and where
// one rank can't go on, all throw the same.

#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/verbs/connection_record.h"
#include "backends/verbs/verbs_error.h"

namespace gradhaul {

// Why ranks could not be joined, and whose fault it is.
class JoinFailed : public VerbsError {
 public:
  explicit JoinFailed(const RankFailure& failure)
      : VerbsError("rank " + std::to_string(failure.rank) + ": " + failure.what),
        failure_(failure) {}
  const RankFailure& failure() const { return failure_; }

 private:
  RankFailure failure_;
};

// All ranks' records, which agree in what has to be alike. Throws JoinFailed and ExchangeError.
std::vector<ConnectionRecord> gather_records(Exchange& exchange, const ConnectionRecord& own);

// Nobody sends before everybody can receive. `error`: why this rank can't; empty: it can.
void gather_readiness(Exchange& exchange, const std::string& error);

// In place of gather_records(), by a rank that could not even begin.
[[noreturn]] void refuse_to_join(Exchange& exchange, const std::string& error);

}  // namespace gradhaul
