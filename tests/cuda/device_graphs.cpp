#include "tests/cuda/device_graphs.h"

#include "quant/scheme.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

constexpr DType kCodes[] = {DType::i8, DType::u8, DType::i16, DType::u16};

/// A graph that grows; what nobody reads is an output. The first failure is kept.
class Maker {
 public:
  explicit Maker(uint64_t seed) : s_(seed) {}

  Value* input(const Ints& shape) { return s_.input(DType::f32, shape); }
  Value* constant(const Ints& shape) { return s_.constant(DType::f32, shape); }

  Value* emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs = {}) {
    if (!failure_.ok()) return nullptr;
    auto made = s_.graph().emit(op, std::move(inputs), attrs,
                                Loc{{}, {"n" + std::to_string(s_.graph().node_count())}, {}});
    if (!made.ok()) failure_ = made.diag();
    return made.ok() ? *made : nullptr;
  }

  /// Codes of floats about +-3.
  static QType format(DType dtype, int64_t zero) {
    const CodeRange range = code_range(dtype);
    return tensor_format(dtype, static_cast<float>(6.0 / static_cast<double>(range.hi - range.lo)),
                         static_cast<int32_t>(zero));
  }
  Value* codes(Value* x, DType dtype, int64_t zero) {
    return emit("quantize", {x}, {{"to", format(dtype, zero)}});
  }
  Value* codes(const Ints& shape, DType dtype, int64_t zero) {
    return codes(input(shape), dtype, zero);
  }
  /// Codes i8 or i16 with a scale for each index of the first axis.
  Value* weights(const Ints& shape, DType dtype = DType::i8) {
    auto format = std::make_shared<Format>();
    const int64_t most = code_range(dtype).hi;
    format->qmin = -most;
    format->qmax = most;
    format->granularity = Granularity::axis;
    format->axis = 0;
    Tensor scales(DType::f32, {shape[0]});
    for (int64_t i = 0; i < shape[0]; ++i)
      scales.set_double(
          i, static_cast<double>(s_.between(20, 100)) / 2000 / static_cast<double>(most) * 127);
    format->scale = Component::of(std::move(scales));
    return s_.graph().constant(s_.constant(dtype, shape, -most, most)->constant(), format);
  }
  Value* mask(DType dtype, const Ints& shape) { return s_.constant(dtype, shape, 0, 1); }
  Value* bias(int64_t n) { return s_.constant(DType::i32, {n}, -3000, 3000); }

  Result<Ok> finish(const std::function<Result<Ok>(const Graph&)>& use) {
    QC_TRY(failure_);
    for (Node* n : s_.graph().nodes()) {
      for (size_t i = 0; i < n->output_count(); ++i) {
        Value* const y = n->output(i);
        if (!y->has_uses()) s_.graph().add_output("y" + std::to_string(y->number()), y);
      }
    }
    return use(s_.graph());
  }

 private:
  Sampling s_;
  Result<Ok> failure_ = Ok{};
};

struct Conv {
  Ints x, w;  // [images, channels, sizes...], [outputs, channels of a group, window...]
  int64_t stride, pad, dilation, groups, zero;
  DType dtype;
  bool residual;
};

