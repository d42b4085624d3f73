#pragma once

// Algorithms as MSCCL's users write them, for any number of ranks.

#include <algorithm>
#include <string>
#include <vector>

#include "core/listed_algorithm.h"

namespace gradhaul::listed {

using enum ListedAction;
constexpr ListedBuffer kI = ListedBuffer::kInput;
constexpr ListedBuffer kO = ListedBuffer::kOutput;
constexpr ListedBuffer kS = ListedBuffer::kScratch;

inline ListedStep step(ListedAction action, ListedChunk source, ListedChunk target,
                       int after_block = -1, int after_step = -1) {
  ListedStep step;
  step.action = action;
  step.source = source;
  step.target = target;
  step.after_block = after_block;
  step.after_step = after_step;
  return step;
}

inline ListedAlgorithm begin(const std::string& name, Collective collective, int ranks, int chunks,
                             bool in_place) {
  ListedAlgorithm algorithm;
  algorithm.name = name;
  algorithm.collective = collective;
  algorithm.chunks = chunks;
  algorithm.in_place = in_place;
  algorithm.ranks.resize(static_cast<std::size_t>(ranks));
  for (ListedRank& rank : algorithm.ranks) {
    rank.input_chunks = collective == Collective::kAllGather ? chunks / ranks : chunks;
    rank.output_chunks = collective == Collective::kReduceScatter ? chunks / ranks : chunks;
  }
  return algorithm;
}

// A ring for each channel, as ring all-reduce is always written: rrs, rrcs, rcs, r.
inline ListedAlgorithm ring_all_reduce(int n, int channels) {
  ListedAlgorithm algorithm = begin("ring", Collective::kAllReduce, n, n * channels, true);
  algorithm.channels = channels;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < channels; ++c) {
      const auto chunk = [&](int back) { return ListedChunk{kI, c * n + (r - back + 2 * n) % n}; };
      ListedBlock block;
      block.channel = c;
      block.sends_to = (r + 1) % n;
      block.receives_from = (r + n - 1) % n;
      block.steps.push_back(step(kSend, chunk(0), chunk(0)));
      for (int k = 1; k < n - 1; ++k) {
        block.steps.push_back(step(kReceiveReduceSend, chunk(k), chunk(k)));
      }
      block.steps.push_back(step(kReceiveReduceKeep, chunk(n - 1), chunk(n - 1)));
      for (int k = 0; k < n - 2; ++k) {
        block.steps.push_back(step(kReceiveSend, chunk(k), chunk(k)));
      }
      block.steps.push_back(step(kReceive, chunk(n - 2), chunk(n - 2)));
      algorithm.ranks[static_cast<std::size_t>(r)].blocks.push_back(block);
    }
  }
  return algorithm;
}

// Everybody sends each peer its chunk, which adds up what has come and sends that back. The thread
// block that adds is of channel `adder`.
inline ListedAlgorithm all_pairs(int n, int adder) {
  ListedAlgorithm algorithm = begin("all_pairs", Collective::kAllReduce, n, n, true);
  algorithm.channels = adder + 1;
  for (int r = 0; r < n; ++r) {
    ListedRank& rank = algorithm.ranks[static_cast<std::size_t>(r)];
    rank.scratch_chunks = n;
    ListedBlock adds;
    adds.channel = adder;
    for (int k = 1; k < n; ++k) {
      const int to = (r + k) % n;
      const int from = (r - k + n) % n;
      ListedBlock block;
      block.sends_to = to;
      block.receives_from = from;
      block.steps.push_back(step(kSend, {kI, to}, {kS, r}));
      block.steps.push_back(step(kReceive, {kS, from}, {kS, from}));
      block.steps.push_back(step(kSend, {kI, r}, {kI, r}, n - 1, n - 2));
      block.steps.push_back(step(kReceive, {kI, from}, {kI, from}));
      rank.blocks.push_back(block);
      adds.steps.push_back(step(kReduce, {kS, from}, {kI, r}, k - 1, 1));
    }
    rank.blocks.push_back(adds);
  }
  return algorithm;
}

inline ListedAlgorithm ring_all_gather(int n, bool in_place) {
  ListedAlgorithm algorithm = begin("gather", Collective::kAllGather, n, n, in_place);
  for (int r = 0; r < n; ++r) {
    ListedBlock block;
    block.sends_to = (r + 1) % n;
    block.receives_from = (r + n - 1) % n;
    if (!in_place) block.steps.push_back(step(kCopy, {kI, 0}, {kO, r}));
    block.steps.push_back(step(kSend, {kI, 0}, {kO, r}));
    for (int k = 1; k < n; ++k) {
      const ListedChunk chunk{kO, (r - k + n) % n};
      block.steps.push_back(step(k < n - 1 ? kReceiveSend : kReceive, chunk, chunk));
    }
    algorithm.ranks[static_cast<std::size_t>(r)].blocks.push_back(block);
  }
  return algorithm;
}

