// The rendezvous over real sockets of the loopback interface, a thread for each rank.

#include "backends/bootstrap/tcp_exchange.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "backends/bootstrap/exchange_records.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

struct Ranks {
  explicit Ranks(Rank count, std::chrono::milliseconds deadline = 60s)
      : count_(count),
        deadline_(deadline),
        listener_(listen_at({"127.0.0.1", 0})),
        address_(local_address(listener_)) {}

  RendezvousSettings settings(Rank rank) const { return {rank, count_, deadline_, deadline_, {}}; }

  // What each rank does, and with what complaint it ended; empty: none.
  template <typename Part>
  std::vector<std::string> run(const Part& part, Rank absent = -1) {
    std::vector<std::string> complaints(static_cast<std::size_t>(count_));
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < count_; ++rank) {
      if (rank == absent) continue;
      threads.emplace_back([&, rank] {
        try {
          const auto exchange = rank == 0 ? TcpExchange::host(std::move(listener_), settings(0))
                                          : TcpExchange::join(address_, settings(rank));
          part(*exchange);
        } catch (const ExchangeError& error) {
          complaints[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return complaints;
  }

  Rank count_;
  std::chrono::milliseconds deadline_;
  Socket listener_;
  SocketAddress address_;
};

std::vector<std::byte> record_of(Rank rank, std::size_t length) {
  return std::vector<std::byte>(length, static_cast<std::byte>(rank + 1));
}

TEST(TcpExchange, GathersRecordsOfAnyLengthInRankOrder) {
  Ranks ranks(5);
  const auto complaints = ranks.run([](Exchange& exchange) {
    for (const std::size_t length : {0UL, 1UL, 100UL, 3'000'000UL}) {
      const auto mine = static_cast<std::size_t>(exchange.rank()) * length;
      const auto all = exchange.all_gather(record_of(exchange.rank(), mine));
      ASSERT_THAT(all, SizeIs(5));
      for (Rank rank = 0; rank < 5; ++rank) {
        const auto theirs = static_cast<std::size_t>(rank) * length;
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], record_of(rank, theirs));
      }
    }
    EXPECT_EQ(exchange.aborted(), std::nullopt);
    exchange.all_gather({});  // nobody goes before all have asked
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(TcpExchange, SendsStrangersAwayAndGoesOn) {
  Ranks ranks(3);
  std::vector<Socket> strangers;
  const auto say = [&](std::span<const std::byte> bytes) {
    auto socket = begin_connect(ranks.address_);
    ASSERT_TRUE(wait_for(*socket, Waiting::kWrite, 10'000ms));
    send_some(*socket, bytes);
    strangers.push_back(std::move(*socket));
  };
  const std::string request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
  say(std::as_bytes(std::span(request)));
  say({});                                                            // says nothing
  say(encoded(RecordKind::kGather, {}));                              // does not greet
  say(encoded(RecordKind::kHello, record_of(0, 3)));                  // no greeting
  say(encoded(RecordKind::kHello, body_of(Greeting{0, 3})));          // takes rank 0's place
  say(encoded(RecordKind::kHello, body_of(Greeting{7, 3})));          // no such rank
  say(std::vector<std::byte>(std::size_t{1} << 20, std::byte{'g'}));  // a flood
  strangers.erase(strangers.begin());                                 // goes away at once
  const auto complaints = ranks.run([](Exchange& exchange) {
    for (int i = 0; i < 10; ++i) EXPECT_THAT(exchange.all_gather({}), SizeIs(3));
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(TcpExchange, NamesWhoDidNotComeAndWhoWasSentAway) {
  Ranks ranks(4, 500ms);
  auto stranger = begin_connect(ranks.address_);
  ASSERT_TRUE(wait_for(*stranger, Waiting::kWrite, 10'000ms));
  std::vector<std::byte> greeting = encoded(RecordKind::kHello, body_of(Greeting{2, 4}));
  greeting[5] = std::byte{9};
  send_some(*stranger, greeting);
  const auto complaints = ranks.run([](Exchange& exchange) { exchange.all_gather({}); }, 2);
  EXPECT_THAT(complaints[0], AllOf(HasSubstr("rank 2 did not come to the rendezvous at 127.0.0.1:"),
                                   HasSubstr("version 9 of the rendezvous, this is 2")));
}

TEST(TcpExchange, TellsAJoinerWhyItIsSentAway) {
  Ranks ranks(3, 2s);
  std::string complaint;
  std::thread other([&] {
    RendezvousSettings settings = ranks.settings(1);
    settings.ranks = 8;
    try {
      TcpExchange::join(ranks.address_, settings);
    } catch (const ExchangeError& error) {
      complaint = error.what();
    }
  });
  ranks.run([](Exchange&) {}, 1);
  other.join();
  EXPECT_THAT(complaint, HasSubstr("sends rank 1 away: rank 1 counts 8 ranks, rank 0 3"));
}

TEST(TcpExchange, TellsAJoinerOfAnotherVersion) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  std::thread host([&] {
    while (!wait_for(listener, Waiting::kRead, 100ms)) {
    }
    const auto socket = accept_from(listener);
    std::vector<std::byte> answer = encoded(RecordKind::kWelcome, {});
    answer[5] = std::byte{3};
    send_some(*socket, answer);
    wait_for(*socket, Waiting::kRead, 10'000ms);
    std::this_thread::sleep_for(100ms);
  });
  std::string complaint;
  try {
    TcpExchange::join(local_address(listener), {1, 2, 20s, 20s, {}});
  } catch (const ExchangeError& error) {
    complaint = error.what();
  }
  host.join();
  EXPECT_THAT(complaint, HasSubstr("it speaks version 3 of the rendezvous, this is 2"));
}

TEST(TcpExchange, SaysWhereItDidNotFindRank0) {
  SocketAddress nobody;
  { nobody = local_address(listen_at({"127.0.0.1", 0})); }
  try {
    TcpExchange::join(nobody, {1, 2, 300ms, 300ms, {}});
    FAIL();
  } catch (const ExchangeError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("can't reach rank 0 at 127.0.0.1:"),
                                    HasSubstr("Connection refused")));
  }
  EXPECT_THROW(TcpExchange::join({"no.such.host.invalid", 1}, {1, 2, 300ms, 300ms, {}}),
               ExchangeError);
}

TEST(TcpExchange, AnAbortReachesAllRanks) {
  Ranks ranks(4);
  const auto complaints = ranks.run([](Exchange& exchange) {
    exchange.all_gather({});
    if (exchange.rank() == 2) exchange.abort({2, 3, "the wire broke"});
    const auto until = std::chrono::steady_clock::now() + 60s;
    while (!exchange.aborted() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(1ms);
    }
    const auto failures = exchange.failures();
    ASSERT_THAT(failures, SizeIs(1));
    EXPECT_EQ(failures.front().rank, 2);
    EXPECT_EQ(failures.front().peer, 3);
    EXPECT_EQ(failures.front().what, "the wire broke");
  });
  for (const std::string& complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(TcpExchange, AnAbortEndsWhoeverWaits) {
  Ranks ranks(3);
  const auto complaints = ranks.run([](Exchange& exchange) {
    exchange.all_gather({});
    if (exchange.rank() == 1) {
      exchange.abort({1, -1, "out of memory"});
      static_cast<void>(exchange.failures());
    } else {
      exchange.all_gather({});
    }
  });
  EXPECT_THAT(complaints[0], HasSubstr("out of memory"));
  EXPECT_THAT(complaints[2], HasSubstr("out of memory"));
}

// A rank whose exchange goes away without a word is as good as killed.
TEST(TcpExchange, NoticesWhoIsGone) {
  Ranks ranks(4);
  const auto complaints = ranks.run([](Exchange& exchange) {
    exchange.all_gather({});
    if (exchange.rank() == 3) return;
    try {
      exchange.all_gather({});
    } catch (const ExchangeError&) {
      for (const RankFailure& failure : exchange.failures()) EXPECT_EQ(failure.peer, 3);
      throw;
    }
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(complaints[rank], HasSubstr("rank 3 is gone")) << rank;
  }
}

TEST(TcpExchange, NamesWhoDoesNotComeToTheNextStep) {
  Ranks ranks(3, 400ms);
  const auto complaints = ranks.run([](Exchange& exchange) {
    exchange.all_gather({});
    if (exchange.rank() == 2) {
      std::this_thread::sleep_for(2s);
    } else {
      exchange.all_gather({});
    }
  });
  EXPECT_THAT(complaints[0], HasSubstr("rank 2 did not come to the next step"));
  EXPECT_THAT(complaints[1], HasSubstr("rank 2 did not come to the next step"));
}

TEST(SocketAddress, IsHostAndPort) {
  EXPECT_EQ(text_of(*parse_socket_address("node7:4000")), "node7:4000");
  EXPECT_EQ(parse_socket_address("[::1]:80")->host, "::1");
  EXPECT_EQ(text_of(*parse_socket_address("[::1]:80")), "[::1]:80");
  for (const char* text : {"", ":", "node7", "node7:", ":80", "node7:0", "node7:65536", "node7:8a",
                           "::1:80", "[]:80", "node7:-1"}) {
    EXPECT_EQ(parse_socket_address(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gradhaul
