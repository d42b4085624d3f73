#include "backends/tcp/tcp_endpoint_maker.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>

#include "backends/bootstrap/connection_wire.h"
#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/record_link.h"
#include "backends/tcp/tcp_endpoint.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;

constexpr std::size_t kLongestIntroduction = 64;

struct SocketKey {
  ConnectionKey connection;
  std::int32_t number = 0;
  friend auto operator<=>(const SocketKey&, const SocketKey&) = default;
};

// Where a rank takes data, and what shows it that a connection is one of this run.
struct DataPort {
  SocketAddress address;
  std::uint64_t token = 0;
};

std::uint64_t fresh_token() {
  std::uint64_t token = 0;
  if (getrandom(&token, sizeof token, 0) != sizeof token) {
    token = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }
  return token;
}

// A ring of many channels, or all-to-all, takes more sockets than shells allow by default.
void allow_many_sockets() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<std::byte> introduction(std::uint64_t token, const SocketKey& key) {
  WireWriter writer;
  writer.number(token, 8);
  write_key(writer, key.connection);
  writer.i32(key.number);
  return writer.bytes();
}

// Nothing where it is a stranger's.
std::optional<SocketKey> key_in(std::span<const std::byte> body, std::uint64_t token) {
  WireReader reader(body);
  if (reader.number(8) != token) return std::nullopt;
  SocketKey key;
  key.connection = read_key(reader);
  key.number = reader.i32();
  reader.expect_end();
  return key;
}

}  // namespace

class TcpEndpointMaker::Implementation {
 public:
  Implementation(Exchange& exchange, const std::string& local_host,
                 std::chrono::milliseconds deadline)
      : exchange_(exchange),
        deadline_(deadline),
        listener_(listen_at({local_host, 0})),
        token_(fresh_token()) {
    allow_many_sockets();
  }

  std::unique_ptr<Endpoint> make(const EndpointRequest& request) {
    if (ports_.empty()) learn_ports();
    begin(request);
    const Clock::time_point until = Clock::now() + deadline_;
    while (!opening_.empty() || !expected_.empty()) {
      if (Clock::now() >= until) throw ExchangeError(who_is_missing());
      if (const auto failure = exchange_.aborted()) throw ExchangeError(failure->what);
      wait();
      std::erase_if(opening_, [this](Opening& opening) { return is_open(opening); });
      while (auto socket = accept_from(listener_)) {
        arriving_.emplace_back(std::move(*socket), kLongestIntroduction);
      }
      std::erase_if(arriving_, [this](RecordLink& link) { return is_settled(link); });
    }
    // Nobody sends data before its peer knows what the socket is for.
    exchange_.all_gather({});
    return std::make_unique<TcpEndpoint>(request, descriptors_of(request), exchange_.rank());
  }

 private:
  struct Opening {
    SocketKey key;
    RecordLink link;
    bool connected = false;
  };

  void learn_ports() {
    WireWriter mine;
    const SocketAddress address = local_address(listener_);
    mine.text(address.host);
    mine.u32(static_cast<std::uint32_t>(address.port));
    mine.number(token_, 8);
    for (const std::vector<std::byte>& record : exchange_.all_gather(mine.bytes())) {
      WireReader theirs(record);
      DataPort port;
      port.address.host = theirs.text();
      port.address.port = static_cast<int>(theirs.u32());
      port.token = theirs.number(8);
      ports_.push_back(port);
    }
  }

  void begin(const EndpointRequest& request) {
    GRADHAUL_ASSERT(request.queue_pairs >= 1, "a connection has at least one socket");
    for (const ConnectionEnd& end : request.connections) {
      for (int number = 0; number < request.queue_pairs; ++number) {
        const SocketKey key{end.key, number};
        if (sockets_.count(key) > 0) continue;
        if (end.sends) {
          begin_opening(key);
        } else {
          expected_.insert(key);
        }
      }
    }
  }

