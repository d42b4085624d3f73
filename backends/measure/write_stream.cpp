#include "backends/measure/write_stream.h"

#include <algorithm>

#include "backends/bootstrap/wire_bytes.h"
#include "backends/measure/polling_pace.h"
#include "backends/measure/rank_failed.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// One end of one connection, in one iteration.
struct StreamEnd {
  std::int64_t posted = 0;  // slices
  std::int64_t done = 0;
  std::int64_t arrived = 0;
  std::int64_t given_back = 0;    // slots, by this receiver
  std::int64_t credits = 0;       // slots, that came back to this sender
  std::int64_t credits_done = 0;  // credit writes of this receiver, off its hands
  std::int64_t credit_posts = 0;
};

// One iteration.
class StreamRun final : public CompletionSink {
 public:
  StreamRun(const WriteStreamSettings& settings, const std::vector<ConnectionEnd>& connections,
            Exchange& exchange, Endpoint& endpoint)
      : settings_(settings),
        connections_(connections),
        exchange_(exchange),
        endpoint_(endpoint),
        slices_((settings.size.count + settings.slice.count - 1) / settings.slice.count),
        most_in_flight_(endpoint.limits().max_writes_in_flight),
        ends_(connections.size()) {}

  nanoseconds run() {
    const Clock::time_point start = Clock::now();
    Clock::time_point idle_since = start;
    Clock::time_point next_look = start + kBetweenLooks;
    std::optional<Clock::time_point> complete;
    int idle_polls = 0;
    while (true) {
      const bool posted = post();
      const bool came = endpoint_.poll(*this);
      if (failed_) fail("the transport failed");
      if (!complete && transferred() && (!settings_.until_returned || settled())) {
        complete = Clock::now();
      }
      if (complete && settled()) return *complete - start;
      if (posted || came) {
        idle_polls = 0;
        idle_since = Clock::now();
        continue;
      }
      if (polls_on(++idle_polls)) continue;
      endpoint_.wait(kWait);
      if (const Clock::time_point now = Clock::now(); now >= next_look) {
        next_look = now + kBetweenLooks;
        watch(now - idle_since);
      }
    }
  }

  void on_completion(const Completion& completion) override {
    if (completion.status != CompletionStatus::kOk) {
      failed_ = true;
      return;
    }
    StreamEnd& end = ends_[static_cast<std::size_t>(completion.id)];
    switch (completion.kind) {
      case CompletionKind::kWriteDone:
        ++end.done;
        break;
      case CompletionKind::kWriteArrived:
        ++end.arrived;
        break;
      case CompletionKind::kCreditDone:
        ++end.credits_done;
        break;
      case CompletionKind::kCreditArrived:
        end.credits += completion.amount;
        break;
      case CompletionKind::kReduceDone:
        break;
    }
  }

 private:
  // Whether there was anything to post.
  bool post() {
    bool any = false;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const auto id = static_cast<ConnectionId>(i);
      any = (connections_[i].sends ? post_data(id, ends_[i]) : post_credit(id, ends_[i])) || any;
    }
    if (any) endpoint_.flush();
    return any;
  }

  bool post_data(ConnectionId id, StreamEnd& end) {
    const std::int64_t before = end.posted;
    // A slot may be back before the write into it is acknowledged.
    const std::int64_t most = settings_.in_turns ? turns(id) : slices_;
    while (end.posted < most && end.posted - end.credits < settings_.slots &&
           end.posted - end.done < most_in_flight_) {
      WriteRequest request;
      request.connection = id;
      request.source = {Region::kInput, {}};
      request.length = {std::min(settings_.slice.count,
                                 settings_.size.count - end.posted * settings_.slice.count)};
      request.slot = static_cast<std::int32_t>(end.posted % settings_.slots);
      endpoint_.post_write(request);
      ++end.posted;
    }
    return end.posted > before;
  }

  // How many slices may have been written when it is in turns: who begins is one ahead.
  std::int64_t turns(ConnectionId id) const {
    std::int64_t came = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (!connections_[i].sends) came += ends_[i].arrived;
    }
    const bool begins = connections_[static_cast<std::size_t>(id)].key == settings_.writes.front();
    return std::min(slices_, came + (begins ? 1 : 0));
  }

  bool post_credit(ConnectionId id, StreamEnd& end) {
    if (end.arrived == end.given_back) return false;
    // In turns nobody waits for a slot, and what gives it back would be in the way.
    if (settings_.in_turns && end.arrived < slices_ &&
        end.arrived - end.given_back < settings_.slots / 2) {
      return false;
    }
    if (end.credit_posts - end.credits_done >= most_in_flight_) return false;
    WriteRequest request;
    request.connection = id;
    request.kind = WriteKind::kCredit;
    request.slots_returned = static_cast<std::int32_t>(end.arrived - end.given_back);
    endpoint_.post_write(request);
    end.given_back = end.arrived;
    ++end.credit_posts;
    return true;
  }

  // What this rank waits for is done.
  bool transferred() const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if ((connections_[i].sends ? ends_[i].done : ends_[i].arrived) < slices_) return false;
    }
    return true;
  }

  // Nothing of it is under way, so that the next finds nothing of this one.
  bool settled() const {
    return std::all_of(ends_.begin(), ends_.end(), [&](const StreamEnd& end) {
      const bool sends = connections_[static_cast<std::size_t>(&end - ends_.data())].sends;
      return sends ? end.credits == slices_
                   : end.given_back == slices_ && end.credits_done == end.credit_posts;
    });
  }

  void watch(nanoseconds idle) {
    if (const auto failure = endpoint_.failure()) {
      throw RankFailed({exchange_.rank(), failure->peer, failure->what + "; " + where()});
    }
    if (exchange_.aborted() && idle < settings_.timeout / 2) throw OthersFailed(where());
    if (!exchange_.aborted() && idle < settings_.timeout) return;
    fail("no progress for " +
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(idle).count()) +
         " ms");
  }

  [[noreturn]] void fail(const std::string& what) const {
    Rank peer = -1;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const ConnectionEnd& end = connections_[i];
      if ((end.sends ? ends_[i].done : ends_[i].arrived) == slices_) continue;
      peer = end.sends ? end.key.destination : end.key.source;
      break;
    }
    throw RankFailed({exchange_.rank(), peer, what + "; " + where()});
  }

  std::string where() const {
    return "in writes of " + std::to_string(settings_.size.count) + " bytes between pairs of ranks";
  }

  const WriteStreamSettings& settings_;
  const std::vector<ConnectionEnd>& connections_;
  Exchange& exchange_;
  Endpoint& endpoint_;
  std::int64_t slices_;
  std::int64_t most_in_flight_;  // of either kind of writes, on one connection
  std::vector<StreamEnd> ends_;
  bool failed_ = false;
};

}  // namespace

