// gradhaul measure, when something is wrong: with the command line, between ranks, with a rank.

#include <cstdlib>
#include <thread>

#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/record.h"
#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

struct Refusal {
  std::vector<std::string> options;
  std::string says;
};

TEST(MeasureRefuses, WhatCannotBe) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {{"--backend", "verb"}, "there is no such backend"},
           {{"--backend", "loopback", "--rank", "0", "--rendezvous", "127.0.0.1:4000"},
            "loopback runs all ranks in one process"},
           {{"--backend", "tcp", "--rank", "1"}, "--rendezvous HOST:PORT"},
           {{"--backend", "tcp", "--rank", "1", "--rendezvous", "here"}, "not HOST:PORT"},
           {{"--backend", "tcp", "--rank", "2", "--rendezvous", "127.0.0.1:4000"},
            "there is no rank 2 of 2"},
           {{"--backend", "tcp", "--timeout", "30"}, "has no unit"},
           {{"--backend", "tcp", "--timeout", "1us"}, "at least 100ms"},
           {{"--backend", "tcp", "--set", "workload.size=100TB"}, "this host has"},
           {{"--backend", "tcp", "--json", "/no/such/folder/x.json"}, "/no/such/folder/x.json"},
           {{"--backend", "tcp", "--set", "workload.size=1"}, "has no unit"},
           {{"--backend", "tcp", "--set", "cluster.node=hgx-h100", "--set",
             "communication.thread_placement=other_socket"},
            "another than that of the NIC, which --backend verbs alone knows"},
       }) {
    std::vector<std::string> arguments{"measure", "link-test"};
    arguments.insert(arguments.end(), refusal.options.begin(), refusal.options.end());
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2) << refusal.says;
    EXPECT_THAT(run.err, HasSubstr(refusal.says));
    EXPECT_EQ(run.out, "") << refusal.says;
  }
  EXPECT_EQ(run_program({"measure", "link-test"}).status, 2);  // no --backend
}

std::vector<std::string> by_hand(int rank, const std::string& rendezvous,
                                 const std::vector<std::string>& settings,
                                 const std::vector<std::string>& options) {
  std::vector<std::string> all = options;
  for (const std::string& option :
       {std::string("--rank"), std::to_string(rank), std::string("--rendezvous"), rendezvous}) {
    all.push_back(option);
  }
  return measure("tcp", settings, all);
}

TEST(MeasureByHand, IsOneRunOfAllRanks) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> options{"--ranks", "3", "--iterations=1"};
  BackgroundProgram second("2", by_hand(2, rendezvous, {"workload.size=[1KiB]"}, options));
  BackgroundProgram first("1", by_hand(1, rendezvous, {"workload.size=[1KiB]"}, options));
  const ProgramRun run = run_program(by_hand(0, rendezvous, {"workload.size=[1KiB]"}, options));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("(3 ranks)"));
  for (BackgroundProgram* other : {&first, &second}) {
    const ProgramRun end = other->end();
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out, "");
  }
}

TEST(MeasureByHand, NamesTheFirstDifferenceOnEveryRank) {
  const std::string rendezvous = free_rendezvous();
  BackgroundProgram other("1", by_hand(1, rendezvous, {"communication.slot_size=256KiB"}, {}));
  const ProgramRun run = run_program(by_hand(0, rendezvous, {}, {}));
  for (const ProgramRun& end : {run, other.end()}) {
    EXPECT_EQ(end.status, 2);
    EXPECT_THAT(end.err, HasSubstr("rank 1 uses communication.slot_size 256KiB, rank 0 64KiB"));
  }
}

TEST(MeasureByHand, SaysWhoDidNotCome) {
  const ProgramRun run =
      run_program(by_hand(0, free_rendezvous(), {}, {"--ranks", "3", "--timeout=1s"}));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("ranks 1, 2 did not come to the rendezvous"));
  const ProgramRun alone = run_program(by_hand(1, free_rendezvous(), {}, {"--timeout=1s"}));
  EXPECT_EQ(alone.status, 1);
  EXPECT_THAT(alone.err, HasSubstr("can't reach rank 0"));
}

