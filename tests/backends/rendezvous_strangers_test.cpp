// Strangers at the rendezvous who speak its language: they say that they are a rank, and are
// silent, close, answer wrongly, or know another token. The ranks come together all the same.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/tcp_exchange.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Stranger {
 public:
  explicit Stranger(const SocketAddress& rank0) {
    auto socket = begin_connect(rank0);
    EXPECT_TRUE(socket && wait_for(*socket, Waiting::kWrite, 10'000ms));
    link_ = RecordLink(std::move(*socket), kLongestGreeting);
  }
  void say(RecordKind kind, std::span<const std::byte> body) { link_.send(kind, body); }
  void greet(Rank rank, Rank ranks, const std::string& token = "") {
    say(RecordKind::kHello, body_of(Greeting{rank, ranks, token}));
  }
  // What it is told; nothing where rank 0 closes, or says nothing for so long.
  std::optional<Record> hear(std::chrono::milliseconds most = 20s) {
    const auto until = std::chrono::steady_clock::now() + most;
    while (std::chrono::steady_clock::now() < until) {
      wait_for(link_.socket(), Waiting::kRead, 50ms);
      link_.pull();
      if (auto record = link_.next()) return record;
      if (link_.over()) return std::nullopt;
    }
    return std::nullopt;
  }
  // What it is told to that.
  std::optional<Record> ask(Rank rank, Rank ranks) {
    greet(rank, ranks);
    return hear();
  }
  // The whole of what a rank does to join.
  void join(Rank rank, Rank ranks) {
    const auto welcome = ask(rank, ranks);
    ASSERT_TRUE(welcome && welcome->kind == RecordKind::kWelcome);
    say(RecordKind::kPresent, welcome->body);
  }
  bool over() const { return link_.over(); }

 private:
  RecordLink link_;
};

// Rank 0 in a thread of its own, from the start; the others when they are told to come.
class Meeting {
 public:
  explicit Meeting(Rank ranks, std::string token = "", std::chrono::milliseconds deadline = 60s)
      : settings_{0, ranks, deadline, deadline, {}, std::move(token)},
        listener_(listen_at({"127.0.0.1", 0})),
        address(local_address(listener_)),
        complaints(static_cast<std::size_t>(ranks)) {
    threads_.emplace_back([this] { take_part(0, settings_.token); });
  }
  ~Meeting() { wait(); }
  void come(Rank rank) { come(rank, settings_.token); }
  void come(Rank rank, const std::string& token) {
    threads_.emplace_back([this, rank, token] { take_part(rank, token); });
  }
  void wait() {
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void take_part(Rank rank, const std::string& token) {
    RendezvousSettings mine = settings_;
    mine.rank = rank;
    mine.token = token;
    try {
      const auto exchange = rank == 0 ? TcpExchange::host(std::move(listener_), mine)
                                      : TcpExchange::join(address, mine);
      if (rank == 0) sent_away = exchange->sent_away();
      const std::vector<std::byte> own(3, static_cast<std::byte>(rank));
      for (int i = 0; i < 5; ++i) {
        const auto all = exchange->all_gather(own);
        for (Rank other = 0; other < mine.ranks; ++other) {
          EXPECT_EQ(all[static_cast<std::size_t>(other)],
                    std::vector<std::byte>(3, static_cast<std::byte>(other)));
        }
      }
    } catch (const ExchangeError& error) {
      complaints[static_cast<std::size_t>(rank)] = error.what();
    }
  }

  RendezvousSettings settings_;
  Socket listener_;
  std::vector<std::thread> threads_;

 public:
  SocketAddress address;
  std::vector<std::string> complaints;
  std::vector<std::string> sent_away;
};

void expect_all_well(Meeting& run) {
  run.wait();
  for (const std::string& complaint : run.complaints) EXPECT_EQ(complaint, "");
}

TEST(Strangers, WhoAreSilentAfterTheirGreetingHoldNoPlace) {
  Meeting run(2);
  Stranger silent(run.address);
  ASSERT_TRUE(silent.ask(1, 2));  // it is welcomed
  run.come(1);
  expect_all_well(run);
}

TEST(Strangers, WhoCloseAfterTheirGreetingHoldNoPlace) {
  Meeting run(2);
  {
    Stranger closing(run.address);
    ASSERT_TRUE(closing.ask(1, 2));
  }
  run.come(1);
  expect_all_well(run);
}

TEST(Strangers, WhoDidNotHearTheirWelcomeCannotAnswerIt) {
  Meeting run(2);
  Stranger guessing(run.address);
  guessing.greet(1, 2);
  guessing.say(RecordKind::kPresent, body_of_number(4711));
  ASSERT_EQ(guessing.hear()->kind, RecordKind::kWelcome);
  const auto answer = guessing.hear();
  ASSERT_TRUE(answer && answer->kind == RecordKind::kRefused);
  EXPECT_EQ(text_in(answer->body), "it answers another welcome");
  Stranger hasty(run.address);
  hasty.greet(1, 2);
  hasty.say(RecordKind::kGather, {});
  ASSERT_EQ(hasty.hear()->kind, RecordKind::kWelcome);
  EXPECT_EQ(text_in(hasty.hear()->body), "it does not answer its welcome first");
  run.come(1);
  expect_all_well(run);
}

// Nothing tells it from a rank, as long as there is no token; but it has gone when the ranks come.
TEST(Strangers, WhoJoinAndGoGiveTheirPlaceBack) {
  Meeting run(3);
  {
    Stranger joined(run.address);
    joined.join(1, 3);
    Stranger second(run.address);
    const auto answer = second.ask(1, 3);
    ASSERT_TRUE(answer && answer->kind == RecordKind::kRefused);
    EXPECT_THAT(text_in(answer->body),
                MatchesRegex("rank 1 has joined already, from 127.0.0.1:[0-9]+: .*"));
    // What it says of the run does not count.
    joined.say(RecordKind::kFailed, body_of({{1, -1, "all is lost"}}));
  }
  run.come(1);
  run.come(2);
  expect_all_well(run);
}

TEST(Strangers, WithoutTheTokenAreToldNothing) {
  Meeting run(2, "0123456789abcdef");
  for (const char* token : {"", "0123456789abcdee", "0123456789abcde", "0123456789abcdef0"}) {
    Stranger stranger(run.address);
    stranger.greet(1, 2, token);
    EXPECT_FALSE(stranger.hear()) << token;
    EXPECT_TRUE(stranger.over()) << token;
  }
  run.come(1);
  expect_all_well(run);
  ASSERT_EQ(run.sent_away.size(), 4U);
  EXPECT_THAT(run.sent_away[0], MatchesRegex("127.0.0.1:[0-9]+: rank 1 brings no token"));
  EXPECT_THAT(run.sent_away[3], MatchesRegex("127.0.0.1:[0-9]+: rank 1 brings another token"));
}

TEST(Strangers, ADifferenceOfTokensIsToldByRank0Alone) {
  Meeting run(3, "of this run", 2s);
  run.come(1, "of another");
  run.come(2, "");
  run.wait();
  EXPECT_THAT(run.complaints[0], AllOf(HasSubstr("ranks 1, 2 did not come to the rendezvous"),
                                       HasSubstr(": rank 1 brings another token"),
                                       HasSubstr(": rank 2 brings no token")));
  for (const Rank rank : {1, 2}) {
    const std::string& complaint = run.complaints[static_cast<std::size_t>(rank)];
    EXPECT_THAT(complaint, HasSubstr("closed the connection without a word"));
    EXPECT_THAT(complaint, HasSubstr("with the same token?"));
    EXPECT_THAT(complaint, Not(HasSubstr("of this run,")));
  }
}

// A rank that gives up before all are there, as one that is killed.
TEST(Strangers, WhoCameAndWentIsNamed) {
  Meeting run(3, "", 2s);
  {
    Stranger joined(run.address);
    joined.join(1, 3);
    // It is rank 1 until it goes.
    Stranger second(run.address);
    ASSERT_EQ(second.ask(1, 3)->kind, RecordKind::kRefused);
  }
  run.wait();
  EXPECT_THAT(run.complaints[0], HasSubstr("; rank 1 came and went again; sent away: "));
}

}  // namespace
}  // namespace gradhaul
