#pragma once

// What RDMA ports tell of their MTUs by verbs; no file does. No header of libibverbs is needed
// here: where the program was built without it, or it is missing at run time, it is said why.

#include <string>
#include <vector>

namespace gradhaul {

class VerbsLibrary;

struct PortMtus {
  std::string device;
  int port = 1;
  int active = 0;  // bytes of payload
  int most = 0;    // that it could have
};

struct AskedMtus {
  std::vector<PortMtus> ports;       // those that are ACTIVE
  std::vector<std::string> missing;  // why others are not here: "mlx5_1: can't be opened: …"
};

// Opens the library.
AskedMtus ask_for_mtus();
AskedMtus ask_for_mtus(VerbsLibrary& verbs);

}  // namespace gradhaul
