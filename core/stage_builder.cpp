#include "core/stage_builder.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

// Each rank sends what it looked up in its tables to the ranks whose samples they are: of tables
// spread evenly as much as it is sent.
StepTraffic exchange_of_vectors(const TrainingStep& step, const ParallelLayout& layout) {
  const RecommenderShape& shape = step.model.recommender;
  const std::int64_t elements = step.micro_batch *
                                static_cast<std::int64_t>(shape.embedding_rows.size()) *
                                shape.embedding_dimension;
  const std::int64_t ranks = layout.ranks();
  const DataType type = parameter_datatype(step);
  return {0,
          GroupKind::kAll,
          StepLane::kAll,
          Collective::kAllToAll,
          type,
          size_of(type) * ((elements + ranks - 1) / ranks * ranks)};
}

}  // namespace

StageBuilder::StageBuilder(const TrainingStep& step, const StepCompute& compute, StepPlan& plan,
                           int stage)
    : step_(step), compute_(compute), plan_(plan), stage_(stage) {
  const int count = tensors();
  buckets_of_tensor_.resize(static_cast<std::size_t>(count));
  for (std::size_t b = 0; b < model().buckets.size(); ++b) {
    for (const BucketPart& part : model().buckets[b].parts) {
      const int tensor = count - 1 - part.tensor;
      buckets_of_tensor_[static_cast<std::size_t>(tensor)].push_back(static_cast<int>(b));
    }
  }
  unit_of_tensor_.resize(static_cast<std::size_t>(count), -1);
  for (std::size_t u = 0; u < model().units.size(); ++u) {
    const auto& parts = model().units[u].parts;
    unit_tensors_.emplace_back(count - 1 - parts.back().tensor, count - 1 - parts.front().tensor);
    for (int t = unit_tensors_[u].first; t <= unit_tensors_[u].second; ++t) {
      unit_of_tensor_[static_cast<std::size_t>(t)] = static_cast<int>(u);
    }
  }
  gathers_.resize(static_cast<std::size_t>(unit_uses()), -1);
}

int StageBuilder::sent(bool forward, int micro_step) const {
  const auto found = sent_.find({forward, micro_step});
  return found == sent_.end() ? -1 : found->second;
}

void StageBuilder::compute(StepPurpose purpose, int micro_step, int item, Duration work) {
  if (work.ps == 0) return;
  const auto layer = [this](const StepOperation& operation) {
    return tensor_at(operation.item).layer;
  };
  StepOperation next{stage_, StepLane::kCompute, purpose, micro_step, item, work, -1, {}};
  const bool continued = is_open_ && waits_.empty() && open_.purpose == purpose &&
                         open_.micro_step == micro_step && layer(open_) == layer(next) &&
                         tensor_at(open_.item).layer >= 0 &&
                         step_.model.kind == ModelKind::kTransformer;
  if (continued) {
    open_.work += work;
    return;
  }
  flush();
  open_ = next;
  open_.after = std::move(waits_);
  waits_.clear();
  is_open_ = true;
}

void StageBuilder::flush() {
  if (!is_open_) return;
  last_compute_ = static_cast<int>(plan_.operations.size());
  plan_.operations.push_back(std::move(open_));
  is_open_ = false;
}

// Who waits for an operation waits for those before it in its lane.
void StageBuilder::wait_for(int operation) {
  const auto& all = plan_.operations;
  const StepOperation& awaited = all[static_cast<std::size_t>(operation)];
  std::erase_if(waits_, [&](int earlier) {
    const StepOperation& other = all[static_cast<std::size_t>(earlier)];
    return other.stage == awaited.stage && other.lane == awaited.lane && earlier <= operation;
  });
  waits_.push_back(operation);
}

