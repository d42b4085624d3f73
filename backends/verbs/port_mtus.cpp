#include "backends/verbs/port_mtus.h"

// Without the header of libibverbs most other files of this folder are left out of the build.
#if __has_include(<infiniband/verbs.h>)
#include "backends/verbs/rdma_ports.h"

namespace gradhaul {

AskedMtus ask_for_mtus() {
  try {
    return ask_for_mtus(*open_verbs_library());
  } catch (const VerbsError& error) {
    return {{}, {error.what()}};
  }
}

AskedMtus ask_for_mtus(VerbsLibrary& verbs) {
  AskedMtus asked;
  try {
    const PortSurvey survey = survey_ports(verbs, DeviceFilter(""));
    for (const VerbsPort& port : survey.usable) {
      asked.ports.push_back({port.device, port.port, mtu_bytes(port.attributes.active_mtu),
                             mtu_bytes(port.attributes.max_mtu)});
    }
    asked.missing = survey.skipped;
  } catch (const VerbsError& error) {
    asked.missing = {error.what()};
  }
  return asked;
}

}  // namespace gradhaul

#else

namespace gradhaul {

AskedMtus ask_for_mtus() {
  return {{}, {"this program was built without RDMA verbs: infiniband/verbs.h was missing"}};
}

}  // namespace gradhaul

#endif
