#pragma once

// A file that somebody handed over and that cannot be read for what it should be.

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gradhaul {

// Where something stands in a file. Lines and columns count from 1; line 0: the file as a whole.
struct Place {
  std::string source;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

// what(): "FILE:LINE:COLUMN: message"; the message says what is wrong and what would be right.
class InputError : public std::runtime_error {
 public:
  InputError(const Place& place, const std::string& message)
      : std::runtime_error(text_of(place) + ": " + message) {}

 private:
  static std::string text_of(const Place& place) {
    if (place.line == 0) return place.source;
    return place.source + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
  }
};

}  // namespace gradhaul
