// The rendezvous beside hostile connections: what they send is thrown away, and the ranks come
// together and exchange what they have to say.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/tcp_exchange.h"
#include "tests/damaged_text.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

const std::vector<std::string> kTokens{"", "", "of this run", std::string(kLongestToken, 'x')};

// Records in and out of turn, of all kinds and of none, some damaged.
std::string hostile_bytes(std::uint64_t seed) {
  DamageDraws draws(seed);
  std::string all;
  for (std::size_t record = draws.below(5); record > 0; --record) {
    std::vector<std::byte> body(draws.below(200));
    for (std::byte& each : body) each = static_cast<std::byte>(draws.below(256));
    auto kind = static_cast<RecordKind>(draws.below(kLastRecordKind + 2));
    // A greeting in every respect, also of the rank that is to come.
    if (draws.below(2) == 0) {
      body = body_of(Greeting{static_cast<Rank>(draws.below(4)), 2, kTokens[draws.below(4)]});
      kind = RecordKind::kHello;
    } else if (draws.below(4) == 0) {
      body = body_of_number(draws.below(std::size_t{1} << 40));
      kind = RecordKind::kPresent;
    }
    const std::vector<std::byte> bytes = encoded(kind, body);
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return draws.below(2) == 0 ? all : damaged_text(all, {"gfr1", std::string(64, '\xff')}, seed);
}

// Connects, says something, and goes, or stays a while. It never hears what it is told, so that it
// cannot answer a welcome: who can do that, and knows the token if there is one, is a rank.
void attack(const SocketAddress& address, std::uint64_t seed, std::vector<Socket>& staying) {
  auto socket = begin_connect(address);
  if (!socket || !wait_for(*socket, Waiting::kWrite, 1000ms)) return;
  const std::string bytes = hostile_bytes(seed);
  static_cast<void>(send_some(*socket, std::as_bytes(std::span(bytes))));
  if (seed % 4 == 0 && staying.size() < 30) staying.push_back(std::move(*socket));
}

TEST(BootstrapFuzz, HostileConnectionsDoNotEndARun) {
  for_seeds(6, [](std::uint64_t seed) {
    SCOPED_TRACE(seed);
    Socket listener = listen_at({"127.0.0.1", 0});
    const SocketAddress address = local_address(listener);
    std::atomic<bool> over = false;
    std::thread stranger([&] {
      std::vector<Socket> staying;
      for (std::uint64_t i = 0; i < 40 && !over; ++i) attack(address, 1000 * seed + i, staying);
      while (!over) std::this_thread::sleep_for(1ms);
    });
    std::string complaint;
    const auto part = [&](Rank rank) {
      try {
        const RendezvousSettings settings{rank, 2, 60s, 60s, {}, kTokens[2 * (seed % 2)]};
        const auto exchange = rank == 0 ? TcpExchange::host(std::move(listener), settings)
                                        : TcpExchange::join(address, settings);
        for (int i = 0; i < 20; ++i) {
          const std::vector<std::byte> mine(100, static_cast<std::byte>(rank));
          const auto all = exchange->all_gather(mine);
          EXPECT_EQ(all.size(), 2U);
          EXPECT_EQ(all[1], std::vector<std::byte>(100, std::byte{1}));
        }
      } catch (const ExchangeError& error) {
        complaint = error.what();
      }
    };
    std::thread second([&] {
      std::this_thread::sleep_for(10ms);
      part(1);
    });
    part(0);
    second.join();
    over = true;
    stranger.join();
    EXPECT_EQ(complaint, "");
    return !testing::Test::HasFailure();
  });
}

}  // namespace
}  // namespace gradhaul
