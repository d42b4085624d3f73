#include "backends/bootstrap/tcp_exchange.h"

#include <poll.h>

#include <algorithm>

#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/failure_order.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kPumpStep = 100ms;
// For ranks to say what they know of a failed run: those that still can do so at once.
constexpr auto kFailuresAtHost = 3s;
constexpr auto kFailuresElsewhere = 8s;

std::string list_of(const std::vector<Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text;
}

std::string seconds_text(milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  if (const auto tenths = time.count() % 1000 / 100; tenths != 0) {
    text += '.';
    text += std::to_string(tenths);
  }
  return text + " s";
}

void give_up_where_hopeless(const RendezvousSettings& settings) {
  if (!settings.hopeless) return;
  if (const auto why = settings.hopeless()) throw ExchangeError(*why);
}

}  // namespace

std::unique_ptr<TcpExchange> TcpExchange::host(Socket listener,
                                               const RendezvousSettings& settings) {
  GRADHAUL_ASSERT(settings.rank == 0, "rank 0 is the host");
  std::string local = local_address(listener).host;
  RankReception reception(std::move(listener), settings.ranks, settings.token);
  const Clock::time_point until = Clock::now() + settings.join_deadline;
  while (!reception.missing().empty()) {
    if (Clock::now() >= until) {
      throw ExchangeError(reception.who_is_missing(settings.join_deadline));
    }
    give_up_where_hopeless(settings);
    std::vector<pollfd> waiting;
    reception.add_to(waiting);
    poll(waiting.data(), waiting.size(), static_cast<int>(milliseconds(kPumpStep).count()));
    reception.admit();
    reception.give_places_back();
  }
  std::vector<Peer> peers;
  for (Rank rank = 1; rank < settings.ranks; ++rank) {
    RecordLink& link = *reception.link(rank);
    // At which of its addresses others reach this host, a connection knows.
    local = local_address(link.socket()).host;
    peers.push_back({rank, std::move(link), {}, false, false});
  }
  std::unique_ptr<TcpExchange> exchange(new TcpExchange(settings, std::move(peers), local));
  exchange->sent_away_ = reception.sent_away();
  exchange->pump(0ms);  // nobody need wait for what came along with an answer to a welcome
  return exchange;
}

std::unique_ptr<TcpExchange> TcpExchange::join(const SocketAddress& rank0,
                                               const RendezvousSettings& settings) {
  RecordLink link = join_rank0(rank0, settings);
  std::string local = local_address(link.socket()).host;
  std::vector<Peer> peers;
  peers.push_back({0, std::move(link), {}, false, false});
  return std::unique_ptr<TcpExchange>(new TcpExchange(settings, std::move(peers), local));
}

TcpExchange::TcpExchange(const RendezvousSettings& settings, std::vector<Peer> peers,
                         std::string local_host)
    : settings_(settings), peers_(std::move(peers)), local_host_(std::move(local_host)) {
  for (Peer& peer : peers_) peer.link.allow(kLongestRecord);
}

void TcpExchange::pump(milliseconds most) {
  std::vector<pollfd> waiting;
  for (const Peer& peer : peers_) {
    const auto events = static_cast<short>(POLLIN | (peer.link.has_unsent() ? POLLOUT : 0));
    // Of a link that is over the descriptor is -1, which poll() passes over.
    waiting.push_back({peer.link.socket().descriptor(), events, 0});
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(most.count()));
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    if (waiting[i].revents != 0 && !peer.link.over()) {
      if ((waiting[i].revents & POLLOUT) != 0) peer.link.push();
      peer.link.pull();
    }
    // Also what came along with its answer, of which poll() knows nothing any more.
    try {
      while (const auto record = peer.link.next()) take(peer, *record);
    } catch (const WireError& error) {
      peer.link.close();
      report({rank(), peer.rank,
              "what rank " + std::to_string(peer.rank) +
                  " says can't be understood: " + error.what()});
    }
  }
}

void TcpExchange::take(Peer& peer, const Record& record) {
  switch (record.kind) {
    case RecordKind::kGather:
    case RecordKind::kGathered:
      if (peer.gathered) throw WireError("it is ahead of the others");
      peer.gathered = record.body;
      return;
    case RecordKind::kFailed:
      report(failures_in(record.body).front());
      return;
    case RecordKind::kNoMore:
      peer.no_more = true;
      return;
    case RecordKind::kFailures:
      verdict_ = failures_in(record.body);
      for (const RankFailure& failure : *verdict_) reports_.push_back(failure);
      return;
    case RecordKind::kRefused:
      report({rank(), 0,
              "rank 0 sends rank " + std::to_string(rank()) + " away: " + text_in(record.body)});
      return;
    default:
      throw WireError("a record that has no place here");
  }
}

