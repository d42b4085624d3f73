#include "backends/cuda/ipc_slots.h"

#include <algorithm>

#include "backends/bootstrap/wire_bytes.h"
#include "backends/cuda/gpu_slot_copier.h"

namespace gradhaul {
namespace {

// What this process has open of another's memory.
class OpenedAddress {
 public:
  OpenedAddress(const CudaDriver& driver, CudaAddress address)
      : driver_(driver), address_(address) {}
  ~OpenedAddress() { driver_.close_ipc_handle(address_); }
  OpenedAddress(const OpenedAddress&) = delete;
  OpenedAddress& operator=(const OpenedAddress&) = delete;

 private:
  const CudaDriver& driver_;
  CudaAddress address_;
};

}  // namespace

DeviceSlots::Offer IpcSlots::offer() {
  const CudaDevice& device = memory_.device();
  Offer offer;
  offer.kept = memory_.slots();
  CudaIpcHandle handle;
  const CudaAddress address = address_of(memory_.slots()->bytes().data());
  const CudaResult result = device.driver().ipc_handle(&handle, address);
  if (result != kCudaSuccess) {
    offer.problem = name_of(device.gpu()) + " gives no handle of its memory (CUDA IPC): " +
                    error_text(device.driver(), result);
    return offer;
  }
  WireWriter writer;
  writer.raw(std::as_bytes(std::span(handle.bytes)));
  writer.text(name_of(device.gpu()));
  offer.handle = writer.bytes();
  return offer;
}

DeviceSlots::Opened IpcSlots::open(std::span<const std::byte> offered, Bytes size) {
  const CudaDevice& device = memory_.device();
  WireReader reader(offered);
  CudaIpcHandle handle;
  std::ranges::copy(reader.raw(sizeof handle.bytes),
                    std::as_writable_bytes(std::span(handle.bytes)).begin());
  const std::string theirs = reader.text();
  Opened opened;
  CudaAddress address = 0;
  const CudaResult result = device.driver().open_ipc_handle(&address, handle, kCudaIpcPeerAccess);
  if (result != kCudaSuccess) {
    opened.problem = name_of(device.gpu()) + " can't open memory of its " + theirs +
                     " (CUDA IPC): " + error_text(device.driver(), result);
    return opened;
  }
  opened.slots = {reinterpret_cast<std::byte*>(address), static_cast<std::size_t>(size.count)};
  opened.open = std::make_shared<OpenedAddress>(device.driver(), address);
  return opened;
}

std::unique_ptr<SlotCopier> IpcSlots::copier(std::size_t connections) {
  return std::make_unique<GpuSlotCopier>(memory_.device(), connections);
}

}  // namespace gradhaul
