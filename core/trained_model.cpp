#include "core/trained_model.h"

#include <numeric>

namespace gradhaul {
namespace {

class TensorList {
 public:
  void add(std::string name, int layer, TensorRole role, std::int64_t parameters) {
    const bool multiplied = role != TensorRole::kEmbedding && role != TensorRole::kNorm;
    tensors_.push_back({std::move(name), layer, role, parameters, multiplied ? parameters : 0});
  }
  std::vector<ParameterTensor> take() { return std::move(tensors_); }

 private:
  std::vector<ParameterTensor> tensors_;
};

void add_layer(const TransformerShape& shape, int layer, TensorList& list) {
  const std::string prefix = "layers." + std::to_string(layer) + ".";
  const std::int64_t square = shape.hidden * shape.hidden;
  const std::int64_t key = square / shape.heads * shape.kv_heads;
  const std::int64_t wide = shape.hidden * shape.ffn;
  list.add(prefix + "input_norm", layer, TensorRole::kNorm, shape.hidden);
  list.add(prefix + "q_proj", layer, TensorRole::kAttentionIn, square);
  list.add(prefix + "k_proj", layer, TensorRole::kAttentionIn, key);
  list.add(prefix + "v_proj", layer, TensorRole::kAttentionIn, key);
  list.add(prefix + "o_proj", layer, TensorRole::kAttentionOut, square);
  list.add(prefix + "attention_norm", layer, TensorRole::kNorm, shape.hidden);
  if (shape.gated_ffn) list.add(prefix + "gate_proj", layer, TensorRole::kFeedForwardIn, wide);
  list.add(prefix + "up_proj", layer, TensorRole::kFeedForwardIn, wide);
  list.add(prefix + "down_proj", layer, TensorRole::kFeedForwardOut, wide);
}

std::vector<ParameterTensor> transformer_tensors(const TransformerShape& shape) {
  TensorList list;
  list.add("embedding", -1, TensorRole::kEmbedding, shape.vocabulary * shape.hidden);
  for (int layer = 0; layer < shape.layers; ++layer) add_layer(shape, layer, list);
  list.add("norm", -1, TensorRole::kNorm, shape.hidden);
  list.add("head", -1, TensorRole::kHead, shape.vocabulary * shape.hidden);
  std::vector<ParameterTensor> tensors = list.take();
  if (shape.tied_embeddings) tensors.back().parameters = 0;
  return tensors;
}

void add_mlp(const std::string& name, TensorRole role, std::int64_t input,
             const std::vector<std::int64_t>& widths, TensorList& list) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    // A matrix and its bias, which counts as a column of it.
    list.add(name + "." + std::to_string(i), static_cast<int>(i), role, (input + 1) * widths[i]);
    input = widths[i];
  }
}

}  // namespace

std::int64_t interaction_width(const RecommenderShape& shape) {
  const auto vectors = static_cast<std::int64_t>(shape.embedding_rows.size()) + 1;
  return shape.embedding_dimension + vectors * (vectors - 1) / 2;
}

std::vector<ParameterTensor> parameter_tensors(const TrainedModel& model) {
  if (model.kind == ModelKind::kTransformer) return transformer_tensors(model.transformer);
  const RecommenderShape& shape = model.recommender;
  TensorList list;
  add_mlp("bottom_mlp", TensorRole::kBottomMlp, shape.dense_features, shape.bottom_mlp, list);
  add_mlp("top_mlp", TensorRole::kTopMlp, interaction_width(shape), shape.top_mlp, list);
  return list.take();
}

std::int64_t parameter_count(const TrainedModel& model) {
  std::int64_t count = 0;
  for (const ParameterTensor& tensor : parameter_tensors(model)) count += tensor.parameters;
  if (model.kind == ModelKind::kTransformer) return count;
  const auto& rows = model.recommender.embedding_rows;
  return count + std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) *
                     model.recommender.embedding_dimension;
}

bool is_split(TensorRole role) { return role != TensorRole::kNorm; }

}  // namespace gradhaul
