#include "backends/bootstrap/exchange_records.h"

namespace gradhaul {
namespace {

constexpr std::size_t kLongestText = 4096;

// What others send is printed: no control characters.
std::string printable(std::string text) {
  text.resize(std::min(text.size(), kLongestText));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return text;
}

}  // namespace

std::vector<std::byte> body_of(const Greeting& greeting) {
  WireWriter writer;
  writer.i32(greeting.rank);
  writer.i32(greeting.ranks);
  writer.text(greeting.token);
  return writer.bytes();
}

std::vector<std::byte> body_of(const std::vector<RankFailure>& failures) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(failures.size()));
  for (const RankFailure& failure : failures) {
    writer.i32(failure.rank);
    writer.i32(failure.peer);
    writer.text(failure.what);
  }
  return writer.bytes();
}

std::vector<std::byte> body_of(const std::vector<std::vector<std::byte>>& parts) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(parts.size()));
  for (const std::vector<std::byte>& part : parts) {
    writer.u32(static_cast<std::uint32_t>(part.size()));
    writer.raw(part);
  }
  return writer.bytes();
}

std::vector<std::byte> body_of_number(std::uint64_t number) {
  WireWriter writer;
  writer.number(number, 8);
  return writer.bytes();
}

std::vector<std::byte> body_of_text(std::string_view text) {
  WireWriter writer;
  writer.text(text);
  return writer.bytes();
}

Greeting greeting_in(std::span<const std::byte> body) {
  WireReader reader(body);
  Greeting greeting;
  greeting.rank = reader.i32();
  greeting.ranks = reader.i32();
  greeting.token = reader.text();
  reader.expect_end();
  return greeting;
}

std::vector<RankFailure> failures_in(std::span<const std::byte> body) {
  WireReader reader(body);
  const std::uint32_t count = reader.u32();
  std::vector<RankFailure> failures;
  for (std::uint32_t i = 0; i < count; ++i) {
    RankFailure failure;
    failure.rank = reader.i32();
    failure.peer = reader.i32();
    failure.what = printable(reader.text());
    failures.push_back(std::move(failure));
  }
  reader.expect_end();
  if (failures.empty()) throw WireError("a failure that is none");
  return failures;
}

std::vector<std::vector<std::byte>> parts_in(std::span<const std::byte> body, Rank ranks) {
  WireReader reader(body);
  const std::uint32_t count = reader.u32();
  if (count != static_cast<std::uint32_t>(ranks)) throw WireError("not one part of each rank");
  std::vector<std::vector<std::byte>> parts;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::span<const std::byte> part = reader.raw(reader.u32());
    parts.emplace_back(part.begin(), part.end());
  }
  reader.expect_end();
  return parts;
}

std::uint64_t number_in(std::span<const std::byte> body) {
  WireReader reader(body);
  const std::uint64_t number = reader.number(8);
  reader.expect_end();
  return number;
}

std::string text_in(std::span<const std::byte> body) {
  WireReader reader(body);
  std::string text = printable(reader.text());
  reader.expect_end();
  return text;
}

}  // namespace gradhaul
