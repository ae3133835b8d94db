#include "tests/random/transformers.h"

#include <algorithm>

namespace qc {
namespace {

/// How a value becomes codes. A graph has few of them, so that some readers ask for the same.
struct Scheme {
  enum class Kind { tensor, axis, group, dynamic };
  Kind kind = Kind::tensor;
  DType to = DType::i8;
  bool symmetric = false, per_token = false;
  int64_t salt = 0;  // of static scales
};

class Builder {
 public:
  explicit Builder(uint64_t seed) : s_(seed) {
    for (int64_t i = s_.between(1, 3); i > 0; --i) schemes_.push_back(scheme());
  }

  std::unique_ptr<Graph> build() {
    const int64_t width = s_.pick<int64_t>({4, 6, 8, 12});
    Value* x = s_.input(DType::f32, {s_.between(1, 2), s_.between(1, 4), width});
    for (int64_t block = s_.between(1, 2); block > 0; --block) {
      x = norm(x);
      Value* sum = nullptr;
      for (int64_t reader = s_.between(2, 4); reader > 0; --reader) {
        Value* y = read(x);
        if (y->shape() == x->shape() && s_.chance(60)) sum = y;
      }
      if (sum && s_.chance(80)) x = s_.emit("add", {x, sum});
    }
    add_outputs(s_);
    return s_.take();
  }

 private:
  Scheme scheme() {
    Scheme out;
    out.kind = s_.pick<Scheme::Kind>({Scheme::Kind::tensor, Scheme::Kind::axis, Scheme::Kind::group,
                                      Scheme::Kind::dynamic, Scheme::Kind::dynamic,
                                      Scheme::Kind::dynamic});
    out.to = s_.pick<DType>({DType::i8, DType::i8, DType::u8, DType::i16});
    out.symmetric = is_signed(out.to) && s_.chance(60);
    out.per_token = s_.chance(60);
    out.salt = s_.below(2);
    return out;
  }

  Value* norm(Value* x) {
    if (s_.chance(20)) return s_.emit("tanh", {x});
    const std::vector<int64_t> width{x->shape().back().value()};
    return s_.emit("rms_norm", {x, s_.constant(DType::f32, width)}, {{"axis", x->rank() - 1}});
  }

  /// One reader of a norm: views, codes, and what computes on them.
  Value* read(Value* x) {
    if (s_.chance(15)) s_.emit("exp", {x});
    if (s_.chance(25)) return split(x);
    if (s_.chance(20)) return heads(x);
    if (s_.chance(20)) return gated(coded(viewed(x)));
    return product(coded(viewed(x)));
  }

  /// Two products of the same codes, one of them a gate, and codes again.
  Value* gated(Value* x) {
    if (x->rank() < 1) return x;
    const int64_t inputs = x->shape().back().value(), outputs = s_.between(1, 9);
    Value* gate = s_.emit("linear", {x, weights(outputs, inputs)});
    Value* up = s_.emit("linear", {x, weights(outputs, inputs)});
    gate = s_.emit(s_.pick<std::string>({"silu", "gelu", "sigmoid"}), {gate});
    return coded(s_.emit("mul", {gate, up}));
  }

  /// Queries, keys and values of one product, often read alike: heads of the first two are rotated,
  /// and may be normalised before, each kind with factors of its own.
  Value* heads(Value* x) {
    x = coded(x);
    if (x->rank() < 1 || x->rank() > 4) return product(x);
    const int64_t depth = 2 * s_.between(1, 4), queries = s_.between(1, 3), keys = s_.between(1, 2);
    const int64_t outputs = (queries + 2 * keys) * depth;
    Value* all = s_.emit("linear", {x, weights(outputs, x->shape().back().value())});
    Ints shape = static_dims(all->shape());
    shape.back() = queries + 2 * keys;
    shape.push_back(depth);
    all = s_.emit("reshape", {all}, {{"shape", to_dims(shape)}});
    Value *cosines = s_.constant(DType::f32, {depth}), *sines = s_.constant(DType::f32, {depth});
    const Scheme& alike = s_.pick(schemes_);
    const bool norms = s_.chance(70);
    Ints start(shape.size(), 0), size = shape;
    for (const int64_t count : {queries, keys, keys}) {
      size[size.size() - 2] = count;
      Value* part = slice(all, start, size);
      start[start.size() - 2] += count;
      const bool rotated = start[start.size() - 2] <= queries + keys;
      if (rotated && norms) part = norm(part);
      if (rotated) part = s_.emit("rotary", {part, cosines, sines});
      x = s_.chance(85) ? coded(part, alike) : coded(part);
    }
    return x;
  }

