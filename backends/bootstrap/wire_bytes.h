#pragma once

// Numbers and texts as bytes for other ranks: big-endian, texts with their length before them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

// What was received ends too early, or is not what it should be.
class WireError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class WireWriter {
 public:
  void number(std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::uint32_t value) { number(value, 4); }
  void i32(std::int32_t value) { u32(static_cast<std::uint32_t>(value)); }
  void i64(std::int64_t value) { number(static_cast<std::uint64_t>(value), 8); }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void text(std::string_view text) {
    u32(static_cast<std::uint32_t>(text.size()));
    raw(std::as_bytes(std::span(text)));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Throws WireError rather than read past the end.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    for (const std::byte b : raw(static_cast<std::size_t>(bytes))) {
      value = value << 8 | static_cast<std::uint64_t>(b);
    }
    return value;
  }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  std::int64_t i64() { return static_cast<std::int64_t>(number(8)); }
  std::span<const std::byte> raw(std::size_t count) {
    if (count > rest_.size()) throw WireError("a record ends too early");
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::string text() {
    const std::span<const std::byte> bytes = raw(u32());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void expect_end() const {
    if (!rest_.empty()) throw WireError("a record is longer than it should be");
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace gradhaul
