#pragma once

// An algorithm written down step by step, as MSCCL's XML files do: for each rank its thread blocks,
// for each of these the steps that it takes one after the other. A message is cut into chunks of
// equal size; a step moves chunks between buffers of the rank and one peer.
//
// What a buffer's chunk is of the message, with c chunks in a part of it (chunks / ranks):
//   input    the rank's message; of all_gather only its own part, chunk 0 being rank * c
//   output   the result; of reduce_scatter only its own part, chunk 0 being rank * c
//   scratch  memory of its own
// In place, input and output are the same memory.

#include <cstdint>
#include <string>
#include <vector>

#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

enum class ListedBuffer : std::uint8_t { kInput, kOutput, kScratch };

struct ListedChunk {
  ListedBuffer buffer = ListedBuffer::kInput;
  int index = 0;
};

// MSCCL's names: s, r, rcs, rrc, rrs, rrcs, cpy, re, nop.
enum class ListedAction : std::uint8_t {
  kSend,               // source
  kReceive,            // into target
  kReceiveSend,        // into target, and on
  kReceiveReduce,      // target = source op what is received
  kReceiveReduceSend,  // source op what is received, sent on and not kept
  kReceiveReduceKeep,  // target = source op what is received, and sent on
  kCopy,               // target = source
  kReduce,             // target = target op source
  kNothing,            // only waits
};

struct ListedStep {
  ListedAction action = ListedAction::kNothing;
  ListedChunk source;
  ListedChunk target;
  int count = 1;  // chunks that follow each other, in both buffers
  // It waits until this step of this block of the same rank is done; -1: for none.
  int after_block = -1;
  int after_step = -1;
  int line = 0;  // of the file, for errors
};

struct ListedBlock {
  int channel = 0;
  Rank sends_to = -1;       // -1: to nobody
  Rank receives_from = -1;  // -1: from nobody
  std::vector<ListedStep> steps;
  int line = 0;
};

struct ListedRank {
  int input_chunks = 0;
  int output_chunks = 0;
  int scratch_chunks = 0;
  std::vector<ListedBlock> blocks;
  int line = 0;
};

struct ListedAlgorithm {
  std::string name;
  std::string digest;  // of the file that lists it
  Collective collective = Collective::kAllReduce;
  int chunks = 1;  // of a message
  int channels = 1;
  bool in_place = false;  // may run so, and writes to its input
  std::vector<ListedRank> ranks;
};

}  // namespace gradhaul
