#include "core/listed_player.h"

#include <algorithm>
#include <bit>

#include "core/lane.h"

namespace gradhaul {
namespace {

ListedChunk later(ListedChunk chunk, int by) {
  chunk.index += by;
  return chunk;
}

bool sends(ListedAction action) {
  return action == ListedAction::kSend || action == ListedAction::kReceiveSend ||
         action == ListedAction::kReceiveReduceSend || action == ListedAction::kReceiveReduceKeep;
}

bool receives(ListedAction action) {
  return action == ListedAction::kReceive || action == ListedAction::kReceiveSend ||
         action == ListedAction::kReceiveReduce || action == ListedAction::kReceiveReduceSend ||
         action == ListedAction::kReceiveReduceKeep;
}

bool in_parts(Collective collective) {
  return collective == Collective::kReduceScatter || collective == Collective::kAllGather ||
         collective == Collective::kAllToAll;
}

}  // namespace

ListedPlayer::ListedPlayer(const ListedAlgorithm& algorithm, std::vector<ListedProblem>& problems)
    : algorithm_(algorithm),
      problems_(problems),
      ranks_count_(static_cast<Rank>(algorithm.ranks.size())),
      part_(in_parts(algorithm.collective) ? algorithm.chunks / std::max(1, ranks_count_)
                                           : algorithm.chunks) {}

ListedProgram ListedPlayer::play() {
  set_up();
  bool moved = true;
  while (moved && problems_.size() < kMostProblems) {
    moved = false;
    for (Rank rank = 0; rank < ranks_count_; ++rank) {
      for (int block = 0; block < static_cast<int>(ranks_[index(rank)].blocks.size()); ++block) {
        while (problems_.size() < kMostProblems && advance(rank, block)) moved = true;
      }
    }
  }
  if (problems_.empty()) tell_stalls();
  if (problems_.empty()) check_results();
  for (Rank rank = 0; rank < ranks_count_; ++rank) {
    program_.ranks[index(rank)].scratch_chunks = ranks_[index(rank)].scratch;
  }
  return std::move(program_);
}

void ListedPlayer::set_up() {
  program_.name = algorithm_.name;
  program_.digest = algorithm_.digest;
  program_.collective = algorithm_.collective;
  program_.chunks = algorithm_.chunks;
  program_.channels = algorithm_.channels;
  program_.in_place = algorithm_.in_place;
  ranks_.resize(index(ranks_count_));
  program_.ranks.resize(index(ranks_count_));
  int most = 1;
  for (const ListedRank& listed : algorithm_.ranks) {
    std::vector<int> of_channel(index(algorithm_.channels), 0);
    for (const ListedBlock& block : listed.blocks) {
      most = std::max(most, ++of_channel[index(block.channel)]);
    }
  }
  // One more for what a rank copies to its own result.
  program_.lanes = most + 1;
  if (program_.lanes > kMaxLanes) {
    problem("a rank has " + std::to_string(most) + " thread blocks of one channel, and can have " +
            std::to_string(kMaxLanes - 1));
    return;
  }
  for (Rank rank = 0; rank < ranks_count_; ++rank) set_up_rank(rank);
}

void ListedPlayer::set_up_rank(Rank rank) {
  const ListedRank& listed = algorithm_.ranks[index(rank)];
  OfRank& state = ranks_[index(rank)];
  ListedProgram::OfRank& made = program_.ranks[index(rank)];
  made.lanes.resize(index(algorithm_.channels * program_.lanes));
  std::vector<int> of_channel(index(algorithm_.channels), 0);
  for (const ListedBlock& block : listed.blocks) {
    Block& set = state.blocks.emplace_back();
    set.channel = block.channel;
    set.lane = block.channel * program_.lanes + of_channel[index(block.channel)]++;
    set.known.assign(listed.blocks.size(), -1);
    set.last_item.assign(block.steps.size(), -1);
    set.awaited.assign(block.steps.size(), false);
    made.lanes[index(set.lane)].sends_to = block.sends_to;
    made.lanes[index(set.lane)].receives_from = block.receives_from;
  }
  for (const ListedBlock& block : listed.blocks) {
    for (const ListedStep& step : block.steps) {
      if (step.after_block < 0) continue;
      state.blocks[index(step.after_block)].awaited[index(step.after_step)] = true;
    }
  }
  state.scratch = listed.scratch_chunks;
  state.output.resize(index(algorithm_.chunks + listed.scratch_chunks));
  std::vector<ChunkState>& input = algorithm_.in_place ? state.output : state.input;
  input.resize(std::max(input.size(), index(algorithm_.chunks)));
  for (int chunk = 0; chunk < algorithm_.chunks; ++chunk) {
    const bool own = algorithm_.collective == Collective::kAllGather
                         ? chunk / part_ == rank
                         : algorithm_.collective != Collective::kBroadcast || rank == 0;
    if (own) input[index(chunk)].value = of_rank(rank, chunk);
  }
}

// Takes one chunk of the step at which the block is. Whether it could.
bool ListedPlayer::advance(Rank rank, int block) {
  Block& at = ranks_[index(rank)].blocks[index(block)];
  const std::vector<ListedStep>& steps = algorithm_.ranks[index(rank)].blocks[index(block)].steps;
  if (at.step >= steps.size()) return false;
  const ListedStep& step = steps[at.step];
  if (!ready(rank, at, step)) return false;
  line_ = step.line;
  take(rank, block, step);
  const bool last = ++at.chunk >= step.count || step.action == ListedAction::kNothing;
  if (last) finish_step(rank, block);
  return true;
}

bool ListedPlayer::ready(Rank rank, const Block& block, const ListedStep& step) const {
  const OfRank& own = ranks_[index(rank)];
  if (step.after_block >= 0 && block.chunk == 0 &&
      own.blocks[index(step.after_block)].step <= index(step.after_step)) {
    return false;
  }
  if (!receives(step.action)) return true;
  const Rank from = program_.ranks[index(rank)].lanes[index(block.lane)].receives_from;
  const auto found = messages_.find({block.channel, from, rank});
  return found != messages_.end() && !found->second.empty();
}

void ListedPlayer::take(Rank rank, int block, const ListedStep& step) {
  Block& at = ranks_[index(rank)].blocks[index(block)];
  const ListedChunk source = later(step.source, at.chunk);
  ListedChunk target = later(step.target, at.chunk);
  ListedItem item;
  if (step.after_block >= 0 && at.chunk == 0) wait_for(rank, block, step, item);
  ChunkValue received;
  const ListedLane& lane = program_.ranks[index(rank)].lanes[index(at.lane)];
  if (receives(step.action)) {
    auto& queue = messages_[{at.channel, lane.receives_from, rank}];
    received = std::move(queue.front());
    queue.pop_front();
    item.receives = true;
  }
  ChunkValue value = received;
  switch (step.action) {
    case ListedAction::kSend:
      item.sends = read(rank, block, source, true, value);
      break;
    case ListedAction::kReceive:
    case ListedAction::kReceiveSend:
      item.operation = Operation::kCopy;
      item.target = write(rank, block, target, value, item);
      break;
    case ListedAction::kReceiveReduce:
    case ListedAction::kReceiveReduceSend:
    case ListedAction::kReceiveReduceKeep: {
      ChunkValue left;
      item.operation = Operation::kReduce;
      item.left = read(rank, block, source, false, left);
      value = sum(left, received);
      if (step.action == ListedAction::kReceiveReduceSend) target = temporary(rank);
      item.target = write(rank, block, target, value, item);
      break;
    }
    case ListedAction::kCopy:
      item.operation = Operation::kCopy;
      item.left = read(rank, block, source, false, value);
      item.target = write(rank, block, target, value, item);
      break;
    case ListedAction::kReduce: {
      ChunkValue left;
      ChunkValue right;
      item.operation = Operation::kReduce;
      item.left = read(rank, block, target, false, left);
      item.right = read(rank, block, source, false, right);
      value = sum(left, right);
      item.target = write(rank, block, target, value, item);
      break;
    }
    case ListedAction::kNothing:
      break;
  }
  item.last_reduction = item.operation == Operation::kReduce && value.ranks == of_all(0).ranks;
  if (sends(step.action)) {
    if (!item.sends) item.sends = ChunkPlace{Region::kOutput, item.target};
    messages_[{at.channel, rank, lane.sends_to}].push_back(std::move(value));
  }
  append(rank, block, item);
}

// Memory of its own for what is sent on and not kept, so that nothing else is overwritten.
ListedChunk ListedPlayer::temporary(Rank rank) {
  OfRank& own = ranks_[index(rank)];
  own.output.emplace_back();
  return {ListedBuffer::kScratch, own.scratch++};
}

void ListedPlayer::wait_for(Rank rank, int block, const ListedStep& step, ListedItem& item) {
  OfRank& own = ranks_[index(rank)];
  Block& at = own.blocks[index(block)];
  const Block& before = own.blocks[index(step.after_block)];
  item.after_channel = before.channel;
  item.after_lane = before.lane % program_.lanes;
  item.after_item = before.last_item[index(step.after_step)];
  program_.crosses_channels = program_.crosses_channels || before.channel != at.channel;
  at.known[index(step.after_block)] = std::max(at.known[index(step.after_block)], step.after_step);
  const auto known = before.known_after.find(step.after_step);
  if (known == before.known_after.end()) return;
  for (std::size_t i = 0; i < at.known.size(); ++i) {
    at.known[i] = std::max(at.known[i], known->second[i]);
  }
}

void ListedPlayer::finish_step(Rank rank, int block) {
  Block& at = ranks_[index(rank)].blocks[index(block)];
  at.last_item[at.step] = static_cast<int>(items(rank, block).size()) - 1;
  at.known[index(block)] = static_cast<int>(at.step);
  if (at.awaited[at.step]) at.known_after[static_cast<int>(at.step)] = at.known;
  ++at.step;
  at.chunk = 0;
}

std::vector<ListedItem>& ListedPlayer::items(Rank rank, int block) {
  const int lane = ranks_[index(rank)].blocks[index(block)].lane;
  return program_.ranks[index(rank)].lanes[index(lane)].items;
}

void ListedPlayer::append(Rank rank, int block, const ListedItem& item) {
  items(rank, block).push_back(item);
}

// Within its own block a step follows those before it; of others, those it knows to be done.
bool ListedPlayer::is_known(const Block& block, int own, const Access& access) const {
  return access.block < 0 || access.block == own || block.known[index(access.block)] >= access.step;
}

int ListedPlayer::place_of(Rank rank, ListedChunk chunk) const {
  if (chunk.buffer == ListedBuffer::kScratch) return algorithm_.chunks + chunk.index;
  const Collective part_of =
      chunk.buffer == ListedBuffer::kInput ? Collective::kAllGather : Collective::kReduceScatter;
  return algorithm_.collective == part_of ? rank * part_ + chunk.index : chunk.index;
}

ChunkPlace ListedPlayer::read(Rank rank, int block, ListedChunk chunk, bool sends,
                              ChunkValue& value) {
  OfRank& own = ranks_[index(rank)];
  const Block& at = own.blocks[index(block)];
  const int place = place_of(rank, chunk);
  const bool apart = chunk.buffer == ListedBuffer::kInput && !algorithm_.in_place;
  ChunkState& state = (apart ? own.input : own.output)[index(place)];
  if (!is_known(at, block, state.written)) {
    problem("reads a chunk that thread block " + std::to_string(state.written.block) +
            " may still be writing in its step " + std::to_string(state.written.step) +
            "; it has to wait for it (depid, deps)");
  }
  if (state.value.chunk < 0) problem("reads a chunk that holds nothing yet");
  state.reads.push_back(
      {block, static_cast<int>(at.step), static_cast<int>(items(rank, block).size()), sends});
  value = state.value;
  const bool in_input = place < algorithm_.chunks && state.written.block < 0;
  return {in_input ? Region::kInput : Region::kOutput, place};
}

int ListedPlayer::write(Rank rank, int block, ListedChunk chunk, const ChunkValue& value,
                        ListedItem& item) {
  OfRank& own = ranks_[index(rank)];
  const Block& at = own.blocks[index(block)];
  const int place = place_of(rank, chunk);
  ChunkState& state = own.output[index(place)];
  if (!is_known(at, block, state.written)) {
    problem("writes to a chunk to which thread block " + std::to_string(state.written.block) +
            " may write at the same time, in its step " + std::to_string(state.written.step));
  }
  int own_send = -1;
  for (const Access& read : state.reads) {
    if (!is_known(at, block, read)) {
      problem("writes to a chunk that thread block " + std::to_string(read.block) +
              " may still be reading in its step " + std::to_string(read.step));
    }
    // A send of the block itself may still be under way: steps only start one after the other.
    if (read.block == block && read.sends) own_send = std::max(own_send, read.item);
  }
  if (own_send >= 0) wait_in_lane(rank, block, own_send, item);
  state.value = value;
  state.written = {block, static_cast<int>(at.step), 0, false};
  state.reads.clear();
  return place;
}

// An item waits for one other; where it does already, one that does nothing else waits before it.
void ListedPlayer::wait_in_lane(Rank rank, int block, int own_item, ListedItem& item) {
  if (item.after_item >= 0) {
    ListedItem waits;
    waits.after_channel = item.after_channel;
    waits.after_lane = item.after_lane;
    waits.after_item = item.after_item;
    append(rank, block, waits);
  }
  const Block& at = ranks_[index(rank)].blocks[index(block)];
  item.after_channel = at.channel;
  item.after_lane = at.lane % program_.lanes;
  item.after_item = own_item;
}

ChunkValue ListedPlayer::sum(const ChunkValue& left, const ChunkValue& right) {
  if (left.chunk < 0 || right.chunk < 0) return left;
  if (left.chunk != right.chunk) {
    problem("adds chunk " + std::to_string(right.chunk) + " of the message to chunk " +
            std::to_string(left.chunk));
  }
  ChunkValue result = left;
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    if (const std::uint64_t twice = left.ranks[i] & right.ranks[i]; twice != 0) {
      problem("adds what rank " +
              std::to_string(static_cast<int>(i) * kBitsOfWord + std::countr_zero(twice)) +
              " contributed a second time");
      break;
    }
    result.ranks[i] |= right.ranks[i];
  }
  return result;
}

void ListedPlayer::problem(const std::string& text) {
  if (problems_.size() < kMostProblems) problems_.push_back({line_, text});
}

std::shared_ptr<const ListedProgram> listed_program(const ListedAlgorithm& algorithm,
                                                    std::vector<ListedProblem>& problems) {
  auto program = std::make_shared<ListedProgram>(ListedPlayer(algorithm, problems).play());
  if (!problems.empty()) return nullptr;
  return program;
}

}  // namespace gradhaul