std::vector<int> StageBuilder::so_far() {
  flush();
  std::vector<int> after = waits_;
  if (last_compute_ >= 0) after.push_back(last_compute_);
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

int StageBuilder::send(StepPurpose purpose, int micro_step, int item, const StepTraffic& traffic) {
  auto& known = plan_.traffics;
  const auto found = std::find(known.begin(), known.end(), traffic);
  const auto index = static_cast<int>(found - known.begin());
  if (found == known.end()) known.push_back(traffic);
  StepOperation operation{stage_, traffic.lane, purpose, micro_step, item, {}, index, so_far()};
  plan_.operations.push_back(std::move(operation));
  return static_cast<int>(plan_.operations.size()) - 1;
}

StepTraffic StageBuilder::sum_of_activations() const {
  const std::int64_t elements =
      step_.micro_batch * step_.sequence_length * step_.model.transformer.hidden;
  const DataType type = parameter_datatype(step_);
  return {stage_, GroupKind::kTensor,      StepLane::kTensor, Collective::kAllReduce,
          type,   size_of(type) * elements};
}

StepTraffic StageBuilder::data_traffic(Collective collective, DataType datatype,
                                       std::int64_t elements) const {
  // Shares are equal: what is missing is padded.
  const std::int64_t parts = collective == Collective::kAllReduce ? 1 : plan_.layout.data;
  const std::int64_t padded = (elements + parts - 1) / parts * parts;
  return {stage_,     GroupKind::kData, StepLane::kData,
          collective, datatype,         size_of(datatype) * padded};
}

// In a backward pass the gradient at the block's input is summed once all that read it are through.
bool StageBuilder::reads_block_input(int tensor) const {
  const TensorRole role = tensor_at(tensor).role;
  if (role == TensorRole::kHead) return true;
  if (role != TensorRole::kAttentionIn && role != TensorRole::kFeedForwardIn) return false;
  return tensor == 0 || tensor_at(tensor - 1).role != role;
}

void StageBuilder::add_tensor_forward(StepPurpose purpose, int micro_step, int tensor) {
  const ParameterTensor& part = tensor_at(tensor);
  compute(purpose, micro_step, tensor, compute_.forward(part));
  const bool summed = part.role == TensorRole::kEmbedding ||
                      part.role == TensorRole::kAttentionOut ||
                      part.role == TensorRole::kFeedForwardOut;
  if (plan_.layout.tensor > 1 && summed) {
    wait_for(send(StepPurpose::kSumActivations, micro_step, tensor, sum_of_activations()));
  }
}

void StageBuilder::add_layers_forward(int micro_step) {
  for (int tensor = 0; tensor < tensors(); ++tensor) {
    begin_unit(micro_step, tensor, true);
    add_tensor_forward(StepPurpose::kForward, micro_step, tensor);
    end_unit(micro_step, tensor, true);
  }
}

void StageBuilder::add_recommender_forward(int micro_step) {
  compute(StepPurpose::kLookup, micro_step, 0, compute_.table_lookup());
  const StepTraffic vectors = exchange_of_vectors(step_, plan_.layout);
  const bool alone = plan_.layout.ranks() == 1;
  const int exchange = alone ? -1 : send(StepPurpose::kExchangeVectors, micro_step, 0, vectors);
  int tensor = 0;
  for (; tensor_at(tensor).role == TensorRole::kBottomMlp; ++tensor) {
    add_tensor_forward(StepPurpose::kForward, micro_step, tensor);
  }
  if (!alone) wait_for(exchange);
  for (; tensor < tensors(); ++tensor) {
    add_tensor_forward(StepPurpose::kForward, micro_step, tensor);
  }
}

void StageBuilder::add_forward(int micro_step, int input) {
  if (input >= 0) wait_for(input);
  if (step_.model.kind == ModelKind::kRecommender) {
    add_recommender_forward(micro_step);
  } else {
    add_layers_forward(micro_step);
  }
  if (stage_ + 1 == plan_.layout.pipeline) return;
  StepTraffic traffic = sum_of_activations();
  traffic.groups = GroupKind::kPipeline;
  traffic.lane = StepLane::kPipelineForward;
  traffic.collective = Collective::kBroadcast;
  sent_[{true, micro_step}] = send(StepPurpose::kSendActivations, micro_step, 0, traffic);
}

// With recomputation a layer's forward pass comes again before its backward pass.
void StageBuilder::recompute_layer(int micro_step, int last_tensor) {
  const int layer = tensor_at(last_tensor).layer;
  int first = last_tensor;
  while (first > 0 && tensor_at(first - 1).layer == layer) --first;
  gather_units_of(micro_step, first, last_tensor);
  for (int tensor = first; tensor <= last_tensor; ++tensor) {
    add_tensor_forward(StepPurpose::kRecompute, micro_step, tensor);
  }
}

void StageBuilder::add_tensor_backward(int micro_step, int tensor) {
  begin_unit(micro_step, tensor, false);
  const ParameterTensor& part = tensor_at(tensor);
  const bool ends_layer = tensor + 1 == tensors() || tensor_at(tensor + 1).layer != part.layer;
  if (step_.recompute && part.layer >= 0 && ends_layer) recompute_layer(micro_step, tensor);
  compute(StepPurpose::kBackward, micro_step, tensor, compute_.backward(part));
  take_gradient(micro_step, tensor);
  if (plan_.layout.tensor > 1 && reads_block_input(tensor)) {
    wait_for(send(StepPurpose::kSumActivationGradients, micro_step, tensor, sum_of_activations()));
  }
  end_unit(micro_step, tensor, false);
}

void StageBuilder::add_tensors_backward(int micro_step, int first, int last) {
  for (int tensor = last; tensor >= first; --tensor) add_tensor_backward(micro_step, tensor);
}

void StageBuilder::add_backward(int micro_step, int input) {
  if (input >= 0) wait_for(input);
  if (reduces(micro_step)) {
    bucket_left_.clear();
    for (const GradientBucket& bucket : model().buckets) bucket_left_.push_back(bucket.elements);
  }
  if (step_.model.kind == ModelKind::kRecommender) {
    const auto bottom = static_cast<int>(step_.model.recommender.bottom_mlp.size());
    add_tensors_backward(micro_step, bottom, tensors() - 1);
    const bool alone = plan_.layout.ranks() == 1;
    const int exchange = alone ? -1
                               : send(StepPurpose::kExchangeVectorGradients, micro_step, 0,
                                      exchange_of_vectors(step_, plan_.layout));
    add_tensors_backward(micro_step, 0, bottom - 1);
    if (!alone) wait_for(exchange);
    compute(StepPurpose::kUpdate, micro_step, 0, compute_.table_update());
  } else {
    add_tensors_backward(micro_step, 0, tensors() - 1);
  }
  if (stage_ > 0) {
    StepTraffic traffic = sum_of_activations();
    traffic.stage = stage_ - 1;
    traffic.groups = GroupKind::kPipeline;
    traffic.lane = StepLane::kPipelineBackward;
    traffic.collective = Collective::kBroadcast;
    sent_[{false, micro_step}] =
        send(StepPurpose::kSendActivationGradients, micro_step, 0, traffic);
  }
  for (const int bucket : std::exchange(late_buckets_, {})) reduce_bucket(micro_step, bucket);
}

void StageBuilder::add_optimizer() {
  for (const int reduce : std::exchange(reduces_, {})) wait_for(reduce);
  std::int64_t parameters = 0;
  for (const ParameterTensor& tensor : model().tensors) parameters += tensor.parameters;
  const int shared_by = step_.sharding == Sharding::kNone ? 1 : plan_.layout.data;
  compute(StepPurpose::kOptimizer, step_.accumulation - 1, 0,
          compute_.optimizer((parameters + shared_by - 1) / shared_by));
  flush();
  if (step_.sharding != Sharding::kZero1 || plan_.layout.data == 1) return;
  for (std::size_t b = 0; b < model().buckets.size(); ++b) {
    send(StepPurpose::kGatherUnit, step_.accumulation - 1, static_cast<int>(b),
         data_traffic(Collective::kAllGather, parameter_datatype(step_),
                      model().buckets[b].elements));
  }
}

}  // namespace gradhaul