/// Odd channels, several taps, strides, padding with a zero point that is not 0, residuals, all
/// ranks, depthwise windows of all sizes, sums of 64 bits.
const Conv kConvs[] = {
    {{2, 3, 9, 7}, {17, 3, 3, 3}, 1, 1, 1, 1, 7, DType::i8, false},
    {{1, 17, 8, 8}, {24, 17, 3, 3}, 2, 1, 1, 1, 7, DType::u8, true},
    {{1, 24, 7, 5}, {3, 24, 1, 1}, 1, 0, 1, 1, -5, DType::i8, true},
    {{3, 16, 6, 6}, {32, 16, 3, 3}, 1, 1, 1, 1, 7, DType::i8, true},
    {{1, 32, 10, 9}, {40, 32, 3, 3}, 2, 2, 2, 1, 7, DType::u8, false},
    {{2, 64, 5, 5}, {128, 64, 1, 1}, 1, 0, 1, 1, 0, DType::i8, true},
    {{1, 64, 6, 6}, {20, 64, 1, 1}, 2, 0, 1, 1, 7, DType::i8, false},
    {{1, 3, 20, 18}, {16, 3, 7, 7}, 2, 3, 1, 1, 7, DType::u8, false},
    {{2, 5, 31}, {9, 5, 5}, 1, 2, 1, 1, 7, DType::i8, true},
    {{1, 16, 33}, {12, 16, 4}, 3, 1, 2, 1, -9, DType::i8, false},
    {{1, 4, 5, 6, 4}, {6, 4, 2, 3, 3}, 1, 1, 1, 1, 7, DType::u8, false},
    {{1, 16, 9, 9}, {16, 1, 3, 3}, 1, 1, 1, 16, 7, DType::i8, true},
    {{2, 24, 10, 9}, {24, 1, 3, 3}, 2, 1, 1, 24, 7, DType::u8, false},
    {{1, 8, 11, 13}, {8, 1, 7, 7}, 1, 3, 1, 8, -3, DType::i8, false},
    {{1, 12, 12, 7}, {12, 1, 5, 5}, 2, 2, 1, 12, 7, DType::u8, true},
    {{1, 4, 10, 10}, {4, 1, 3, 3}, 1, 2, 2, 4, 0, DType::i8, false},
    {{1, 17, 6, 6}, {17, 1, 3, 3}, 1, 1, 1, 17, 7, DType::i8, false},
    {{1, 8, 6, 6}, {12, 4, 3, 3}, 1, 1, 1, 2, 7, DType::i8, false},
    {{1, 90, 4, 4}, {6, 90, 3, 3}, 1, 1, 1, 1, 7, DType::u16, false},
    {{2, 32, 8, 8}, {16, 32, 1, 1}, 1, 0, 1, 1, 7, DType::i8, false},
    {{2, 3, 8, 8}, {16, 3, 3, 3}, 1, 1, 1, 1, 5, DType::u8, false},
};

void convolution(Maker& m, const Conv& c, int64_t zero, DType dtype, bool residual) {
  const size_t axes = c.x.size() - 2;
  const Ints strides(axes, c.stride), dilations(axes, c.dilation), pads(2 * axes, c.pad);
  Value* x = m.codes(c.x, dtype, zero);
  Value* y = m.emit("qconv", {x, m.weights(c.w), m.bias(c.w[0])},
                    {{"strides", strides},
                     {"dilations", dilations},
                     {"pads", pads},
                     {"groups", c.groups},
                     {"to", Maker::format(dtype, zero)}});
  if (y && residual)
    y = m.emit("qadd", {y, m.codes(static_dims(y->shape()), dtype, 11)},
               {{"to", Maker::format(dtype, zero)}, {"lo", zero}});
  m.emit("dequantize", {y});
}

/// Products with scales that are known, per tensor and per row.
void linear(Maker& m, int64_t rows, int64_t k, int64_t n, int kind) {
  Value* x = m.input({rows, k});
  if (kind == 0) {
    Value* y = m.emit("qlinear", {m.codes(x, DType::i8, 7), m.weights({n, k}), m.bias(n)},
                      {{"to", Maker::format(DType::u8, 7)}});
    m.emit("dequantize", {y});
    return;
  }
  Value* codes = m.emit("quantize_dynamic", {x},
                        {{"to", kind == 1 ? DType::u8 : DType::i8}, {"per_token", kind == 2}});
  if (!codes) return;
  Value* const scales = codes->def()->output(1);
  Value* const zeros = codes->def()->output(2);
  m.emit("qlinear", {codes, m.weights({n, k}), nullptr, scales, zeros}, {{"to", QType{}}});
}

/// What is stored as codes, with scales that are known or found: all types and ways.
AttrMap epilogue(int way, DType dtype, AttrMap more) {
  if (way == 0) {
    more["to"] = Maker::format(dtype, 7);
    return more;
  }
  more["to"] = dtype;
  more["symmetric"] = is_signed(dtype) && way == 3;
  more["per_token"] = way != 2;
  return more;
}

void stored(Maker& m, const std::string& op, const std::vector<Value*>& inputs, int way,
            DType dtype, AttrMap attrs) {
  m.emit(op + (way == 0 ? "_quantize" : "_quantize_dynamic"), inputs,
         epilogue(way, dtype, std::move(attrs)));
}

/// Rows of several lengths: short, odd, of more than one block of a reduction, of fewer elements
/// than a block has lanes.
const Ints kRows[] = {{3, 16}, {5, 37}, {2, 1500}, {520, 18}, {40, 3}};