// Two chunks for each peer, sent as one step of two.
inline ListedAlgorithm all_to_all(int n) {
  ListedAlgorithm algorithm = begin("exchange", Collective::kAllToAll, n, 2 * n, false);
  for (int r = 0; r < n; ++r) {
    ListedRank& rank = algorithm.ranks[static_cast<std::size_t>(r)];
    for (int k = 0; k < n; ++k) {
      const int to = (r + k) % n;
      const int from = (r - k + n) % n;
      ListedBlock block;
      if (k == 0) {
        block.steps.push_back(step(kCopy, {kI, 2 * r}, {kO, 2 * r}));
      } else {
        block.sends_to = to;
        block.receives_from = from;
        block.steps.push_back(step(kSend, {kI, 2 * to}, {kO, 2 * r}));
        block.steps.push_back(step(kReceive, {kO, 2 * from}, {kO, 2 * from}));
      }
      for (ListedStep& each : block.steps) each.count = 2;
      rank.blocks.push_back(block);
    }
  }
  return algorithm;
}

// Each rank copies its own chunk, and adds to it what the others send.
inline ListedAlgorithm reduce_scatter(int n) {
  ListedAlgorithm algorithm = begin("scatter", Collective::kReduceScatter, n, n, false);
  for (int r = 0; r < n; ++r) {
    ListedRank& rank = algorithm.ranks[static_cast<std::size_t>(r)];
    for (int k = 1; k < n; ++k) {
      ListedBlock block;
      block.sends_to = (r + k) % n;
      block.receives_from = (r - k + n) % n;
      block.steps.push_back(step(kSend, {kI, (r + k) % n}, {kO, 0}));
      if (k == 1) {
        block.steps.push_back(step(kReceiveReduce, {kI, r}, {kO, 0}));
      } else {
        block.steps.push_back(step(kReceiveReduce, {kO, 0}, {kO, 0}, k - 2, 1));
      }
      rank.blocks.push_back(block);
    }
  }
  return algorithm;
}

inline ListedAlgorithm chain_broadcast(int n) {
  ListedAlgorithm algorithm = begin("chain", Collective::kBroadcast, n, 3, true);
  for (int r = 0; r < n; ++r) {
    ListedBlock block;
    if (r + 1 < n) block.sends_to = r + 1;
    if (r > 0) block.receives_from = r - 1;
    for (int c = 0; c < 3; ++c) {
      const ListedAction action = r == 0 ? kSend : r + 1 < n ? kReceiveSend : kReceive;
      block.steps.push_back(step(action, {kI, c}, {kI, c}));
    }
    algorithm.ranks[static_cast<std::size_t>(r)].blocks.push_back(block);
  }
  return algorithm;
}

// As an XML file of MSCCL; every line that a block or a step stands in is its own.
inline std::string msccl_text(const ListedAlgorithm& algorithm) {
  const auto quoted = [](int value) { return "\"" + std::to_string(value) + "\""; };
  const auto buffer = [](const ListedChunk& chunk) {
    return std::string(chunk.buffer == kI ? "i" : chunk.buffer == kO ? "o" : "s");
  };
  constexpr const char* kTypes[] = {"s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop"};
  constexpr const char* kNames[] = {"allreduce", "reducescatter", "allgather",
                                    "broadcast", "alltoall",      "sendrecv"};
  std::string text = "<algo name=\"" + algorithm.name +
                     "\" nchunksperloop=" + quoted(algorithm.chunks) +
                     " nchannels=" + quoted(algorithm.channels) +
                     " proto=\"Simple\" ngpus=" + quoted(static_cast<int>(algorithm.ranks.size())) +
                     " coll=\"" + kNames[static_cast<int>(algorithm.collective)] +
                     "\" inplace=" + quoted(algorithm.in_place ? 1 : 0) + ">\n";
  int id = 0;
  for (const ListedRank& rank : algorithm.ranks) {
    text += "  <gpu id=" + quoted(id++) + " i_chunks=" + quoted(rank.input_chunks) +
            " o_chunks=" + quoted(rank.output_chunks) + " s_chunks=" + quoted(rank.scratch_chunks) +
            ">\n";
    int number = 0;
    for (const ListedBlock& block : rank.blocks) {
      text += "    <tb id=" + quoted(number++) + " send=" + quoted(block.sends_to) +
              " recv=" + quoted(block.receives_from) + " chan=" + quoted(block.channel) + ">\n";
      int s = 0;
      for (const ListedStep& each : block.steps) {
        text += "      <step s=" + quoted(s++) + " type=\"" +
                kTypes[static_cast<int>(each.action)] + "\" srcbuf=\"" + buffer(each.source) +
                "\" srcoff=" + quoted(each.source.index) + " dstbuf=\"" + buffer(each.target) +
                "\" dstoff=" + quoted(each.target.index) + " cnt=" + quoted(each.count) +
                " depid=" + quoted(each.after_block) + " deps=" + quoted(each.after_step) +
                " hasdep=\"0\"/>\n";
      }
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  return text + "</algo>\n";
}

}  // namespace gradhaul::listed
