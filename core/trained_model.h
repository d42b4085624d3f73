#pragma once

// The parameters of a model that is trained: which tensors there are, how large, in which order the
// forward pass uses them, and what each costs. Shapes of known models, with their sources, are data
// (scenarios/models/*.yaml).

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

enum class ModelKind : std::uint8_t {
  kTransformer,  // a decoder: attention and feed-forward, as Llama and GPT
  kRecommender,  // DLRM: embedding tables, a bottom and a top MLP
};

struct TransformerShape {
  int layers = 1;
  std::int64_t hidden = 1;
  int heads = 1;
  int kv_heads = 1;  // fewer than heads: grouped-query attention
  std::int64_t ffn = 1;
  std::int64_t vocabulary = 1;
  bool gated_ffn = true;         // three matrices of hidden x ffn (SwiGLU) instead of two
  bool tied_embeddings = false;  // the output layer is the embedding
};

// The tables are spread over all ranks, each row whole; the MLPs are replicated.
struct RecommenderShape {
  std::vector<std::int64_t> embedding_rows;  // of each table
  std::int64_t embedding_dimension = 1;
  std::int64_t dense_features = 1;
  std::vector<std::int64_t> bottom_mlp;  // widths; the last is embedding_dimension
  std::vector<std::int64_t> top_mlp;     // widths; the first input is interaction_width()
};

struct TrainedModel {
  std::string name;
  ModelKind kind = ModelKind::kTransformer;
  TransformerShape transformer;
  RecommenderShape recommender;
};

// Where in a layer a tensor stands; what tensor parallelism sends depends on it.
enum class TensorRole : std::uint8_t {
  kEmbedding,      // the input of a transformer
  kNorm,           // of every rank, however many the layer is split over
  kAttentionIn,    // query, key, value: split by columns
  kAttentionOut,   // split by rows: its output is summed over the ranks
  kFeedForwardIn,  // gate and up
  kFeedForwardOut,
  kHead,  // the output layer
  kBottomMlp,
  kTopMlp,
};

struct ParameterTensor {
  std::string name;  // "layers.3.mlp.down_proj"
  int layer = -1;    // of a transformer; -1: before or behind the layers; of an MLP: its layer
  TensorRole role = TensorRole::kNorm;
  std::int64_t parameters = 0;
  // Elements that each token (or sample) is multiplied with: 2 floating-point operations each in
  // the forward pass, 4 in the backward pass. A tied output layer has these and no parameters.
  std::int64_t multiplied = 0;
};

// Without the tables of a recommender, which nobody reduces; in the order of the forward pass, so
// that gradients become ready in the opposite one.
std::vector<ParameterTensor> parameter_tensors(const TrainedModel& model);

// All of them, tables included.
std::int64_t parameter_count(const TrainedModel& model);

// Of DLRM's dot interaction of n vectors of dimension d: d + n (n - 1) / 2, where n counts the
// tables and the bottom MLP's output [Naumov et al., arXiv 1906.00091].
std::int64_t interaction_width(const RecommenderShape& shape);

// Whether tensor parallelism divides it.
bool is_split(TensorRole role);

}  // namespace gradhaul
