#pragma once

// Asks for an end, tells how far it is: what a long run owes to whoever waits for it.

#include <cstddef>

#include "core/prediction_request.h"

namespace gradhaul {

class RunWatch {
 public:
  explicit RunWatch(const PredictionRequest& request) : request_(request) {}

  bool interrupted() const {
    return request_.interrupted != nullptr && request_.interrupted->load();
  }
  // `done`: 0..1, of the row. False where the run is to end here.
  bool keep_going(std::size_t row, double done, Bytes size) const {
    if (interrupted()) return false;
    if (request_.progress != nullptr) {
      const auto rows = static_cast<double>(request_.workload.sizes.size());
      request_.progress->on_progress((static_cast<double>(row) + done) / rows, size);
    }
    return true;
  }

 private:
  const PredictionRequest& request_;
};

}  // namespace gradhaul
