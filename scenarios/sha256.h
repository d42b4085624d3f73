#pragma once

// SHA-256 (FIPS 180-4), so that a result can say exactly which scenario file it answers.

#include <string>
#include <string_view>

namespace gradhaul {

// In lower-case hexadecimal.
std::string sha256(std::string_view data);

}  // namespace gradhaul
