#include "backends/tcp/tcp_endpoint.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr std::size_t kMostEvents = 64;

}  // namespace

TcpEndpoint::TcpEndpoint(const EndpointRequest& request, std::vector<std::vector<int>> descriptors,
                         Rank rank)
    : memory_(request.memory),
      rank_(rank),
      queue_pairs_(request.queue_pairs),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      is_ready_(request.connections.size(), false) {
  GRADHAUL_ASSERT(epoll_ >= 0, "the system has an epoll set to give");
  for (std::size_t i = 0; i < request.connections.size(); ++i) {
    const ConnectionEnd& end = request.connections[i];
    TcpConnection::Room room{{}, request.slots, request.slot_size};
    if (!end.sends) {
      room.slots =
          bytes_at(memory_, {Region::kSlots, end.slots_offset}, request.slot_size * request.slots);
    }
    connections_.emplace_back(end, static_cast<ConnectionId>(i), std::move(descriptors[i]), room);
    first_place_.push_back(places_.size());
    for (std::size_t socket = 0; socket < connections_.back().sockets(); ++socket) {
      places_.push_back({i, socket});
    }
  }
  watched_for_writing_.assign(places_.size(), false);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    const Place& place = places_[i];
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[place.connection].descriptor(place.socket),
              &event);
  }
}

TcpEndpoint::~TcpEndpoint() { close(epoll_); }

// What a socket's buffer does not take waits in the connection.
TransportLimits TcpEndpoint::limits() const {
  return {.max_write = {std::int64_t{1} << 31}, .max_writes_in_flight = 1024};
}

void TcpEndpoint::post_write(const WriteRequest& request) {
  const auto id = static_cast<std::size_t>(request.connection);
  GRADHAUL_ASSERT(request.connection >= 0 && id < connections_.size(), "no such connection");
  TcpConnection& connection = connections_[id];
  GRADHAUL_ASSERT(connection.in_flight() < limits().max_writes_in_flight,
                  "no more writes in flight than the limits say");
  GRADHAUL_ASSERT(request.length <= limits().max_write, "no longer write than the limits say");
  if (request.kind == WriteKind::kData) {
    connection.post_data(request.slot, bytes_at(memory_, request.source, request.length));
  } else {
    connection.post_credit(request.slots_returned);
  }
  if (connection.failed()) note_ready(id);
  if (staged_.empty() || staged_.back() != id) staged_.push_back(id);
}

void TcpEndpoint::flush() {
  for (const std::size_t connection : staged_) push(connection);
  staged_.clear();
}

bool TcpEndpoint::poll(CompletionSink& sink) {
  std::array<epoll_event, kMostEvents> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const Place& place = places_[events[static_cast<std::size_t>(i)].data.u64];
    const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
    if (connections_[place.connection].failed()) continue;
    if ((what & EPOLLOUT) != 0) push_socket(place);
    if ((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) pull(place);
  }
  // Deliveries post and flush, and so make connections ready again.
  const std::vector<std::size_t> ready = std::exchange(ready_, {});
  for (const std::size_t id : ready) {
    is_ready_[id] = false;
    connections_[id].deliver(sink);
  }
  return !ready.empty();
}

void TcpEndpoint::wait(std::chrono::microseconds most) {
  if (!ready_.empty()) return;
  epoll_event event{};
  const auto milliseconds = std::max<std::int64_t>(1, most.count() / 1000);
  epoll_wait(epoll_, &event, 1, static_cast<int>(milliseconds));
}

std::vector<std::pair<std::string, std::string>> TcpEndpoint::facts() const {
  return {{"device", "sockets"}, {"sockets_per_connection", std::to_string(queue_pairs_)}};
}

void TcpEndpoint::watch(std::size_t place, bool for_writing) {
  if (watched_for_writing_[place] == for_writing) return;
  watched_for_writing_[place] = for_writing;
  epoll_event event{};
  event.events = EPOLLIN | (for_writing ? EPOLLOUT : 0U);
  event.data.u64 = place;
  const Place& where = places_[place];
  epoll_ctl(epoll_, EPOLL_CTL_MOD, connections_[where.connection].descriptor(where.socket), &event);
}

void TcpEndpoint::push(std::size_t connection) {
  for (std::size_t socket = 0; socket < connections_[connection].sockets(); ++socket) {
    if (connections_[connection].failed()) return;
    const Place place{connection, socket};
    // A socket that is watched takes nothing now.
    if (!watched_for_writing_[place_of(place)]) push_socket(place);
  }
}

void TcpEndpoint::push_socket(const Place& place) {
  TcpConnection& connection = connections_[place.connection];
  const StreamState state = connection.push(place.socket);
  if (state == StreamState::kOver) return fail(place);
  watch(place_of(place), state == StreamState::kBlocked);
  if (connection.has_completions()) note_ready(place.connection);
}

void TcpEndpoint::pull(const Place& place) {
  TcpConnection& connection = connections_[place.connection];
  if (connection.pull(place.socket) == StreamState::kOver) return fail(place);
  if (connection.has_completions()) note_ready(place.connection);
}

void TcpEndpoint::fail(const Place& place) {
  TcpConnection& connection = connections_[place.connection];
  if (connection.failed()) return;
  if (!failure_) {
    const ConnectionKey& key = connection.end().key;
    failure_ = RankFailure{rank_, connection.peer(),
                           "the connection " + std::string(connection.end().sends ? "to" : "from") +
                               " rank " + std::to_string(connection.peer()) + " (channel " +
                               std::to_string(key.channel) +
                               ") broke: " + connection.complaint(place.socket)};
  }
  connection.fail();
  for (std::size_t socket = 0; socket < connection.sockets(); ++socket) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.descriptor(socket), nullptr);
  }
  note_ready(place.connection);
}

void TcpEndpoint::note_ready(std::size_t connection) {
  if (is_ready_[connection]) return;
  is_ready_[connection] = true;
  ready_.push_back(connection);
}

bool TcpEndpoint::has_unsent() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const TcpConnection& connection) { return connection.has_unsent(); });
}

std::int64_t TcpEndpoint::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const TcpConnection& connection : connections_) bytes += connection.bytes_sent();
  return bytes;
}

std::int64_t TcpEndpoint::bytes_received() const {
  std::int64_t bytes = 0;
  for (const TcpConnection& connection : connections_) bytes += connection.bytes_received();
  return bytes;
}

}  // namespace gradhaul
