#include "backends/verbs/verbs_endpoint.h"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "backends/verbs/async_events.h"
#include "backends/verbs/completion_table.h"
#include "backends/verbs/queue_pair_states.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr int kPolled = 16;  // completions taken from a queue at once
// Looking for events and overdue writes costs a system call: seldom, and by the clock.
constexpr int kPollsBetweenLooks = 256;
constexpr std::chrono::milliseconds kLookInterval{10};
constexpr std::chrono::microseconds kSpin{50};  // some round trips of a network

}  // namespace

void VerbsEndpoint::post_write(const WriteRequest& request) {
  const auto id = static_cast<std::size_t>(request.connection);
  GRADHAUL_ASSERT(request.connection >= 0 && id < connections_.size(), "no such connection");
  VerbsConnection& connection = connections_[id];
  Wire& wire = wires_[id];
  if (request.kind == WriteKind::kData) {
    GRADHAUL_ASSERT(request.length <= limits_.max_write, "a write is no longer than the limit");
    const std::span<std::byte> source = bytes_at(memory_, request.source, request.length);
    const ibv_mr* region = region_of(used_[wire.rail], request.source.region);
    connection.post_data(request, {reinterpret_cast<std::uint64_t>(source.data()), region->lkey});
  } else {
    connection.post_credit(request.slots_returned);
  }
  if (connection.failed()) return touch(request.connection);
  if (!std::exchange(wire.staged, true)) staged_.push_back(request.connection);
}

void VerbsEndpoint::flush() {
  if (!polling_) ring_staged();
}

void VerbsEndpoint::ring_staged() {
  for (const ConnectionId id : staged_) {
    wires_[static_cast<std::size_t>(id)].staged = false;
    if (const int error = connections_[static_cast<std::size_t>(id)].ring(); error != 0) {
      fail(id, "ibv_post_send: " + errno_text(error), true);
    }
  }
  staged_.clear();
}

void VerbsEndpoint::touch(ConnectionId id) {
  if (!std::exchange(wires_[static_cast<std::size_t>(id)].touched, true)) touched_.push_back(id);
}

bool VerbsEndpoint::poll(CompletionSink& sink) {
  polling_ = true;
  std::array<ibv_wc, kPolled> completions;
  for (UsedRail& used : used_) {
    for (const CompletionQueue& queue : used.queues) {
      const int count = verbs_.poll_cq(queue.get(), kPolled, completions.data());
      if (count < 0) fail_rail(used, "its completion queue can't be polled");
      for (int i = 0; i < count; ++i) handle(completions[static_cast<std::size_t>(i)]);
    }
  }
  if (reads_back_) {
    for (UsedRail& used : used_) read_back_held(used);
  }
  if (--polls_until_look_ <= 0) look_around();
  bool any = false;
  due_.swap(touched_);
  for (const ConnectionId id : due_) {
    wires_[static_cast<std::size_t>(id)].touched = false;
    any = connections_[static_cast<std::size_t>(id)].deliver(sink) || any;
  }
  for (const ConnectionId id : due_) {
    VerbsConnection& connection = connections_[static_cast<std::size_t>(id)];
    if (connection.failed()) continue;
    // Before the credits go out that let the peer send again.
    if (const int error = connection.repost_receives(); error != 0) {
      fail(id, "ibv_post_recv: " + errno_text(error), true);
    }
  }
  due_.clear();
  if (any) idle_ = false;
  polling_ = false;
  ring_staged();
  return any;
}

void VerbsEndpoint::hold(ConnectionId id) {
  Wire& wire = wires_[static_cast<std::size_t>(id)];
  if (!std::exchange(wire.held, true)) used_[wire.rail].held.push_back(id);
}

