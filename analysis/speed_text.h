#pragma once

// How one time compares with another, and words for a shell, as explanations print them.

#include <string>
#include <string_view>

#include "core/quantities.h"

namespace gradhaul {

// "1.96 times as fast"; within half a percent "as fast as before"; else "slower by 2.3 %".
std::string speed_text(Duration before, Duration after);

// A word as one types it into a POSIX shell: in single quotes where it needs any.
std::string shell_word(std::string_view word);

}  // namespace gradhaul
