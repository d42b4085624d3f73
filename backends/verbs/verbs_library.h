#pragma once

// The calls of libibverbs that this backend makes, so that the library can be opened at run time
// and a fake can stand in its place. Names, arguments and results are the library's own
// (rdma-core, libibverbs/verbs.h): a pointer, null with errno set; or an int, 0 or an errno. What
// is inline in that header goes through the operations of a context, as it does there.

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/verbs/verbs_error.h"

namespace gradhaul {

class VerbsLibrary {
 public:
  virtual ~VerbsLibrary() = default;

  virtual ibv_device** get_device_list(int* count) = 0;
  virtual void free_device_list(ibv_device** list) = 0;
  virtual const char* get_device_name(ibv_device* device) = 0;
  // Where the device hangs, for an order that is the same after each boot; empty: unknown.
  virtual std::string pci_path(ibv_device* device) = 0;

  virtual ibv_context* open_device(ibv_device* device) = 0;
  virtual int close_device(ibv_context* context) = 0;
  virtual int query_device(ibv_context* context, ibv_device_attr* attributes) = 0;
  virtual int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) = 0;
  // Also its kind. An errno where the entry is empty, or belongs to another network namespace.
  virtual int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                        ibv_gid_entry* entry) = 0;
  virtual int query_pkey(ibv_context* context, std::uint8_t port, int index,
                         std::uint16_t* pkey) = 0;

  virtual ibv_pd* alloc_pd(ibv_context* context) = 0;
  virtual int dealloc_pd(ibv_pd* pd) = 0;
  // Optional access flags (IBV_ACCESS_RELAXED_ORDERING) are dropped where the kernel knows none.
  virtual ibv_mr* reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) = 0;
  // Memory of a device, by a file that shares it; EOPNOTSUPP where library or kernel know of none.
  virtual ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::size_t length, std::uint64_t address, int file,
                                unsigned access) = 0;
  virtual int dereg_mr(ibv_mr* mr) = 0;
  virtual ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) = 0;
  virtual int destroy_ah(ibv_ah* ah) = 0;

  virtual ibv_comp_channel* create_comp_channel(ibv_context* context) = 0;
  virtual int destroy_comp_channel(ibv_comp_channel* channel) = 0;
  virtual ibv_cq* create_cq(ibv_context* context, int entries, ibv_comp_channel* channel) = 0;
  virtual int destroy_cq(ibv_cq* cq) = 0;
  virtual ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) = 0;
  virtual int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) = 0;
  virtual int destroy_qp(ibv_qp* qp) = 0;

  virtual int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) = 0;
  virtual int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) = 0;
  // How many, or less than 0.
  virtual int poll_cq(ibv_cq* cq, int most, ibv_wc* completions) = 0;
  virtual int req_notify_cq(ibv_cq* cq) = 0;
  // Takes the events that wait in the channel, and acknowledges them. Does not block.
  virtual void drain_cq_events(ibv_comp_channel* channel) = 0;
  // EAGAIN where none waits. Each that was got has to be acknowledged after use.
  virtual int get_async_event(ibv_context* context, ibv_async_event* event) = 0;
  virtual void ack_async_event(ibv_async_event* event) = 0;
};

// Opens libibverbs.so.1; throws VerbsError, saying what it would take.
std::unique_ptr<VerbsLibrary> open_verbs_library();

// "Cannot allocate memory (12)"
std::string errno_text(int error);

}  // namespace gradhaul
