#pragma once

// Parts of a cluster that are alike, and what is where as seen from one of them. Where a run is
// symmetric (sim/symmetry.h), one part is simulated for all its copies. A copy is an element of a
// group Z_m x Z_n, the simulated part being 0; what lies `by` copies on from something is seen
// from there. A resource with the copy it is in is one number, copy * resources + resource, so that
// it is what it always was where there is one copy only.

#include <cstdint>

#include "sim/fabric.h"

namespace gradhaul {

class Copies {
 public:
  Copies() = default;
  Copies(int first, int second, ResourceId resources)
      : first_(first), second_(second), resources_(resources) {}

  int count() const { return first_ * second_; }
  // Steps of the first and the second generator that lead to a copy.
  int first(int copy) const { return copy / second_; }
  int second(int copy) const { return copy % second_; }
  int plus(int a, int b) const {
    if (b == 0) return a;
    return (first(a) + first(b)) % first_ * second_ + (second(a) + second(b)) % second_;
  }
  int minus(int a, int b) const {
    if (b == 0) return a;
    if (a == b) return 0;
    return (first(a) - first(b) + first_) % first_ * second_ +
           (second(a) - second(b) + second_) % second_;
  }
  // The resource that lies `by` copies on.
  ResourceId seen(ResourceId resource, int by) const {
    if (by == 0 || resource < 0) return resource;
    if (resource < resources_) return by * resources_ + resource;
    return plus(copy_of(resource), by) * resources_ + resource_of(resource);
  }
  int copy_of(ResourceId resource) const { return count() == 1 ? 0 : resource / resources_; }
  ResourceId resource_of(ResourceId resource) const {
    return count() == 1 ? resource : resource % resources_;
  }

 private:
  int first_ = 1;
  int second_ = 1;
  ResourceId resources_ = 0;
};

}  // namespace gradhaul