WriteStream::WriteStream(const WriteStreamSettings& settings, Exchange& exchange,
                         EndpointMaker& endpoints, RankMemory& memory)
    : settings_(settings), exchange_(exchange), endpoints_(endpoints), memory_(memory) {
  GRADHAUL_ASSERT(settings.size.count > 0 && settings.slice.count > 0 && settings.slots > 0,
                  "something is written, slice by slice, into slots");
}

std::vector<ConnectionEnd> WriteStream::ends() const {
  std::vector<ConnectionEnd> ends;
  Bytes offset;
  for (const ConnectionKey& key : settings_.writes) {
    if (key.source == exchange_.rank()) ends.push_back({key, true, {}});
    if (key.destination != exchange_.rank()) continue;
    ends.push_back({key, false, offset});
    offset += settings_.slice * settings_.slots;
  }
  return ends;
}

std::optional<std::vector<std::vector<nanoseconds>>> WriteStream::times(
    const SeriesSettings& series, const std::atomic<bool>* interrupted) {
  const std::vector<ConnectionEnd> connections = ends();
  const auto incoming = std::count_if(connections.begin(), connections.end(),
                                      [](const ConnectionEnd& end) { return !end.sends; });
  memory_.prepare(
      {.input = settings_.slice,
       .output = settings_.slice,
       .slots = settings_.slice * settings_.slots * std::max<std::int64_t>(1, incoming)});
  // Pages that nobody has touched would be made as the first iterations go.
  const std::vector<std::byte> filling(static_cast<std::size_t>(settings_.slice.count));
  memory_.write({Region::kInput, {}}, filling);
  const std::unique_ptr<Endpoint> endpoint =
      endpoints_.make({.connections = connections,
                       .memory = memory_.regions(),
                       .slots = settings_.slots,
                       .slot_size = settings_.slice,
                       .queue_pairs = settings_.queue_pairs});
  facts_ = joined_facts(endpoint->facts(), memory_.facts());
  std::vector<nanoseconds> own;
  const IterationSeries::Runner runner{
      [&] { endpoint->restart(); },
      [&] {
        return own.emplace_back(StreamRun(settings_, connections, exchange_, *endpoint).run());
      }};
  const auto slowest = IterationSeries(exchange_, series, interrupted).times(runner);
  if (!slowest) return std::nullopt;
  WireWriter mine;
  // The first ones warmed up.
  for (std::size_t i = own.size() - slowest->size(); i < own.size(); ++i) {
    mine.i64(connections.empty() ? 0 : own[i].count());
  }
  std::vector<std::vector<nanoseconds>> all(slowest->size());
  for (const std::vector<std::byte>& record : exchange_.all_gather(mine.bytes())) {
    WireReader theirs(record);
    for (std::vector<nanoseconds>& iteration : all) iteration.emplace_back(theirs.i64());
  }
  return all;
}

}  // namespace gradhaul
