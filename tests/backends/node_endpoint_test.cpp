// Ranks of a node that share memory: what they tell each other, how they wake each other, and what
// they do where they can't. That bytes arrive is for tests/conformance.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "backends/bootstrap/thread_exchange.h"
#include "backends/bootstrap/wire_bytes.h"
#include "backends/loopback/memory_endpoint.h"
#include "backends/loopback/waker.h"
#include "backends/shared/node_endpoint_maker.h"
#include "backends/shared/node_offer.h"
#include "backends/shared/shared_pages.h"
#include "tests/damaged_text.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST(SharedPages, AreTheSameForWhoeverOpensThem) {
  SharedPages mine(Bytes{1 << 20});
  EXPECT_EQ(std::ranges::count(mine.bytes(), std::byte{0}), 1 << 20);
  const auto theirs = SharedPages::of_process(getpid(), mine.file(), Bytes{1 << 20});
  ASSERT_TRUE(theirs);
  mine.bytes()[77] = std::byte{5};
  EXPECT_EQ(theirs->bytes()[77], std::byte{5});
  // Not so large, no such file, no such process.
  EXPECT_FALSE(SharedPages::of_process(getpid(), mine.file(), Bytes{1 << 21}));
  EXPECT_FALSE(SharedPages::of_process(getpid(), 1'000'000, Bytes{1 << 20}));
  EXPECT_FALSE(SharedPages::of_process(0x7fff'ffff, mine.file(), Bytes{1 << 20}));
}

TEST(Waker, WakesWhoWaitsAndWhoWasAboutTo) {
  Waker waker{};
  const Clock::time_point start = Clock::now();
  const std::uint32_t seen = waker.seen();
  waker.wake();
  waker.wait(seen, 60s);  // called in between
  std::thread caller([&waker] {
    std::this_thread::sleep_for(20ms);
    waker.wake();
  });
  waker.wait(waker.seen(), 60s);
  caller.join();
  EXPECT_LT(Clock::now() - start, 30s);
  waker.wait(waker.seen(), 1ms);  // by nobody, and comes back
}

TEST(NodeOffer, ReadsAsItWasWritten) {
  NodeOffer offer;
  offer.host = "this one";
  offer.process = 4711;
  offer.slots_file = 7;
  offer.slots_handle = {std::byte{3}, std::byte{0}, std::byte{9}};
  offer.slots_size = {std::int64_t{3} << 32};
  offer.links_file = 8;
  offer.links_size = {192};
  offer.connections[{2, 1, 0, 5}] = {{4096}, {64}};
  const NodeOffer read = offer_in(body_of(offer));
  EXPECT_EQ(read.host, offer.host);
  EXPECT_EQ(read.process, 4711);
  EXPECT_EQ(read.slots_size, offer.slots_size);
  EXPECT_EQ(read.slots_handle, offer.slots_handle);
  EXPECT_EQ(read.links_file, 8);
  ASSERT_EQ(read.connections.size(), 1U);
  EXPECT_EQ(read.connections.begin()->first, (ConnectionKey{2, 1, 0, 5}));
  EXPECT_EQ(read.connections.begin()->second.link_offset, Bytes{64});
  std::vector<std::byte> cut = body_of(offer);
  cut.pop_back();
  EXPECT_THROW(offer_in(cut), WireError);
}

// Damaged in any way it is refused, or names places within what it offers.
TEST(NodeOfferFuzz, DamagedOnesAreReadOrRefused) {
  NodeOffer offer;
  offer.host = "this one";
  offer.slots_handle.resize(64);
  offer.slots_size = {1 << 20};
  offer.links_size = {4096};
  for (int i = 0; i < 3; ++i) offer.connections[{i, 1, 0, 0}] = {{4096 * i}, {64 * i}};
  const std::vector<std::byte> body = body_of(offer);
  const std::string text(reinterpret_cast<const char*>(body.data()), body.size());
  for_seeds(2000, [&](std::uint64_t seed) {
    const std::string damaged =
        damaged_text(text, {std::string(8, '\xff'), std::string(4, '\0')}, seed);
    try {
      const NodeOffer read = offer_in(std::as_bytes(std::span(damaged)));
      EXPECT_LE(read.slots_handle.size(), damaged.size());
      for (const auto& [key, place] : read.connections) {
        EXPECT_GE(place.slots_offset.count, 0);
        EXPECT_LT(place.slots_offset, read.slots_size);
        EXPECT_GE(place.link_offset.count, 0);
        EXPECT_LT(place.link_offset, read.links_size);
      }
    } catch (const WireError&) {
    }
    return !testing::Test::HasFailure();
  });
}

struct Joined {
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> facts;
};

// Two ranks of one node, one of which sends to the other.
std::vector<Joined> join_two(bool shares_slots) {
  ThreadGroup group(2, 60s);
  MemoryMeetingPlace place;
  std::vector<Joined> joined(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, rank);
      MemoryEndpointMaker network(place, exchange);
      NodeEndpointMaker maker(exchange, network, {0, 0});
      SharedPages slots(Bytes{4096});
      EndpointRequest request;
      request.connections = {{{0, 0, 1, 0}, rank == 0, {}}};
      request.memory = {{}, {}, slots.bytes(), shares_slots ? slots.file() : -1};
      request.slots = 2;
      request.slot_size = {2048};
      const auto endpoint = maker.make(request);
      const auto index = static_cast<std::size_t>(rank);
      joined[index] = {maker.notes(), endpoint->facts()};
      exchange.all_gather({});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return joined;
}

TEST(NodeEndpointMaker, TakesTheNetworkWhereSlotsAreNotShared) {
  for (const Joined& rank : join_two(true)) {
    EXPECT_THAT(rank.notes, testing::IsEmpty());
    EXPECT_THAT(rank.facts, ElementsAre(testing::Pair("within_node", "shared memory")));
  }
  const std::vector<Joined> apart = join_two(false);
  EXPECT_THAT(apart[0].notes, ElementsAre(HasSubstr("rank 0 reaches rank 1 of its node over the "
                                                    "network, not through memory: its memory is "
                                                    "not shared")));
  for (const Joined& rank : apart) {
    EXPECT_THAT(rank.facts, ElementsAre(testing::Pair("path", HasSubstr("threads"))));
  }
}

}  // namespace
}  // namespace gradhaul
