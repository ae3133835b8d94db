#include "tests/random/free_graphs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/common/registration.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

constexpr int64_t kLargest = 12, kPastTiles = 70;  // the largest tile of a kernel has 48 columns

/// Grows a graph whose sizes are expressions; what an op refuses is left out.
class Grower {
 public:
  /// With `tables`, some values depend on sizes alone.
  Grower(uint64_t seed, bool tables) : random_(seed), tables_(tables) {
    register_all_ops();
    const int64_t count = between(1, 3);
    const char* const names[] = {"a", "b", "c"};
    for (int64_t i = 0; i < count; ++i) {
      symbols_.push_back(Dim::symbol(names[i]));
      const int64_t most = below(4) == 0 ? between(17, kPastTiles) : kLargest;
      graph_->dim_ranges[names[i]] = {.min = between(1, 3), .max = most, .hint = {}};
    }
    transformer_ = below(2) == 0;
    if (transformer_) add_rows();
    for (int64_t i = 0, inputs = between(transformer_ ? 0 : 1, transformer_ ? 1 : 3); i < inputs;
         ++i)
      add_input();
    symbols_.clear();  // a size that no input has is not known
    for (const std::string& name : graph_->symbols()) symbols_.push_back(Dim::symbol(name));
    for (int64_t i = 0, nodes = between(3, transformer_ ? 8 : 14); i < nodes; ++i) add_node();
    int outputs = 0;
    for (Value* v : made_) {
      if (v->has_uses() && below(4) != 0) continue;
      graph_->add_output(fmt::format("y{}", outputs++), v);
    }
    if (outputs == 0) graph_->add_output("y", made_.back());
  }
  std::unique_ptr<Graph> take() { return std::move(graph_); }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  Value* any() { return made_[static_cast<size_t>(below(std::ssize(made_)))]; }
  int64_t axis_of(const Value* v) { return below(v->rank()); }
  Dim free_dim() { return symbols_[static_cast<size_t>(below(std::ssize(symbols_)))]; }

  void add_input() {
    Dims shape;
    if (below(4) == 0) {
      shape = {below(2) == 0 ? free_dim() : Dim(2), Dim(between(1, 5)), free_dim() + Dim(4),
               below(2) == 0 ? free_dim() + Dim(4) : Dim(7)};
    } else {
      for (int64_t i = 0, rank = between(1, 4); i < rank; ++i)
        shape.push_back(below(2) == 0 ? free_dim() : Dim(between(1, 6)));
      if (all_static(shape)) shape[0] = free_dim();
    }
    made_.push_back(graph_->add_input(fmt::format("x{}", made_.size()), Type(DType::f32, shape)));
  }

  /// Rows of a transformer.
  void add_rows() {
    const Dim batch = below(2) == 0 ? free_dim() : Dim(between(1, 2));
    const Dims shape{batch, free_dim(), Dim(4 * between(1, 4))};
    made_.push_back(graph_->add_input("rows", Type(DType::f32, shape)));
  }

  Value* constant(const Ints& shape) {
    Tensor t(DType::f32, shape);
    for (int64_t i = 0; i < t.size(); ++i)
      t.mutable_data<float>()[i] = static_cast<float>(between(-16, 16)) / 8;
    return graph_->constant(std::move(t));
  }

