// Holds queue pairs that lead nowhere: one in each of RESET, INIT and ERR, and one for datagrams in
// RESET. Prints "ready" once they are there, and keeps them until its standard input ends.
//
//   stuck_pairs DEVICE

#include <cstdio>
#include <cstring>
#include <vector>

#include "backends/verbs/verbs_objects.h"

namespace gradhaul {
namespace {

// What a call answered: null or an errno where it failed.
template <typename T>
T* made(T* object, const char* call) {
  if (object == nullptr) throw VerbsError(std::string(call) + " fails");
  return object;
}

void modify(VerbsLibrary& verbs, ibv_qp* qp, ibv_qp_state state, int more) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = 1;
  if (verbs.modify_qp(qp, &attributes, IBV_QP_STATE | more) != 0) {
    throw VerbsError("ibv_modify_qp fails");
  }
}

DeviceContext open_named(VerbsLibrary& verbs, const char* name) {
  int count = 0;
  ibv_device** list = made(verbs.get_device_list(&count), "ibv_get_device_list");
  DeviceContext context(nullptr, {&verbs});
  for (int i = 0; i < count && !context; ++i) {
    if (std::strcmp(verbs.get_device_name(list[i]), name) == 0) {
      context.reset(verbs.open_device(list[i]));
    }
  }
  verbs.free_device_list(list);
  made(context.get(), "ibv_open_device");
  return context;
}

void hold(const char* device) {
  constexpr int kToInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  const auto verbs = open_verbs_library();
  const DeviceContext context = open_named(*verbs, device);
  const ProtectionDomain pd(made(verbs->alloc_pd(context.get()), "ibv_alloc_pd"), {verbs.get()});
  const CompletionQueue cq(made(verbs->create_cq(context.get(), 16, nullptr), "ibv_create_cq"),
                           {verbs.get()});
  std::vector<QueuePair> pairs;
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UD}) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq.get();
    attributes.qp_type = type;
    attributes.cap = {4, 4, 1, 1, 0};
    pairs.emplace_back(made(verbs->create_qp(pd.get(), &attributes), "ibv_create_qp"),
                       VerbsDeleter<ibv_qp, &VerbsLibrary::destroy_qp>{verbs.get()});
  }
  modify(*verbs, pairs[1].get(), IBV_QPS_INIT, kToInit);
  modify(*verbs, pairs[2].get(), IBV_QPS_INIT, kToInit);
  modify(*verbs, pairs[2].get(), IBV_QPS_ERR, 0);
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

}  // namespace
}  // namespace gradhaul

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    gradhaul::hold(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stuck_pairs: %s\n", error.what());
    return 1;
  }
  return 0;
}
