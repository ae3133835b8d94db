#include <algorithm>

#include "ops/common/registration.h"
#include "ops/common/tap_sums.h"
#include "ops/common/window.h"
#include "ops/pool/pool.h"

namespace qc {
namespace {

Result<Window> onnx_pool_window(const Import& m) {
  QC_ASSIGN(Ints kernel, m.ints("kernel_shape", {}));
  if (!m.in(0) || kernel.empty() || static_cast<int64_t>(kernel.size()) + 2 != m.in(0)->rank()) {
    return m.fail(Code::attribute, "kernel_shape has {} entries for an input of shape {}",
                  kernel.size(), m.in(0) ? str(m.in(0)->shape()) : "?");
  }
  return onnx_window(m, m.in(0), kernel);
}

AttrMap window_attrs(const Window& w, bool ceil) {
  return {{"kernel", w.kernel},
          {"strides", w.strides},
          {"dilations", w.dilations},
          {"pads", w.pads},
          {"ceil", ceil}};
}

/// Attributes that say the same in another way come to one: windows that divide the input evenly
/// have a kernel, but for the one window of a global pool, and taps in padding are not counted
/// where there is none.
Result<Values> emit_pool(const Import& m, const char* op, Value* x, AttrMap attrs) {
  if (auto size = attrs.find("output_size"); size != attrs.end()) {
    const Ints& out = std::get<Ints>(size->second);
    Window w;
    for (size_t i = 0; i < out.size() && x->rank() == static_cast<int64_t>(out.size()) + 2; ++i) {
      const Dim& in = x->shape()[2 + i];
      if (!in.is_static() || in.value() < 1 || out[i] < 1 || in.value() % out[i] != 0) break;
      w.kernel.push_back(in.value() / out[i]);
    }
    const bool global = out == Ints(out.size(), 1);
    if (w.kernel.size() == out.size() && !global) {
      w.strides = w.kernel;
      w.dilations = Ints(out.size(), 1);
      w.pads = Ints(2 * out.size(), 0);
      attrs.erase(size);
      attrs.merge(window_attrs(w, false));
    }
  } else if (auto include = attrs.find("include_pad"); include != attrs.end()) {
    const Ints& pads = std::get<Ints>(attrs.at("pads"));
    const bool none = std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
    if (none && !std::get<bool>(attrs.at("ceil"))) include->second = false;
  }
  return m.emit_all(op, {x}, attrs);
}

Result<Values> onnx_max_pool(Import& m) {
  QC_ASSIGN(Window w, onnx_pool_window(m));
  QC_ASSIGN(bool ceil, m.b("ceil_mode", false));
  QC_ASSIGN(int64_t order, m.i("storage_order", 0));
  AttrMap attrs = window_attrs(w, ceil);
  const bool positions = m.node().outputs > 1 && m.wants(1);
  if (positions) attrs["index"] = std::string(order ? "tensor_reversed" : "tensor");
  QC_ASSIGN(Values y, m.emit_all("max_pool", {m.in(0)}, attrs));
  return y;
}

Result<Values> onnx_average_pool(Import& m) {
  QC_ASSIGN(Window w, onnx_pool_window(m));
  QC_ASSIGN(bool ceil, m.b("ceil_mode", false));
  QC_ASSIGN(bool include, m.b("count_include_pad", false));
  AttrMap attrs = window_attrs(w, ceil);
  attrs["include_pad"] = include;
  return emit_pool(m, "average_pool", m.in(0), attrs);
}

Result<Values> onnx_lp_pool(Import& m) {
  QC_ASSIGN(Window w, onnx_pool_window(m));
  QC_ASSIGN(bool ceil, m.b("ceil_mode", false));
  QC_ASSIGN(int64_t power, m.i("p", 2));
  AttrMap attrs = window_attrs(w, ceil);
  attrs["power"] = power;
  return m.emit_all("lp_pool", {m.in(0)}, attrs);
}

/// One window over all spatial axes.
Result<Values> global_pool(const Import& m, const char* op, AttrMap attrs) {
  const Value* x = m.in(0);
  if (!x || x->rank() < 3) return m.fail(Code::shape, "a global pool needs spatial axes");
  attrs["output_size"] = Ints(static_cast<size_t>(x->rank()) - 2, 1);
  return emit_pool(m, op, m.in(0), std::move(attrs));
}
Result<Values> onnx_global_average(Import& m) { return global_pool(m, "average_pool", {}); }
Result<Values> onnx_global_max(Import& m) { return global_pool(m, "max_pool", {}); }
Result<Values> onnx_global_lp(Import& m) {
  QC_ASSIGN(int64_t power, m.i("p", 2));
  return global_pool(m, "lp_pool", {{"power", power}});
}

/// The operand with a batch axis; `single` says that one was added.
Result<Value*> with_batch(const Import& m, Value* x, size_t axes, bool& single) {
  single = x->rank() == static_cast<int64_t>(axes) + 1;
  if (!single) return x;
  Dims shape = x->shape();
  shape.insert(shape.begin(), Dim(1));
  return m.emit("reshape", {x}, {{"shape", shape}});
}

Result<Values> without_batch(const Import& m, Values values, bool single) {
  if (!single) return values;
  for (Value*& v : values) {
    Dims shape(v->shape().begin() + 1, v->shape().end());
    QC_ASSIGN(v, m.emit("reshape", {v}, {{"shape", shape}}));
  }
  return values;
}

Result<AttrMap> aten_window(const Import& m, size_t axes) {
  Window w;
  QC_ASSIGN(w.kernel, per_axis(m, "kernel_size", 1, axes));
  QC_ASSIGN(Ints given, m.ints("stride", {}));
  w.strides = w.kernel;
  if (!given.empty()) {
    QC_ASSIGN(w.strides, per_axis(m, "stride", 1, axes));
  }
  QC_ASSIGN(w.dilations, per_axis(m, "dilation", 1, axes));
  QC_ASSIGN(Ints both, per_axis(m, "padding", 0, axes));
  w.pads = both;
  w.pads.insert(w.pads.end(), both.begin(), both.end());
  QC_ASSIGN(bool ceil, m.b("ceil_mode", false));
  return window_attrs(w, ceil);
}

template <int kAxes, bool kPlaces>
Result<Values> aten_max_pool(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(AttrMap attrs, aten_window(m, kAxes));
  if (kPlaces && m.wants(1)) attrs["index"] = std::string("plane");
  bool single;
  QC_ASSIGN(x, with_batch(m, x, kAxes, single));
  QC_ASSIGN(Values y, m.emit_all("max_pool", {x}, attrs));
  return without_batch(m, std::move(y), single);
}

/// The mean of integers rounds towards zero. Every window must divide by one number.
Result<Values> integer_mean(const Import& m, Value* x, const AttrMap& attrs) {
  auto list = [&](const char* name) { return std::get<Ints>(attrs.at(name)); };
  const Window w{list("kernel"), list("strides"), list("dilations"), list("pads")};
  int64_t divisor = std::get<int64_t>(attrs.at("divisor"));
  const bool padded = w.pads != Ints(w.pads.size(), 0);
  if (std::get<bool>(attrs.at("ceil")) ||
      (divisor == 0 && padded && !std::get<bool>(attrs.at("include_pad")))) {
    return m.fail(Code::unsupported, "means of {} values over windows of several sizes",
                  name(x->dtype()));
  }
  for (size_t i = 0; i < w.kernel.size() && std::get<int64_t>(attrs.at("divisor")) == 0; ++i) {
    divisor = (i == 0 ? 1 : divisor) * w.kernel[i];
  }
  QC_ASSIGN(Value * sum, tap_sums(m, x, w, [](Value* v, int64_t) { return Result<Value*>(v); }));
  QC_ASSIGN(Value * mean, m.emit("div", {sum, m.scalar_int(divisor, x->dtype())}));
  return Values{mean};
}

template <int kAxes>
Result<Values> aten_avg_pool(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(AttrMap attrs, aten_window(m, kAxes));
  QC_ASSIGN(bool include, m.b("count_include_pad", true));
  QC_ASSIGN(int64_t divisor, m.i("divisor_override", 0));
  attrs["include_pad"] = include;
  const bool integers = is_integer(x->dtype()), negative = divisor < 0 && !integers;
  attrs["divisor"] = negative ? -divisor : divisor;
  bool single;
  QC_ASSIGN(x, with_batch(m, x, kAxes, single));
  QC_ASSIGN(Values y, integers ? integer_mean(m, x, attrs)
                               : emit_pool(m, "average_pool", x, std::move(attrs)));
  if (negative) {
    QC_ASSIGN(y[0], m.emit("neg", {y[0]}));
  }
  return without_batch(m, std::move(y), single);
}

template <int kAxes, bool kMaximum>
Result<Values> aten_adaptive(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Ints size, per_axis(m, "output_size", 1, kAxes));
  AttrMap attrs{{"output_size", size}};
  if (kMaximum && m.wants(1)) attrs["index"] = std::string("plane");
  bool single;
  QC_ASSIGN(x, with_batch(m, x, kAxes, single));
  QC_ASSIGN(Values y, emit_pool(m, kMaximum ? "max_pool" : "average_pool", x, std::move(attrs)));
  return without_batch(m, std::move(y), single);
}

constexpr ImportRow kRows[] = {
    {"", "MaxPool", onnx_max_pool},
    {"", "AveragePool", onnx_average_pool},
    {"", "LpPool", onnx_lp_pool},
    {"", "GlobalAveragePool", onnx_global_average},
    {"", "GlobalMaxPool", onnx_global_max},
    {"", "GlobalLpPool", onnx_global_lp},
    {"aten", "max_pool1d.default", aten_max_pool<1, false>},
    {"aten", "max_pool2d.default", aten_max_pool<2, false>},
    {"aten", "max_pool3d.default", aten_max_pool<3, false>},
    {"aten", "max_pool1d_with_indices.default", aten_max_pool<1, true>},
    {"aten", "max_pool2d_with_indices.default", aten_max_pool<2, true>},
    {"aten", "max_pool3d_with_indices.default", aten_max_pool<3, true>},
    {"aten", "avg_pool1d.default", aten_avg_pool<1>},
    {"aten", "avg_pool2d.default", aten_avg_pool<2>},
    {"aten", "avg_pool3d.default", aten_avg_pool<3>},
    {"aten", "adaptive_avg_pool1d.default", aten_adaptive<1, false>},
    {"aten", "adaptive_avg_pool2d.default", aten_adaptive<2, false>},
    {"aten", "adaptive_avg_pool3d.default", aten_adaptive<3, false>},
    {"aten", "_adaptive_avg_pool2d.default", aten_adaptive<2, false>},
    {"aten", "_adaptive_avg_pool3d.default", aten_adaptive<3, false>},
    {"aten", "adaptive_max_pool1d.default", aten_adaptive<1, true>},
    {"aten", "adaptive_max_pool2d.default", aten_adaptive<2, true>},
    {"aten", "adaptive_max_pool3d.default", aten_adaptive<3, true>},
};

}  // namespace

void register_pool(Registration& r) {
  r.op(&Pool::kMax, [] { return std::make_unique<Pool>(PoolKind::max); });
  r.op(&Pool::kAverage, [] { return std::make_unique<Pool>(PoolKind::average); });
  r.op(&Pool::kLp, [] { return std::make_unique<Pool>(PoolKind::lp); });
  r.op<QAveragePool>();
  r.imports(kRows);
}

}  // namespace qc