  /// All parts of the value, often read alike.
  Value* split(Value* x) {
    const size_t axis = static_cast<size_t>(s_.below(x->rank()));
    const Ints shape = static_dims(x->shape());
    if (shape[axis] < 2) return product(coded(x));
    const int64_t first = s_.between(1, shape[axis] - 1);
    const Scheme& alike = s_.pick(schemes_);
    Value* last = nullptr;
    for (const auto& [at, count] : {std::pair<int64_t, int64_t>{0, first},
                                    std::pair<int64_t, int64_t>{first, shape[axis] - first}}) {
      Ints start(shape.size(), 0), size = shape;
      start[axis] = at;
      size[axis] = count;
      Value* part = slice(x, start, size);
      if (s_.chance(30)) part = view(part);
      last = s_.chance(85) ? coded(part, alike) : coded(part);
    }
    return last;
  }

  Value* slice(Value* x, const Ints& start, const Ints& size) {
    return s_.emit(
        "slice", {x},
        {{"start", to_dims(start)}, {"size", to_dims(size)}, {"step", Dims(size.size(), Dim(1))}});
  }

  Value* viewed(Value* x) {
    for (int64_t i = s_.below(4); i > 0; --i) x = view(x);
    return x;
  }

  Value* view(Value* x) {
    const Ints shape = static_dims(x->shape());
    switch (s_.below(7)) {
      case 0: {
        Ints perm;
        for (int64_t i = 0; i < x->rank(); ++i) perm.push_back(i);
        for (size_t i = perm.size(); i > 1; --i) {
          std::swap(perm[i - 1], perm[static_cast<size_t>(s_.below(static_cast<int64_t>(i)))]);
        }
        return s_.emit("transpose", {x}, {{"perm", perm}});
      }
      case 1: {
        if (x->rank() > 4) return x;
        Dims wide = x->shape();
        wide.insert(wide.begin(), Dim(s_.between(1, 2)));
        return s_.emit("expand", {x}, {{"shape", wide}});
      }
      case 2: {
        const Dims& other = x->shape();
        Value* y = s_.chance(50) ? x : s_.input(DType::f32, static_dims(other));
        return s_.emit("concat", {x, y}, {{"axis", s_.below(x->rank())}});
      }
      case 3: {  // rows that are picked, some twice; an index outside is that of the nearest
        if (x->rank() < 1) return x;
        const int64_t axis = s_.below(x->rank()), size = shape[static_cast<size_t>(axis)];
        Value* positions = s_.input(DType::i64, {s_.between(1, size + 1)});
        return s_.emit("gather", {x, positions}, {{"axis", axis}});
      }
      default:
        return reshaped(x, shape);
    }
  }

  /// Two axes as one, or one as two.
  Value* reshaped(Value* x, Ints shape) {
    const size_t at = static_cast<size_t>(s_.below(std::ssize(shape)));
    if (s_.chance(50) && at + 1 < shape.size()) {
      shape[at] *= shape[at + 1];
      shape.erase(shape.begin() + static_cast<ptrdiff_t>(at) + 1);
    } else if (shape.size() < 5) {
      const int64_t part = shape[at] % 2 == 0 ? 2 : shape[at] % 3 == 0 ? 3 : 1;
      shape[at] /= part;
      shape.insert(shape.begin() + static_cast<ptrdiff_t>(at) + (s_.chance(50) ? 1 : 0), part);
    }
    return s_.emit("reshape", {x}, {{"shape", to_dims(shape)}});
  }

  Value* coded(Value* x) { return coded(x, s_.pick(schemes_)); }

