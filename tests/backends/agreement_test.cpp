#include "backends/bootstrap/agreement.h"

#include <gtest/gtest.h>

#include <thread>

#include "backends/bootstrap/thread_exchange.h"

namespace gradhaul {
namespace {

TEST(Agreement, NamesTheFirstDifference) {
  const AgreedValues rank0{{"slots", "8"}, {"slot_size", "1MiB"}, {"channels", "4"}};
  EXPECT_EQ(first_difference(rank0, rank0, 3), std::nullopt);
  EXPECT_EQ(
      first_difference(rank0, {{"slots", "8"}, {"slot_size", "512KiB"}, {"channels", "2"}}, 3),
      "rank 3 uses slot_size 512KiB, rank 0 1MiB");
  EXPECT_EQ(first_difference(rank0, {{"slots", "8"}, {"slot_size", "1MiB"}}, 2),
            "rank 2 uses channels nothing of it, rank 0 4");
  EXPECT_EQ(first_difference({}, {{"model", "7e9"}}, 1),
            "rank 1 uses model 7e9, rank 0 nothing of it");
}

std::vector<std::optional<std::string>> disagreements(const std::vector<AgreedValues>& values) {
  ThreadGroup group(static_cast<Rank>(values.size()), std::chrono::seconds(60));
  std::vector<std::optional<std::string>> answers(values.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(group, static_cast<Rank>(rank));
      answers[rank] = disagreement(exchange, values[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answers;
}

TEST(Agreement, IsTheSameAnswerOnEveryRank) {
  const AgreedValues values{{"slots", "8"}};
  for (const auto& answer : disagreements({values, values, values})) {
    EXPECT_EQ(answer, std::nullopt);
  }
  for (const auto& answer : disagreements({values, values, {{"slots", "7"}}, {{"slots", "6"}}})) {
    EXPECT_EQ(answer, "rank 2 uses slots 7, rank 0 8");
  }
}

}  // namespace
}  // namespace gradhaul