// Whoever starts all ranks may say where they meet.
TEST(MeasureStartsRanks, WhereItIsTold) {
  const std::string rendezvous = free_rendezvous();
  const ProgramRun run =
      run_program(measure("tcp", {"workload.size=[1KiB]"},
                          {"--ranks", "3", "--iterations=1", "--rendezvous", rendezvous}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("(3 ranks)"));
  const ProgramRun missing =
      run_program(measure("tcp", {}, {"--ranks", "2", "--rendezvous", "here"}));
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("--rendezvous here: not HOST:PORT"));
}

// As soon as somebody listens there.
Socket connected_to(const std::string& rendezvous) {
  for (int i = 0; i < 5000; ++i) {
    auto socket = begin_connect(*parse_socket_address(rendezvous));
    if (socket && wait_for(*socket, Waiting::kWrite, 1000ms) && connect_error(*socket) == 0) {
      return std::move(*socket);
    }
    std::this_thread::sleep_for(20ms);
  }
  return {};
}

TEST(MeasureByHand, GoesOnThoughStrangersComeToThePort) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> settings{"workload.size=[1KiB]"};
  BackgroundProgram host("0", by_hand(0, rendezvous, settings, {"--iterations=1"}));
  const Socket stranger = connected_to(rendezvous);
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  send_some(stranger, std::as_bytes(std::span(request)));
  const ProgramRun other = run_program(by_hand(1, rendezvous, settings, {"--iterations=1"}));
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(host.end().status, 0);
}

// It says that it is rank 1, as a rank does, and stays.
TEST(MeasureByHand, TakesNobodyForARankWhoDoesNotKnowTheToken) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> settings{"workload.size=[1KiB]"};
  BackgroundProgram host("0", by_hand(0, rendezvous, settings, {"--iterations=1", "--token=ours"}));
  const Socket stranger = connected_to(rendezvous);
  send_some(stranger, encoded(RecordKind::kHello, body_of(Greeting{1, 2})));
  setenv("GRADHAUL_TOKEN", "ours", 1);
  const ProgramRun other = run_program(by_hand(1, rendezvous, settings, {"--iterations=1"}));
  unsetenv("GRADHAUL_TOKEN");
  EXPECT_EQ(other.status, 0) << other.err;
  const ProgramRun end = host.end();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out + end.err, HasSubstr("sent away from the rendezvous: 127.0.0.1:"));
  EXPECT_THAT(end.out + end.err, HasSubstr(": rank 1 brings no token"));
}

// Runs that would go on for hours.
const std::vector<std::string> kEndless{"--iterations=100000000", "--warmup=0", "--progress=on"};

std::vector<std::string> endless(std::vector<std::string> more) {
  more.insert(more.end(), kEndless.begin(), kEndless.end());
  return more;
}

TEST(MeasureFails, WhereARankIsKilled) {
  BackgroundProgram run("run", measure("tcp", {"workload.size=[1MiB]"}, endless({"--ranks=4"})));
  run.wait_until_it_says("1MiB");
  const std::vector<pid_t> children = run.children();
  ASSERT_EQ(children.size(), 3U);
  kill(children[1], SIGKILL);
  const ProgramRun end = run.end();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("the run failed: rank 2 was ended by signal 9"));
  // What the others saw of it came of that.
  EXPECT_THAT(end.out, HasSubstr("# Failed: rank 2 was ended by signal 9"));
  EXPECT_THAT(end.out, HasSubstr("a victim: rank "));
  for (const pid_t child : children) EXPECT_NE(kill(child, 0), 0) << "a rank is left behind";
}

