#pragma once

// A listed algorithm made ready to run: every step one item, with where its operands lie and what
// it waits for. Making it plays the algorithm on symbols, chunk by chunk: whoever waits for what
// never comes, reads what was never written or touches a chunk that another thread block is at work
// on is found, and so is a result that is not what the collective is about.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/listed_algorithm.h"
#include "core/schedule.h"

namespace gradhaul {

// Chunk `chunk` of the input, or of the output, behind which lies scratch.
struct ChunkPlace {
  Region region = Region::kOutput;
  int chunk = 0;
};

// Of a lane, for every slice of a chunk again; as core/schedule.h's Item has it.
struct ListedItem {
  Operation operation = Operation::kNone;
  int target = 0;  // chunk of the output
  std::optional<ChunkPlace> left;
  std::optional<ChunkPlace> right;  // of a reduction of what the rank has
  bool receives = false;
  bool last_reduction = false;
  std::optional<ChunkPlace> sends;
  // The item of this lane of this channel, of the same slice, that has to be finished; -1: none.
  int after_channel = -1;
  int after_lane = -1;
  int after_item = -1;
};

struct ListedLane {
  Rank sends_to = -1;
  Rank receives_from = -1;
  std::vector<ListedItem> items;
};

struct ListedProgram {
  std::string name;
  std::string digest;  // of the file that lists it
  Collective collective = Collective::kAllReduce;
  int chunks = 1;
  int channels = 1;
  int lanes = 1;  // of a channel; some may be empty
  bool in_place = false;
  bool crosses_channels = false;  // some item waits for one of another channel
  struct OfRank {
    int scratch_chunks = 0;
    std::vector<ListedLane> lanes;  // channel * lanes + number
  };
  std::vector<OfRank> ranks;
};

// What is wrong with an algorithm, and in which line of its file.
struct ListedProblem {
  int line = 0;
  std::string text;
};

// Nothing where there are problems. Indices, peers and counts of `algorithm` are within bounds
// (check_listed_shape()).
std::shared_ptr<const ListedProgram> listed_program(const ListedAlgorithm& algorithm,
                                                    std::vector<ListedProblem>& problems);

// Whether each step is within its buffers and has the peers that it needs, and each connection
// belongs to one block at either end.
void check_listed_shape(const ListedAlgorithm& algorithm, std::vector<ListedProblem>& problems);

}  // namespace gradhaul
