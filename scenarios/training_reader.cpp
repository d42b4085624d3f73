#include "scenarios/training_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/step_plan.h"
#include "core/training_memory.h"
#include "scenarios/model_reader.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::int64_t kMostTokens = 1 << 24;
constexpr double kMostActivationBytes = 1e15;
constexpr double kMostBuckets = 100'000;
constexpr double kLongestStep = 1e6;  // seconds
constexpr std::int64_t kLargestBucket = std::int64_t{1} << 50;
constexpr int kMostOperations = 100'000;

constexpr std::string_view kFirstBucketSource = "torch.distributed, _DEFAULT_FIRST_BUCKET_BYTES";
constexpr std::string_view kBucketSource = "DistributedDataParallel, bucket_cap_mb";
constexpr std::string_view kEfficiencySource =
    "Llama 3 (arXiv 2407.21783), table 4: 38 to 43 %, Megatron-LM's README up to 47 % on H100, "
    "both "
    "with waiting";

BucketSettings read_buckets(MappingReader reader) {
  BucketSettings buckets;
  buckets.size = reader.bytes(
      "size", {.otherwise = {"25MiB", false, kBucketSource}, .least = 1, .most = kLargestBucket});
  buckets.first = reader.bytes(
      "first",
      {.otherwise = {"1MiB", false, kFirstBucketSource}, .least = 1, .most = kLargestBucket});
  buckets.split_tensors = reader.truth("split_tensors", {"false"});
  reader.finish();
  return buckets;
}

void read_parallel(MappingReader reader, TrainingStep& step) {
  const NumberSpec degree{.otherwise = {"1"}, .least = 1, .most = 100'000};
  step.tensor = static_cast<int>(reader.count("tensor", degree));
  step.pipeline = static_cast<int>(reader.count("pipeline", degree));
  reader.finish();
}

// What is too large to be counted with.
void check_sizes(MappingReader& reader, const TrainingStep& step) {
  std::int64_t parameters = 0;
  for (const ParameterTensor& tensor : parameter_tensors(step.model)) {
    parameters += tensor.parameters;
  }
  const double buckets = static_cast<double>(parameters * size_of(step.gradient_datatype).count) /
                         static_cast<double>(step.buckets.size.count);
  if (step.buckets.split_tensors && buckets > kMostBuckets) {
    reader.report_together({"buckets", "buckets.size"},
                           fmt::format("buckets.size: {} makes {:.3g} buckets; there may be {:g}",
                                       format_bytes(step.buckets.size), buckets, kMostBuckets));
  }
  const TransformerShape& shape = step.model.transformer;
  double values = 40.0 * shape.layers * static_cast<double>(shape.hidden) +
                  4.0 * static_cast<double>(shape.vocabulary);
  values *= static_cast<double>(step.sequence_length);
  if (step.model.kind == ModelKind::kRecommender) {
    const RecommenderShape& tables = step.model.recommender;
    values = 4.0 * static_cast<double>(interaction_width(tables)) +
             12.0 * static_cast<double>(tables.embedding_rows.size()) *
                 static_cast<double>(tables.embedding_dimension);
    for (const std::int64_t width : tables.bottom_mlp) values += 4.0 * static_cast<double>(width);
    for (const std::int64_t width : tables.top_mlp) values += 4.0 * static_cast<double>(width);
  }
  if (values * static_cast<double>(step.micro_batch) > kMostActivationBytes) {
    reader.report("micro_batch",
                  "micro_batch: the activations of one micro-step would be more than "
                  "1 PB; fewer, or shorter sequences");
  }
}

// What a model makes impossible.
void check_shape(MappingReader& reader, const TrainingStep& step) {
  const auto refuse = [&reader](std::string_view key, const std::string& why) {
    reader.report_together({"parallel", key}, why);
  };
  if (step.model.kind == ModelKind::kRecommender) {
    if (step.tensor * step.pipeline > 1) {
      refuse("parallel.tensor",
             "parallel: a recommender's tables are spread over all ranks and its "
             "MLPs are data-parallel; leave tensor and pipeline at 1");
    }
    if (step.sharding != Sharding::kNone) {
      reader.report("sharding", "sharding: of a recommender the tables are spread already; none");
    }
    return;
  }
  const TransformerShape& shape = step.model.transformer;
  const auto divides = [&](std::string_view name, std::int64_t what) {
    if (what % step.tensor == 0) return;
    refuse("parallel.tensor",
           fmt::format("parallel.tensor: {} does not divide {}, {}", step.tensor, name, what));
  };
  divides("heads", shape.heads);
  divides("kv_heads", shape.kv_heads);
  divides("ffn", shape.ffn);
  divides("vocabulary", shape.vocabulary);
  if (step.pipeline > shape.layers) {
    refuse("parallel.pipeline",
           fmt::format("parallel.pipeline: {} stages of {} layers", step.pipeline, shape.layers));
  }
  if (step.pipeline > 1 && shape.tied_embeddings) {
    refuse(
        "parallel.pipeline",
        "parallel.pipeline: the first and the last stage would share the embedding, which is not "
        "available in this version");
  }
  if (step.pipeline > 1 && step.sharding == Sharding::kZero3) {
    reader.report("sharding",
                  "sharding: zero3 with a pipeline gathers all parameters for each "
                  "micro-batch, which is not available in this version; zero1, or "
                  "parallel.pipeline 1");
  }
}

std::string gigabytes(Bytes bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes.count) / 1e9);
}