// Nobody there has a socket to it that would break.
TEST(MeasureFails, WhereARankIsKilledThatSharesMemory) {
  BackgroundProgram run("run", measure("tcp",
                                       {"workload.size=[1MiB]", "cluster.nodes=1",
                                        "cluster.ranks_per_node=3", "cluster.node=hgx-h100"},
                                       endless({"--timeout=60s"})));
  run.wait_until_it_says("1MiB");
  const std::vector<pid_t> children = run.children();
  ASSERT_EQ(children.size(), 2U);
  kill(children[1], SIGKILL);
  const ProgramRun end = run.end();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("the run failed: rank 2 was ended by signal 9"));
}

TEST(MeasureFails, OnEveryRankThatIsLeft) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> settings{"workload.size=[1MiB]"};
  const auto options = endless({"--ranks=3", "--timeout=60s"});
  BackgroundProgram host("0", by_hand(0, rendezvous, settings, options));
  BackgroundProgram killed("1", by_hand(1, rendezvous, settings, options));
  BackgroundProgram other("2", by_hand(2, rendezvous, settings, options));
  host.wait_until_it_says("1MiB");
  kill(killed.process(), SIGKILL);
  for (BackgroundProgram* left : {&host, &other}) {
    const ProgramRun end = left->end();
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.err, AnyOf(HasSubstr("rank 1 is gone"), HasSubstr("to rank 1 (channel"),
                               HasSubstr("from rank 1 (channel")));
  }
}

TEST(MeasureFails, WhereRank0IsKilled) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> settings{"workload.size=[1MiB]"};
  const auto options = endless({"--timeout=60s"});
  BackgroundProgram host("0", by_hand(0, rendezvous, settings, options));
  BackgroundProgram other("1", by_hand(1, rendezvous, settings, options));
  host.wait_until_it_says("1MiB");
  kill(host.process(), SIGKILL);
  const ProgramRun end = other.end();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, AnyOf(HasSubstr("rank 0 is gone"), HasSubstr("rank 0 (channel")));
}

TEST(MeasureFails, WhereARankStopsAndNamesWhomItWaitedFor) {
  const std::string rendezvous = free_rendezvous();
  const std::vector<std::string> settings{"workload.size=[1MiB]"};
  const auto options = endless({"--ranks=3", "--timeout=3s"});
  BackgroundProgram host("0", by_hand(0, rendezvous, settings, options));
  BackgroundProgram stopped("1", by_hand(1, rendezvous, settings, options));
  BackgroundProgram other("2", by_hand(2, rendezvous, settings, options));
  host.wait_until_it_says("1MiB");
  kill(stopped.process(), SIGSTOP);
  const ProgramRun end = host.end();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("rank 1"));
  EXPECT_EQ(other.end().status, 1);
}

TEST(MeasureFails, KeepingTheRowsThatWereFinished) {
  const std::string json = temporary_file("kept.json");
  BackgroundProgram run("run", measure("tcp", {"workload.size=[4B, 256MiB]"},
                                       {"--ranks=2", "--iterations=12", "--warmup=0",
                                        "--progress=on", "--json", json}));
  run.wait_until_it_says("256MiB");
  ASSERT_EQ(run.children().size(), 1U);
  kill(run.children()[0], SIGKILL);
  const ProgramRun end = run.end();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.out, HasSubstr("# Failed: rank 1 was ended by signal 9"));
  const auto result = nlohmann::json::parse(text_of(json));
  ASSERT_EQ(result["rows"].size(), 2U);
  EXPECT_EQ(result["rows"][1]["size_bytes"], 4);
  EXPECT_FALSE(result["failures"].empty());
}

TEST(MeasureFails, InGoodOrderWhereItIsInterrupted) {
  for (const char* backend : {"loopback", "tcp"}) {
    BackgroundProgram run(backend,
                          measure(backend, {"workload.size=[1MiB]"}, endless({"--ranks=3"})));
    run.wait_until_it_says("1MiB");
    kill(run.process(), SIGTERM);
    const ProgramRun end = run.end();
    EXPECT_EQ(end.status, 4) << end.err;
    EXPECT_THAT(end.out, HasSubstr("# Interrupted: only the rows above were finished."));
  }
}

}  // namespace
}  // namespace gradhaul
