#include "core/uncertainty.h"

#include <cmath>
#include <cstdint>

namespace gradhaul {
namespace {

double squared(Duration duration) {
  const auto length = static_cast<double>(duration.ps);
  return length * length;
}

Duration root(double sum) { return {std::llround(std::sqrt(sum))}; }

}  // namespace

Uncertainty combined(Duration time, const std::vector<EstimateEffect>& effects) {
  Uncertainty result;
  result.tried = static_cast<int>(effects.size());
  double below = 0;
  double above = 0;
  for (const EstimateEffect& effect : effects) {
    below += squared(time - effect.least(time));
    above += squared(effect.most(time) - time);
    if (effect.least(time) < effect.most(time)) result.effects.push_back(effect);
  }
  result.low = std::max(time - root(below), Duration{});
  result.high = time + root(above);
  std::stable_sort(result.effects.begin(), result.effects.end(),
                   [time](const EstimateEffect& a, const EstimateEffect& b) {
                     return a.most(time) - a.least(time) > b.most(time) - b.least(time);
                   });
  return result;
}

}  // namespace gradhaul
