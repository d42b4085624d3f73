#include "tests/conformance/loopback_harness.h"
#include "tests/conformance/transport_conformance.h"

namespace gradhaul::conformance {
namespace {

using Loopbacks = testing::Types<FifoLoopback, RandomLoopback, StarvingLoopback>;
INSTANTIATE_TYPED_TEST_SUITE_P(Loopback, TransportConformance, Loopbacks);

}  // namespace
}  // namespace gradhaul::conformance
