#include "backends/host/nvml_library.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <utility>

namespace gradhaul {
namespace {

// nvml.h, nvmlPciInfo_t.
struct PciInfo {
  std::array<char, 16> legacy_address;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  std::array<char, 32> address;
};

constexpr int kUncorrected = 1;        // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr int kSinceDriverStart = 0;   // NVML_VOLATILE_ECC
constexpr int kFunctionNotFound = 13;  // NVML_ERROR_FUNCTION_NOT_FOUND

struct Calls {
  int (*init)();
  int (*shutdown)();
  int (*get_count)(unsigned*);
  int (*get_handle)(unsigned, NvmlDevice*);
  int (*get_pci_info)(NvmlDevice, PciInfo*);
  int (*get_link_state)(NvmlDevice, unsigned, int*);
  int (*get_link_errors)(NvmlDevice, unsigned, int, unsigned long long*);
  int (*get_throttle_reasons)(NvmlDevice, unsigned long long*);
  int (*get_ecc_errors)(NvmlDevice, int, int, unsigned long long*);
  int (*get_replays)(NvmlDevice, unsigned*);
  const char* (*error_string)(int);
};

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

class OpenedNvml final : public NvmlLibrary {
 public:
  explicit OpenedNvml(const Calls& calls) : calls_(calls) {}
  ~OpenedNvml() override { calls_.shutdown(); }
  OpenedNvml(const OpenedNvml&) = delete;
  OpenedNvml& operator=(const OpenedNvml&) = delete;

  int device_count(unsigned& count) override { return calls_.get_count(&count); }
  int device_by_index(unsigned index, NvmlDevice& device) override {
    return calls_.get_handle(index, &device);
  }
  int pci_bus_id(NvmlDevice device, std::string& address) override {
    PciInfo info{};
    const int error = calls_.get_pci_info(device, &info);
    address.assign(info.address.data(), strnlen(info.address.data(), info.address.size()));
    return error;
  }
  int nvlink_active(NvmlDevice device, unsigned link, bool& active) override {
    int state = 0;
    const int error = call(calls_.get_link_state, device, link, &state);
    active = state == 1;  // NVML_FEATURE_ENABLED
    return error;
  }
  int nvlink_errors(NvmlDevice device, unsigned link, unsigned kind,
                    std::uint64_t& count) override {
    unsigned long long value = 0;
    const int error = call(calls_.get_link_errors, device, link, static_cast<int>(kind), &value);
    count = value;
    return error;
  }
  int throttle_reasons(NvmlDevice device, std::uint64_t& reasons) override {
    unsigned long long value = 0;
    const int error = call(calls_.get_throttle_reasons, device, &value);
    reasons = value;
    return error;
  }
  int uncorrected_errors(NvmlDevice device, std::uint64_t& count) override {
    unsigned long long value = 0;
    const int error = call(calls_.get_ecc_errors, device, kUncorrected, kSinceDriverStart, &value);
    count = value;
    return error;
  }
  int pcie_replays(NvmlDevice device, unsigned& count) override {
    return call(calls_.get_replays, device, &count);
  }

 private:
  // Older libraries lack some.
  template <typename Function, typename... Arguments>
  static int call(Function* function, Arguments... arguments) {
    return function == nullptr ? kFunctionNotFound : function(arguments...);
  }

  Calls calls_;
};

}  // namespace

std::unique_ptr<NvmlLibrary> open_nvml(std::string& why_not) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    why_not = std::string("it can't be opened: ") + (reason == nullptr ? "no reason" : reason);
    return nullptr;
  }
  Calls calls{};
  const bool all = find(library, "nvmlInit_v2", calls.init) &&
                   find(library, "nvmlShutdown", calls.shutdown) &&
                   find(library, "nvmlDeviceGetCount_v2", calls.get_count) &&
                   find(library, "nvmlDeviceGetHandleByIndex_v2", calls.get_handle) &&
                   find(library, "nvmlDeviceGetPciInfo_v3", calls.get_pci_info) &&
                   find(library, "nvmlErrorString", calls.error_string);
  if (!all) {
    why_not = "it lacks calls that drivers have from 390 on";
    return nullptr;
  }
  find(library, "nvmlDeviceGetNvLinkState", calls.get_link_state);
  find(library, "nvmlDeviceGetNvLinkErrorCounter", calls.get_link_errors);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", calls.get_throttle_reasons);
  find(library, "nvmlDeviceGetTotalEccErrors", calls.get_ecc_errors);
  find(library, "nvmlDeviceGetPcieReplayCounter", calls.get_replays);
  if (const int error = calls.init(); error != kNvmlSuccess) {
    why_not = std::string("it does not start: ") + calls.error_string(error);
    return nullptr;
  }
  return std::make_unique<OpenedNvml>(calls);
}

}  // namespace gradhaul