void VerbsEndpoint::read_back_held(UsedRail& used) {
  if (!used.read_back) return;
  if (used.read_back->under_way()) release_covered(used);
  if (used.read_back->under_way()) return;
  for (const ConnectionId id : std::exchange(used.held, {})) {
    wires_[static_cast<std::size_t>(id)].held = false;
    const VerbsConnection& connection = connections_[static_cast<std::size_t>(id)];
    // Parts alone may have come, and the rest on another queue pair not.
    if (connection.failed() || connection.held() == 0) continue;
    used.covered.push_back({id, connection.held()});
  }
  if (used.covered.empty()) return;
  // Any word of the memory that was written does: all of it is of one device.
  const ibv_mr* slots = region_of(used, Region::kSlots);
  const auto address = reinterpret_cast<std::uint64_t>(memory_.slots.data());
  if (const int error = used.read_back->begin(address, slots->rkey); error != 0) {
    fail_rail(used, "what has arrived can't be read back: ibv_post_send: " + errno_text(error));
  }
}

void VerbsEndpoint::release_covered(UsedRail& used) {
  const std::optional<ibv_wc_status> status = used.read_back->take();
  if (!status) return;
  if (*status != IBV_WC_SUCCESS) {
    const CompletionMeaning meaning = meaning_of(*status);
    fail_rail(used,
              "what has arrived can't be read back: the NIC's read of its own memory "
              "completed with \"" +
                  std::string(meaning.name) + "\" (status " + std::to_string(*status) + ")");
  }
  if (flush_times_ != nullptr) {
    ++flush_times_->count;
    flush_times_->total += Clock::now() - used.read_back->since();
  }
  for (const UsedRail::Covered& covered : std::exchange(used.covered, {})) {
    connections_[static_cast<std::size_t>(covered.connection)].release(covered.writes);
    touch(covered.connection);
  }
}

bool VerbsEndpoint::reading_back() const {
  return std::ranges::any_of(used_, [](const UsedRail& used) {
    return used.read_back && (used.read_back->under_way() || !used.held.empty());
  });
}

void VerbsEndpoint::handle(const ibv_wc& completion) {
  const Place& place = places_[completion.wr_id >> 32 & 0x7fffffff];
  VerbsConnection& connection = connections_[static_cast<std::size_t>(place.connection)];
  touch(place.connection);
  if (completion.status != IBV_WC_SUCCESS) {
    // What caused it may wait among the events.
    for (UsedRail& used : used_) read_events(used);
    const bool is_cause = completion.status != IBV_WC_WR_FLUSH_ERR;
    return fail(place.connection, failure_text(place, completion), is_cause);
  }
  if (connection.failed()) return;
  if ((completion.wr_id >> 63) == 0) {
    connection.on_sent(place.queue_pair, static_cast<std::uint32_t>(completion.wr_id));
    return;
  }
  const std::uint32_t immediate = ntohl(completion.imm_data);
  if (!connection.on_received(place.queue_pair, immediate, completion.byte_len)) {
    fail(place.connection,
         "an immediate (" + std::to_string(immediate) +
             ") that the peer may not send now: it runs another version of this program, or counts "
             "its slots otherwise",
         true);
  } else if (reads_back_ && !connection.sends()) {
    hold(place.connection);
  }
}

void VerbsEndpoint::fail(ConnectionId id, const std::string& what, bool is_cause) {
  VerbsConnection& connection = connections_[static_cast<std::size_t>(id)];
  touch(id);
  if (!connection.failed()) {
    connection.fail();
    for (std::size_t i = 0; i < connection.queue_pairs(); ++i) {
      to_error(verbs_, connection.queue_pair(i));
    }
  }
  // A flush that comes first gives way to the failure that it follows from.
  if (failure_ && (cause_known_ || !is_cause)) return;
  cause_known_ = is_cause;
  std::string text =
      connection.progress_text() + " by " + wires_[static_cast<std::size_t>(id)].path + ": " + what;
  for (const std::string& event : events_) text += "; seen before: " + event;
  failure_ = {rank_, connection.peer(), text};
}

