#pragma once

// Assertions for programmer errors, always on, in every build type. A broken invariant stops the
// program with the condition, its place and what the author had to say; it is never printed and
// passed over. Bad input is not a programmer error (see scenarios/config_error.h), nor is a failing
// world (see core/completion.h).

#include <string_view>

namespace gradhaul {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   std::string_view explanation);

}  // namespace gradhaul

#define GRADHAUL_ASSERT(condition, explanation) \
  (static_cast<bool>(condition)                 \
       ? static_cast<void>(0)                   \
       : ::gradhaul::assertion_failed(#condition, __FILE__, __LINE__, explanation))
