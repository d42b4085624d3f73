#pragma once

// Lines of a log as terminals, launchers and editors leave them: colours and other escape
// sequences (ECMA-48) and control characters are taken out, so are a byte order mark and the zero
// bytes of UTF-16; CRLF ends a line as LF does, and what a lone CR would have overwritten on a
// terminal stands as a line of its own under the same number. One pass, with memory for one line:
// of a longer one only the beginning is given.

#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

struct LogLine {
  std::int64_t number = 0;  // from 1
  std::string_view text;    // good until the next one is asked for
  bool ended = true;        // false: the log ends within this line
};

class LogLines {
 public:
  static constexpr std::size_t kLongest = 64 * 1024;

  // `begun`: what was already read of the stream, to find out what it is.
  explicit LogLines(std::istream& stream, std::string begun = {});

  std::optional<LogLine> next();

 private:
  enum class Escape : std::uint8_t { kNone, kBegun, kSequence, kString, kStringEnd };

  std::optional<char> next_byte();
  // Whether the byte belongs to an escape sequence.
  bool in_escape(char byte);
  void keep(char byte);
  void keep_plain();

  std::istream& stream_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::string line_;
  std::int64_t number_ = 1;
  Escape escape_ = Escape::kNone;
  bool after_return_ = false;
};

// The words between blanks, the first `most` of them.
std::vector<std::string_view> words_of(std::string_view text, std::size_t most = 128);

// The whole word as a number; nothing where it is none, or none that is finite.
std::optional<double> number_of(std::string_view word);
std::optional<std::int64_t> integer_of(std::string_view word);

// The number that a text goes on with after `key`, blanks skipped: "nranks 16" after "nranks".
std::optional<std::int64_t> integer_after(std::string_view text, std::string_view key);

}  // namespace gradhaul
