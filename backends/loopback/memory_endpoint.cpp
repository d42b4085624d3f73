#include "backends/loopback/memory_endpoint.h"

#include "backends/loopback/memory_link_endpoint.h"

namespace gradhaul {

MemoryMeetingPlace::Joint& MemoryMeetingPlace::joint(const ConnectionKey& key, int slots) {
  const std::lock_guard lock(mutex_);
  Joint& joint = joints_[key];
  if (joint.link == nullptr) {
    const std::size_t lines = MemoryLink::size(slots) / kCacheLine;
    joint.link = std::make_unique<Joint::Line[]>(lines);
  }
  return joint;
}

Waker& MemoryMeetingPlace::waker(Rank rank) {
  const std::lock_guard lock(mutex_);
  return wakers_[rank];
}

void MemoryMeetingPlace::clear() {
  const std::lock_guard lock(mutex_);
  joints_.clear();
}

std::unique_ptr<Endpoint> MemoryEndpointMaker::make(const EndpointRequest& request) {
  exchange_.all_gather({});  // nobody uses the links of before any more
  if (exchange_.rank() == 0) place_.clear();
  exchange_.all_gather({});
  std::vector<MemoryMeetingPlace::Joint*> joints;
  for (const ConnectionEnd& end : request.connections) {
    MemoryMeetingPlace::Joint& joint = place_.joint(end.key, request.slots);
    joints.push_back(&joint);
    if (end.sends) continue;
    joint.slots =
        bytes_at(request.memory, {Region::kSlots, end.slots_offset}, request.slot_size).data();
  }
  exchange_.all_gather({});
  std::vector<MemoryJoint> wired;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    const ConnectionEnd& end = request.connections[i];
    wired.push_back({end, MemoryLink(joints[i]->link.get()->bytes, request.slots), joints[i]->slots,
                     &place_.waker(end.sends ? end.key.destination : end.key.source)});
  }
  auto copier = make_copier_ ? make_copier_(wired.size()) : nullptr;
  const std::string path = copier ? "copies by the GPU between threads of one process"
                                  : "copies between threads of one process";
  return std::make_unique<MemoryLinkEndpoint>(wired, request.memory, request.slot_size, path,
                                              &place_.waker(exchange_.rank()), std::move(copier));
}

}  // namespace gradhaul
