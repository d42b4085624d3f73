#include "tests/conformance/gpu_harness.h"
#include "tests/conformance/memory_harness.h"
#include "tests/conformance/node_harness.h"
#include "tests/conformance/tcp_harness.h"
#include "tests/conformance/transport_conformance.h"

namespace gradhaul::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(GpuCopies, TransportConformance, GpuHarness<false>);
INSTANTIATE_TYPED_TEST_SUITE_P(GpuStaged, TransportConformance, GpuHarness<true>);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, TransportConformance, MemoryHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Node, TransportConformance, NodeHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, TransportConformance, TcpHarness);

}  // namespace
}  // namespace gradhaul::conformance
