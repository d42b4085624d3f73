#pragma once

#include <stdexcept>

namespace gradhaul {

// RDMA verbs can't be had, or a call failed while ranks were being joined. The message says which,
// why, and what to check or what it would take.
class VerbsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gradhaul
