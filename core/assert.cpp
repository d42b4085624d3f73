#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace gradhaul {

void assertion_failed(const char* condition, const char* file, int line,
                      std::string_view explanation) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: broken invariant: %s (%.*s)\n", file, line, condition,
               static_cast<int>(explanation.size()), explanation.data());
  std::abort();
}

}  // namespace gradhaul