  /// Codes of the value, decoded; now and then only their scale is read.
  Value* coded(Value* x, const Scheme& scheme) {
    if (scheme.kind != Scheme::Kind::dynamic) {
      Value* codes = s_.emit("quantize", {x}, {{"to", known(x, scheme)}});
      return s_.emit("dequantize", {codes});
    }
    Value* codes = s_.emit("quantize_dynamic", {x},
                           {{"to", scheme.to},
                            {"symmetric", scheme.symmetric},
                            {"per_token", scheme.per_token && x->rank() > 0}});
    const Node* q = codes->def();
    if (s_.chance(8)) return s_.emit("exp", {q->output(1)});
    return s_.emit("dequantize", {codes, q->output(1), q->output(2)});
  }

  /// Static scales; equal for values of equal size along the axis.
  QType known(const Value* x, const Scheme& scheme) {
    auto format = std::make_shared<Format>();
    const CodeRange range = code_range(scheme.to);
    format->qmin = range.lo;
    format->qmax = range.hi;
    int64_t count = 1;
    if (scheme.kind != Scheme::Kind::tensor && x->rank() > 0) {
      format->axis = scheme.salt == 0 ? x->rank() - 1 : s_.below(x->rank());
      const Ints shape = static_dims(x->shape());
      const int64_t size = shape[static_cast<size_t>(format->axis)];
      format->granularity = Granularity::axis;
      count = size;
      if (scheme.kind == Scheme::Kind::group) {
        format->granularity = Granularity::group;
        format->group = 2;
        count = (size + 1) / 2;
        for (size_t i = 0; i < shape.size(); ++i) {
          if (static_cast<int64_t>(i) != format->axis) count *= shape[i];
        }
      }
    }
    const bool one = format->granularity == Granularity::tensor;
    Tensor scales(DType::f32, one ? Ints{} : Ints{count});
    for (int64_t i = 0; i < count; ++i) {
      scales.set_double(i, 0.02 + 0.01 * static_cast<double>((i * 7 + scheme.salt) % 5));
    }
    format->scale = Component::of(std::move(scales));
    if (scheme.salt == 1 && one) {
      format->zero_point = Component::of(Tensor::of<int32_t>(DType::i32, {}, std::vector{3}));
    }
    return {scheme.to, std::move(format)};
  }

  /// A few products with weights that are codes, too.
  Value* product(Value* x) {
    if (x->rank() < 1 || s_.chance(30)) return x;
    const int64_t inputs = x->shape().back().value();
    Value* last = x;
    for (int64_t i = s_.between(1, 3); i > 0; --i) {
      const int64_t outputs = s_.chance(30) && inputs < 100 ? inputs : s_.between(1, 9);
      std::vector<Value*> operands{x, weights(outputs, inputs)};
      if (s_.chance(40)) operands.push_back(s_.constant(DType::f32, {outputs}));
      last = s_.emit("linear", operands);
      if (s_.chance(20)) last = coded(last);
    }
    return last;
  }

  Value* weights(int64_t outputs, int64_t inputs) {
    Tensor codes(DType::i8, {outputs, inputs});
    for (int64_t i = 0; i < codes.size(); ++i) codes.set_int(i, s_.between(-127, 127));
    auto format = std::make_shared<Format>();
    format->qmin = -127;
    const bool channels = s_.chance(50);
    Tensor scales(DType::f32, channels ? Ints{outputs} : Ints{});
    for (int64_t i = 0; i < scales.size(); ++i) {
      scales.set_double(i, static_cast<double>(s_.between(1, 50)) / 2000.0);
    }
    if (channels) format->granularity = Granularity::axis;
    format->scale = Component::of(std::move(scales));
    const ConstId id = s_.graph().pool().add(std::move(codes), "w");
    return s_.emit("dequantize", {s_.graph().constant(id, std::move(format))});
  }

  Sampling s_;
  std::vector<Scheme> schemes_;
};

}  // namespace

std::unique_ptr<Graph> random_transformer(uint64_t seed) { return Builder(seed).build(); }

}  // namespace qc