void VerbsEndpoint::fail_rail(const UsedRail& used, const std::string& what) {
  for (std::size_t id = 0; id < connections_.size(); ++id) {
    if (&used_[wires_[id].rail] == &used) fail(static_cast<ConnectionId>(id), what, true);
  }
}

// Opcode and length are undefined in a failed completion: nothing is said of them.
std::string VerbsEndpoint::failure_text(const Place& place, const ibv_wc& completion) const {
  const CompletionMeaning meaning = meaning_of(completion.status);
  const VerbsConnection& connection = connections_[static_cast<std::size_t>(place.connection)];
  std::string text =
      (completion.wr_id >> 63) != 0
          ? "a receive of queue pair "
          : (connection.sends() ? "a write of queue pair " : "a credit of queue pair ");
  text += std::to_string(connection.queue_pair(place.queue_pair)->qp_num) + " completed with \"" +
          std::string(meaning.name) + "\" (status " + std::to_string(completion.status) +
          ", vendor error " + std::to_string(completion.vendor_err) +
          "): " + std::string(meaning.meaning);
  if (completion.status == IBV_WC_RETRY_EXC_ERR) {
    text += " (retry " + std::to_string(settings_.retry) + ", timeout " +
            std::to_string(settings_.timeout) + ")";
  }
  text += ". Check";
  int number = 0;
  for (const std::string_view check : meaning.checks) {
    text += (number == 0 ? " (" : "; (") + std::to_string(number + 1) + ") " + std::string(check);
    ++number;
  }
  return text;
}

void VerbsEndpoint::look_around() {
  polls_until_look_ = kPollsBetweenLooks;
  const Clock::time_point now = Clock::now();
  if (now - last_look_ < kLookInterval) return;
  last_look_ = now;
  for (UsedRail& used : used_) read_events(used);
  if (settings_.deadline.count() > 0) find_overdue(now);
}

void VerbsEndpoint::read_events(UsedRail& used) {
  ibv_async_event event{};
  while (verbs_.get_async_event(used.rail->port.context.get(), &event) == 0) {
    handle_event(used, event);
    verbs_.ack_async_event(&event);
  }
}

void VerbsEndpoint::handle_event(UsedRail& used, const ibv_async_event& event) {
  const AsyncEventMeaning meaning = meaning_of(event.event_type);
  const std::string text = "asynchronous event \"" + std::string(meaning.name) + "\" (" +
                           std::to_string(event.event_type) + ") of " + used.rail->port.name() +
                           ": " + std::string(meaning.meaning);
  switch (meaning.concerns) {
    case EventConcerns::kNobody:
      return;
    case EventConcerns::kPort:
      events_.push_back(text);
      return;
    case EventConcerns::kDevice:
      return fail_rail(used, text);
    case EventConcerns::kQueuePair:
      break;
  }
  for (const Place& place : places_) {
    const auto id = static_cast<std::size_t>(place.connection);
    if (connections_[id].queue_pair(place.queue_pair) == event.element.qp) {
      return fail(place.connection, text, true);
    }
  }
}

void VerbsEndpoint::find_overdue(Clock::time_point now) {
  for (const UsedRail& used : used_) {
    const bool waits = used.read_back && used.read_back->under_way();
    if (!waits || now - used.read_back->since() < settings_.deadline) continue;
    fail_rail(used, "what has arrived could not be read back for " +
                        std::to_string(settings_.deadline.count()) +
                        " ms, the deadline of a write, and the device reports no error");
  }
  for (std::size_t id = 0; id < connections_.size(); ++id) {
    const VerbsConnection& connection = connections_[id];
    Wire& wire = wires_[id];
    const std::int64_t done = connection.writes_done();
    if (!connection.waits_for_completion() || connection.failed() || done != wire.done_before ||
        wire.since == Clock::time_point{}) {
      wire.done_before = done;
      wire.since = connection.waits_for_completion() ? now : Clock::time_point{};
      continue;
    }
    if (now - wire.since < settings_.deadline) continue;
    fail(static_cast<ConnectionId>(id),
         "nothing was acknowledged for " + std::to_string(settings_.deadline.count()) +
             " ms, the deadline of a write, and the device reports no error. Check whether rank " +
             std::to_string(connection.peer()) +
             " still runs, pause frames (ethtool -S), and over soft-RoCE that retry is below 7, "
             "which it takes for ever",
         true);
  }
}