// Where a GPU cannot hold what it has to.
std::string memory_note(const TrainingStep& step, const Cluster& cluster) {
  const GpuModel& gpu = cluster.node.gpu;
  if (gpu.memory.count == 0) return "";
  const std::vector<StageModel> stages = stage_models(step);
  StepMemory memory;
  for (int stage = 0; stage < step.pipeline; ++stage) {
    const StepMemory of_stage = step_memory(step, step.layout(cluster.ranks()),
                                            stages[static_cast<std::size_t>(stage)], stage);
    if (of_stage.total() > memory.total()) memory = of_stage;
  }
  if (memory.total() <= gpu.memory) return "";
  const Bytes lasting = memory.total() - memory.activations;
  if (lasting <= gpu.memory) {
    return fmt::format(
        "this hardly fits: with activations, an estimate, a GPU holds {}, and {} has {}; "
        "recompute, "
        "a smaller micro_batch or more tensor parallelism make them fewer",
        gigabytes(memory.total()), gpu.name, gigabytes(gpu.memory));
  }
  const bool recommender = step.model.kind == ModelKind::kRecommender;
  return fmt::format(
      "this does not fit: even without activations a GPU holds {}, and {} has {}; {}",
      gigabytes(lasting), gpu.name, gigabytes(gpu.memory),
      recommender ? "more GPUs hold less of the tables each"
      : step.sharding == Sharding::kZero3
          ? "more GPUs or tensor parallelism divide it further"
          : "sharding zero1 or zero3, or tensor and pipeline parallelism, divide it");
}

// Buckets that differ in size may yet hold the same.
std::string bucket_note(const TrainingStep& step) {
  if (step.buckets.split_tensors) return "";
  std::int64_t largest = 0;
  for (const StageModel& stage : stage_models(step)) {
    for (const ParameterTensor& tensor : stage.tensors) {
      largest = std::max(largest, tensor.parameters);
    }
  }
  const Bytes size = size_of(step.gradient_datatype) * largest;
  if (size <= step.buckets.size) return "";
  return fmt::format(
      "buckets hold whole tensors, as PyTorch's do: of buckets.size {} some are larger, and the "
      "largest tensor has {}; buckets.split_tensors: true cuts them",
      format_bytes(step.buckets.size), format_bytes(size));
}

