#pragma once

// A field of CSV (RFC 4180).

#include <string>
#include <string_view>

namespace gradhaul {

// In quotes where it has to be.
std::string csv_field(std::string_view field);

}  // namespace gradhaul
