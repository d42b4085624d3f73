#include "backends/shared/node_endpoint_maker.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "backends/bootstrap/wire_bytes.h"
#include "backends/loopback/memory_link_endpoint.h"
#include "backends/shared/node_offer.h"
#include "backends/shared/shared_pages.h"
#include "backends/shared/split_endpoint.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kWakerSize = kCacheLine;
static_assert(sizeof(Waker) <= kCacheLine);

}  // namespace

// What one endpoint's connections within the node take; the pages outlive it.
class NodeEndpointMaker::Joining {
 public:
  Joining(Exchange& exchange, const EndpointRequest& request, const std::vector<int>& node_of,
          DeviceSlots* device)
      : exchange_(exchange), request_(request), node_of_(node_of), device_(device) {}

  // Which connections go through memory: the same for both ends of each.
  std::vector<SplitEndpoint::Part> parts() {
    make_offer();
    for (const std::vector<std::byte>& record : exchange_.all_gather(body_of(offer_))) {
      offers_.push_back(offer_in(record));
    }
    open_peers();
    std::vector<SplitEndpoint::Part> parts;
    for (const ConnectionEnd& end : request_.connections) {
      parts.push_back(is_shared(end.key) ? SplitEndpoint::Part::kShared
                                         : SplitEndpoint::Part::kNetwork);
    }
    return parts;
  }

  std::unique_ptr<Endpoint> shared_endpoint() {
    std::vector<MemoryJoint> joints;
    for (const ConnectionEnd& end : request_.connections) {
      if (is_shared(end.key)) joints.push_back(joint(end));
    }
    auto copier = device_ == nullptr ? nullptr : device_->copier(joints.size());
    return std::make_unique<MemoryLinkEndpoint>(joints, request_.memory, request_.slot_size, path(),
                                                waker_in(links_.bytes()), std::move(copier));
  }

  std::string path() const { return device_ == nullptr ? "shared memory" : device_->path(); }
  const std::shared_ptr<const void>& offered() const { return offered_; }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct PeerPages {
    SharedPages slots;
    DeviceSlots::Opened device_slots;
    SharedPages links;
  };

  Rank self() const { return exchange_.rank(); }
  bool in_one_node(const ConnectionKey& key) const {
    return node_of_[static_cast<std::size_t>(key.source)] ==
           node_of_[static_cast<std::size_t>(key.destination)];
  }
  const NodeOffer& offer_of(Rank rank) const { return offers_[static_cast<std::size_t>(rank)]; }

  void make_offer() {
    const auto link_size = static_cast<std::int64_t>(MemoryLink::size(request_.slots));
    for (const ConnectionEnd& end : request_.connections) {
      if (!in_one_node(end.key)) continue;
      if (offer_.links_size.count == 0) offer_.links_size = {kWakerSize};
      if (end.sends) continue;
      offer_.connections[end.key] = {end.slots_offset, offer_.links_size};
      offer_.links_size += Bytes{link_size};
    }
    links_ = SharedPages(offer_.links_size);
    offer_.process = getpid();
    offer_.slots_file = request_.memory.slots_file;
    offer_.slots_size = {static_cast<std::int64_t>(request_.memory.slots.size())};
    offer_.links_file = links_.file();
    if (device_ != nullptr && !offer_.connections.empty()) offer_device_slots();
    const bool has_slots =
        offer_.connections.empty() || offer_.slots_file >= 0 || !offer_.slots_handle.empty();
    if (has_slots) offer_.host = host_identity();
  }

  void offer_device_slots() {
    DeviceSlots::Offer offered = device_->offer();
    offer_.slots_handle = std::move(offered.handle);
    offered_ = std::move(offered.kept);
    if (!offered.problem.empty()) {
      notes_.push_back(
          "rank " + std::to_string(self()) +
          " is reached over the network, also by ranks of its node: " + offered.problem);
    }
  }

