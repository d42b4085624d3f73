// Counters of real ports under the names of a prediction's.

#include "backends/measure/measured_counters.h"

#include <gmock/gmock.h>

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::Pair;

TEST(MeasuredCounters, AreTheFirstRanksOfEachNode) {
  const std::string first = counted_text({{"mlx5_0:1/packet_seq_err", 3},
                                          {"mlx5_0:1/port_xmit_data", 1000},
                                          {"mlx5_3:1/np_cnp_sent", 7}});
  const std::string again = counted_text({{"mlx5_0:1/packet_seq_err", 4}});
  const std::string other = counted_text({{"mlx5_1:1/port_xmit_data", 900}});
  const std::vector<PortCounters> counters =
      counters_of_ranks({first, again, other, "no counter"}, {0, 0, 1, 2});
  ASSERT_THAT(counters, ElementsAre(Field(&PortCounters::port, "node0.nic0"),
                                    Field(&PortCounters::port, "node0.nic1"),
                                    Field(&PortCounters::port, "node1.nic0")));
  EXPECT_THAT(counters[0].as_on_host,
              ElementsAre(Pair("packet_seq_err", 3), Pair("port_xmit_data", 1000)));
  EXPECT_THAT(counters[1].as_on_host, ElementsAre(Pair("np_cnp_sent", 7)));
  EXPECT_THAT(counters[2].as_on_host, ElementsAre(Pair("port_xmit_data", 900)));
}

// A port that was idle in a row keeps its place among its node's.
TEST(MeasuredCounters, GrowOrStay) {
  const CountedAtPorts grown =
      growth({{"mlx5_0:1/port_xmit_data", 10}, {"mlx5_1:1/port_xmit_data", 20}},
             {{"mlx5_0:1/port_xmit_data", 10},
              {"mlx5_1:1/port_xmit_data", 25},
              {"mlx5_1:1/rdma_sends", 0}});
  EXPECT_THAT(grown,
              ElementsAre(Pair("mlx5_0:1/port_xmit_data", 0), Pair("mlx5_1:1/port_xmit_data", 5),
                          Pair("mlx5_1:1/rdma_sends", 0)));
  const std::vector<PortCounters> counters = counters_of_ranks({counted_text(grown)}, {0});
  // And a counter that predictions know tells by its 0 that it is there.
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_THAT(counters[0].as_on_host, ElementsAre(Pair("port_xmit_data", 0)));
  EXPECT_EQ(counters[1].port, "node0.nic1");
  EXPECT_THAT(counters[1].as_on_host, ElementsAre(Pair("port_xmit_data", 5)));
}

// Of soft-RoCE, whose names are others.
TEST(MeasuredCounters, TellZerosOfWhatIsPredictedByAnotherName) {
  const std::vector<PortCounters> counters =
      counters_of_ranks({counted_text({{"rxe0:1/rcvd_seq_err", 0}, {"rxe0:1/send_err", 0}})}, {0});
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_THAT(counters[0].as_on_host, ElementsAre(Pair("rcvd_seq_err", 0)));
}

}  // namespace
}  // namespace gradhaul
