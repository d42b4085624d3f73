#pragma once

// What the status of a failed work completion means in this design, and what to check, in this
// order. Statuses: rdma-core, ibv_wc(3); meanings: IBTA vol. 1, 11.6.2.

#include <string_view>
#include <vector>

#include "backends/verbs/verbs_library.h"

namespace gradhaul {

struct CompletionMeaning {
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::string_view name;     // as ibv_wc_status_str() has it
  std::string_view meaning;  // here
  std::vector<std::string_view> checks;
};

// Of a status that this table has not, an entry that says so.
CompletionMeaning meaning_of(ibv_wc_status status);

}  // namespace gradhaul
