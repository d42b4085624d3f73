#include "backends/shared/split_endpoint.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr std::chrono::microseconds kNetworkLook{50};

class Renumbering final : public CompletionSink {
 public:
  Renumbering(CompletionSink& sink, const std::vector<ConnectionId>& whole)
      : sink_(sink), whole_(whole) {}
  void on_completion(const Completion& completion) override {
    Completion renumbered = completion;
    renumbered.id = whole_[static_cast<std::size_t>(completion.id)];
    sink_.on_completion(renumbered);
  }

 private:
  CompletionSink& sink_;
  const std::vector<ConnectionId>& whole_;
};

}  // namespace

SplitEndpoint::SplitEndpoint(Shared shared, std::unique_ptr<Endpoint> network,
                             const std::vector<Part>& parts)
    : kept_(std::move(shared.kept)),
      path_(std::move(shared.path)),
      shared_{std::move(shared.endpoint), {}},
      network_{std::move(network), {}} {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<ConnectionId>& whole = side(parts[i]).whole;
    places_.push_back({parts[i], static_cast<ConnectionId>(whole.size())});
    whole.push_back(static_cast<ConnectionId>(i));
  }
  GRADHAUL_ASSERT(network_.endpoint != nullptr || network_.whole.empty(),
                  "connections over the network have an endpoint there");
}

TransportLimits SplitEndpoint::limits() const {
  TransportLimits limits = shared_.endpoint->limits();
  if (network_.endpoint == nullptr) return limits;
  const TransportLimits other = network_.endpoint->limits();
  limits.max_write = std::min(limits.max_write, other.max_write);
  limits.max_writes_in_flight = std::min(limits.max_writes_in_flight, other.max_writes_in_flight);
  return limits;
}

void SplitEndpoint::post_write(const WriteRequest& request) {
  const Place& place = places_[static_cast<std::size_t>(request.connection)];
  WriteRequest own = request;
  own.connection = place.own;
  side(place.part).endpoint->post_write(own);
}

void SplitEndpoint::flush() {
  shared_.endpoint->flush();
  if (network_.endpoint != nullptr) network_.endpoint->flush();
}

bool SplitEndpoint::poll(Side& side, CompletionSink& sink) {
  if (side.endpoint == nullptr) return false;
  Renumbering renumbering(sink, side.whole);
  return side.endpoint->poll(renumbering);
}

bool SplitEndpoint::poll(CompletionSink& sink) {
  const bool any = poll(shared_, sink);
  return poll(network_, sink) || any;
}

void SplitEndpoint::restart() {
  shared_.endpoint->restart();
  if (network_.endpoint != nullptr) network_.endpoint->restart();
}

// Woken by what peers write into memory; what the network brings is looked for from time to time.
void SplitEndpoint::wait(std::chrono::microseconds most) {
  if (shared_.whole.empty() && network_.endpoint != nullptr) return network_.endpoint->wait(most);
  shared_.endpoint->wait(network_.whole.empty() ? most : std::min(most, kNetworkLook));
}

std::optional<RankFailure> SplitEndpoint::failure() const {
  return network_.endpoint == nullptr ? std::nullopt : network_.endpoint->failure();
}

std::vector<std::pair<std::string, std::string>> SplitEndpoint::facts() const {
  std::vector<std::pair<std::string, std::string>> facts;
  if (network_.endpoint != nullptr) facts = network_.endpoint->facts();
  if (!shared_.whole.empty()) facts.emplace_back("within_node", path_);
  return facts;
}

}  // namespace gradhaul