void TcpExchange::notice_gone(Peer& peer) {
  if (!peer.link.over() || peer.gone) return;
  peer.gone = true;
  // Who said that it gives up may go.
  for (const RankFailure& failure : reports_) {
    if (failure.rank == peer.rank) return;
  }
  report(
      {rank(), peer.rank,
       "rank " + std::to_string(peer.rank) + " is gone: its connection to the rendezvous closed"});
}

void TcpExchange::report(const RankFailure& failure) {
  reports_.push_back(failure);
  // Others hear of it from rank 0.
  if (is_host() || failure.rank == rank()) send_to_all(RecordKind::kFailed, body_of({failure}));
}

void TcpExchange::send_to_all(RecordKind kind, std::span<const std::byte> body) {
  for (Peer& peer : peers_) peer.link.send(kind, body);
}

void TcpExchange::flush(Clock::time_point until) {
  const auto unsent = [this] {
    return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
      return !peer.link.over() && peer.link.has_unsent();
    });
  };
  while (unsent() && Clock::now() < until) pump(kPumpStep);
}

std::vector<std::vector<std::byte>> TcpExchange::all_gather(std::span<const std::byte> record) {
  if (!reports_.empty()) throw_aborted();
  return is_host() ? gather_at_host(record) : gather_elsewhere(record);
}

std::vector<std::vector<std::byte>> TcpExchange::gather_at_host(std::span<const std::byte> record) {
  const Clock::time_point until = Clock::now() + settings_.deadline;
  while (true) {
    std::vector<Rank> missing;
    for (Peer& peer : peers_) {
      if (peer.gathered) continue;
      missing.push_back(peer.rank);
      notice_gone(peer);
    }
    if (!reports_.empty()) throw_aborted();
    if (missing.empty()) break;
    if (Clock::now() >= until) {
      report({0, missing.front(),
              list_of(missing) + " did not come to the next step within " +
                  seconds_text(settings_.deadline)});
      throw_aborted();
    }
    pump(kPumpStep);
  }
  std::vector<std::vector<std::byte>> all{{record.begin(), record.end()}};
  for (Peer& peer : peers_) all.push_back(std::move(*std::exchange(peer.gathered, {})));
  send_to_all(RecordKind::kGathered, body_of(all));
  flush(until);
  return all;
}

std::vector<std::vector<std::byte>> TcpExchange::gather_elsewhere(
    std::span<const std::byte> record) {
  Peer& host = peers_.front();
  // Rank 0 waits for others as well, and is the one to say whom it missed.
  const Clock::time_point until = Clock::now() + settings_.deadline + 5s;
  host.link.send(RecordKind::kGather, record);
  while (!host.gathered) {
    notice_gone(host);
    if (!reports_.empty()) throw_aborted();
    if (Clock::now() >= until) {
      report({rank(), 0,
              "rank 0 did not bring the ranks together within " +
                  seconds_text(settings_.deadline + 5s)});
      throw_aborted();
    }
    pump(kPumpStep);
  }
  return parts_in(*std::exchange(host.gathered, {}), ranks());
}

void TcpExchange::throw_aborted() const { throw ExchangeError(reports_.front().what); }

void TcpExchange::abort(const RankFailure& failure) { report(failure); }

std::optional<RankFailure> TcpExchange::aborted() {
  pump(0ms);
  for (Peer& peer : peers_) notice_gone(peer);
  if (reports_.empty()) return std::nullopt;
  return reports_.front();
}

std::vector<RankFailure> TcpExchange::failures() {
  if (reports_.empty()) return {};
  if (is_host()) return collect_failures();
  Peer& host = peers_.front();
  host.link.send(RecordKind::kNoMore, {});
  const Clock::time_point until = Clock::now() + kFailuresElsewhere;
  while (!verdict_ && !host.link.over() && Clock::now() < until) pump(kPumpStep);
  return verdict_ ? *verdict_ : by_likeliest_cause(reports_);
}

std::vector<RankFailure> TcpExchange::collect_failures() {
  const Clock::time_point until = Clock::now() + kFailuresAtHost;
  const auto waits = [this] {
    return std::any_of(peers_.begin(), peers_.end(),
                       [](const Peer& peer) { return !peer.no_more && !peer.link.over(); });
  };
  while (waits() && Clock::now() < until) {
    pump(kPumpStep);
    for (Peer& peer : peers_) notice_gone(peer);
  }
  const std::vector<RankFailure> ordered = by_likeliest_cause(reports_);
  send_to_all(RecordKind::kFailures, body_of(ordered));
  flush(Clock::now() + 1s);
  return ordered;
}

}  // namespace gradhaul
