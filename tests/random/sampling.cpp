#include "tests/random/sampling.h"

#include <algorithm>
#include <cmath>

#include "ir/op_table.h"
#include "ops/common/registration.h"

namespace qc {

#define QC_OP_SAMPLE(folder) void sample_##folder(Samplers&);
#include "tests/random/samples.inc"
#undef QC_OP_SAMPLE

Sampling::Sampling(uint64_t seed) : random_(seed), graph_(std::make_unique<Graph>()) {
  graph_->name = "random";
}

int64_t Sampling::size() {
  const int64_t kind = below(10);
  if (kind < 2) return 1;
  if (kind < 7) return 1 + 2 * between(1, 6);
  if (kind < 9) return between(2, 16);
  return between(65, 80);
}

Ints Sampling::shape(int64_t rank, int64_t limit) {
  Ints out;
  int64_t total = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t n = size();
    if (total * n > limit) n = between(1, 3);
    if (total * n > limit) n = 1;
    total *= n;
    out.push_back(n);
  }
  return out;
}

Value* Sampling::input(DType dtype, const Ints& shape) {
  Value* v = graph_->add_input("x" + std::to_string(inputs_++), Type(dtype, to_dims(shape)));
  values_.push_back(v);
  return v;
}

Value* Sampling::constant(DType dtype, const Ints& shape, int64_t lo, int64_t hi) {
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) {
    if (is_float(dtype))
      t.set_double(i, static_cast<double>(between(-1024, 1024)) / 512.0);
    else if (dtype == DType::boolean)
      t.set_int(i, below(2));
    else
      t.set_int(i, between(lo, hi));
  }
  return graph_->constant(std::move(t));
}

Value* Sampling::constant_ints(const Ints& values) {
  return graph_->constant(
      Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(values.size())}, values));
}

Value* Sampling::find(const std::function<bool(const Value&)>& fits) {
  std::vector<Value*> found;
  for (Value* v : values_) {
    if (fits(*v)) found.push_back(v);
  }
  if (found.empty()) return nullptr;
  // Late values more often, so that graphs grow deep.
  const size_t n = found.size();
  const size_t at =
      chance(60) ? n - 1 - static_cast<size_t>(below(static_cast<int64_t>(std::min<size_t>(n, 3))))
                 : static_cast<size_t>(below(static_cast<int64_t>(n)));
  return found[at];
}

Value* Sampling::value(DType dtype, int64_t min_rank, int64_t max_rank) {
  if (!chance(8)) {
    Value* v = find([&](const Value& x) {
      return x.dtype() == dtype && x.rank() >= min_rank && x.rank() <= max_rank;
    });
    if (v) return v;
  }
  return input(dtype, shape(between(min_rank, max_rank)));
}

DType Sampling::arithmetic_type() {
  if (!chance(40)) return float_type();
  return pick<DType>({DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16,
                      DType::u32, DType::u64});
}

AttrMap Sampling::epilogue(bool dynamic, AttrMap more) {
  if (!dynamic) {
    more["to"] = format();
    more["arithmetic"] = arithmetic();
    return more;
  }
  const DType to = pick<DType>({DType::i8, DType::u8, DType::i16});
  more["to"] = to;
  more["symmetric"] = is_signed(to) && chance(50);
  more["per_token"] = chance(50);
  return more;
}

QType Sampling::format() {
  const DType dtype = pick<DType>({DType::i8, DType::i8, DType::u8, DType::i16, DType::u16});
  CodeRange range = code_range(dtype);
  if (chance(30)) ++range.lo;
  const int64_t kind = below(8);
  const int64_t zero = kind == 0   ? range.lo
                       : kind == 1 ? range.hi
                       : kind < 4  ? (range.lo + range.hi) / 2
                                   : between(range.lo, range.hi);
  // Powers of two make ties.
  const double step = 6.0 / static_cast<double>(range.hi - range.lo);
  const double scale = chance(40) ? std::exp2(std::floor(std::log2(step)))
                                  : step * static_cast<double>(between(50, 200)) / 100.0;
  return tensor_format(dtype, static_cast<float>(scale), static_cast<int32_t>(zero), range.lo,
                       range.hi);
}

std::string Sampling::arithmetic() {
  return pick<std::string>({"exact", "exact", "onnxruntime", "torch"});
}

Value* Sampling::codes(int64_t min_rank, int64_t max_rank) {
  if (!chance(15)) {
    Value* v = find([&](const Value& x) {
      const auto& f = x.type().format;
      return f && f->granularity == Granularity::tensor && !f->is_dynamic() &&
             bits(x.dtype()) <= 16 && x.rank() >= min_rank && x.rank() <= max_rank;
    });
    if (v) return v;
  }
  const AttrMap attrs{{"to", format()}, {"arithmetic", arithmetic()}};
  Value* made = emit("quantize", {floats(min_rank, max_rank)}, attrs);
  if (made) return made;  // else the floats found were none at all
  return emit("quantize", {input(DType::f32, shape(between(min_rank, max_rank)))}, attrs);
}