void rows(Maker& m, const Ints& shape, int way, DType dtype) {
  Value* x = m.input(shape);
  const Ints width{shape.back()};
  for (const char* fn : {"silu", "gelu", "gelu_tanh", "gelu_quick", "sigmoid", "tanh", "relu"})
    stored(m, "activation", {x, m.input(shape)}, way, dtype, {{"fn", std::string(fn)}});
  stored(m, "activation", {x}, way, dtype, {{"fn", std::string("silu")}});
  stored(m, "rms_norm", {x, m.constant(width)}, way, dtype, {{"eps", 1e-5}});
  stored(m, "layer_norm", {x, m.constant(width), m.constant(width), m.input(shape)}, way, dtype,
         {{"eps", 1e-5}, {"sums", true}});
  Value* const codes = m.codes(x, dtype, 7);
  stored(m, "layer_norm", {codes, m.constant(width), m.constant(width)}, way, dtype,
         {{"eps", 1e-5}});
  stored(m, "rms_norm", {codes, m.constant(width)}, way, dtype, {{"eps", 1e-5}});
  stored(m, "softmax", {x}, way, dtype, {{"axis", int64_t{1}}});
  if (shape.back() % 2 == 0) {
    stored(m, "rotary", {x, m.constant(shape), m.constant(width)}, way, dtype,
           {{"interleaved", way == 1}});
    stored(m, "rotary", {x, m.constant(shape), m.constant(width), m.constant(width)}, way, dtype,
           {{"norm", true}, {"eps", 1e-5}});
  }
  if (way != 0) m.emit("quantize_dynamic", {x}, epilogue(way, dtype, {}));
}

/// Norms of so many rows of two blocks that several are computed together, with a rest; columns of
/// codes are whole vectors of 16 bytes, or not.
void many_rows(Maker& m, int64_t width, int way) {
  const Ints shape{513, width};
  Value* const x = m.codes(shape, way == 0 ? DType::i8 : DType::u8, 7);
  stored(m, "layer_norm", {x, m.constant({width}), m.constant({width})}, way, DType::i8,
         {{"eps", 1e-5}});
}

void float_rows(Maker& m, const Ints& shape) {
  Value* x = m.input(shape);
  const Ints width{shape.back()};
  m.emit("softmax", {x}, {{"axis", int64_t{1}}});
  m.emit("log_softmax", {x}, {{"axis", int64_t{1}}});
  m.emit("layer_norm", {x, m.constant(width), m.constant(width)},
         {{"axis", int64_t{1}}, {"eps", 1e-5}});
  m.emit("rms_norm", {x, m.constant(width)}, {{"axis", int64_t{1}}, {"eps", 1e-5}});
}

AttrMap window(int64_t kernel, int64_t stride, int64_t pad) {
  return {{"kernel", Ints{kernel, kernel}},
          {"strides", Ints{stride, stride}},
          {"dilations", Ints{1, 1}},
          {"pads", Ints{pad, pad, pad, pad}}};
}

/// Pools between convolutions, so that channels are last, and pools alone.
void pools(Maker& m, DType dtype) {
  Value* x = m.codes({1, 16, 9, 9}, dtype, 7);
  const AttrMap plain{{"strides", Ints{1, 1}},
                      {"dilations", Ints{1, 1}},
                      {"pads", Ints{0, 0, 0, 0}},
                      {"groups", int64_t{1}},
                      {"to", Maker::format(dtype, 7)}};
  x = m.emit("qconv", {x, m.weights({16, 16, 1, 1})}, plain);
  Value* most = m.emit("max_pool", {x}, window(3, 2, 1));
  m.emit("dequantize", {m.emit("qconv", {most, m.weights({4, 16, 1, 1})}, plain)});
  for (const char* arithmetic : {"exact", "onnxruntime", "torch", "exact,rescale=q31"}) {
    AttrMap attrs = window(3, 1, 1);
    attrs["to"] = Maker::format(dtype, 19);
    attrs["arithmetic"] = std::string(arithmetic);
    m.emit("dequantize", {m.emit("qavg_pool", {x}, attrs)});
  }
}