  // Maps what this rank writes into, and tells all whom it could not reach.
  void open_peers() {
    WireWriter failed;
    for (const ConnectionEnd& end : request_.connections) {
      if (!in_one_node(end.key)) continue;
      const Rank peer = end.sends ? end.key.destination : end.key.source;
      if (pages_.count(peer) > 0 || tried_.count(peer) > 0) continue;
      if (const std::string problem = open(peer); !problem.empty()) {
        tried_.insert(peer);
        failed.i32(peer);
        notes_.push_back("rank " + std::to_string(self()) + " reaches rank " +
                         std::to_string(peer) +
                         " of its node over the network, not through memory: " + problem);
      }
    }
    const auto records = exchange_.all_gather(failed.bytes());
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
      WireReader reader(records[rank]);
      for (std::size_t left = records[rank].size() / 4; left > 0; --left) {
        unreached_.insert({static_cast<Rank>(rank), reader.i32()});
      }
    }
  }

  // What is in the way; nothing where it is open.
  std::string open(Rank peer) {
    const NodeOffer& theirs = offer_of(peer);
    if (offer_.host.empty()) return "this one's memory is not shared";
    if (theirs.host.empty()) return "its memory is not shared";
    if (theirs.host != offer_.host) return "it runs on another host, or apart from it";
    const bool of_device = !theirs.slots_handle.empty();
    if (of_device && device_ == nullptr) return "its memory is a device's";
    PeerPages pages;
    if (of_device && sends_to(peer)) {
      pages.device_slots = device_->open(theirs.slots_handle, theirs.slots_size);
      if (!pages.device_slots.problem.empty()) return pages.device_slots.problem;
    }
    const bool of_host = theirs.slots_file >= 0;
    for (const auto& [file, size, into] :
         {std::tuple{theirs.links_file, theirs.links_size, &pages.links},
          std::tuple{theirs.slots_file, of_host ? theirs.slots_size : Bytes{}, &pages.slots}}) {
      if (size.count == 0) continue;  // one that only sends
      auto opened = SharedPages::of_process(theirs.process, file, size);
      if (!opened) return std::string("its pages can't be had: ") + std::strerror(errno);
      *into = std::move(*opened);
    }
    pages_.emplace(peer, std::move(pages));
    return "";
  }

  bool sends_to(Rank peer) const {
    return std::ranges::any_of(request_.connections, [peer](const ConnectionEnd& end) {
      return end.sends && end.key.destination == peer;
    });
  }

  bool is_shared(const ConnectionKey& key) const {
    return in_one_node(key) && unreached_.count({key.source, key.destination}) == 0 &&
           unreached_.count({key.destination, key.source}) == 0;
  }

  // At the beginning of each rank's links.
  static Waker* waker_in(std::span<std::byte> links) {
    return links.empty() ? nullptr : reinterpret_cast<Waker*>(links.data());
  }

  MemoryJoint joint(const ConnectionEnd& end) {
    const NodeOffer& offer = offer_of(end.key.destination);
    const auto place = offer.connections.find(end.key);
    GRADHAUL_ASSERT(place != offer.connections.end(), "both ends know of the connection");
    const PeerPages& peer = pages_.at(end.sends ? end.key.destination : end.key.source);
    const std::span<std::byte> theirs =
        device_ == nullptr ? peer.slots.bytes() : peer.device_slots.slots;
    const std::span<std::byte> slots = end.sends ? theirs : request_.memory.slots;
    const std::span<std::byte> links = end.sends ? peer.links.bytes() : links_.bytes();
    const auto at = [](std::span<std::byte> bytes, Bytes offset, std::size_t size) {
      GRADHAUL_ASSERT(static_cast<std::size_t>(offset.count) + size <= bytes.size(),
                      "a connection lies within what was offered");
      return bytes.data() + offset.count;
    };
    const auto slots_size = static_cast<std::size_t>((request_.slot_size * request_.slots).count);
    return {end,
            MemoryLink(at(links, place->second.link_offset, MemoryLink::size(request_.slots)),
                       request_.slots),
            at(slots, place->second.slots_offset, slots_size), waker_in(peer.links.bytes())};
  }

  Exchange& exchange_;
  EndpointRequest request_;
  const std::vector<int>& node_of_;
  DeviceSlots* device_;
  std::shared_ptr<const void> offered_;
  NodeOffer offer_;
  std::vector<NodeOffer> offers_;  // by rank
  SharedPages links_;              // of this rank's receiving connections
  std::map<Rank, PeerPages> pages_;
  std::set<Rank> tried_;
  std::set<std::pair<Rank, Rank>> unreached_;  // who, whom
  std::vector<std::string> notes_;
};

NodeEndpointMaker::NodeEndpointMaker(Exchange& exchange, EndpointMaker& network,
                                     std::vector<int> node_of, DeviceSlots* device)
    : exchange_(exchange), network_(network), node_of_(std::move(node_of)), device_(device) {
  const std::set<int> nodes(node_of_.begin(), node_of_.end());
  nodes_have_several_ = nodes.size() < node_of_.size();
}

NodeEndpointMaker::~NodeEndpointMaker() = default;

std::unique_ptr<Endpoint> NodeEndpointMaker::make(const EndpointRequest& request) {
  if (!nodes_have_several_) return network_.make(request);
  const auto joining = std::make_shared<Joining>(exchange_, request, node_of_, device_);
  const std::vector<SplitEndpoint::Part> parts = joining->parts();
  // All ranks have come here, and so have let go of what the endpoints before had open.
  offered_ = joining->offered();
  for (const std::string& note : joining->notes()) {
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
  }
  EndpointRequest over_network = request;
  over_network.connections.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == SplitEndpoint::Part::kNetwork) {
      over_network.connections.push_back(request.connections[i]);
    }
  }
  // Where nobody needs it the network need not even be there.
  const std::byte needs{over_network.connections.empty() ? std::uint8_t{0} : std::uint8_t{1}};
  const auto all = exchange_.all_gather({&needs, 1});
  const bool anybody = std::any_of(all.begin(), all.end(), [](const auto& record) {
    return record.size() == 1 && record[0] != std::byte{0};
  });
  std::unique_ptr<Endpoint> network;
  if (anybody) network = network_.make(over_network);
  return std::make_unique<SplitEndpoint>(
      SplitEndpoint::Shared{joining->shared_endpoint(), joining->path(), joining},
      std::move(network), parts);
}

}  // namespace gradhaul
