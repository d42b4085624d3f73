#pragma once

// Writes the operations of one pipeline stage, pass by pass, into a plan (core/step_plan.h).
// Compute of one layer is one operation, unless something begins or has to be waited for in its
// midst.

#include <map>
#include <utility>
#include <vector>

#include "core/step_plan.h"

namespace gradhaul {

class StageBuilder {
 public:
  StageBuilder(const TrainingStep& step, const StepCompute& compute, StepPlan& plan, int stage);

  // `input`: the operation that brings activations, or their gradients; -1: none is needed.
  void add_forward(int micro_step, int input);
  void add_backward(int micro_step, int input);
  void add_optimizer();
  // The operation that sends a micro-batch's activations (their gradients) on; -1: not yet there.
  int sent(bool forward, int micro_step) const;

 private:
  void add_layers_forward(int micro_step);
  void add_recommender_forward(int micro_step);
  void add_tensor_forward(StepPurpose purpose, int micro_step, int tensor);
  void add_tensor_backward(int micro_step, int tensor);
  void add_tensors_backward(int micro_step, int first, int last);
  void recompute_layer(int micro_step, int last_tensor);
  bool reads_block_input(int tensor) const;

  // zero3's units, by their uses in a step: forward from the last, backward from the first.
  int unit_of_use(int use) const;
  int unit_uses() const;
  void begin_unit(int micro_step, int tensor, bool forward);
  void end_unit(int micro_step, int tensor, bool forward);
  void gather_up_to(int use, int micro_step);
  void gather_units_of(int micro_step, int first_tensor, int last_tensor);

  void take_gradient(int micro_step, int tensor);
  void reduce_bucket(int micro_step, int bucket);
  bool reduces(int micro_step) const;

  void compute(StepPurpose purpose, int micro_step, int item, Duration work);
  // Ends the open compute operation.
  void flush();
  void wait_for(int operation);
  // Whatever is listed now comes behind all compute so far, and what that still waits for.
  std::vector<int> so_far();
  int send(StepPurpose purpose, int micro_step, int item, const StepTraffic& traffic);
  StepTraffic sum_of_activations() const;
  StepTraffic data_traffic(Collective collective, DataType datatype, std::int64_t elements) const;
  const StageModel& model() const { return plan_.stages[static_cast<std::size_t>(stage_)]; }
  int tensors() const { return static_cast<int>(model().tensors.size()); }
  const ParameterTensor& tensor_at(int tensor) const {
    return model().tensors[static_cast<std::size_t>(tensor)];
  }

  const TrainingStep& step_;
  const StepCompute& compute_;
  StepPlan& plan_;
  int stage_;
  StepOperation open_;  // compute that is not yet listed, if it works at all
  bool is_open_ = false;
  int last_compute_ = -1;
  std::vector<int> waits_;
  std::vector<int> unit_of_tensor_;
  std::vector<std::pair<int, int>> unit_tensors_;  // first and last, in forward order
  int uses_begun_ = 0;
  std::vector<int> gathers_;               // by use
  std::vector<std::int64_t> bucket_left_;  // elements whose gradients are not ready
  std::vector<std::vector<int>> buckets_of_tensor_;
  std::vector<int> late_buckets_;  // without overlap
  std::vector<int> reduces_;
  std::map<std::pair<bool, int>, int> sent_;
};

}  // namespace gradhaul
