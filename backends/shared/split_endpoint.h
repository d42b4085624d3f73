#pragma once

// One rank's connections over two transports, as one: some through memory that its peers see, too,
// the others over the network. Numbers of connections are those of the whole.

#include <memory>
#include <string>
#include <vector>

#include "backends/endpoint.h"

namespace gradhaul {

class SplitEndpoint final : public Endpoint {
 public:
  enum class Part : std::uint8_t { kShared, kNetwork };
  struct Shared {
    std::unique_ptr<Endpoint> endpoint;
    std::string path;                  // what its connections go through; for the result
    std::shared_ptr<const void> kept;  // what they lie in, which outlives them
  };
  // parts[c]: by what connection c goes. Each endpoint was made for those of its part, in order;
  // `network` may be nothing where no connection is its.
  SplitEndpoint(Shared shared, std::unique_ptr<Endpoint> network, const std::vector<Part>& parts);

  TransportLimits limits() const override;
  void post_write(const WriteRequest& request) override;
  void flush() override;
  bool poll(CompletionSink& sink) override;
  void restart() override;
  void wait(std::chrono::microseconds most) override;
  std::optional<RankFailure> failure() const override;
  // The network's, and whether any connection goes through memory.
  std::vector<std::pair<std::string, std::string>> facts() const override;

 private:
  struct Side {
    std::unique_ptr<Endpoint> endpoint;
    std::vector<ConnectionId> whole;  // by its own number
  };
  struct Place {
    Part part = Part::kNetwork;
    ConnectionId own = 0;
  };
  Side& side(Part part) { return part == Part::kShared ? shared_ : network_; }
  static bool poll(Side& side, CompletionSink& sink);

  std::shared_ptr<const void> kept_;
  std::string path_;
  Side shared_;
  Side network_;
  std::vector<Place> places_;
};

}  // namespace gradhaul