  void begin_opening(const SocketKey& key) {
    const DataPort& port = ports_[static_cast<std::size_t>(key.connection.destination)];
    auto socket = begin_connect(port.address);
    if (!socket) fail_opening(key, errno);
    opening_.push_back({key, RecordLink(std::move(*socket), kLongestIntroduction)});
  }

  [[noreturn]] void fail_opening(const SocketKey& key, int error) const {
    const Rank peer = key.connection.destination;
    std::string why = std::strerror(error);
    if (error == EMFILE || error == ENFILE) why += "; see ulimit -n";
    throw ExchangeError("can't connect to rank " + std::to_string(peer) + ", which takes data at " +
                        text_of(ports_[static_cast<std::size_t>(peer)].address) + ": " + why);
  }

  void wait() const {
    std::vector<pollfd> waiting{{listener_.descriptor(), POLLIN, 0}};
    for (const Opening& opening : opening_) {
      waiting.push_back({opening.link.socket().descriptor(), POLLOUT, 0});
    }
    for (const RecordLink& link : arriving_) {
      waiting.push_back({link.socket().descriptor(), POLLIN, 0});
    }
    ::poll(waiting.data(), waiting.size(), 20);
  }

  // Whether it is connected and has said what it is for.
  bool is_open(Opening& opening) {
    if (!opening.connected) {
      if (!wait_for(opening.link.socket(), Waiting::kWrite, 0ms)) return false;
      const int error = connect_error(opening.link.socket());
      if (error != 0) fail_opening(opening.key, error);
      opening.connected = true;
      const Rank peer = opening.key.connection.destination;
      opening.link.send(RecordKind::kData,
                        introduction(ports_[static_cast<std::size_t>(peer)].token, opening.key));
    }
    opening.link.push();
    if (opening.link.over()) fail_opening(opening.key, ECONNRESET);
    if (opening.link.has_unsent()) return false;
    sockets_[opening.key] = opening.link.release();
    return true;
  }

  // Whether it has its place, or is a stranger's that is dropped.
  bool is_settled(RecordLink& link) {
    link.pull();
    try {
      const auto record = link.next();
      if (!record) return link.over();
      if (record->kind != RecordKind::kData) return true;
      const auto key = key_in(record->body, token_);
      if (key && expected_.erase(*key) > 0) sockets_[*key] = link.release();
    } catch (const WireError&) {
    }
    return true;
  }

  std::string who_is_missing() const {
    std::set<Rank> ranks;
    for (const Opening& opening : opening_) ranks.insert(opening.key.connection.destination);
    for (const SocketKey& key : expected_) ranks.insert(key.connection.source);
    std::string text = "no connection for data within " + std::to_string(deadline_.count() / 1000) +
                       " s with rank";
    for (const Rank rank : ranks) text += " " + std::to_string(rank);
    return text;
  }

  std::vector<std::vector<int>> descriptors_of(const EndpointRequest& request) {
    std::vector<std::vector<int>> all;
    for (const ConnectionEnd& end : request.connections) {
      std::vector<int>& descriptors = all.emplace_back();
      for (int number = 0; number < request.queue_pairs; ++number) {
        descriptors.push_back(sockets_.at(SocketKey{end.key, number}).descriptor());
      }
    }
    return all;
  }

  Exchange& exchange_;
  std::chrono::milliseconds deadline_;
  Socket listener_;
  std::uint64_t token_;
  std::vector<DataPort> ports_;  // by rank
  std::map<SocketKey, Socket> sockets_;
  std::list<Opening> opening_;
  std::set<SocketKey> expected_;
  std::list<RecordLink> arriving_;
};

TcpEndpointMaker::TcpEndpointMaker(Exchange& exchange, const std::string& local_host,
                                   std::chrono::milliseconds deadline)
    : implementation_(std::make_unique<Implementation>(exchange, local_host, deadline)) {}
TcpEndpointMaker::~TcpEndpointMaker() = default;

std::unique_ptr<Endpoint> TcpEndpointMaker::make(const EndpointRequest& request) {
  return implementation_->make(request);
}

}  // namespace gradhaul
