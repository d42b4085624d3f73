// Points of a sweep over processes and ranks, some of which die.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "backends/spread/help_with_points.h"
#include "backends/spread/spread_points.h"

namespace gradhaul {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(PointQueue, GivesEachPointOnce) {
  PointQueue queue(3);
  EXPECT_TRUE(queue.settle(1));  // known from before
  EXPECT_EQ(queue.take(), 0U);
  EXPECT_EQ(queue.take(), 2U);
  EXPECT_EQ(queue.take(), std::nullopt);
  EXPECT_TRUE(queue.settle(0));
  EXPECT_FALSE(queue.settle(0));
  EXPECT_FALSE(queue.over());
  EXPECT_TRUE(queue.settle(2));
  EXPECT_TRUE(queue.over());
}

TEST(PointQueue, GivesAgainWhatCameBack) {
  PointQueue queue(3);
  queue.take();
  queue.take();
  queue.give_back(0);
  EXPECT_EQ(queue.take(), 0U);
  EXPECT_EQ(queue.take(), 2U);
  // A point whose process died twice is not tried for ever; a rank that goes is not its fault.
  queue.give_back(1);
  EXPECT_EQ(queue.take(), 1U);
  EXPECT_TRUE(queue.try_again(1));
  EXPECT_EQ(queue.take(), 1U);
  EXPECT_FALSE(queue.try_again(1));
  // An answer that came in the meantime stays.
  queue.settle(2);
  queue.give_back(2);
  EXPECT_EQ(queue.take(), std::nullopt);
}

std::string square(std::size_t point) { return std::to_string(point * point); }

class Answers final : public PointSink {
 public:
  void on_answer(std::size_t point, const std::string& answer) override {
    EXPECT_TRUE(answers.emplace(point, answer).second) << "point " << point << " twice";
  }
  void on_lost(std::size_t point, const std::string& why) override { lost[point] = why; }
  void on_news(const std::string& sentence) override { news.push_back(sentence); }
  void on_step() override {}

