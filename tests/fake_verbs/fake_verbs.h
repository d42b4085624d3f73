#pragma once

// A libibverbs whose devices are of a fake fabric: the library as one rank sees it, with devices,
// ports and GIDs as a test lays them out. It holds its user to the standard: which attributes each
// state asks for, how much a queue takes, what is destroyed before what.

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/verbs/gid_choice.h"
#include "backends/verbs/verbs_library.h"
#include "tests/fake_verbs/fake_fabric.h"

namespace gradhaul::fake {

class FakeVerbs final : public VerbsLibrary {
 public:
  FakeVerbs(FakeFabric& fabric, std::vector<FakeDeviceSpec> specs) : fabric_(fabric) {
    for (FakeDeviceSpec& spec : specs) {
      devices_.push_back(std::make_unique<FakeDevice>());
      devices_.back()->spec = std::move(spec);
    }
    fabric_.on_completion = [](FakeCq& cq) {
      const std::uint64_t one = 1;
      if (cq.channel != nullptr) static_cast<void>(!write(cq.channel->fd, &one, sizeof(one)));
    };
  }

  // The next n-th call of modify_qp to this state is refused with an errno.
  void refuse(ibv_qp_state state, int error) { refused_[state] = error; }

  ibv_device** get_device_list(int* count) override {
    list_.clear();
    for (const auto& device : devices_) list_.push_back(device.get());
    *count = static_cast<int>(list_.size());
    list_.push_back(nullptr);
    return list_.data();
  }
  void free_device_list(ibv_device** /*list*/) override {}
  const char* get_device_name(ibv_device* device) override {
    return static_cast<FakeDevice*>(device)->spec.name.c_str();
  }
  std::string pci_path(ibv_device* device) override {
    return static_cast<FakeDevice*>(device)->spec.pci_path;
  }

  ibv_context* open_device(ibv_device* device) override {
    auto* of = static_cast<FakeDevice*>(device);
    if (of->spec.open_error != 0) return fail_with<FakeContext>(of->spec.open_error);
    auto* context = make<FakeContext>();
    context->device = device;
    context->of = of;
    context->async_fd = eventfd(0, EFD_NONBLOCK);
    contexts_.push_back(context);
    return context;
  }
  int close_device(ibv_context* context) override {
    auto* closed = static_cast<FakeContext*>(context);
    if (closed->events_unacknowledged != 0) mistake("an event was not acknowledged");
    close(closed->async_fd);
    std::erase(contexts_, closed);
    return end(closed);
  }
  int query_device(ibv_context* context, ibv_device_attr* attributes) override {
    *attributes = {};
    attributes->phys_port_cnt = static_cast<std::uint8_t>(spec(context).ports.size());
    attributes->max_cqe = spec(context).max_cqe;
    attributes->max_qp_wr = 1 << 14;
    return 0;
  }
  int query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes) override {
    const FakePort& of = port(context, number);
    *attributes = {};
    attributes->state = of.state;
    attributes->phys_state = of.physical_state;
    attributes->link_layer = of.link_layer;
    attributes->active_mtu = of.active_mtu;
    attributes->max_mtu = of.max_mtu;
    attributes->lid = of.lid;
    attributes->max_msg_sz = of.max_message;
    attributes->gid_tbl_len = static_cast<int>(of.gids.size());
    attributes->pkey_tbl_len = static_cast<std::uint16_t>(of.pkeys.size());
    return 0;
  }
  int query_gid(ibv_context* context, std::uint8_t number, std::uint32_t index,
                ibv_gid_entry* entry) override {
    const FakePort& of = port(context, number);
    if (index >= of.gids.size()) return EINVAL;
    const FakeGid& gid = of.gids[index];
    if (gid.query_error != 0) return gid.query_error;
    *entry = {};
    entry->gid = gid.gid;
    entry->gid_index = index;
    entry->port_num = number;
    entry->gid_type = gid.type;
    return 0;
  }
  int query_pkey(ibv_context* context, std::uint8_t number, int index,
                 std::uint16_t* pkey) override {
    const FakePort& of = port(context, number);
    if (static_cast<std::size_t>(index) >= of.pkeys.size()) return EINVAL;
    *pkey = htons(of.pkeys[static_cast<std::size_t>(index)]);
    return 0;
  }

