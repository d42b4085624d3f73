#include "backends/verbs/verbs_backend.h"

// Without the header of libibverbs the other files of this folder are left out of the build.
#if __has_include(<infiniband/verbs.h>)
#include "backends/verbs/opened_verbs.h"

namespace gradhaul {

std::unique_ptr<VerbsBackend> open_verbs(const VerbsSettings& settings) {
  return std::make_unique<OpenedVerbs>(open_verbs_library(), settings);
}

}  // namespace gradhaul

#else

namespace gradhaul {

std::unique_ptr<VerbsBackend> open_verbs(const VerbsSettings& /*settings*/) {
  throw VerbsError(
      "this program was built without RDMA verbs: infiniband/verbs.h was missing. Install the "
      "package libibverbs-dev and build again");
}

}  // namespace gradhaul

#endif
