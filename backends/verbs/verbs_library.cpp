#include "backends/verbs/verbs_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace gradhaul {
namespace {

bool readable(int fd) {
  pollfd asked{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&asked, 1, 0) == 1;
}

// What libibverbs.h calls by a macro or an inline function has a name of its own in the library.
struct Calls {
  ibv_device** (*get_device_list)(int*);
  void (*free_device_list)(ibv_device**);
  const char* (*get_device_name)(ibv_device*);
  ibv_context* (*open_device)(ibv_device*);
  int (*close_device)(ibv_context*);
  int (*query_device)(ibv_context*, ibv_device_attr*);
  int (*query_port)(ibv_context*, std::uint8_t, _compat_ibv_port_attr*);
  int (*query_gid)(ibv_context*, std::uint8_t, int, ibv_gid*);
  int (*query_gid_ex)(ibv_context*, std::uint32_t, std::uint32_t, ibv_gid_entry*, std::uint32_t,
                      std::size_t);
  int (*query_pkey)(ibv_context*, std::uint8_t, int, __be16*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  int (*dealloc_pd)(ibv_pd*);
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int);
  ibv_mr* (*reg_mr_iova2)(ibv_pd*, void*, std::size_t, std::uint64_t, unsigned);
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int);
  int (*dereg_mr)(ibv_mr*);
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*);
  int (*destroy_ah)(ibv_ah*);
  ibv_comp_channel* (*create_comp_channel)(ibv_context*);
  int (*destroy_comp_channel)(ibv_comp_channel*);
  ibv_cq* (*create_cq)(ibv_context*, int, void*, ibv_comp_channel*, int);
  int (*destroy_cq)(ibv_cq*);
  int (*get_cq_event)(ibv_comp_channel*, ibv_cq**, void**);
  void (*ack_cq_events)(ibv_cq*, unsigned);
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  int (*destroy_qp)(ibv_qp*);
  int (*get_async_event)(ibv_context*, ibv_async_event*);
  void (*ack_async_event)(ibv_async_event*);
};

class OpenedLibrary final : public VerbsLibrary {
 public:
  // Stays open: drivers keep threads and handlers in it.
  explicit OpenedLibrary(void* library) : library_(library) {
    find("ibv_get_device_list", calls_.get_device_list);
    find("ibv_free_device_list", calls_.free_device_list);
    find("ibv_get_device_name", calls_.get_device_name);
    find("ibv_open_device", calls_.open_device);
    find("ibv_close_device", calls_.close_device);
    find("ibv_query_device", calls_.query_device);
    find("ibv_query_port", calls_.query_port);
    find("ibv_query_gid", calls_.query_gid);
    find_optional("_ibv_query_gid_ex", calls_.query_gid_ex);  // since rdma-core 32
    find("ibv_query_pkey", calls_.query_pkey);
    find("ibv_alloc_pd", calls_.alloc_pd);
    find("ibv_dealloc_pd", calls_.dealloc_pd);
    find("ibv_reg_mr", calls_.reg_mr);
    find_optional("ibv_reg_mr_iova2", calls_.reg_mr_iova2);    // since rdma-core 28
    find_optional("ibv_reg_dmabuf_mr", calls_.reg_dmabuf_mr);  // since rdma-core 34
    find("ibv_dereg_mr", calls_.dereg_mr);
    find("ibv_create_ah", calls_.create_ah);
    find("ibv_destroy_ah", calls_.destroy_ah);
    find("ibv_create_comp_channel", calls_.create_comp_channel);
    find("ibv_destroy_comp_channel", calls_.destroy_comp_channel);
    find("ibv_create_cq", calls_.create_cq);
    find("ibv_destroy_cq", calls_.destroy_cq);
    find("ibv_get_cq_event", calls_.get_cq_event);
    find("ibv_ack_cq_events", calls_.ack_cq_events);
    find("ibv_create_qp", calls_.create_qp);
    find("ibv_modify_qp", calls_.modify_qp);
    find("ibv_destroy_qp", calls_.destroy_qp);
    find("ibv_get_async_event", calls_.get_async_event);
    find("ibv_ack_async_event", calls_.ack_async_event);
  }

  ibv_device** get_device_list(int* count) override { return calls_.get_device_list(count); }
  void free_device_list(ibv_device** list) override { calls_.free_device_list(list); }
  const char* get_device_name(ibv_device* device) override {
    return calls_.get_device_name(device);
  }
  std::string pci_path(ibv_device* device) override {
    std::error_code none;
    const auto path = std::filesystem::canonical(
        std::filesystem::path(static_cast<const char*>(device->ibdev_path)) / "device", none);
    return none ? "" : path.string();
  }

