#pragma once

// Buffers of lossless Ethernet ports (PFC), each for what comes by one link. Says when a receiver
// has its peer pause and go on; the engine sends the frames and obeys them.
//
// Counted in wire bytes, a frame from when its last bit has come in until its last bit has gone
// out; at one instant departures come first. The mark is looked at when a frame has come in. Both
// are known ahead, so that a buffer far from its mark costs no event: only those looks are asked
// for that may find something.
//
// Where ports share a buffer (PauseRules::alpha), a port pauses above alpha x (shared - what all
// ports hold of it), and lets go on at xoff - xon below that; what comes after it has paused lies
// in its headroom, which empties first. So k ports that are held up settle at alpha shared / (1 +
// k alpha) each [Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
// switches", 1998].

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/fabric.h"
#include "sim/state_words.h"

namespace gradhaul {

class LosslessBuffers {
 public:
  // A frame to send: the receiver at the far end of the link has the transmitter pause, or go on.
  struct Order {
    LinkId link = kNoLink;
    bool pause = false;
  };
  struct Look {
    LinkId link = kNoLink;
    std::int64_t time = 0;
  };
  // What has been added up of one link.
  struct Totals {
    std::int64_t frames = 0;  // pause frames sent by its receiver
    std::int64_t paused = 0;  // ps that its transmitter was held
  };

  explicit LosslessBuffers(const Fabric& fabric);
  bool any() const { return !buffers_.empty(); }
  bool lossless(LinkId link) const { return any() && buffer(link).rules.lossless(); }

  // So much a port may hold, whatever its switch's others hold that hold no more, and nobody is
  // paused; bytes, 1 where that is not even a frame.
  std::int64_t unpaused(LinkId link) const;

  // A frame will have come in by the link at `time`; frames of a link in order. `now` is not after
  // it.
  void expect(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes);
  // Whether there will be room for a frame that comes in by the link at `time`, by what is known
  // now to have left by then. Of a link whose headroom may not suffice (PauseRules::spills).
  bool fits(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes);
  // A frame that came by the link will be gone at `time`, which may be before others that are
  // already known. It left by, or had waited for, `culprit`, because of a storm or not.
  void leave(LinkId link, std::int64_t now, std::int64_t time, std::int64_t bytes,
             ResourceId culprit, bool stormed);
  // To be called at the times that take_looks() has named.
  void look(LinkId link, std::int64_t now, std::vector<Order>& orders);
  // When which link is to be looked at, since the last call.
  std::vector<Look>& looks() { return looks_; }

  // The receiver, which is `culprit`, begins to pause the transmitter whatever comes, or stops.
  void storm(LinkId link, std::int64_t now, bool begins, ResourceId culprit,
             std::vector<Order>& orders);
  // The transmitter of the link heeds the frame.
  void hold(LinkId link, std::int64_t now, bool paused);
  ResourceId culprit(LinkId link) const { return buffer(link).culprit; }
  // Whether the last pause was a storm's, or what filled up the buffer had waited for one.
  bool stormed(LinkId link) const { return buffer(link).stormed; }
  // The same, where a frame of `since` has waited for it.
  bool stormed(LinkId link, std::int64_t since) const {
    return buffer(link).stormed && since <= buffer(link).resumed;
  }
  Totals totals(LinkId link, std::int64_t now) const;
  void add_repeated(LinkId link, const Totals& more);
  // The most that the buffer ever held.
  std::int64_t most(LinkId link) const { return buffer(link).most; }

  // What decides about the future of one link's buffer.
  void append_state(StateWords& words, LinkId link) const;

 private:
  struct Change {
    std::int64_t time;
    std::int64_t bytes;
  };
  struct Buffer {
    PauseRules rules;
    std::deque<Change> coming;   // by time
    std::deque<Change> leaving;  // by time
    std::int64_t held = 0;       // as of the last advance()
    std::int64_t coming_bytes = 0;
    bool pausing = false;
    std::int64_t mark = 0;  // pausing: what was exceeded
    std::int64_t look = INT64_MAX;
    std::int64_t since = 0;  // pausing: when that was ordered
    std::int64_t most = 0;
    ResourceId culprit = kNoResource;
    bool stormed = false;
    std::int64_t frames = 0;
    std::int64_t held_up_since = -1;
    std::int64_t held_up = 0;
    std::int64_t resumed = -1;  // when the transmitter was last let go on
    Totals repeated;
    std::int64_t renewal = 0;  // ps after which a pause is renewed
    int storms = 0;            // that are on
  };
  struct Pool {
    std::vector<LinkId> links;
    double alpha = 0;
    std::int64_t shared = 0;
    std::int64_t harmless = 0;  // no port can exceed its mark while all ports expect no more
    std::int64_t expected = 0;  // what all ports hold or will hold
    bool near = false;          // more than that
    int pausing = 0;
  };

  Buffer& buffer(LinkId link) { return buffers_[static_cast<std::size_t>(link)]; }
  const Buffer& buffer(LinkId link) const { return buffers_[static_cast<std::size_t>(link)]; }
  Pool* pool_of(const Buffer& buffer);
  void advance(Buffer& buffer, std::int64_t now);
  void advance_all(Pool& pool, std::int64_t now);
  std::int64_t mark_of(Pool& pool) const;
  static std::int64_t share_of_pool(const Buffer& buffer);
  void ask(LinkId link, std::int64_t time);
  void ask_again(LinkId link);
  void order(LinkId link, bool pause, std::int64_t mark, std::int64_t now,
             std::vector<Order>& orders);
  void look_at_own(LinkId link, std::int64_t now, std::vector<Order>& orders);
  void look_at_pool(LinkId link, Pool& pool, std::int64_t now, std::vector<Order>& orders);

  std::vector<Buffer> buffers_;  // by link; none where nothing is lossless
  std::vector<Pool> pools_;
  std::vector<Look> looks_;
};

}  // namespace gradhaul
