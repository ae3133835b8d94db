// Random graphs with one to three free dimensions: the program that serves every size gives, bound
// to some, the bits that the interpreter gives of the graph with these sizes. The number of graphs
// comes from QUANTC_FREE_GRAPHS (default 300), the first seed from QUANTC_RANDOM_SEED. A third have
// static rules, a third dynamic ones. Some (QUANTC_FREE_NATIVE, default 10) are also compiled to C,
// built and run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>

#include "driver/compile.h"
#include "driver/native.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "program/bind.h"
#include "program/run.h"
#include "tests/random/agree.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

constexpr int64_t kLargest = 12, kPastTiles = 70;  // the largest tile of a kernel has 48 columns
constexpr int64_t kSizesOfAGraph = 5;

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
    for (int64_t i = 0, inputs = between(1, 3); i < inputs; ++i) add_input();
    symbols_.clear();  // a size that no input has is not known
    for (const std::string& name : graph_->symbols()) symbols_.push_back(Dim::symbol(name));
    for (int64_t i = 0, nodes = between(3, 14); i < nodes; ++i) add_node();
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
        &Grower::attend,  &Grower::attend, &Grower::rotary, &Grower::window,
    };
    (this->*kMakes[below(std::ssize(kMakes))])(any());
  }

  void unary(Value* v) {
    const char* const ops[] = {"relu", "tanh", "neg", "sigmoid", "abs"};
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
  /// Rows are turned by angles that are constants or grow with their place.
  void rotary(Value* v) {
    if (v->rank() < 2 || !v->shape().back().is_static()) return;
    const int64_t width = v->shape().back().value();
    if (width % 2 != 0) return;
    Value* angles = constant({width});
    if (tables_) {
      const Dim& rows = v->shape()[static_cast<size_t>(v->rank()) - 2];
      Value* places = numbers(rows);
      if (places) places = emit("reshape", {places}, {{"shape", Dims{rows, Dim(1)}}});
      if (places) angles = emit("mul", {places, angles});
    }
    Value* cosines = emit("cos", {angles});
    Value* sines = emit("sin", {angles});
    if (cosines && sines) keep(emit("rotary", {v, cosines, sines}));
  }
  void expand(Value* v) {
    Dims shape = v->shape();
    shape.insert(shape.begin(), free_dim());
    if (shape.size() <= 4) keep(emit("expand", {v}, {{"shape", shape}}));
  }

  std::mt19937_64 random_;
  bool tables_;
  int64_t named_ = 0;
  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  Dims symbols_;
  std::vector<Value*> made_;
};

/// The inputs of a graph at these sizes.
std::vector<Tensor> inputs_at(const Graph& graph, const Bindings& sizes, uint64_t seed) {
  auto bound = copy(graph);
  EXPECT_TRUE(bound.ok() && (*bound)->bind(sizes).ok());
  return random_tensors(**bound, seed);
}

/// Every fourth graph is padded along one dimension.
std::vector<int64_t> buckets(int64_t i, const std::string& name, const DimRange& range) {
  if (i % 4 != 3 || name != "a") return {};
  return {range.min + 4, range.max};
}

enum class Rules { none, statics, dynamics };

std::vector<quantc::RuleSpec> specs(Rules rules) {
  if (rules == Rules::none) return {};
  quantc::RuleSpec spec;
  spec.pattern = ".*";
  spec.kind = rules == Rules::statics ? "static" : "dynamic";
  if (rules == Rules::statics) {
    spec.min = spec.input_min = {-4};
    spec.max = spec.input_max = {4};
  }
  spec.skip_unsupported = true;
  return {spec};
}

/// Whether shapes of inputs say how large every dimension is: C is called with shapes here.
bool gives_sizes(const Program& program) {
  return std::ranges::all_of(program.dims, [&](const FreeDim& d) {
    return std::ranges::any_of(program.inputs, [&](const Port& input) {
      const Dims& shape = input.type.shape;
      return std::ranges::find(shape, Dim::symbol(d.name)) != shape.end();
    });
  });
}