TrainingStep read_step(MappingReader reader) {
  TrainingStep step;
  if (!reader.has("model") && !reader.broken()) {
    reader.report("model", "\"model\" is missing: which model is trained? As model: llama-2-7b");
  }
  MappingReader model = reader.mapping("model");
  if (reader.has("model")) step.model = read_trained_model(model);
  const bool transformer = step.model.kind == ModelKind::kTransformer;
  if (transformer) {
    step.sequence_length =
        reader.count("sequence_length", {.otherwise = {"4096"}, .least = 1, .most = kMostTokens});
  }
  step.micro_batch = reader.count(
      "micro_batch", {.otherwise = {transformer ? "1" : "2048"}, .least = 1, .most = kMostTokens});
  step.accumulation = static_cast<int>(
      reader.count("gradient_accumulation", {.otherwise = {"1"}, .least = 1, .most = 100'000}));
  constexpr std::array kTypes{DataType::kFp32, DataType::kFp16, DataType::kBf16};
  step.gradient_datatype =
      kTypes[reader.choice("gradient_datatype", {.otherwise = {transformer ? "bf16" : "fp32"},
                                                 .available = {"fp32", "fp16", "bf16"},
                                                 .unavailable = {"fp8_e4m3", "fp8_e5m2", "fp8"}})];
  constexpr std::array kShardings{Sharding::kNone, Sharding::kZero1, Sharding::kZero3};
  step.sharding = kShardings[reader.choice(
      "sharding",
      {.otherwise = {"none"}, .available = {"none", "zero1", "zero3"}, .unavailable = {"zero2"}})];
  step.buckets = read_buckets(reader.mapping("buckets"));
  step.overlap = reader.truth("overlap", {"true"});
  step.recompute = transformer && reader.truth("recompute", {"false"});
  read_parallel(reader.mapping("parallel"), step);
  step.efficiency = reader.real(
      "efficiency",
      {.otherwise = {"0.45", true, kEfficiencySource, "0.38", "0.55"}, .least = 0.001, .most = 1});
  step.shared_processors = reader.truth("shared_multiprocessors", {"true"});
  reader.finish();
  if (reader.good()) check_shape(reader, step);
  if (reader.good()) check_sizes(reader, step);
  return step;
}

}  // namespace

std::optional<TrainingStep> read_training_step(MappingReader& workload) {
  const TreeNode* node =
      workload.node() == nullptr ? nullptr : workload.node()->find("training_step");
  if (node == nullptr || node->kind == TreeKind::kNull) return std::nullopt;
  if (node->kind != TreeKind::kScalar && node->children.empty()) return std::nullopt;
  for (const std::string_view key : {"collective", "size", "model", "datatype", "reduction"}) {
    workload.raw(key);
    if (!workload.has(key)) continue;
    workload.report(key,
                    fmt::format("\"{}\" is of one bare collective, and \"training_step\" makes "
                                "collectives of its own; keep one of them",
                                key));
  }
  TrainingStep step = read_step(workload.mapping("training_step"));
  workload.finish();
  return step;
}

void check_training_step(MappingReader& workload, const TrainingStep& step, const Cluster& cluster,
                         std::vector<std::string>& notes) {
  const int ranks = cluster.ranks();
  const int each = step.tensor * step.pipeline;
  if (ranks % each != 0) {
    workload.report_together({"training_step", "training_step.parallel"},
                             fmt::format("parallel: tensor {} x pipeline {} is {} ranks a replica, "
                                         "which do not divide the {} ranks there are",
                                         step.tensor, step.pipeline, each, ranks));
    return;
  }
  const GpuModel& gpu = cluster.node.gpu;
  if (gpu.tensor_flops == 0) {
    workload.report_together(
        {"training_step"},
        fmt::format("training_step: how fast {} computes is not known; give its model "
                    "`tensor_flops`, as 989.4e12 (dense, 16-bit, a second)",
                    gpu.name));
    return;
  }
  const double operations = static_cast<double>(step.accumulation) * step.model.transformer.layers;
  if (operations > kMostOperations) {
    workload.report_together(
        {"training_step", "training_step.gradient_accumulation"},
        fmt::format("gradient_accumulation: {} micro-steps of {} layers are "
                    "more than {} operations",
                    step.accumulation, step.model.transformer.layers, kMostOperations));
    return;
  }
  const double seconds =
      model_flops(step, ranks) / ranks / (static_cast<double>(gpu.tensor_flops) * step.efficiency);
  if (seconds > kLongestStep) {
    workload.report_together(
        {"training_step"},
        fmt::format("training_step: its compute alone would take {:.3g} days", seconds / 86'400));
    return;
  }
  if (std::string note = memory_note(step, cluster); !note.empty())
    notes.push_back(std::move(note));
  if (std::string note = bucket_note(step); !note.empty()) notes.push_back(std::move(note));
  if (step.accumulation < step.pipeline) {
    notes.push_back(fmt::format(
        "{} micro-batches do not fill a pipeline of {} stages: gradient_accumulation says how many "
        "there are",
        step.accumulation, step.pipeline));
  }
}

Workload workload_of(const TrainingStep& step) {
  Workload workload;
  if (step.sharding != Sharding::kNone) workload.collective = Collective::kReduceScatter;
  workload.datatype = step.gradient_datatype;
  std::int64_t largest = 1;
  for (const StageModel& stage : stage_models(step)) {
    for (const GradientBucket& bucket : stage.buckets) {
      largest = std::max(largest, bucket.elements);
    }
  }
  workload.sizes = {size_of(step.gradient_datatype) * largest};
  return workload;
}

}  // namespace gradhaul
