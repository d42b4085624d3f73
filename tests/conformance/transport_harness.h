#pragma once

// What a transport brings to be tested by transport_conformance.h: a way to make worlds of some
// ranks joined by given connections, and to let them run a completion at a time. To instantiate the
// suite, derive from both classes and write, in a *_test.cpp of this folder,
//
//   INSTANTIATE_TYPED_TEST_SUITE_P(Mine, TransportConformance, MyHarness);
//
// MyHarness must be default-constructible.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/completion.h"
#include "core/connection.h"
#include "core/memory.h"
#include "core/quantities.h"
#include "core/reducer.h"
#include "core/transport.h"

namespace gradhaul::conformance {

struct WorldShape {
  std::vector<std::vector<ConnectionEnd>> connections;  // by rank, then ConnectionId
  std::vector<Bytes> slots_bytes;                       // by rank: size of Region::kSlots
  int slots = 1;                                        // of each connection
  Bytes slot_size;
  // Of each rank. In place, kInput and kOutput are the same memory and equally large.
  Bytes input;
  Bytes output;
  bool in_place = false;
  Rank ranks() const { return static_cast<Rank>(connections.size()); }
};

class ConformanceWorld {
 public:
  virtual ~ConformanceWorld() = default;

  virtual Transport& transport(Rank rank) = 0;
  virtual Reducer& reducer(Rank rank) = 0;
  // Where completions of this rank go: once for each rank, before anything is posted.
  virtual void connect(Rank rank, CompletionSink& sink) = 0;
  // Goes on until at least one completion has been delivered, and returns; false where nothing more
  // will come unless something is posted. Best one completion at a time.
  virtual bool step() = 0;
  // The bytes behind a region; empty where the transport carries none, which spares it the checks
  // of bytes and nothing else.
  virtual std::span<std::byte> memory(Rank rank, Region region) = 0;
  // Has the data write with this ordinal (counted from 0) of a connection fail; false: this
  // transport can't be made to fail, and is spared the tests of failures.
  virtual bool fail_write(const ConnectionKey& /*key*/, std::int64_t /*ordinal*/) { return false; }
};

class TransportHarness {
 public:
  virtual ~TransportHarness() = default;
  // Worlds of different seeds may deliver in different orders, as far as the contract leaves them
  // open.
  virtual std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                                       std::uint64_t seed) const = 0;
  // Of the cases drawn at random one in so many is run: worlds that are dear to make take fewer.
  virtual std::uint64_t one_case_in() const { return 1; }
};

}  // namespace gradhaul::conformance
