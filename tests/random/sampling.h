// Random graphs for tests. A file tests/random/ops/<op>.cpp, or tests/sample.cpp in an op folder
// outside the tree, says how to use the ops of that folder in one:
//   void sample_<op>(qc::Samplers&);
// Elementwise ops need none: any fitting operands will do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "quant/scheme.h"

namespace qc {

/// A graph while it grows. Everything is a function of the seed.
class Sampling {
 public:
  explicit Sampling(uint64_t seed);

  Graph& graph() { return *graph_; }
  std::unique_ptr<Graph> take() { return std::move(graph_); }

  /// A number in [0, n).
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }
  /// A size: often 1 or odd, sometimes over 64; a shape of `rank` such sizes, at most `limit`
  /// elements.
  int64_t size();
  Ints shape(int64_t rank, int64_t limit = 4096);

  /// A value made so far (or, failing that, a new input) of this type and a rank in the range.
  Value* value(DType dtype, int64_t min_rank, int64_t max_rank);
  Value* floats(int64_t min_rank, int64_t max_rank) {
    return value(DType::f32, min_rank, max_rank);
  }
  /// A value made so far that fits; null when there is none.
  Value* find(const std::function<bool(const Value&)>& fits);
  Value* input(DType dtype, const Ints& shape);
  /// A constant: floats about +-2, integers in [lo, hi].
  Value* constant(DType dtype, const Ints& shape, int64_t lo = 0, int64_t hi = 3);
  Value* constant_ints(const Ints& values);

  /// An element type that arithmetic takes, and one of its floats; f32 most often.
  DType arithmetic_type();
  DType float_type() {
    return chance(75) ? DType::f32 : pick<DType>({DType::f64, DType::f16, DType::bf16});
  }

  /// A format with one scale, fit for values about +-3: any type, zero point and often a range of
  /// codes that is not the type's; and an arithmetic record.
  QType format();
  std::string arithmetic();
  /// Attributes of an op that writes codes, with `more`.
  AttrMap epilogue(bool dynamic, AttrMap more);
  /// Codes made so far with one static scale and a rank in the range, else new ones.
  Value* codes(int64_t min_rank, int64_t max_rank);

  /// Adds a node; the first output is remembered for later use. Null when the op refuses the
  /// operands.
  Value* emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs = {});

  const std::vector<Value*>& values() const { return values_; }
  /// Numbers of elements beyond this are not made.
  static constexpr int64_t kMaxElements = 20000;

 private:
  std::mt19937_64 random_;
  std::unique_ptr<Graph> graph_;
  std::vector<Value*> values_;
  int inputs_ = 0;
};

/// Tries to add one use of an op.
using Sampler = std::function<void(Sampling&)>;

class Samplers {
 public:
  void add(std::string_view op, Sampler sampler) { rows_[std::string(op)] = std::move(sampler); }
  /// Ops that random graphs leave out, with the reason.
  void skip(std::string_view op, std::string_view reason) { skipped_[std::string(op)] = reason; }

  const std::map<std::string, Sampler>& all() const { return rows_; }
  const std::map<std::string, std::string>& skipped() const { return skipped_; }

 private:
  std::map<std::string, Sampler> rows_;
  std::map<std::string, std::string> skipped_;
};

/// Samplers of every op: those of the op folders, and a general one for each elementwise op.
const Samplers& samplers();

/// Makes everything that nobody reads an output, and at least one value.
void add_outputs(Sampling& s);

/// A valid graph of about `nodes` nodes. With `first` and `then`, a use of op `first` whose result
/// op `then` reads is tried early on.
std::unique_ptr<Graph> random_graph(uint64_t seed, int nodes, std::string_view first = {},
                                    std::string_view then = {});

/// Inputs for a graph: finite floats, small integers.
std::vector<Tensor> random_tensors(const Graph& graph, uint64_t seed);

}  // namespace qc
