#pragma once

// Plays a listed algorithm on symbols, each chunk saying whose contributions to which chunk of the
// message it holds, and makes the items of its lanes as it goes (core/listed_program.h).

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/listed_program.h"

namespace gradhaul {

// What a chunk holds.
struct ChunkValue {
  int chunk = -1;                    // of the message; -1: nothing was ever written there
  std::vector<std::uint64_t> ranks;  // whose contributions, by bit
  friend bool operator==(const ChunkValue&, const ChunkValue&) = default;
};

class ListedPlayer {
 public:
  // Both outlive it.
  ListedPlayer(const ListedAlgorithm& algorithm, std::vector<ListedProblem>& problems);

  ListedProgram play();

 private:
  static constexpr std::size_t kMostProblems = 10;
  static constexpr int kBitsOfWord = 64;
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  struct Access {
    int block = -1;
    int step = 0;
    int item = 0;
    bool sends = false;
  };
  // Of one chunk of memory: who wrote it last, and who has read it since.
  struct ChunkState {
    ChunkValue value;
    Access written;
    std::vector<Access> reads;
  };
  struct Block {
    int channel = 0;
    int lane = 0;  // index into the rank's lanes
    std::size_t step = 0;
    int chunk = 0;               // of the step's
    std::vector<int> known;      // by block: the last step of it that is known to be done here
    std::vector<int> last_item;  // by step that is done: its last item
    // Of steps that others wait for, once they are done: what was known then.
    std::map<int, std::vector<int>> known_after;
    std::vector<bool> awaited;  // by step
  };
  struct OfRank {
    std::vector<ChunkState> input;   // in place: not used, all is in `output`
    std::vector<ChunkState> output;  // the message, then scratch
    std::vector<Block> blocks;
    int scratch = 0;
  };

  void set_up();
  void set_up_rank(Rank rank);
  bool advance(Rank rank, int block);
  bool ready(Rank rank, const Block& block, const ListedStep& step) const;
  void take(Rank rank, int block, const ListedStep& step);
  void finish_step(Rank rank, int block);
  void wait_for(Rank rank, int block, const ListedStep& step, ListedItem& item);

  ChunkPlace read(Rank rank, int block, ListedChunk chunk, bool sends, ChunkValue& value);
  int write(Rank rank, int block, ListedChunk chunk, const ChunkValue& value, ListedItem& item);
  ChunkValue sum(const ChunkValue& left, const ChunkValue& right);
  int place_of(Rank rank, ListedChunk chunk) const;
  bool is_known(const Block& block, int own, const Access& access) const;
  ListedChunk temporary(Rank rank);

  void wait_in_lane(Rank rank, int block, int own_item, ListedItem& item);
  void append(Rank rank, int block, const ListedItem& item);
  std::vector<ListedItem>& items(Rank rank, int block);

  void tell_stalls();
  void check_results();
  void copy_own(Rank rank, int chunk);
  ChunkValue expected(Rank rank, int chunk) const;
  ChunkValue of_rank(Rank rank, int chunk) const;
  ChunkValue of_all(int chunk) const;
  bool is_in_result(Rank rank, int chunk) const;
  void problem(const std::string& text);

  const ListedAlgorithm& algorithm_;
  std::vector<ListedProblem>& problems_;
  const Rank ranks_count_;
  const int part_;  // chunks of a rank's part
  std::vector<OfRank> ranks_;
  std::map<std::tuple<int, Rank, Rank>, std::deque<ChunkValue>> messages_;
  ListedProgram program_;
  int line_ = 0;  // of the step that is being taken
};

}  // namespace gradhaul
