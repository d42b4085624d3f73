#pragma once

// The rendezvous: an Exchange over TCP. Rank 0 listens, the others connect to it, and all that
// ranks tell each other goes through rank 0. Strangers at the port are dropped: who does not say
// within some seconds, in our language, which rank it is, and whoever says it wrongly. Once all
// ranks are there nobody listens any more.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/bootstrap/record_link.h"
#include "backends/bootstrap/rendezvous.h"

namespace gradhaul {

class TcpExchange final : public Exchange {
 public:
  // Rank 0, listening at `listener`. Waits for all others. Throws ExchangeError, which names who
  // did not come, and who came and was sent away.
  static std::unique_ptr<TcpExchange> host(Socket listener, const RendezvousSettings& settings);
  // Another rank; rank 0 may come later. Throws ExchangeError.
  static std::unique_ptr<TcpExchange> join(const SocketAddress& rank0,
                                           const RendezvousSettings& settings);

  Rank rank() const override { return settings_.rank; }
  Rank ranks() const override { return settings_.ranks; }
  std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> record) override;
  void abort(const RankFailure& failure) override;
  std::optional<RankFailure> aborted() override;
  std::vector<RankFailure> failures() override;

  // An address of this host at which the other ranks reach it.
  std::string local_host() const { return local_host_; }
  // Of rank 0: who was sent away before all had come, and why; some of them, where they are many.
  const std::vector<std::string>& sent_away() const { return sent_away_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    Rank rank = 0;
    RecordLink link;
    std::optional<std::vector<std::byte>> gathered;  // its part, or (of rank 0) everybody's
    bool no_more = false;
    bool gone = false;  // and it has been told
  };
  TcpExchange(const RendezvousSettings& settings, std::vector<Peer> peers, std::string local_host);

  bool is_host() const { return settings_.rank == 0; }
  // Sends and receives what can be, waiting at most so long for anything.
  void pump(std::chrono::milliseconds most);
  void take(Peer& peer, const Record& record);
  void notice_gone(Peer& peer);
  void report(const RankFailure& failure);
  void send_to_all(RecordKind kind, std::span<const std::byte> body);
  void flush(Clock::time_point until);
  std::vector<std::vector<std::byte>> gather_at_host(std::span<const std::byte> record);
  std::vector<std::vector<std::byte>> gather_elsewhere(std::span<const std::byte> record);
  [[noreturn]] void throw_aborted() const;
  std::vector<RankFailure> collect_failures();

  RendezvousSettings settings_;
  std::vector<Peer> peers_;  // of rank 0: 1, 2, …; of others: rank 0
  std::string local_host_;
  std::vector<std::string> sent_away_;
  std::vector<RankFailure> reports_;  // as they came
  std::optional<std::vector<RankFailure>> verdict_;
};

}  // namespace gradhaul
