#include "analysis/log_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace gradhaul {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

LogLines::LogLines(std::istream& stream, std::string begun)
    : stream_(stream), buffer_(std::move(begun)) {
  for (const std::string_view mark : {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}) {
    if (std::string_view(buffer_).starts_with(mark)) at_ = mark.size();
  }
}

std::optional<char> LogLines::next_byte() {
  if (at_ == buffer_.size()) {
    buffer_.resize(kChunk);
    stream_.read(buffer_.data(), static_cast<std::streamsize>(kChunk));
    buffer_.resize(static_cast<std::size_t>(stream_.gcount()));
    at_ = 0;
    if (buffer_.empty()) return std::nullopt;
  }
  return buffer_[at_++];
}

bool LogLines::in_escape(char byte) {
  switch (escape_) {
    case Escape::kNone:
      if (byte == kEscape) escape_ = Escape::kBegun;
      return byte == kEscape;
    case Escape::kBegun:
      escape_ = byte == '[' ? Escape::kSequence : byte == ']' ? Escape::kString : Escape::kNone;
      // A line end is one, whatever stands before it.
      return byte != '\n' && byte != '\r';
    case Escape::kSequence:
      // Parameters and intermediates are 0x20 to 0x3f, the byte that ends it is 0x40 to 0x7e.
      if (byte >= 0x20 && byte <= 0x3f) return true;
      escape_ = Escape::kNone;
      return byte >= 0x40 && byte <= 0x7e;
    case Escape::kString:
      if (byte == kBell) escape_ = Escape::kNone;
      if (byte == kEscape) escape_ = Escape::kStringEnd;
      if (byte != '\n') return true;
      escape_ = Escape::kNone;
      return false;
    case Escape::kStringEnd:
      escape_ = Escape::kNone;
      return byte == '\\';
  }
  return false;
}

void LogLines::keep(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  if ((code < 0x20 && byte != '\t') || code == 0x7f) return;
  if (line_.size() < kLongest) line_ += byte;
}

// All up to the next byte that may need a thought: most of a log.
void LogLines::keep_plain() {
  const std::size_t begin = at_;
  while (at_ < buffer_.size()) {
    const auto code = static_cast<unsigned char>(buffer_[at_]);
    if (code < 0x20 || code == 0x7f) break;
    ++at_;
  }
  line_.append(buffer_, begin, std::min(at_ - begin, kLongest - line_.size()));
}

std::optional<LogLine> LogLines::next() {
  line_.clear();
  std::int64_t number = number_;
  while (const std::optional<char> byte = next_byte()) {
    if (std::exchange(after_return_, false) && *byte == '\n') {
      // The rest of a CRLF whose line is already out.
      number = ++number_;
      continue;
    }
    if (in_escape(*byte)) continue;
    if (*byte == '\n') {
      ++number_;
      return LogLine{number, line_, true};
    }
    if (*byte == '\r') {
      after_return_ = true;
      if (!line_.empty()) return LogLine{number, line_, true};
      continue;
    }
    keep(*byte);
    keep_plain();
  }
  if (line_.empty()) return std::nullopt;
  return LogLine{number, line_, false};
}

std::vector<std::string_view> words_of(std::string_view text, std::size_t most) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (words.size() < most) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) break;
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_of(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_after(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at += key.size();
  while (at < text.size() && is_blank(text[at])) ++at;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace gradhaul
