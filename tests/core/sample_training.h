#pragma once

// Models and GPUs for tests of training steps.

#include "core/step_plan.h"

namespace gradhaul {

// Shapes of Llama 2: config.json of meta-llama/Llama-2-7b-hf, -13b-hf, -70b-hf.
inline TrainedModel llama(int layers, std::int64_t hidden, int heads, int kv_heads,
                          std::int64_t ffn) {
  TrainedModel model;
  model.transformer = {layers, hidden, heads, kv_heads, ffn, 32000, true, false};
  return model;
}
inline TrainedModel llama_7b() { return llama(32, 4096, 32, 32, 11008); }
inline TrainedModel llama_13b() { return llama(40, 5120, 40, 40, 13824); }
inline TrainedModel llama_70b() { return llama(80, 8192, 64, 8, 28672); }

// A small one, so that a step has few operations.
inline TrainingStep small_step() {
  TrainingStep step;
  step.model.transformer = {4, 64, 4, 4, 256, 100, true, false};
  step.sequence_length = 32;
  step.efficiency = 1;
  return step;
}

// 1 TFLOP/s, memory that takes no time.
inline GpuModel plain_gpu() {
  GpuModel gpu;
  gpu.tensor_flops = 1'000'000'000'000;
  return gpu;
}

inline Duration work_of(const StepPlan& plan, int stage, StepPurpose purpose) {
  Duration work;
  for (const StepOperation& operation : plan.operations) {
    if (operation.stage == stage && operation.purpose == purpose) work += operation.work;
  }
  return work;
}

}  // namespace gradhaul
