#include "scenarios/model_reader.h"

#include <fmt/format.h>

#include <array>

#include "scenarios/device_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLargestWidth = 1 << 20;
constexpr std::int64_t kMostRows = std::int64_t{1} << 32;  // of a table, or words of a vocabulary
constexpr std::size_t kMostEntries = 10'000;               // tables, or layers of an MLP
constexpr double kMostParameters = 1e14;

std::int64_t width(MappingReader& reader, std::string_view key, std::int64_t most = kLargestWidth) {
  return reader.count(key, {.least = 1, .most = most});
}

int small_count(MappingReader& reader, std::string_view key, const Default& otherwise = {}) {
  return static_cast<int>(reader.count(key, {.otherwise = otherwise, .least = 1, .most = 10'000}));
}

// A list of counts, written out.
std::vector<std::int64_t> read_counts(MappingReader& reader, std::string_view key,
                                      std::int64_t most = kLargestWidth) {
  const TreeNode* node = reader.raw(key);
  std::vector<std::int64_t> counts;
  if (node == nullptr) {
    reader.report(key, fmt::format("\"{}\" is missing", key));
    return counts;
  }
  FilledValue& filled = reader.record(key, FilledValue::Kind::kList, "", node);
  if (node->kind != TreeNode::Kind::kSequence || node->children.empty() ||
      node->children.size() > kMostEntries) {
    reader.report(key, fmt::format("{}: a list of counts is meant, as [512, 256, 128], of at most "
                                   "{}",
                                   key, kMostEntries));
    return counts;
  }
  for (const TreeNode& item : node->children) {
    const auto parsed =
        item.kind == TreeNode::Kind::kScalar ? parse_count(item.text) : Parsed<std::int64_t>{};
    if (!parsed.value || *parsed.value < 1 || *parsed.value > most) {
      reader.problems().add(
          item.location,
          fmt::format("{}: a count is meant, of at least 1 and at most {}", key, most));
      continue;
    }
    counts.push_back(*parsed.value);
    FilledValue& value = filled.children.emplace_back();
    value.kind = FilledValue::Kind::kInteger;
    value.text = fmt::format("{}", *parsed.value);
  }
  return counts;
}

TransformerShape read_transformer(MappingReader& reader) {
  TransformerShape shape;
  shape.layers = small_count(reader, "layers");
  shape.hidden = width(reader, "hidden");
  shape.heads = small_count(reader, "heads");
  const std::string heads = fmt::format("{}", shape.heads);
  shape.kv_heads = small_count(reader, "kv_heads", {heads});
  shape.ffn = width(reader, "ffn");
  shape.vocabulary = width(reader, "vocabulary", kMostRows);
  shape.gated_ffn = reader.truth("gated_ffn", {"true"});
  shape.tied_embeddings = reader.truth("tied_embeddings", {"false"});
  if (!reader.good()) return shape;
  if (shape.hidden % shape.heads != 0) {
    reader.report("heads",
                  fmt::format("heads: {} do not divide hidden, {}", shape.heads, shape.hidden));
  }
  if (shape.heads % shape.kv_heads != 0) {
    reader.report("kv_heads",
                  fmt::format("kv_heads: {} do not divide heads, {}", shape.kv_heads, shape.heads));
  }
  return shape;
}

RecommenderShape read_recommender(MappingReader& reader) {
  RecommenderShape shape;
  shape.embedding_rows = read_counts(reader, "embedding_rows", kMostRows);
  shape.embedding_dimension = width(reader, "embedding_dimension");
  shape.dense_features = width(reader, "dense_features");
  shape.bottom_mlp = read_counts(reader, "bottom_mlp");
  shape.top_mlp = read_counts(reader, "top_mlp");
  if (reader.good() && shape.bottom_mlp.back() != shape.embedding_dimension) {
    reader.report(
        "bottom_mlp",
        fmt::format("bottom_mlp: its last width, {}, is not embedding_dimension, {}: what "
                    "it makes is one of the vectors that interact",
                    shape.bottom_mlp.back(), shape.embedding_dimension));
  }
  return shape;
}

}  // namespace

TrainedModel read_trained_model(MappingReader& reader) {
  TrainedModel model;
  if (reader.broken()) return model;
  model.name = read_name(reader);
  constexpr std::array kKinds{ModelKind::kTransformer, ModelKind::kRecommender};
  model.kind = kKinds[reader.choice(
      "kind", {.otherwise = {"transformer"}, .available = {"transformer", "recommender"}})];
  if (model.kind == ModelKind::kTransformer) {
    model.transformer = read_transformer(reader);
  } else {
    model.recommender = read_recommender(reader);
  }
  reader.finish();
  if (!reader.good()) return model;
  double parameters = 0;
  for (const ParameterTensor& tensor : parameter_tensors(model)) {
    parameters += static_cast<double>(tensor.parameters);
  }
  for (const std::int64_t rows : model.recommender.embedding_rows) {
    parameters +=
        static_cast<double>(rows) * static_cast<double>(model.recommender.embedding_dimension);
  }
  if (parameters > kMostParameters) {
    reader.report("name", fmt::format("{} has {:.3g} parameters; there may be {:g}", model.name,
                                      parameters, kMostParameters));
  }
  return model;
}

}  // namespace gradhaul
