#include "backends/bootstrap/record.h"

#include "core/assert.h"

namespace gradhaul {
namespace {

std::uint32_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint32_t>(b)) * 16777619U;
  return hash;
}

}  // namespace

std::vector<std::byte> encoded(RecordKind kind, std::span<const std::byte> body) {
  GRADHAUL_ASSERT(body.size() <= UINT32_MAX, "a record has a length of 32 bits");
  WireWriter writer;
  writer.u32(kRecordMagic);
  writer.u16(kRecordVersion);
  writer.u16(static_cast<std::uint16_t>(kind));
  writer.u32(static_cast<std::uint32_t>(body.size()));
  writer.u32(checksum(body));
  writer.raw(body);
  return writer.bytes();
}

void RecordReader::feed(std::span<const std::byte> bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::optional<Record> RecordReader::next() {
  const std::span<const std::byte> rest = std::span(bytes_).subspan(taken_);
  // As soon as it shows that it is none, however little has come.
  for (std::size_t i = 0; i < std::min<std::size_t>(rest.size(), 4); ++i) {
    if (static_cast<std::uint32_t>(rest[i]) != (kRecordMagic >> (24 - 8 * i) & 0xffU)) {
      throw WireError("it does not speak gradhaul's rendezvous");
    }
  }
  if (rest.size() < kRecordHead) return std::nullopt;
  WireReader head(rest.first(kRecordHead));
  head.u32();
  const std::uint16_t version = head.u16();
  if (version != kRecordVersion) throw VersionError(version);
  const std::uint16_t kind = head.u16();
  if (kind == 0 || kind > kLastRecordKind) throw WireError("a record of no known kind");
  const std::uint32_t length = head.u32();
  if (length > longest_) throw WireError("a record that is too long");
  const std::uint32_t sum = head.u32();
  if (rest.size() < kRecordHead + length) return std::nullopt;
  const std::span<const std::byte> body = rest.subspan(kRecordHead, length);
  if (checksum(body) != sum) throw WireError("a record that was damaged on its way");
  taken_ += kRecordHead + length;
  return Record{static_cast<RecordKind>(kind), {body.begin(), body.end()}};
}

}  // namespace gradhaul
