#include "backends/verbs/rdma_rail.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gradhaul {
namespace {

RdmaRail open_rail(VerbsLibrary& verbs, const VerbsSettings& settings, VerbsPort port) {
  RdmaRail rail{std::move(port), {}, {}, 0};
  ibv_context* context = rail.port.context.get();
  errno = 0;
  rail.pd = ProtectionDomain(verbs.alloc_pd(context), {&verbs});
  if (!rail.pd) throw VerbsError("no protection domain: " + errno_text(errno));
  rail.gid =
      choose_gid(verbs, rail.pd.get(), rail.port.port, rail.port.attributes, settings.gid_index);
  std::uint16_t pkey = 0;
  const int error = verbs.query_pkey(context, rail.port.port, settings.pkey_index, &pkey);
  rail.pkey = ntohs(pkey);
  // The upper bit tells full members from limited ones, who can't speak to each other; 0 is an
  // empty entry [IBTA vol. 1, 10.9.1].
  if (error != 0 || (rail.pkey & 0x7fff) == 0) {
    throw VerbsError("no partition key at index " + std::to_string(settings.pkey_index) +
                     (error != 0 ? ": " + errno_text(error) : " (empty entry)"));
  }
  return rail;
}

void note_rail(const RdmaRail& rail, const VerbsSettings& settings,
               std::vector<std::string>& notes) {
  const std::string name = rail.port.name();
  if (rail.ethernet() && settings.traffic_class == 0) {
    notes.push_back(name +
                    ": traffic class 0 on RoCE: where switches have PFC or ECN for another "
                    "class, these packets get neither");
  }
  if ((rail.pkey & 0x8000) == 0) {
    notes.push_back(name + ": limited member of its partition: it reaches full members only");
  }
  const ibv_port_attr& attributes = rail.port.attributes;
  if (attributes.active_mtu < attributes.max_mtu) {
    notes.push_back(
        name + ": active MTU " + std::to_string(mtu_bytes(attributes.active_mtu)) + " of " +
        std::to_string(mtu_bytes(attributes.max_mtu)) +
        (rail.ethernet() ? ": follows the interface's MTU (4200 or more gives 4096)" : ""));
  }
}

[[noreturn]] void throw_without_rails(const VerbsSettings& settings, const PortSurvey& survey) {
  std::vector<std::string> skipped = survey.skipped;
  skipped.insert(skipped.end(), survey.left_out.begin(), survey.left_out.end());
  std::string text = settings.devices.empty()
                         ? "no RDMA port can be used"
                         : "no RDMA port of `" + settings.devices + "` can be used";
  for (const std::string& reason : skipped) text += "; " + reason;
  if (skipped.empty()) {
    text +=
        ": there is no RDMA device. It would take an RDMA NIC and its driver (ibv_devices "
        "lists what is there), or soft-RoCE: rdma link add rxe0 type rxe netdev NAME";
  }
  throw VerbsError(text);
}

}  // namespace

std::vector<RdmaRail> open_rails(VerbsLibrary& verbs, const VerbsSettings& settings,
                                 std::vector<std::string>& notes) {
  PortSurvey survey = survey_ports(verbs, DeviceFilter(settings.devices));
  std::vector<RdmaRail> rails;
  for (VerbsPort& port : survey.usable) {
    const std::string name = port.name();
    try {
      rails.push_back(open_rail(verbs, settings, std::move(port)));
      note_rail(rails.back(), settings, notes);
    } catch (const VerbsError& error) {
      survey.skipped.push_back(name + ": " + error.what());
    }
  }
  if (rails.empty()) throw_without_rails(settings, survey);
  for (const std::string& reason : survey.skipped) notes.push_back("not used: " + reason);
  return rails;
}

namespace {

ibv_mr* register_once(VerbsLibrary& verbs, const RdmaRail& rail, const RegisteredBytes& bytes,
                      unsigned access) {
  errno = 0;
  if (bytes.path != MemoryPath::kDmaBuf) {
    return verbs.reg_mr(rail.pd.get(), bytes.address, bytes.length, access);
  }
  const auto* const begin = static_cast<const std::byte*>(bytes.address);
  const DeviceMemory::DmaBuf shared = bytes.device->dma_buf({begin, bytes.length});
  if (shared.file < 0) throw VerbsError(shared.problem);
  ibv_mr* const region = verbs.reg_dmabuf_mr(
      rail.pd.get(), bytes.length, reinterpret_cast<std::uint64_t>(begin), shared.file, access);
  const int error = errno;
  close(shared.file);  // a registered region holds what it needs
  errno = error;
  return region;
}

const char* name_of(MemoryPath path) {
  switch (path) {
    case MemoryPath::kHost:
      return "host memory";
    case MemoryPath::kDmaBuf:
      return "a GPU's memory as a DMA-BUF";
    case MemoryPath::kPeerMemory:
      return "a GPU's memory as peer memory";
  }
  return "memory";
}

}  // namespace

MemoryRegion register_memory(VerbsLibrary& verbs, const RdmaRail& rail,
                             const RegisteredBytes& bytes, bool& relaxed) {
  const unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                          (bytes.read_back ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U);
  const unsigned with_order = access | (relaxed ? unsigned{IBV_ACCESS_RELAXED_ORDERING} : 0U);
  MemoryRegion region(register_once(verbs, rail, bytes, with_order), {&verbs});
  if (!region && relaxed) {
    relaxed = false;
    region = MemoryRegion(register_once(verbs, rail, bytes, access), {&verbs});
  }
  if (region) return region;
  const int error = errno;
  std::string text = rail.port.name() + " can't register " + std::to_string(bytes.length) +
                     " bytes of " + name_of(bytes.path) + ": " + errno_text(error);
  if (error == ENOMEM) text += ". Check the limit on locked memory (ulimit -l unlimited)";
  throw VerbsError(text);
}

}  // namespace gradhaul