/// Pools of codes whose columns are read 16 at a time, at both edges and in between, and in the
/// last strip fewer.
void strips(Maker& m, DType dtype, int64_t width) {
  for (const Ints& w :
       {Ints{3, 2, 1}, Ints{2, 2, 0}, Ints{3, 1, 1}, Ints{5, 1, 2}, Ints{4, 4, 0}}) {
    Value* const floats = m.input({2, 3, 8, width});
    Value* const x = m.codes(floats, dtype, 7);
    m.emit("dequantize", {m.emit("max_pool", {x}, window(w[0], w[1], w[2]))});
    m.emit("max_pool", {floats}, window(w[0], w[1], w[2]));
    for (const bool padding : {false, true}) {
      AttrMap attrs = window(w[0], w[1], w[2]);
      attrs["to"] = Maker::format(dtype, 19);
      attrs["include_pad"] = padding;
      m.emit("dequantize", {m.emit("qavg_pool", {x}, attrs)});
    }
  }
}

/// Elements in vectors: with a rest, in rows that vectors fit and that they do not, with operands
/// that are the same for a row, for a column or for all.
void elements(Maker& m, const Ints& shape) {
  Value* const x = m.input(shape);
  Ints column = shape;
  column.back() = 1;
  m.emit("gelu", {x});
  m.emit("add", {x, m.input(shape)});
  m.emit("mul", {x, m.constant({shape.back()})});
  m.emit("sub", {m.input(column), x});
  m.emit("max", {x, m.constant({1})});
  m.emit("where", {m.emit("lt", {x, m.input(column)}), x, m.constant({shape.back()})});
  Value* const codes = m.codes(x, DType::i8, 7);
  for (Value* other : {m.codes(shape, DType::u8, 3), m.codes(column, DType::i8, 0),
                       m.codes({shape.back()}, DType::i16, 5)})
    m.emit("dequantize", {m.emit("qadd", {codes, other}, {{"to", Maker::format(DType::i8, -9)}})});
}

/// Attention of floats, and of codes whose results are codes.
void attention(Maker& m, int way, DType dtype) {
  const Ints queries{1, 4, 5, 16}, keys{1, 2, 9, 16};
  std::vector<Value*> x{m.input(queries), m.input(keys), m.input(keys)};
  if (way == 0) m.emit("attention", x, {{"right", int64_t{0}}});
  for (Value*& one : x) one = m.codes(one, DType::i8, 7);
  stored(m, "qattention", x, way, dtype, {{"joined", true}});
}

enum Scales { kKnown, kFound, kPerRow };

struct Heads {
  Ints q, k;  // [batch, heads, queries, depth], [batch, heads, keys, value depth]
  DType dtype;
  Scales scales;
  Ints window;  // left, right, offset
  Ints mask;    // empty: none
  DType mask_type = DType::f32;
  double softcap = 0;
};

/// Enough queries for tensor cores: one and more blocks of queries, of keys, and of their sums; odd
/// depths; windows, masks that leave queries without a key, zero points of all kinds, shared keys.
const Heads kHeads[] = {
    {{2, 3, 128, 64}, {2, 3, 128, 64}, DType::i8, kKnown, {-1, -1, 0}, {}},
    {{1, 2, 20, 64}, {1, 2, 33, 64}, DType::i8, kPerRow, {-1, 0, 0}, {}},
    {{1, 4, 131, 17}, {1, 2, 130, 33}, DType::u8, kPerRow, {-1, 0, 0}, {}},
    {{2, 2, 16, 1}, {2, 1, 1, 1}, DType::u8, kKnown, {-1, -1, 0}, {}},
    {{1, 1, 150, 130}, {1, 1, 300, 130}, DType::i8, kFound, {40, 0, 150}, {}},
    {{1, 1, 16, 96}, {1, 1, 257, 80}, DType::u8, kPerRow, {-1, -1, 0}, {1, 257}, DType::f32, 2},
    {{2, 2, 50, 32},
     {2, 2, 50, 32},
     DType::i8,
     kPerRow,
     {-1, -1, 0},
     {2, 1, 50, 50},
     DType::boolean},
    {{1, 2, 30, 24}, {1, 2, 20, 8}, DType::u8, kKnown, {5, 3, -12}, {}},
    {{1, 1, 17, 20}, {1, 1, 1100, 9}, DType::i8, kPerRow, {-1, -1, 0}, {17, 1}, DType::boolean},
    {{1, 1, 33, 40}, {1, 1, 2050, 16}, DType::u8, kFound, {1500, 0, 2017}, {}},
    {{1, 1, 16, 256}, {1, 1, 140, 256}, DType::i8, kKnown, {-1, -1, 0}, {}},
};