  ibv_pd* alloc_pd(ibv_context* context) override {
    auto* pd = make<ibv_pd>();
    pd->context = context;
    return pd;
  }
  int dealloc_pd(ibv_pd* pd) override { return end(pd); }
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) override {
    if ((access & IBV_ACCESS_RELAXED_ORDERING) != 0 && !spec(pd->context).takes_relaxed_ordering) {
      return fail_with<FakeMr>(EOPNOTSUPP);
    }
    auto* seen = static_cast<std::byte*>(address);
    if (!host_reads(address)) {
      if (!spec(pd->context).peer_memory) return fail_with<FakeMr>(EFAULT);
      seen = spec(pd->context).peer_memory(address, length);
    }
    FakeMr* mr = add_region(pd, address, length, access, seen);
    mr->of_device = seen != address;
    return mr;
  }
  // A DMA-BUF of the fake libcuda is the file of its pages.
  ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::size_t length, std::uint64_t address, int file,
                        unsigned access) override {
    if (spec(pd->context).dma_buf_error != 0) {
      return fail_with<FakeMr>(spec(pd->context).dma_buf_error);
    }
    void* const pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) return fail_with<FakeMr>(EBADF);
    FakeMr* mr = add_region(pd, reinterpret_cast<void*>(address), length, access,
                            static_cast<std::byte*>(pages));
    mr->addr = nullptr;
    mr->mapped = true;
    mr->of_device = true;
    return mr;
  }
  int dereg_mr(ibv_mr* mr) override {
    auto* ended = static_cast<FakeMr*>(mr);
    {
      const std::scoped_lock lock(fabric_.mutex());
      fabric_.remove(*ended);
    }
    if (ended->mapped) munmap(ended->seen, ended->length);
    return end(ended);
  }
  ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) override {
    const FakePort& of = port(pd->context, attributes->port_num);
    const int error = of.gids.at(attributes->grh.sgid_index).handle_error;
    return error != 0 ? fail_with<ibv_ah>(error) : make<ibv_ah>();
  }
  int destroy_ah(ibv_ah* ah) override { return end(ah); }

  ibv_comp_channel* create_comp_channel(ibv_context* context) override {
    auto* channel = make<ibv_comp_channel>();
    channel->context = context;
    channel->fd = eventfd(0, EFD_NONBLOCK);
    return channel;
  }
  int destroy_comp_channel(ibv_comp_channel* channel) override {
    if (channel->refcnt != 0) mistake("a channel is destroyed before its completion queues");
    close(channel->fd);
    return end(channel);
  }
  ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) override {
    if (entries > spec(context).max_cqe) return fail_with<FakeCq>(EINVAL);
    auto* cq = make<FakeCq>();
    cq->context = context;
    cq->channel = channel;
    cq->capacity = entries;
    if (channel != nullptr) ++channel->refcnt;
    return cq;
  }
  int destroy_cq(ibv_cq* cq) override {
    if (cq->comp_events_completed != 0) mistake("a completion queue is destroyed before its pairs");
    if (cq->channel != nullptr) --cq->channel->refcnt;
    return end(static_cast<FakeCq*>(cq));
  }

  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) override {
    const std::uint32_t most_inline = spec(pd->context).max_inline;
    if (attributes->cap.max_inline_data > most_inline) return fail_with<FakeQp>(EINVAL);
    attributes->cap.max_inline_data = most_inline;
    auto* qp = make<FakeQp>();
    qp->context = pd->context;
    qp->pd = pd;
    qp->send_cq = attributes->send_cq;
    qp->recv_cq = attributes->recv_cq;
    qp->cap = attributes->cap;
    qp->state = IBV_QPS_RESET;
    ++qp->send_cq->comp_events_completed;  // how many queue pairs it has
    const std::scoped_lock lock(fabric_.mutex());
    qp->qp_num = fabric_.next_number();
    fabric_.add(*qp);
    return qp;
  }
  int destroy_qp(ibv_qp* qp) override {
    auto* ended = static_cast<FakeQp*>(qp);
    {
      const std::scoped_lock lock(fabric_.mutex());
      fabric_.remove(*ended);
    }
    --qp->send_cq->comp_events_completed;
    return end(ended);
  }
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override {
    const std::scoped_lock lock(fabric_.mutex());
    auto& changed = *static_cast<FakeQp*>(qp);
    if (const auto found = refused_.find(attributes->qp_state); found != refused_.end()) {
      return found->second;
    }
    switch (attributes->qp_state) {
      case IBV_QPS_INIT:
        return to_init(changed, *attributes, mask);
      case IBV_QPS_RTR:
        return to_ready_to_receive(changed, *attributes, mask);
      case IBV_QPS_RTS:
        return to_ready_to_send(changed, *attributes, mask);
      case IBV_QPS_ERR:
        fabric_.move_to_error(changed);
        return 0;
      default:
        return EINVAL;
    }
  }

  int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) override {
    const std::scoped_lock lock(fabric_.mutex());
    auto& posted = *static_cast<FakeQp*>(qp);
    ++send_calls;
    for (ibv_send_wr* request = first; request != nullptr; request = request->next) {
      *bad = request;
      if (posted.state != IBV_QPS_RTS && posted.state != IBV_QPS_ERR) return EINVAL;
      if (posted.occupied >= posted.cap.max_send_wr) {
        mistake("a send queue overflows");
        return ENOMEM;
      }
      ++posted.occupied;
      FakeSend send{*request, {request->sg_list, request->sg_list + request->num_sge}, {}};
      if ((request->send_flags & IBV_SEND_INLINE) != 0 && !take_inline(posted, send)) return EINVAL;
      if (posted.state == IBV_QPS_ERR) {
        fabric_.complete_send(posted, request->wr_id, IBV_WC_WR_FLUSH_ERR);
        continue;
      }
      posted.sends.push_back(std::move(send));
    }
    fabric_.activate(posted);
    return 0;
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) override {
    const std::scoped_lock lock(fabric_.mutex());
    auto& posted = *static_cast<FakeQp*>(qp);
    for (ibv_recv_wr* request = first; request != nullptr; request = request->next) {
      *bad = request;
      if (posted.state == IBV_QPS_RESET) return EINVAL;
      if (posted.receives.size() >= posted.cap.max_recv_wr) {
        mistake("a receive queue overflows");
        return ENOMEM;
      }
      posted.receives.push_back(*request);
    }
    return 0;
  }
  int poll_cq(ibv_cq* cq, int most, ibv_wc* completions) override {
    if (spec(cq->context).runs_by_itself) fabric_.step();
    const std::scoped_lock lock(fabric_.mutex());
    auto& polled = *static_cast<FakeCq*>(cq);
    if (polled.completions.empty()) return 0;
    const auto wanted = 1 + static_cast<int>(fabric_.draw(static_cast<std::uint64_t>(most)));
    int count = 0;
    for (; count < wanted && !polled.completions.empty(); ++count) {
      const FakeCompletion& next = polled.completions.front();
      completions[count] = next.completion;
      next.qp->occupied -= next.frees;
      polled.completions.pop_front();
    }
    return count;
  }
  int req_notify_cq(ibv_cq* cq) override {
    const std::scoped_lock lock(fabric_.mutex());
    static_cast<FakeCq*>(cq)->armed = true;
    return 0;
  }
  void drain_cq_events(ibv_comp_channel* channel) override {
    std::uint64_t count = 0;
    static_cast<void>(!read(channel->fd, &count, sizeof(count)));
  }
  int get_async_event(ibv_context* context, ibv_async_event* event) override {
    const std::scoped_lock lock(fabric_.mutex());
    auto& of = *static_cast<FakeContext*>(context);
    if (of.events.empty()) return EAGAIN;
    *event = of.events.front();
    of.events.pop_front();
    ++of.events_unacknowledged;
    last_event_of_ = &of;
    return 0;
  }
  void ack_async_event(ibv_async_event* /*event*/) override {
    --last_event_of_->events_unacknowledged;
  }

  // An event of all contexts of this library.
  void raise(ibv_event_type type) {
    for (FakeContext* context : contexts_) {
      ibv_async_event event{};
      event.event_type = type;
      context->events.push_back(event);
    }
  }

  int send_calls = 0;

 private:
  // Whether the host may, and so the fake.
  static bool host_reads(void* address) {
    std::byte first{};
    const iovec here{&first, 1};
    const iovec there{address, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
  }
  FakeMr* add_region(ibv_pd* pd, void* address, std::size_t length, unsigned access,
                     std::byte* seen) {
    auto* mr = make<FakeMr>();
    const std::scoped_lock lock(fabric_.mutex());
    mr->context = pd->context;
    mr->pd = pd;
    mr->addr = address;
    mr->start = reinterpret_cast<std::uint64_t>(address);
    mr->length = length;
    mr->access = access;
    mr->seen = seen;
    mr->lkey = mr->rkey = fabric_.next_number();
    fabric_.add(*mr);
    return mr;
  }
  template <typename T>
  T* make() {
    const std::scoped_lock lock(fabric_.mutex());
    ++fabric_.live_objects;
    return new T();
  }
  template <typename T>
  int end(T* object) {
    const std::scoped_lock lock(fabric_.mutex());
    --fabric_.live_objects;
    delete object;
    return 0;
  }
  template <typename T>
  static T* fail_with(int error) {
    errno = error;
    return nullptr;
  }
  void mistake(const char* what) { fabric_.mistakes.emplace_back(what); }
  static const FakeDeviceSpec& spec(const ibv_context* context) {
    return static_cast<const FakeContext*>(context)->of->spec;
  }
  static const FakePort& port(const ibv_context* context, std::uint8_t number) {
    return spec(context).ports.at(number - 1U);
  }

  // Required attributes [IBTA vol. 1, table 96, as ibv_modify_qp(3) lists them for RC].
  static bool has(int mask, int required) { return (mask & required) == required; }

  int to_init(FakeQp& qp, const ibv_qp_attr& attributes, int mask) {
    const int required = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (qp.state != IBV_QPS_RESET || !has(mask, required)) return EINVAL;
    if (attributes.port_num < 1 || attributes.port_num > spec(qp.context).ports.size()) {
      return EINVAL;
    }
    qp.attributes = attributes;
    qp.state = IBV_QPS_INIT;
    return 0;
  }
  int to_ready_to_receive(FakeQp& qp, const ibv_qp_attr& attributes, int mask) {
    const int required = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                         IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (qp.state != IBV_QPS_INIT || !has(mask, required)) return EINVAL;
    const FakePort& of = port(qp.context, qp.attributes.port_num);
    const ibv_ah_attr& address = attributes.ah_attr;
    if (attributes.path_mtu > of.active_mtu || address.port_num != qp.attributes.port_num) {
      return EINVAL;
    }
    if (of.link_layer == IBV_LINK_LAYER_ETHERNET) {
      if (address.is_global == 0 || address.grh.sgid_index >= of.gids.size()) return EINVAL;
      if (address.grh.hop_limit < 2) return EINVAL;  // would not pass a router
      if (fabric_.unreachable.contains(gid_text(address.grh.dgid))) return ETIMEDOUT;
    }
    const std::uint8_t access = static_cast<std::uint8_t>(qp.attributes.qp_access_flags);
    const std::uint8_t number = qp.attributes.port_num;
    qp.attributes = attributes;
    qp.attributes.qp_access_flags = access;
    qp.attributes.port_num = number;
    qp.state = IBV_QPS_RTR;
    return 0;
  }
  int to_ready_to_send(FakeQp& qp, const ibv_qp_attr& attributes, int mask) {
    const int required = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    if (qp.state != IBV_QPS_RTR || !has(mask, required)) return EINVAL;
    if (attributes.timeout > 31 || attributes.retry_cnt > 7 || attributes.rnr_retry > 7) {
      return EINVAL;
    }
    qp.attributes.sq_psn = attributes.sq_psn;
    qp.attributes.max_rd_atomic = attributes.max_rd_atomic;
    qp.state = IBV_QPS_RTS;
    return 0;
  }

  static bool take_inline(const FakeQp& qp, FakeSend& send) {
    for (const ibv_sge& piece : std::exchange(send.pieces, {})) {
      const auto* from = reinterpret_cast<const std::byte*>(piece.addr);
      send.inline_bytes.insert(send.inline_bytes.end(), from, from + piece.length);
    }
    return send.inline_bytes.size() <= qp.cap.max_inline_data;
  }

  FakeFabric& fabric_;
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::vector<ibv_device*> list_;
  std::vector<FakeContext*> contexts_;
  FakeContext* last_event_of_ = nullptr;
  std::map<ibv_qp_state, int> refused_;
};

}  // namespace gradhaul::fake
