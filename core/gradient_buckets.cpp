#include "core/gradient_buckets.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

std::vector<GradientBucket> fill_buckets(const std::vector<std::int64_t>& tensors, Bytes element,
                                         const BucketSettings& settings) {
  std::vector<GradientBucket> buckets;
  GradientBucket open;
  const auto limit = [&] {
    const Bytes size = buckets.empty() ? settings.first : settings.size;
    return std::max<std::int64_t>(size.count / element.count, 1);
  };
  const auto close = [&] {
    buckets.push_back(std::move(open));
    open = {};
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::int64_t left = tensors[i]; left > 0;) {
      const std::int64_t taken =
          settings.split_tensors ? std::min(left, limit() - open.elements) : left;
      GRADHAUL_ASSERT(taken > 0, "an open bucket has room");
      open.parts.push_back({static_cast<int>(i), taken});
      open.elements += taken;
      left -= taken;
      if (open.elements >= limit()) close();
    }
  }
  if (open.elements > 0) close();
  return buckets;
}

}  // namespace gradhaul