void VerbsEndpoint::wait(std::chrono::microseconds most) {
  if (reads_back_ && reading_back()) return std::this_thread::yield();  // wakes nobody
  if (!std::exchange(idle_, true)) idle_since_ = Clock::now();
  const bool spins =
      settings_.completion == CompletionMode::kAdaptive && Clock::now() - idle_since_ < kSpin;
  if (settings_.completion == CompletionMode::kPolling || spins) {
    std::this_thread::yield();  // ranks may be more than cores
    return;
  }
  if (!std::exchange(armed_, true)) {
    for (const UsedRail& used : used_) {
      for (const CompletionQueue& queue : used.queues) {
        if (verbs_.req_notify_cq(queue.get()) != 0) armed_ = false;
      }
    }
    return;
  }
  std::vector<pollfd> asked;
  for (const UsedRail& used : used_) {
    asked.push_back({.fd = used.channel->fd, .events = POLLIN, .revents = 0});
    asked.push_back({.fd = used.rail->port.context->async_fd, .events = POLLIN, .revents = 0});
  }
  if (::poll(asked.data(), asked.size(), static_cast<int>((most.count() + 999) / 1000)) > 0)
    armed_ = false;
  for (const UsedRail& used : used_) verbs_.drain_cq_events(used.channel.get());
  polls_until_look_ = 0;
}

VerbsEndpoint::Doorbells VerbsEndpoint::doorbells() const {
  Doorbells sum;
  for (const Place& place : places_) {
    const SendQueue& queue =
        connections_[static_cast<std::size_t>(place.connection)].send_queue(place.queue_pair);
    sum.rings += queue.rings();
    sum.signalled += queue.signalled();
    sum.posted += queue.posted();
  }
  return sum;
}

std::vector<std::pair<std::string, std::string>> VerbsEndpoint::facts() const {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const UsedRail& used : used_) {
    const RdmaRail& rail = *used.rail;
    facts.emplace_back("device", rail.port.name());
    facts.emplace_back("gid", std::to_string(rail.gid.index) + " (" + rail.gid.why + ")");
    facts.emplace_back("relaxed_ordering", used.relaxed ? "asked for" : "off");
  }
  if (!wires_.empty()) facts.emplace_back("mtu", std::to_string(mtu_bytes(wires_.front().mtu)));
  facts.emplace_back("queue_pairs", std::to_string(settings_.queue_pairs));
  facts.emplace_back(
      "writes", settings_.split_writes ? "split over queue pairs" : "alternate over queue pairs");
  facts.emplace_back("immediate", settings_.immediate_apart ? "apart" : "with data");
  facts.emplace_back("service_level", std::to_string(settings_.service_level));
  facts.emplace_back("traffic_class", std::to_string(settings_.traffic_class));
  facts.emplace_back("timeout", std::to_string(settings_.timeout));
  facts.emplace_back("retry", std::to_string(settings_.retry));
  if (of_device_) {
    facts.emplace_back("gpu_memory", reach_.path == MemoryPath::kDmaBuf ? "dmabuf" : "peermem");
    if (!reach_.why.empty()) facts.emplace_back("gpu_memory_why", reach_.why);
  }
  if (reads_back_) facts.emplace_back("flush", "the NIC reads back what has arrived");
  facts.emplace_back("completion", settings_.completion == CompletionMode::kPolling  ? "polling"
                                   : settings_.completion == CompletionMode::kEvents ? "events"
                                                                                     : "adaptive");
  if (!thread_.empty()) facts.emplace_back("thread", thread_);
  return facts;
}

}  // namespace gradhaul