  // A driver may refuse to block: the queue of asynchronous events is read while polling.
  ibv_context* open_device(ibv_device* device) override {
    ibv_context* context = calls_.open_device(device);
    if (context == nullptr) return nullptr;
    const int flags = fcntl(context->async_fd, F_GETFL);
    fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
    return context;
  }
  int close_device(ibv_context* context) override { return calls_.close_device(context); }
  int query_device(ibv_context* context, ibv_device_attr* attributes) override {
    return calls_.query_device(context, attributes);
  }
  // The library's own ibv_query_port fills the older, shorter struct; newer drivers have an
  // operation that fills all of it.
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) override {
    std::memset(attributes, 0, sizeof(*attributes));
    const verbs_context* extended = verbs_get_ctx(context);
    if (extended != nullptr &&
        extended->sz >= sizeof(*extended) - offsetof(verbs_context, query_port) &&
        extended->query_port != nullptr) {
      return extended->query_port(context, port, attributes, sizeof(*attributes));
    }
    return calls_.query_port(context, port, reinterpret_cast<_compat_ibv_port_attr*>(attributes));
  }
  int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                ibv_gid_entry* entry) override {
    if (calls_.query_gid_ex != nullptr) {
      const int error = calls_.query_gid_ex(context, port, index, entry, 0, sizeof(*entry));
      if (error != EOPNOTSUPP) return error;
    }
    *entry = {};
    entry->gid_index = index;
    entry->port_num = port;
    if (calls_.query_gid(context, port, static_cast<int>(index), &entry->gid) != 0) return errno;
    return gid_type_of(context, port, index, entry->gid_type);
  }
  int query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t* pkey) override {
    return calls_.query_pkey(context, port, index, pkey) == 0 ? 0 : errno;
  }

  ibv_pd* alloc_pd(ibv_context* context) override { return calls_.alloc_pd(context); }
  int dealloc_pd(ibv_pd* pd) override { return calls_.dealloc_pd(pd); }
  ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) override {
    if (calls_.reg_mr_iova2 != nullptr) {
      return calls_.reg_mr_iova2(pd, address, length, reinterpret_cast<std::uint64_t>(address),
                                 access);
    }
    return calls_.reg_mr(pd, address, length,
                         static_cast<int>(access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}));
  }
  ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::size_t length, std::uint64_t address, int file,
                        unsigned access) override {
    if (calls_.reg_dmabuf_mr == nullptr) {
      errno = EOPNOTSUPP;
      return nullptr;
    }
    return calls_.reg_dmabuf_mr(pd, 0, length, address, file, static_cast<int>(access));
  }
  int dereg_mr(ibv_mr* mr) override { return calls_.dereg_mr(mr); }
  ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) override {
    return calls_.create_ah(pd, attributes);
  }
  int destroy_ah(ibv_ah* ah) override { return calls_.destroy_ah(ah); }

  ibv_comp_channel* create_comp_channel(ibv_context* context) override {
    return calls_.create_comp_channel(context);
  }
  int destroy_comp_channel(ibv_comp_channel* channel) override {
    return calls_.destroy_comp_channel(channel);
  }
  ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) override {
    return calls_.create_cq(context, entries, nullptr, channel, 0);
  }
  int destroy_cq(ibv_cq* cq) override { return calls_.destroy_cq(cq); }
  ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) override {
    return calls_.create_qp(pd, attributes);
  }
  int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override {
    return calls_.modify_qp(qp, attributes, mask);
  }
  int destroy_qp(ibv_qp* qp) override { return calls_.destroy_qp(qp); }

  int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) override {
    return ibv_post_send(qp, first, bad);
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) override {
    return ibv_post_recv(qp, first, bad);
  }
  int poll_cq(ibv_cq* cq, int most, ibv_wc* completions) override {
    return ibv_poll_cq(cq, most, completions);
  }
  int req_notify_cq(ibv_cq* cq) override { return ibv_req_notify_cq(cq, 0); }
  void drain_cq_events(ibv_comp_channel* channel) override {
    while (readable(channel->fd)) {
      ibv_cq* cq = nullptr;
      void* cookie = nullptr;
      if (calls_.get_cq_event(channel, &cq, &cookie) != 0) return;
      calls_.ack_cq_events(cq, 1);
    }
  }
  int get_async_event(ibv_context* context, ibv_async_event* event) override {
    if (!readable(context->async_fd)) return EAGAIN;
    return calls_.get_async_event(context, event) == 0 ? 0 : errno;
  }
  void ack_async_event(ibv_async_event* event) override { calls_.ack_async_event(event); }

 private:
  template <typename Function>
  void find_optional(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
  }
  template <typename Function>
  void find(const char* name, Function*& function) {
    find_optional(name, function);
    if (function == nullptr) {
      throw VerbsError(std::string("libibverbs.so.1 has no ") + name +
                       ": rdma-core 15 or later is needed");
    }
  }

  static int gid_type_of(ibv_context* context, std::uint8_t port, std::uint32_t index,
                         std::uint32_t& type) {
    const auto path = std::filesystem::path(static_cast<const char*>(context->device->ibdev_path)) /
                      "ports" / std::to_string(port) / "gid_attrs/types" / std::to_string(index);
    std::ifstream file(path);
    std::string words;
    if (!std::getline(file, words)) return ENOENT;
    type = words == "RoCE v2"      ? IBV_GID_TYPE_ROCE_V2
           : words == "IB/RoCE v1" ? IBV_GID_TYPE_ROCE_V1
                                   : IBV_GID_TYPE_IB;
    return 0;
  }

  void* library_;
  Calls calls_{};
};

}  // namespace

std::unique_ptr<VerbsLibrary> open_verbs_library() {
  void* library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw VerbsError(std::string("libibverbs can't be opened: ") +
                     (reason == nullptr ? "no reason given" : reason) +
                     ". It is in the packages libibverbs1 and ibverbs-providers (rdma-core)");
  }
  return std::make_unique<OpenedLibrary>(library);
}

std::string errno_text(int error) {
  return std::generic_category().message(error) + " (" + std::to_string(error) + ")";
}

}  // namespace gradhaul