  Value* emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs = {}) {
    const Loc loc{{}, {fmt::format("n{}", named_++)}, {}};
    auto made = graph_->emit(op, std::move(inputs), attrs, loc);
    if (!made.ok()) return nullptr;
    const SymbolBounds symbols = graph_->symbol_bounds();
    if (product((*made)->shape()).bounds(symbols).max > 400000) {
      graph_->erase((*made)->def());
      return nullptr;
    }
    return *made;
  }
  void keep(Value* v) {
    if (v && v->dtype() == DType::f32) made_.push_back(v);
  }

  void add_node() {
    using Make = void (Grower::*)(Value*);
    static constexpr Make kMakes[] = {
        &Grower::unary,   &Grower::binary, &Grower::binary, &Grower::transpose, &Grower::reshape,
        &Grower::softmax, &Grower::norm,   &Grower::reduce, &Grower::linear,    &Grower::matmul,
        &Grower::slice,   &Grower::concat, &Grower::pad,    &Grower::window,    &Grower::codes,
        &Grower::gather,  &Grower::where,  &Grower::scan,   &Grower::sequence,  &Grower::expand,
        &Grower::attend,  &Grower::attend, &Grower::rotary, &Grower::window,    &Grower::roll,
        &Grower::heads,   &Grower::hidden,
    };
    static constexpr Make kTransformer[] = {&Grower::heads, &Grower::heads,  &Grower::hidden,
                                            &Grower::norm,  &Grower::binary, &Grower::rotary};
    if (transformer_ && below(3) != 0) {
      (this->*kTransformer[below(std::ssize(kTransformer))])(any());
    } else {
      (this->*kMakes[below(std::ssize(kMakes))])(any());
    }
  }

  void unary(Value* v) {
    const char* const ops[] = {"silu", "tanh", "neg", "sigmoid", "abs"};
    keep(emit(ops[below(5)], {v}));
  }
  void binary(Value* v) {
    const char* const ops[] = {"add", "sub", "mul", "maximum"};
    Value* other = below(3) == 0 ? constant({}) : nullptr;
    for (int tries = 0; !other && tries < 8; ++tries) {
      Value* w = any();
      if (w->shape() == v->shape()) other = w;
    }
    if (!other && v->rank() > 0 && v->shape().back().is_static())
      other = constant({v->shape().back().value()});
    if (other) keep(emit(ops[below(4)], {v, other}));
  }
  void transpose(Value* v) {
    Ints perm;
    for (int64_t i = 0; i < v->rank(); ++i) perm.push_back(i);
    std::shuffle(perm.begin(), perm.end(), random_);
    keep(emit("transpose", {v}, {{"perm", perm}}));
  }
  void reshape(Value* v) {
    Dims shape = v->shape();
    if (v->rank() > 1 && below(2) == 0) {
      const auto at = static_cast<size_t>(below(v->rank() - 1));
      shape[at] = shape[at] * shape[at + 1];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else {
      shape.insert(shape.begin() + below(v->rank() + 1), Dim(1));
    }
    if (shape.size() <= 5) keep(emit("reshape", {v}, {{"shape", shape}}));
  }
  void softmax(Value* v) {
    if (v->rank() > 0) keep(emit("softmax", {v}, {{"axis", axis_of(v)}}));
  }
  void norm(Value* v) {
    if (v->rank() == 0) return;
    const bool parameters = v->shape().back().is_static();
    const int64_t n = parameters ? v->shape().back().value() : 0;
    const char* const op = below(2) == 0 ? "layer_norm" : "rms_norm";
    keep(emit(op, parameters ? std::vector{v, constant({n})} : std::vector{v}, {{"eps", 1e-3}}));
  }
  void reduce(Value* v) {
    if (v->rank() == 0) return;
    const char* const ops[] = {"reduce_sum", "reduce_mean", "reduce_max"};
    keep(emit(ops[below(3)], {v}, {{"axes", Ints{axis_of(v)}}, {"keepdims", below(2) == 0}}));
  }
  void linear(Value* v) {
    if (v->rank() == 0 || !v->shape().back().is_static()) return;
    const int64_t k = v->shape().back().value(), n = between(1, 20);
    keep(emit("linear", {v, constant({n, k}), constant({n})}));
  }
  void matmul(Value* v) {
    if (v->rank() < 2) return;
    keep(emit("matmul", {v, v}, {{"transpose_b", true}}));
  }
  void slice(Value* v) {
    if (v->rank() == 0) return;
    const auto rank = static_cast<size_t>(v->rank());
    Dims start(rank, Dim(0)), size = v->shape(), step(rank, Dim(1));
    const auto at = static_cast<size_t>(axis_of(v));
    const int64_t by = between(1, 3);
    step[at] = by;
    size[at] = ceildiv(size[at], by);
    keep(emit("slice", {v}, {{"start", start}, {"size", size}, {"step", step}}));
  }
  void concat(Value* v) {
    if (v->rank() > 0) keep(emit("concat", {v, v}, {{"axis", axis_of(v)}}));
  }
  void pad(Value* v) {
    if (v->rank() == 0) return;
    Dims before(static_cast<size_t>(v->rank()), Dim(0)), after = before;
    const auto at = static_cast<size_t>(axis_of(v));
    before[at] = between(0, 2);
    after[at] = between(0, 2);
    keep(emit("pad", {v}, {{"before", before}, {"after", after}}));
  }
  void window(Value* v) {
    const Ints one{1, 1}, pads{1, 1, 1, 1};
    if (v->rank() != 4) return;
    const Ints strides{between(1, 2), between(1, 2)};
    if (below(2) == 0) {
      keep(
          emit(below(2) == 0 ? "max_pool" : "average_pool", {v},
               {{"kernel", Ints{3, 3}}, {"strides", strides}, {"dilations", one}, {"pads", pads}}));
    } else if (v->shape()[1].is_static()) {
      const int64_t channels = v->shape()[1].value(), out = between(1, 18);
      keep(emit("conv", {v, constant({out, channels, 3, 3}), constant({out})},
                {{"strides", strides}, {"dilations", one}, {"pads", pads}}));
    }
  }
  void codes(Value* v) {
    const QType to =
        tensor_format(DType::i8, 0.0625f, static_cast<int32_t>(between(-9, 9)), -128, 127);
    Value* q = emit("quantize", {v}, {{"to", to}});
    if (q) keep(emit("dequantize", {q}));
  }
  void gather(Value* v) {
    if (v->rank() == 0) return;
    Tensor index(DType::i64, {3});
    for (int64_t i = 0; i < 3; ++i) index.set_int(i, 0);
    keep(emit("gather", {v, graph_->constant(std::move(index))}, {{"axis", axis_of(v)}}));
  }
  void where(Value* v) {
    Value* positive = emit("gt", {v, constant({})});
    if (positive) keep(emit("where", {positive, v, constant({})}));
  }
  void scan(Value* v) {
    if (v->rank() > 0) keep(emit("cumsum", {v}, {{"axis", axis_of(v)}}));
  }
  Value* numbers(const Dim& size) {
    Value* list = emit("iota", {}, {{"start", Dim(1)}, {"step", Dim(2)}, {"size", size}});
    return list ? emit("cast", {list}, {{"to", DType::f32}}) : nullptr;
  }
  void sequence(Value* v) {
    if (v->rank() == 0 || !tables_) return;
    if (Value* floats = numbers(v->shape().back())) keep(emit("mul", {v, floats}));
  }
  /// Queries, keys and values are one, with a window or without.
  void attend(Value* v) {
    if (v->rank() < 2 || v->rank() > 4 || !v->shape().back().is_static()) return;
    Dims shape = v->shape();
    while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
    if (v->rank() < 4) v = emit("reshape", {v}, {{"shape", shape}});
    const int64_t left = below(2) == 0 ? between(0, 20) : -1, right = below(2) == 0 ? 0 : -1;
    if (v) keep(emit("attention", {v, v, v}, {{"left", left}, {"right", right}}));
  }
  /// A rotation of rows whose angles are constants or grow with the position.
  void rotary(Value* v) {
    if (v->rank() < 2 || !v->shape().back().is_static()) return;
    const int64_t width = v->shape().back().value();
    if (width % 2 != 0) return;
    Value* angles = constant({width});
    if (tables_) {
      const Dim& rows = v->shape()[static_cast<size_t>(v->rank()) - 2];
      Value* positions = numbers(rows);
      if (positions) positions = emit("reshape", {positions}, {{"shape", Dims{rows, Dim(1)}}});
      if (positions) angles = emit("mul", {positions, angles});
    }
    Value* cosines = emit("cos", {angles});
    Value* sines = emit("sin", {angles});
    if (cosines && sines) keep(emit("rotary", {v, cosines, sines}));
  }
  /// The elements along an axis move around its end.
  void roll(Value* v) {
    if (v->rank() == 0) return;
    const auto at = static_cast<size_t>(axis_of(v));
    const Dim all = v->shape()[at], cut = mod(Dim(between(-3, 3)), all);
    const auto part = [&](const Dim& first, const Dim& count) {
      const auto rank = static_cast<size_t>(v->rank());
      Dims start(rank, Dim(0)), size = v->shape(), step(rank, Dim(1));
      start[at] = first;
      size[at] = count;
      return emit("slice", {v}, {{"start", start}, {"size", size}, {"step", step}});
    };
    Value *head = part(0, cut), *tail = part(cut, all - cut);
    if (head && tail) keep(emit("concat", {tail, head}, {{"axis", static_cast<int64_t>(at)}}));
  }
  Value* projected(Value* v, int64_t outputs) {
    return emit("linear", {v, constant({outputs, v->shape().back().value()}), constant({outputs})});
  }
  /// Heads [batch, heads, rows, depth] of rows [batch, rows, heads * depth].
  Value* split_heads(Value* v, int64_t heads, int64_t depth) {
    const Dims& rows = v->shape();
    v = emit("reshape", {v}, {{"shape", Dims{rows[0], rows[1], Dim(heads), Dim(depth)}}});
    return v ? emit("transpose", {v}, {{"perm", Ints{0, 2, 1, 3}}}) : nullptr;
  }
  /// Attention between projections, as transformers have it: keys may be those of another value,
  /// heads may share them, and a mask may hide some.
  void heads(Value* v) {
    if (v->rank() != 3 || !v->shape().back().is_static()) return;
    const int64_t shared = between(1, 2), heads = shared * between(1, 2), depth = 2 * between(1, 4);
    Value* keys = v;
    for (Value* w : made_) {
      const Dims& shape = w->shape();
      if (w->rank() == 3 && shape[0] == v->shape()[0] && shape[2].is_static() && below(3) == 0)
        keys = w;
    }
    Value *q = projected(v, heads * depth), *k = projected(keys, shared * depth),
          *values = projected(keys, shared * depth);
    if (!q || !k || !values) return;
    q = split_heads(q, heads, depth);
    k = split_heads(k, shared, depth);
    values = split_heads(values, shared, depth);
    if (!q || !k || !values) return;
    std::vector<Value*> operands{q, k, values};
    if (below(4) == 0) {
      Value* columns = numbers(keys->shape()[1]);
      if (columns && tables_) operands.push_back(emit("gt", {columns, constant({})}));
    }
    Value* y = emit("attention", operands, {{"right", below(3) == 0 ? int64_t{0} : int64_t{-1}}});
    if (y) y = emit("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    if (y) {
      const Dims shape{v->shape()[0], v->shape()[1], Dim(heads * depth)};
      y = emit("reshape", {y}, {{"shape", shape}});
    }
    if (y) y = projected(y, v->shape().back().value());
    if (y && below(2) == 0) y = emit("add", {v, y});
    keep(y);
  }
  /// Two linear layers around an activation.
  void hidden(Value* v) {
    if (v->rank() == 0 || !v->shape().back().is_static()) return;
    Value* y = projected(v, between(4, 24));
    if (y) y = emit(below(2) == 0 ? "gelu" : "silu", {y});
    if (y) y = projected(y, v->shape().back().value());
    if (y && below(2) == 0) y = emit("add", {v, y});
    keep(y);
  }
  void expand(Value* v) {
    Dims shape = v->shape();
    shape.insert(shape.begin(), free_dim());
    if (shape.size() <= 4) keep(emit("expand", {v}, {{"shape", shape}}));
  }

  std::mt19937_64 random_;
  bool tables_, transformer_ = false;
  int64_t named_ = 0;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  Dims symbols_;
  std::vector<Value*> made_;
};
}  // namespace

std::unique_ptr<Graph> random_free_graph(uint64_t seed, bool tables) {
  return Grower(seed, tables).take();
}

std::vector<Tensor> inputs_at(const Graph& graph, const Bindings& sizes, uint64_t seed) {
  auto bound = copy(graph);
  EXPECT_TRUE(bound.ok() && (*bound)->bind(sizes).ok());
  return random_tensors(**bound, seed);
}

bool gives_sizes(const Program& program) {
  return std::ranges::all_of(program.dims, [&](const FreeDim& d) {
    return std::ranges::any_of(program.inputs, [&](const Port& input) {
      const Dims& shape = input.type.shape;
      return std::ranges::find(shape, Dim::symbol(d.name)) != shape.end();
    });
  });
}

}  // namespace qc
