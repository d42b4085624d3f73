#include "tests/oracles/message_chain.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/assert.h"
#include "core/item_cursor.h"

namespace gradhaul::oracle {
namespace {

using Connection = std::tuple<int, Rank, Rank, int>;  // channel, source, destination, stream

struct LaneState {
  std::vector<int> done;      // chains that end with the operation of each item played
  std::vector<int> finished;  // and with its sends
};

class Player {
 public:
  explicit Player(const Schedule& schedule) : schedule_(schedule) {}

  int longest() {
    const auto lanes = static_cast<std::size_t>(schedule_.lanes());
    states_.resize(static_cast<std::size_t>(schedule_.ranks() * schedule_.channels()) * lanes);
    bool again = true;
    while (again) {
      again = false;
      for (Rank rank = 0; rank < schedule_.ranks(); ++rank) {
        for (int channel = 0; channel < schedule_.channels(); ++channel) {
          for (int lane = 0; lane < schedule_.lanes(); ++lane) {
            while (play_one(rank, channel, lane)) again = true;
          }
        }
      }
    }
    assert_all_played();
    return longest_;
  }

 private:
  LaneState& state(Rank rank, int channel, int lane) {
    return states_[static_cast<std::size_t>(
        (rank * schedule_.channels() + channel) * schedule_.lanes() + lane)];
  }

  bool play_one(Rank rank, int channel, int lane) {
    LaneState& own = state(rank, channel, lane);
    const auto index = static_cast<std::int64_t>(own.done.size());
    if (index == schedule_.items(rank, channel, lane)) return false;
    Item item = schedule_.item(rank, channel, lane, index);
    drop_empty_transfers(item);
    int chain = own.done.empty() ? 0 : own.done.back();
    if (item.after) {
      const LaneState& other = state(rank, channel, item.after->lane);
      if (static_cast<std::int64_t>(other.finished.size()) <= item.after->index) return false;
      for (std::int64_t i = 0; i <= item.after->index; ++i) {
        chain = std::max(chain, other.finished[static_cast<std::size_t>(i)]);
      }
    }
    for (int i = 0; i < item.receive_count; ++i) {
      const ItemReceive& receive = item.receives[static_cast<std::size_t>(i)];
      const auto& sent = sent_[{channel, receive.peer, rank, receive.stream}];
      const std::size_t next = taken_[{channel, receive.peer, rank, receive.stream}];
      if (next >= sent.size()) return false;
      chain = std::max(chain, sent[next]);
    }
    for (int i = 0; i < item.receive_count; ++i) {
      const ItemReceive& receive = item.receives[static_cast<std::size_t>(i)];
      ++taken_[{channel, receive.peer, rank, receive.stream}];
    }
    own.done.push_back(chain);
    for (int i = 0; i < item.send_count; ++i) {
      const ItemSend& send = item.sends[static_cast<std::size_t>(i)];
      sent_[{channel, rank, send.peer, send.stream}].push_back(chain + 1);
    }
    own.finished.push_back(item.send_count > 0 ? chain + 1 : chain);
    longest_ = std::max(longest_, own.finished.back());
    return true;
  }

  void assert_all_played() {
    for (Rank rank = 0; rank < schedule_.ranks(); ++rank) {
      for (int channel = 0; channel < schedule_.channels(); ++channel) {
        for (int lane = 0; lane < schedule_.lanes(); ++lane) {
          const auto played = static_cast<std::int64_t>(state(rank, channel, lane).done.size());
          GRADHAUL_ASSERT(played == schedule_.items(rank, channel, lane), "no lane stalls");
        }
      }
    }
  }

  const Schedule& schedule_;
  std::vector<LaneState> states_;
  std::map<Connection, std::vector<int>> sent_;
  std::map<Connection, std::size_t> taken_;
  int longest_ = 0;
};

}  // namespace

int longest_message_chain(const Schedule& schedule) { return Player(schedule).longest(); }

}  // namespace gradhaul::oracle
