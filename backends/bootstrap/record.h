#pragma once

// What ranks send each other over the rendezvous: records with a head of 16 bytes, all numbers
// big-endian.
//
//   0  magic "grad"   4  version   6  kind   8  length of what follows   12  its FNV-1a, 32 bits
//
// Magic and version stay where they are in every version, so that each can tell of the other.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/bootstrap/wire_bytes.h"

namespace gradhaul {

inline constexpr std::uint32_t kRecordMagic = 0x67726164;
inline constexpr std::uint16_t kRecordVersion = 2;
inline constexpr std::size_t kRecordHead = 16;

enum class RecordKind : std::uint16_t {
  kHello = 1,     // a rank joins: rank, ranks, token
  kWelcome = 2,   // it may: a number
  kRefused = 3,   // and why it is not
  kGather = 4,    // a rank's part
  kGathered = 5,  // all parts, in rank order
  kFailed = 6,    // a rank gives up, and why
  kNoMore = 7,    // a rank has told all it knows of a failed run
  kFailures = 8,  // what all of them told
  kData = 9,      // a socket for data: token, connection, number among its queue pairs
  kReady = 10,    // of a sweep: a rank can compute so many points at once
  kPoint = 11,    // one to compute
  kAnswer = 12,   // what came out
  kLost = 13,     // its process ended without an answer, and how
  kOver = 14,     // nothing is left to do
  kPresent = 15,  // who was welcomed is there: the number of its welcome
};
inline constexpr std::uint16_t kLastRecordKind = 15;

struct Record {
  RecordKind kind = RecordKind::kHello;
  std::vector<std::byte> body;
};

std::vector<std::byte> encoded(RecordKind kind, std::span<const std::byte> body);

// The other end speaks, but another version of this.
class VersionError : public WireError {
 public:
  explicit VersionError(std::uint16_t theirs)
      : WireError("it speaks version " + std::to_string(theirs) + " of the rendezvous, this is " +
                  std::to_string(kRecordVersion)) {}
};

// Takes bytes as they come, and gives whole records. Never holds more than one record of the
// greatest length, and no more than came.
class RecordReader {
 public:
  // Longer ones are an error.
  explicit RecordReader(std::size_t longest) : longest_(longest) {}
  void allow(std::size_t longest) { longest_ = longest; }

  void feed(std::span<const std::byte> bytes);
  // The next record, if it is here as a whole. Throws WireError (VersionError) where what came is
  // none; the reader is of no use then.
  std::optional<Record> next();

 private:
  std::size_t longest_;
  std::vector<std::byte> bytes_;
  std::size_t taken_ = 0;
};

}  // namespace gradhaul
