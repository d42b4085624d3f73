#include "core/parallel_groups.h"

#include <numeric>

#include "core/assert.h"

namespace gradhaul {
namespace {

std::vector<std::vector<Rank>> tensor_groups(const ParallelLayout& layout, int stage) {
  std::vector<std::vector<Rank>> groups;
  for (int d = 0; d < layout.data; ++d) {
    std::vector<Rank>& group = groups.emplace_back();
    for (int t = 0; t < layout.tensor; ++t) group.push_back(layout.rank_at(t, d, stage));
  }
  return groups;
}

std::vector<std::vector<Rank>> data_groups(const ParallelLayout& layout, int stage) {
  std::vector<std::vector<Rank>> groups;
  for (int t = 0; t < layout.tensor; ++t) {
    std::vector<Rank>& group = groups.emplace_back();
    for (int d = 0; d < layout.data; ++d) group.push_back(layout.rank_at(t, d, stage));
  }
  return groups;
}

std::vector<std::vector<Rank>> pipeline_pairs(const ParallelLayout& layout, int stage) {
  std::vector<std::vector<Rank>> groups;
  if (stage + 1 == layout.pipeline) return groups;
  for (int d = 0; d < layout.data; ++d) {
    for (int t = 0; t < layout.tensor; ++t) {
      groups.push_back({layout.rank_at(t, d, stage), layout.rank_at(t, d, stage + 1)});
    }
  }
  return groups;
}

}  // namespace

std::vector<std::vector<Rank>> parallel_groups(const ParallelLayout& layout, GroupKind kind,
                                               int stage) {
  GRADHAUL_ASSERT(stage >= 0 && stage < layout.pipeline, "there is such a stage");
  switch (kind) {
    case GroupKind::kTensor:
      return tensor_groups(layout, stage);
    case GroupKind::kData:
      return data_groups(layout, stage);
    case GroupKind::kPipeline:
      return pipeline_pairs(layout, stage);
    case GroupKind::kAll:
      break;
  }
  std::vector<Rank> all(static_cast<std::size_t>(layout.ranks()));
  std::iota(all.begin(), all.end(), 0);
  return {all};
}

}  // namespace gradhaul