Value* Sampling::emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs) {
  for (Value* v : inputs) {
    if (v == nullptr) continue;
    for (const Dim& d : v->shape()) {
      if (d.value() == 0) return nullptr;
    }
  }
  Result<Value*> v = graph_->emit(op, std::move(inputs), attrs,
                                  Loc{{}, {"n" + std::to_string(values_.size())}, {}});
  if (!v.ok()) return nullptr;
  Node* node = (*v)->def();
  for (size_t i = 0; i < node->output_count(); ++i) {
    const Dim n = product(node->output(i)->shape());
    if (n.value() > kMaxElements || n.value() == 0) {
      graph_->erase(node);
      return nullptr;
    }
  }
  for (size_t i = 0; i < node->output_count(); ++i) values_.push_back(node->output(i));
  return *v;
}

namespace {

/// Operands of one shape, or shapes that broadcast to it, of a type the op takes.
void sample_elementwise(Sampling& s, const OpEntry& op) {
  auto type = [&] { return s.chance(8) ? DType::boolean : s.arithmetic_type(); };
  const int most = op.info->max_inputs < 0 ? 3 : op.info->max_inputs;
  const int count = static_cast<int>(s.between(op.info->min_inputs, most));
  for (int attempt = 0; attempt < 12; ++attempt) {
    const DType dtype = type();
    Value* first = s.value(dtype, 0, 4);
    std::vector<Value*> inputs{first};
    while (static_cast<int>(inputs.size()) < count) {
      const DType second = s.chance(80) ? dtype : type();
      Ints shape = static_dims(first->shape());
      for (int64_t& d : shape) d = s.chance(25) ? 1 : d;
      if (!shape.empty() && s.chance(20))
        shape.erase(shape.begin(), shape.begin() + s.below(static_cast<int64_t>(shape.size())));
      Value* other = s.find(
          [&](const Value& v) { return v.dtype() == second && v.shape() == first->shape(); });
      if (!other || s.chance(40)) other = s.constant(second, shape, 1, 5);
      inputs.push_back(other);
    }
    if (s.chance(50)) std::reverse(inputs.begin(), inputs.end());
    if (s.emit(op.info->name, inputs)) return;
  }
}

}  // namespace

const Samplers& samplers() {
  static const Samplers all = [] {
    register_all_ops();
    Samplers s;
#define QC_OP_SAMPLE(folder) sample_##folder(s);
#include "tests/random/samples.inc"
#undef QC_OP_SAMPLE
    for (const auto& [name, entry] : op_table().all()) {
      if (s.all().contains(std::string(name)) || s.skipped().contains(std::string(name))) continue;
      if (!entry.info->has(kElementwise)) continue;
      s.add(name, [&entry = entry](Sampling& sampling) { sample_elementwise(sampling, entry); });
    }
    return s;
  }();
  return all;
}

std::unique_ptr<Graph> random_graph(uint64_t seed, int nodes, std::string_view first,
                                    std::string_view then) {
  Sampling s(seed);
  std::vector<const Sampler*> list;
  for (const auto& [name, sampler] : samplers().all()) list.push_back(&sampler);
  s.input(DType::f32, s.shape(s.between(2, 4)));
  auto use = [&](std::string_view op) {
    auto it = samplers().all().find(std::string(op));
    if (it != samplers().all().end()) it->second(s);
  };
  if (!first.empty()) use(first);
  if (!then.empty()) use(then);
  for (int tries = 0; static_cast<int>(s.graph().node_count()) < nodes && tries < nodes * 8;
       ++tries) {
    (*s.pick(list))(s);
  }
  add_outputs(s);
  return s.take();
}

void add_outputs(Sampling& s) {
  Graph& g = s.graph();
  int outputs = 0;
  for (Node* n = g.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      if (!n->output(i)->has_uses() || s.chance(5))
        g.add_output("y" + std::to_string(outputs++), n->output(i));
    }
  }
  if (outputs == 0) g.add_output("y0", g.inputs()[0]);
}

std::vector<Tensor> random_tensors(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed ^ 0x5851f42d4c957f2du);
  std::vector<Tensor> out;
  for (const Value* v : graph.inputs()) {
    Tensor t(v->dtype(), static_dims(v->shape()));
    for (int64_t i = 0; i < t.size(); ++i) {
      const int64_t r = static_cast<int64_t>(random() % 4097) - 2048;
      if (v->dtype() == DType::boolean)
        t.set_int(i, r & 1);
      else if (is_float(v->dtype()))
        t.set_double(i, static_cast<double>(r) / 700.0);
      else
        t.set_int(i, ((r % 5) + 5) % 5);
    }
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace qc
