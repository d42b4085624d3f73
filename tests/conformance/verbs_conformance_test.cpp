#include "tests/conformance/transport_conformance.h"
#include "tests/conformance/verbs_harness.h"

namespace gradhaul::conformance {
namespace {

using Verbs = testing::Types<AlternatingVerbs, SplittingVerbs, ApartVerbs, ReadBackVerbs>;
INSTANTIATE_TYPED_TEST_SUITE_P(FakeVerbs, TransportConformance, Verbs);

}  // namespace
}  // namespace gradhaul::conformance
