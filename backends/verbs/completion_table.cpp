#include "backends/verbs/completion_table.h"

#include <algorithm>
#include <array>

namespace gradhaul {
namespace {

const std::array<CompletionMeaning, 14> kMeanings{{
    {IBV_WC_LOC_LEN_ERR,
     "local length error",
     "a message is longer than the port or the receive takes",
     {"slot_size against the port's max_msg_sz (ibv_devinfo -v)",
      "that both ranks use one slot_size"}},
    {IBV_WC_LOC_QP_OP_ERR,
     "local QP operation error",
     "the queue pair refused the work request itself",
     {"the driver's messages (dmesg)", "inline_bytes against what the device allows"}},
    {IBV_WC_LOC_PROT_ERR,
     "local protection error",
     "the NIC could not read or write this rank's own buffer",
     {"ACS or an IOMMU that redirects peer traffic, if the buffer is GPU memory (vendor error "
      "0x51)",
      "that the memory was not freed or remapped since it was registered",
      "the limit on locked memory (ulimit -l)"}},
    {IBV_WC_WR_FLUSH_ERR,
     "Work Request Flushed Error",
     "the queue pair was already in error: this follows from another failure, and is none itself",
     {"the first failure of this and the other ranks"}},
    {IBV_WC_BAD_RESP_ERR,
     "bad response error",
     "the peer answered with what does not belong to the request",
     {"firmware of both NICs", "packets left over from an earlier connection"}},
    {IBV_WC_LOC_ACCESS_ERR,
     "local access error",
     "a buffer of this rank is not registered for what the NIC was to do with it",
     {"that the memory was not freed or remapped since it was registered"}},
    {IBV_WC_REM_INV_REQ_ERR,
     "remote invalid request error",
     "the peer's NIC took the request for malformed: longer than its receive, or an operation "
     "that "
     "its queue pair does not allow",
     {"that both ranks use one slot_size and one version of this program",
      "the kernel, if this is soft-RoCE before 6.12: its rxe answers retransmissions so"}},
    {IBV_WC_REM_ACCESS_ERR,
     "remote access error",
     "the peer's NIC refused the address or the rkey: the slot is not registered there for "
     "remote "
     "writes",
     {"that the peer's endpoint still stands, and its memory was not deregistered",
      "that both ranks use one slot_size and as many slots",
      "that connections and devices of both ranks are matched (an rkey belongs to one device)"}},
    {IBV_WC_REM_OP_ERR,
     "remote operation error",
     "the peer's NIC failed inside, mostly in reaching the peer's memory",
     {"ACS or an IOMMU on the peer's host, if the memory is GPU memory",
      "the peer's driver messages (dmesg)"}},
    {IBV_WC_RETRY_EXC_ERR,
     "transport retry counter exceeded",
     "the peer's NIC acknowledged nothing through all retries",
     {"whether the peer's process still runs: read its messages first",
      "that GID types and VLANs of both ends belong together",
      "that a packet of this MTU passes the network (ping -M do -s MTU)",
      "link state and errors of both ports and of the switches between them",
      "pause frames (ethtool -S): a PFC storm stops everything"}},
    {IBV_WC_RNR_RETRY_EXC_ERR,
     "RNR retry counter exceeded",
     "the peer had no receive posted; this program posts as many as there are slots before it "
     "begins, so this is a fault of its credits",
     {"that both ranks use as many slots and one version of this program"}},
    {IBV_WC_REM_ABORT_ERR,
     "aborted error",
     "the peer's NIC aborted the operation",
     {"the peer's driver messages (dmesg)"}},
    {IBV_WC_FATAL_ERR,
     "fatal error",
     "the device failed",
     {"the driver's messages (dmesg)", "firmware and temperature of the NIC"}},
    {IBV_WC_GENERAL_ERR,
     "general error",
     "the device reports an error of no other kind",
     {"the driver's messages (dmesg)"}},
}};

}  // namespace

CompletionMeaning meaning_of(ibv_wc_status status) {
  const auto* found = std::ranges::find(kMeanings, status, &CompletionMeaning::status);
  if (found != kMeanings.end()) return *found;
  return {status, "unexpected status", "reliable connections do not answer so", {"dmesg"}};
}

}  // namespace gradhaul