void heads(Maker& m, const Heads& h) {
  const Ints keys{h.k[0], h.k[1], h.k[2], h.q[3]};
  std::vector<Value*> x{m.input(h.q), m.input(keys), m.input(h.k), nullptr};
  if (!h.mask.empty()) x[3] = m.mask(h.mask_type, h.mask);
  for (size_t i = 0; i < 3; ++i) {
    if (h.scales == kKnown) {
      x[i] = m.codes(x[i], h.dtype, 7);
      continue;
    }
    Value* const codes =
        m.emit("quantize_dynamic", {x[i]}, {{"to", h.dtype}, {"per_token", h.scales == kPerRow}});
    if (!codes) return;
    x[i] = codes;
    x.push_back(codes->def()->output(1));
    x.push_back(codes->def()->output(2));
  }
  while (!x.back()) x.pop_back();
  AttrMap attrs{{"left", h.window[0]},
                {"right", h.window[1]},
                {"offset", Dim(h.window[2])},
                {"softcap", h.softcap},
                {"nan_rows", h.mask.empty() && h.window[2] >= 0},
                {"to", QType{}}};
  m.emit("qattention", x, attrs);
  attrs["to"] = Maker::format(h.dtype, 7);
  m.emit("dequantize", {m.emit("qattention", x, attrs)});
  attrs["joined"] = true;
  attrs.erase("to");
  stored(m, "qattention", x, h.scales == kPerRow ? 1 : 0, h.dtype, attrs);
}

/// A mean of so many codes of 16 bits that 32 do not hold their sum; codes of 32 bits.
void wide(Maker& m) {
  AttrMap attrs = window(260, 260, 0);
  attrs["to"] = Maker::format(DType::i16, 3);
  m.emit("dequantize", {m.emit("qavg_pool", {m.codes({1, 1, 260, 260}, DType::i16, 3)}, attrs)});
  Value* const sums = m.emit("qlinear", {m.codes({3, 20}, DType::i8, 7), m.weights({5, 20})},
                             {{"to", QType{DType::i32, nullptr}}});
  m.emit("dequantize",
         {m.emit("with_format", {sums}, {{"to", tensor_format(DType::i32, 0.001f, 5)}})});
}

}  // namespace

Result<Ok> for_each_device_graph(const std::function<Result<Ok>(const Graph&)>& use) {
  uint64_t seed = 700000;
  const auto made = [&](const std::function<void(Maker&)>& make) -> Result<Ok> {
    Maker m(seed++);
    make(m);
    return m.finish(use);
  };
  for (const Conv& c : kConvs)
    QC_TRY(made([&](Maker& m) { convolution(m, c, c.zero, c.dtype, c.residual); }));
  for (const int kind : {0, 1, 2}) {
    for (const Ints& size : {Ints{1, 40, 10}, Ints{5, 64, 33}, Ints{70, 24, 64}, Ints{3, 700, 9}})
      QC_TRY(made([&](Maker& m) { linear(m, size[0], size[1], size[2], kind); }));
  }
  for (const Ints& shape : kRows) {
    QC_TRY(made([&](Maker& m) { float_rows(m, shape); }));
    for (const int way : {0, 1, 2, 3}) {
      for (const DType dtype : kCodes) {
        // What rows have in common with others is tried with all types once.
        if (dtype == DType::i8 || shape == kRows[0])
          QC_TRY(made([&](Maker& m) { rows(m, shape, way, dtype); }));
      }
    }
  }
  QC_TRY(made([&](Maker& m) { many_rows(m, 1040, 0); }));
  QC_TRY(made([&](Maker& m) { many_rows(m, 1027, 1); }));
  for (const Ints& shape : {Ints{3, 37}, Ints{5, 64}, Ints{2, 3, 48}, Ints{1, 1030}})
    QC_TRY(made([&](Maker& m) { elements(m, shape); }));
  for (const DType dtype : {DType::i8, DType::u8}) {
    for (const int64_t width : {48, 36}) QC_TRY(made([&](Maker& m) { strips(m, dtype, width); }));
  }
  for (const DType dtype : kCodes) {
    QC_TRY(made([&](Maker& m) { pools(m, dtype); }));
    for (const int way : {0, 1, 2, 3}) QC_TRY(made([&](Maker& m) { attention(m, way, dtype); }));
  }
  for (const Heads& h : kHeads) QC_TRY(made([&](Maker& m) { heads(m, h); }));
  return made(wide);
}

}  // namespace qc
