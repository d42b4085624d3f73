// Of listed_program.h: what is wrong with an algorithm whatever it computes.

#include <array>
#include <map>
#include <tuple>

#include "core/listed_program.h"

namespace gradhaul {
namespace {

struct Needs {
  bool source = false;
  bool target = false;
  bool send = false;
  bool receive = false;
};

Needs needs_of(ListedAction action) {
  switch (action) {
    case ListedAction::kSend:
      return {.source = true, .send = true};
    case ListedAction::kReceive:
      return {.target = true, .receive = true};
    case ListedAction::kReceiveSend:
      return {.target = true, .send = true, .receive = true};
    case ListedAction::kReceiveReduce:
      return {.source = true, .target = true, .receive = true};
    case ListedAction::kReceiveReduceSend:
      return {.source = true, .send = true, .receive = true};
    case ListedAction::kReceiveReduceKeep:
      return {.source = true, .target = true, .send = true, .receive = true};
    case ListedAction::kCopy:
    case ListedAction::kReduce:
      return {.source = true, .target = true};
    case ListedAction::kNothing:
      break;
  }
  return {};
}

class ShapeCheck {
 public:
  ShapeCheck(const ListedAlgorithm& algorithm, std::vector<ListedProblem>& problems)
      : algorithm_(algorithm), problems_(problems) {}

  void check() {
    for (std::size_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const ListedRank& listed = algorithm_.ranks[rank];
      for (std::size_t block = 0; block < listed.blocks.size(); ++block) {
        check_block(static_cast<Rank>(rank), listed.blocks[block]);
      }
    }
    for (const auto& [connection, ends] : connections_) {
      if (ends[0] != 0 && ends[1] != 0) continue;
      const auto& [channel, source, destination] = connection;
      const bool sends = ends[0] != 0;
      add(sends ? ends[0] : ends[1], "channel " + std::to_string(channel) + ": rank " +
                                         std::to_string(sends ? source : destination) +
                                         (sends ? " sends to " : " receives from ") +
                                         std::to_string(sends ? destination : source) +
                                         ", where nobody " +
                                         (sends ? "receives from it" : "sends to it"));
    }
  }

 private:
  void add(int line, const std::string& text) { problems_.push_back({line, text}); }

  void check_block(Rank rank, const ListedBlock& block) {
    if (block.channel < 0 || block.channel >= algorithm_.channels) {
      add(block.line, "there is no channel " + std::to_string(block.channel) + " of " +
                          std::to_string(algorithm_.channels));
      return;
    }
    if (block.sends_to >= 0) check_peer(rank, block, block.sends_to, true);
    if (block.receives_from >= 0) check_peer(rank, block, block.receives_from, false);
    for (const ListedStep& step : block.steps) check_step(rank, block, step);
  }

  void check_peer(Rank rank, const ListedBlock& block, Rank peer, bool sends) {
    if (peer == rank || peer >= static_cast<Rank>(algorithm_.ranks.size())) {
      add(block.line, "rank " + std::to_string(rank) + " cannot " +
                          (sends ? "send to " : "receive from ") + std::to_string(peer));
      return;
    }
    const auto key =
        sends ? std::tuple(block.channel, rank, peer) : std::tuple(block.channel, peer, rank);
    int& end = connections_[key][sends ? 0 : 1];
    if (end != 0) {
      add(block.line, "a second thread block of channel " + std::to_string(block.channel) +
                          (sends ? " sends to " : " receives from ") + std::to_string(peer));
    }
    end = block.line == 0 ? -1 : block.line;
  }

  void check_step(Rank rank, const ListedBlock& block, const ListedStep& step) {
    const Needs needs = needs_of(step.action);
    if (needs.send && block.sends_to < 0)
      add(step.line, "sends, and its thread block has no peer to send to");
    if (needs.receive && block.receives_from < 0) {
      add(step.line, "receives, and its thread block has no peer to receive from");
    }
    if (step.count < 1) add(step.line, "moves no chunk: cnt is from 1 on");
    if (needs.source) check_chunks(rank, step, step.source, "source");
    if (needs.target) check_chunks(rank, step, step.target, "destination");
    if (needs.target && step.target.buffer == ListedBuffer::kInput && !algorithm_.in_place) {
      add(step.line, "writes to the input, and the algorithm does not run in place");
    }
    if (step.after_block < 0) return;
    const auto& blocks = algorithm_.ranks[static_cast<std::size_t>(rank)].blocks;
    const auto after = static_cast<std::size_t>(step.after_block);
    if (after >= blocks.size() || step.after_step < 0 ||
        static_cast<std::size_t>(step.after_step) >= blocks[after].steps.size()) {
      add(step.line, "waits for a step that there is not: thread block " +
                         std::to_string(step.after_block) + ", step " +
                         std::to_string(step.after_step));
    }
  }

  void check_chunks(Rank rank, const ListedStep& step, const ListedChunk& chunk, const char* what) {
    const ListedRank& listed = algorithm_.ranks[static_cast<std::size_t>(rank)];
    const std::array sizes{listed.input_chunks, listed.output_chunks, listed.scratch_chunks};
    const int size = sizes[static_cast<std::size_t>(chunk.buffer)];
    if (chunk.index >= 0 && step.count >= 1 && chunk.index <= size - step.count) return;
    add(step.line, std::string(what) + ": chunks " + std::to_string(chunk.index) + " to " +
                       std::to_string(chunk.index + step.count - 1) + " of a buffer of " +
                       std::to_string(size));
  }

  const ListedAlgorithm& algorithm_;
  std::vector<ListedProblem>& problems_;
  // (channel, source, destination): the lines of the sending and the receiving block.
  std::map<std::tuple<int, Rank, Rank>, std::array<int, 2>> connections_;
};

}  // namespace

void check_listed_shape(const ListedAlgorithm& algorithm, std::vector<ListedProblem>& problems) {
  ShapeCheck(algorithm, problems).check();
}

}  // namespace gradhaul
