// Of listed_player.h: what should have come out in the end, and whether it has.

#include <algorithm>

#include "core/assert.h"
#include "core/listed_player.h"

namespace gradhaul {
ChunkValue ListedPlayer::of_rank(Rank rank, int chunk) const {
  ChunkValue value{chunk, std::vector<std::uint64_t>(index(ranks_count_ / kBitsOfWord + 1), 0)};
  value.ranks[index(rank / kBitsOfWord)] |= std::uint64_t{1} << (rank % kBitsOfWord);
  return value;
}

ChunkValue ListedPlayer::of_all(int chunk) const {
  ChunkValue value = of_rank(0, chunk);
  for (Rank rank = 1; rank < ranks_count_; ++rank) {
    value.ranks[index(rank / kBitsOfWord)] |= std::uint64_t{1} << (rank % kBitsOfWord);
  }
  return value;
}

ChunkValue ListedPlayer::expected(Rank rank, int chunk) const {
  switch (algorithm_.collective) {
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
      return of_all(chunk);
    case Collective::kAllGather:
      return of_rank(chunk / part_, chunk);
    case Collective::kBroadcast:
      return of_rank(0, chunk);
    case Collective::kAllToAll:
      return of_rank(chunk / part_, rank * part_ + chunk % part_);
    case Collective::kSendRecv:
      break;
  }
  GRADHAUL_ASSERT(false, "no algorithm of send_recv is listed");
  return {};
}

bool ListedPlayer::is_in_result(Rank rank, int chunk) const {
  return algorithm_.collective != Collective::kReduceScatter || chunk / part_ == rank;
}

void ListedPlayer::check_results() {
  for (Rank rank = 0; rank < ranks_count_; ++rank) {
    line_ = algorithm_.ranks[index(rank)].line;
    OfRank& own = ranks_[index(rank)];
    for (int chunk = 0; chunk < algorithm_.chunks; ++chunk) {
      if (!is_in_result(rank, chunk)) continue;
      const ChunkState& state = own.output[index(chunk)];
      if (state.value != expected(rank, chunk)) {
        problem(
            "in the end chunk " + std::to_string(chunk) + " of rank " + std::to_string(rank) +
            (state.value.chunk < 0 ? " holds nothing" : " holds something else than it should") +
            " after " + std::string(program_.name));
        if (problems_.size() >= kMostProblems) return;
        continue;
      }
      if (state.written.block < 0) copy_own(rank, chunk);
    }
  }
}

// To the result, where in place it is already: once nothing more is sent from there, for a copy
// upon itself is one too.
void ListedPlayer::copy_own(Rank rank, int chunk) {
  const OfRank& own = ranks_[index(rank)];
  ListedItem copy;
  int channel = -1;
  std::vector<ListedItem> waits;
  for (const Access& read : own.output[index(chunk)].reads) {
    if (!read.sends) continue;
    const Block& sender = own.blocks[index(read.block)];
    if (channel < 0) channel = sender.channel;
    program_.crosses_channels = program_.crosses_channels || sender.channel != channel;
    ListedItem wait;
    wait.after_channel = sender.channel;
    wait.after_lane = sender.lane % program_.lanes;
    wait.after_item = read.item;
    waits.push_back(wait);
  }
  if (!waits.empty()) {
    copy = waits.back();
    waits.pop_back();
  }
  copy.operation = Operation::kCopy;
  copy.target = chunk;
  copy.left = ChunkPlace{Region::kInput, chunk};
  const int lane = std::max(channel, 0) * program_.lanes + program_.lanes - 1;
  std::vector<ListedItem>& items = program_.ranks[index(rank)].lanes[index(lane)].items;
  items.insert(items.end(), waits.begin(), waits.end());
  items.push_back(copy);
}

void ListedPlayer::tell_stalls() {
  for (Rank rank = 0; rank < ranks_count_; ++rank) {
    const OfRank& own = ranks_[index(rank)];
    for (std::size_t block = 0; block < own.blocks.size(); ++block) {
      const Block& at = own.blocks[block];
      const auto& steps = algorithm_.ranks[index(rank)].blocks[block].steps;
      if (at.step >= steps.size()) continue;
      const ListedStep& step = steps[at.step];
      line_ = step.line;
      const bool held = step.after_block >= 0 && at.chunk == 0 &&
                        own.blocks[index(step.after_block)].step <= index(step.after_step);
      const ListedLane& lane = program_.ranks[index(rank)].lanes[index(at.lane)];
      problem("rank " + std::to_string(rank) + ", thread block " + std::to_string(block) +
              " waits for ever in step " + std::to_string(at.step) + " for " +
              (held ? "step " + std::to_string(step.after_step) + " of thread block " +
                          std::to_string(step.after_block)
                    : "a chunk from rank " + std::to_string(lane.receives_from)));
      if (problems_.size() >= kMostProblems) return;
    }
  }
  for (const auto& [connection, left] : messages_) {
    if (left.empty() || problems_.size() >= kMostProblems) continue;
    const auto& [channel, source, destination] = connection;
    line_ = algorithm_.ranks[index(destination)].line;
    problem("rank " + std::to_string(destination) + " does not receive all that rank " +
            std::to_string(source) + " sends to it on channel " + std::to_string(channel) + ": " +
            std::to_string(left.size()) + " chunks are left");
  }
}

}  // namespace gradhaul