  std::map<std::size_t, std::string> answers;
  std::map<std::size_t, std::string> lost;
  std::vector<std::string> news;
};

void expect_squares(const Answers& answers, std::size_t points) {
  EXPECT_EQ(answers.answers.size(), points);
  for (const auto& [point, answer] : answers.answers) EXPECT_EQ(answer, square(point));
}

TEST(SpreadPoints, ComputesAllInProcesses) {
  for (const int jobs : {1, 3}) {
    PointQueue queue(10);
    Answers answers;
    EXPECT_TRUE(
        SpreadPoints(queue, square, nullptr, 1, answers, {.jobs = jobs, .likeness = ""}).run());
    expect_squares(answers, 10);
    EXPECT_THAT(answers.news, IsEmpty());
  }
}

TEST(SpreadPoints, CarriesLongAnswers) {
  PointQueue queue(2);
  Answers answers;
  const auto work = [](std::size_t point) { return std::string(3'000'000 + point, 'x'); };
  EXPECT_TRUE(SpreadPoints(queue, work, nullptr, 1, answers, {.jobs = 2, .likeness = ""}).run());
  EXPECT_EQ(answers.answers[1].size(), 3'000'001U);
}

TEST(SpreadPoints, LosesOnlyThePointThatKillsItsProcess) {
  PointQueue queue(6);
  Answers answers;
  const auto work = [](std::size_t point) {
    if (point == 2) kill(getpid(), SIGKILL);
    if (point == 4) _exit(7);
    return square(point);
  };
  EXPECT_TRUE(SpreadPoints(queue, work, nullptr, 1, answers, {.jobs = 2, .likeness = ""}).run());
  EXPECT_EQ(answers.answers.size(), 4U);
  EXPECT_THAT(answers.lost[2], HasSubstr("was ended by signal 9 (Killed), twice"));
  EXPECT_THAT(answers.lost[4], HasSubstr("exited with status 7, twice"));
}

TEST(SpreadPoints, EndsWhereItIsInterrupted) {
  PointQueue queue(2);
  Answers answers;
  const std::atomic<bool> interrupted{true};
  SpreadSettings settings{.jobs = 1, .likeness = "", .interrupted = &interrupted};
  EXPECT_FALSE(SpreadPoints(queue, square, nullptr, 1, answers, settings).run());
  EXPECT_THAT(answers.answers, IsEmpty());
}

// A rank in a process of its own, as mpirun would start it.
pid_t start_rank(const SocketAddress& rank0, Rank rank, Rank ranks, const std::string& likeness,
                 const PointWork& work) {
  const pid_t process = fork();
  if (process != 0) return process;
  const std::atomic<bool> interrupted{false};
  RecordLink link = join_rank0(rank0, {.rank = rank, .ranks = ranks, .hopeless = {}});
  const HelpReport report = help_with_points(std::move(link), {2, likeness, ""}, work, interrupted);
  _exit(static_cast<int>(report.end));
}

int status_of(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Meeting {
  Socket listener = listen_at({"127.0.0.1", 0});
  SocketAddress at = local_address(listener);
};

TEST(SpreadPoints, SharesWithOtherRanks) {
  Meeting meeting;
  const pid_t other = start_rank(meeting.at, 1, 2, "same", square);
  RankReception reception(std::move(meeting.listener), 2);
  PointQueue queue(40);
  Answers answers;
  // Rank 0 has to wait for the other's answers.
  const auto slow = [](std::size_t point) {
    std::this_thread::sleep_for(20ms);
    return square(point);
  };
  EXPECT_TRUE(
      SpreadPoints(queue, slow, &reception, 2, answers, {.jobs = 1, .likeness = "same"}).run());
  expect_squares(answers, 40);
  EXPECT_EQ(status_of(other), static_cast<int>(HelpEnd::kOver));
}

TEST(SpreadPoints, GoesOnWithoutARankThatIsKilled) {
  Meeting meeting;
  // It ends itself, and with it what it has in hand, at the first point it gets.
  const pid_t other = start_rank(meeting.at, 1, 2, "same", [](std::size_t) {
    kill(getppid(), SIGKILL);
    std::this_thread::sleep_for(10s);
    return std::string("never");
  });
  RankReception reception(std::move(meeting.listener), 2);
  PointQueue queue(30);
  Answers answers;
  const auto slow = [](std::size_t point) {
    std::this_thread::sleep_for(10ms);
    return square(point);
  };
  EXPECT_TRUE(
      SpreadPoints(queue, slow, &reception, 2, answers, {.jobs = 1, .likeness = "same"}).run());
  expect_squares(answers, 30);
  EXPECT_THAT(answers.news, ElementsAre(HasSubstr("rank 1 is gone; what it had in hand")));
  EXPECT_EQ(status_of(other), 128 + SIGKILL);
}

TEST(SpreadPoints, SendsAwayWhoWorksOnSomethingElse) {
  Meeting meeting;
  const pid_t other = start_rank(meeting.at, 1, 2, "other", square);
  RankReception reception(std::move(meeting.listener), 2);
  PointQueue queue(1);
  Answers answers;
  EXPECT_TRUE(SpreadPoints(queue,
                           [](std::size_t point) {
                             std::this_thread::sleep_for(300ms);
                             return square(point);
                           },
                           &reception, 2, answers, {.jobs = 1, .likeness = "same"})
                  .run());
  expect_squares(answers, 1);
  EXPECT_THAT(answers.news, ElementsAre(HasSubstr("rank 1 does not take part: its gradhaul")));
  EXPECT_EQ(status_of(other), static_cast<int>(HelpEnd::kSentAway));
}

TEST(SpreadPoints, TellsARankThatComesLateThatAllIsDone) {
  Meeting meeting;
  const pid_t other = start_rank(meeting.at, 1, 2, "same", square);
  RankReception reception(std::move(meeting.listener), 2);
  PointQueue queue(0);
  Answers answers;
  EXPECT_TRUE(
      SpreadPoints(queue, square, &reception, 2, answers, {.jobs = 1, .likeness = "same"}).run());
  EXPECT_EQ(status_of(other), static_cast<int>(HelpEnd::kOver));
}

}  // namespace
}  // namespace gradhaul
