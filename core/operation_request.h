#pragma once

// What an item's operation asks of the reducer.

#include "core/collective_engine.h"
#include "core/reducer.h"
#include "core/schedule.h"

namespace gradhaul {

class OperationRequests {
 public:
  OperationRequests(const EngineSettings& settings, Rank ranks)
      : settings_(settings), element_(size_of(settings.datatype)), ranks_(ranks) {}

  Bytes element() const { return element_; }
  // With what lies in the rank's memory.
  ReduceRequest of(const ItemOperation& item, int channel) const;
  // Then receive `number` of the item, which lies there; several are taken in from the left.
  void take_in(ReduceRequest& request, const ItemOperation& item, int number,
               BufferRef received) const;

 private:
  void divide(ReduceRequest& request) const;

  EngineSettings settings_;
  Bytes element_;
  Rank ranks_;
};

}  // namespace gradhaul
