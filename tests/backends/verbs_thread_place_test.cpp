// That a rank's thread is placed for the NIC that its connections go by, before these are made.

#include <gmock/gmock.h>

#include <map>

#include "backends/cpu/host_rank_memory.h"
#include "backends/measure/rank_failed.h"
#include "backends/verbs/opened_verbs.h"
#include "backends/verbs/verbs_endpoint_maker.h"
#include "tests/fake_verbs/joined_ranks.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSlots = 2;
constexpr Bytes kSlotSize{1024};

// Two ranks with two NICs each.
class PlacedPair {
 public:
  using Placer = VerbsEndpointMaker::Placer;

  explicit PlacedPair(const Placer& of_rank1) {
    for (Rank rank = 0; rank < 2; ++rank) {
      ranks_.push_back(std::make_unique<OneRank>(*this, rank, rank == 1 ? of_rank1 : Placer{}));
    }
  }
  // A connection from rank 0 to rank 1 by this NIC of both; what each rank says of a failure.
  std::vector<std::string> join(int nic) {
    nic_ = nic;
    std::vector<std::string> errors(2);
    fake::for_ranks_at_once(2, [&](Rank rank) {
      OneRank& one = *ranks_[static_cast<std::size_t>(rank)];
      one.memory.prepare({.input = {64}, .output = {64}, .slots = kSlotSize * kSlots});
      one.endpoint.reset();
      try {
        one.endpoint = one.maker.make({.connections = {{{0, 0, 1, 0}, rank == 0, {}}},
                                       .memory = one.memory.regions(),
                                       .slots = kSlots,
                                       .slot_size = kSlotSize});
      } catch (const RankFailed& failed) {
        errors[static_cast<std::size_t>(rank)] = failed.failure().what;
      }
    });
    return errors;
  }
  std::map<std::string, std::string> facts(std::size_t rank) const {
    const auto facts = ranks_[rank]->endpoint->facts();
    return {facts.begin(), facts.end()};
  }
  std::vector<std::string> notes(std::size_t rank) const { return ranks_[rank]->maker.notes(); }

 private:
  struct OneRank {
    OneRank(PlacedPair& pair, Rank rank, const Placer& placer)
        : exchange(pair.hub_, rank),
          maker(
              exchange, fake::JoinedRanks::no_deadline(),
              [&pair](const ConnectionEnd& /*end*/) { return pair.nic_; },
              [&pair, rank](const VerbsSettings& settings) {
                std::vector<fake::FakeDeviceSpec> nics;
                for (int nic = 0; nic < 2; ++nic) {
                  fake::FakeDeviceSpec& spec = nics.emplace_back(fake::roce_host(2 * nic + rank));
                  spec.name = "mlx5_" + std::to_string(nic);
                  spec.pci_path = "/pci/" + std::to_string(nic);
                }
                return std::make_unique<OpenedVerbs>(
                    std::make_unique<fake::FakeVerbs>(pair.fabric_, nics), settings);
              },
              placer) {}
    fake::MemoryExchange exchange;
    HostRankMemory memory;
    VerbsEndpointMaker maker;
    std::unique_ptr<Endpoint> endpoint;
  };

  fake::FakeFabric fabric_;
  fake::MemoryExchangeHub hub_{2};
  int nic_ = 0;
  std::vector<std::unique_ptr<OneRank>> ranks_;
};

TEST(VerbsThreadPlace, IsThatOfTheNic) {
  std::vector<std::string> asked;
  PlacedPair pair([&](const ServedDevice& device) {
    asked.push_back(device.name + " " + device.folder);
    return ThreadPlace{"0-15", "those of NUMA node 0, where " + device.name + " is"};
  });
  EXPECT_THAT(pair.join(0), ElementsAre("", ""));
  EXPECT_EQ(pair.facts(1)["thread"], "processors 0-15: those of NUMA node 0, where mlx5_0 is");
  EXPECT_FALSE(pair.facts(0).contains("thread"));
  EXPECT_THAT(pair.join(0), ElementsAre("", ""));
  EXPECT_THAT(pair.join(1), ElementsAre("", ""));
  // Once for each NIC after another.
  EXPECT_THAT(asked, ElementsAre("mlx5_0 /pci/0", "mlx5_1 /pci/1"));
}

TEST(VerbsThreadPlace, IsNotedWhereItIsAmiss) {
  PlacedPair pair([](const ServedDevice& /*device*/) {
    return ThreadPlace{"", "none of processors 0-15 is among those of this process", true};
  });
  EXPECT_THAT(pair.join(0), ElementsAre("", ""));
  EXPECT_THAT(pair.notes(1), testing::Contains("its thread may run anywhere: none of processors "
                                               "0-15 is among those of this process"));
}

TEST(VerbsThreadPlace, ThatCannotBeEndsAllRanks) {
  PlacedPair pair([](const ServedDevice& /*device*/) -> ThreadPlace {
    throw ThreadPlaceError("other_socket: there is none");
  });
  EXPECT_THAT(pair.join(0),
              ElementsAre(HasSubstr("thread_placement: other_socket: there is none"),
                          HasSubstr("thread_placement: other_socket: there is none")));
}

}  // namespace
}  // namespace gradhaul