TEST(FreeSizes, RandomGraphsGiveTheBitsOfTheirStaticTwins) {
  const int64_t base = setting("QUANTC_RANDOM_SEED", 1);
  const int64_t count = setting("QUANTC_FREE_GRAPHS", 300);
  const int64_t natives = setting("QUANTC_FREE_NATIVE", 10);
  int64_t compiled = 0, called = 0;
  std::map<std::string, int> refused, ops;
  for (int64_t i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(base + i);
    const Rules rules = std::array{Rules::none, Rules::statics, Rules::dynamics}[seed % 3];
    // A static rule gives a table a scale of its own once its sizes are known (docs/sizes.md).
    const std::unique_ptr<Graph> graph = Grower(seed, rules != Rules::statics).take();
    Options options;
    options.rules = specs(rules);
    options.allow_unused_rules = true;
    options.target = i % 2 == 0 ? "portable" : "native";
    options.verify = true;
    options.level = static_cast<int>(i / 3 % 3);
    options.plan = i % 3 == 0 ? "smallest" : "fixed";
    for (const auto& [name, range] : graph->dim_ranges) {
      const auto symbols = graph->symbols();
      if (std::find(symbols.begin(), symbols.end(), name) != symbols.end())
        options.ranges[name] = {range.min, range.max, 1, buckets(i, name, range), 0, {}, true};
    }
    auto contract = copy(*graph);
    ASSERT_TRUE(contract.ok());
    const auto made = make_contract(**contract, options);
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << render(made.diag()) << print(*graph);
    auto own = copy(**contract);
    const auto program = make_program(**own, options);
    if (!program.ok() && program.diag().code == Code::unsupported) {
      ++refused[program.diag().text];
      continue;
    }
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << render(program.diag()) << print(*graph);
    ++compiled;
    for (const Graph* g : {graph.get(), contract->get()}) {
      std::set<std::string> here;
      for (const Node* n = g->first(); n; n = n->next()) here.insert(std::string(n->op()));
      for (const std::string& op : here) ++ops[op];
    }
    std::optional<NativeModel> native;
    if (natives > called && i % std::max<int64_t>(1, count / (2 * natives)) == 0 &&
        gives_sizes(*program)) {
      ++called;
      auto built = NativeModel::build(**contract, options, {{}, {"-O0"}});
      ASSERT_TRUE(built.ok()) << "seed " << seed << ": " << render(built.diag()) << print(*graph);
      native = std::move(*built);
    }
    std::mt19937_64 random(seed);
    for (int64_t k = 0; k < kSizesOfAGraph; ++k) {
      Bindings sizes;
      for (const FreeDim& d : program->dims) {
        const auto steps = static_cast<uint64_t>(d.max - d.min + 1);
        sizes[d.name] = k == 0   ? d.max
                        : k == 1 ? d.min
                                 : d.min + static_cast<int64_t>(random() % steps);
      }
      const std::vector<Tensor> inputs = inputs_at(*graph, sizes, seed);
      auto twin = copy(*graph);
      ASSERT_TRUE((*twin)->bind(sizes).ok());
      Options fixed = options;
      fixed.ranges.clear();
      ASSERT_TRUE(make_contract(**twin, fixed).ok());
      const auto want = interpret(**twin, inputs);
      ASSERT_TRUE(want.ok()) << render(want.diag());
      if (native) {
        const auto in_c = native->run(inputs);
        ASSERT_TRUE(in_c.ok()) << "seed " << seed << ": " << render(in_c.diag());
        ASSERT_EQ(first_difference(in_c->outputs, want->outputs), "") << "in C, seed " << seed;
      }
      const Program here = bound(*program, sizes);
      ASSERT_TRUE(verify(here).ok()) << "seed " << seed;
      const auto got = run_program(here, inputs);
      ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << render(got.diag());
      std::string at;
      for (const auto& [name, size] : sizes) at += fmt::format(" {} = {}", name, size);
      ASSERT_EQ(first_difference(got->outputs, want->outputs), "") << "seed " << seed << at << "\n"
                                                                   << print(*graph);
    }
  }
  for (const auto& [why, times] : refused) fmt::print("{} x {}\n", times, why);
  EXPECT_GE(compiled * 100, count * 97);
  EXPECT_GE(called * 2, natives);
  for (const char* op : {"add",         "attention", "average_pool", "concat",   "conv",
                         "cumsum",      "expand",    "gather",       "iota",     "layer_norm",
                         "linear",      "matmul",    "max_pool",     "pad",      "qattention",
                         "qconv",       "qlinear",   "qmatmul",      "quantize", "quantize_dynamic",
                         "reduce_mean", "reshape",   "rotary",       "slice",    "softmax",
                         "transpose",   "where"})
    EXPECT_GE(ops[op] * 100, count * 2) << op;
}

}  // namespace
}  // namespace qc
