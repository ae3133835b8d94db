#include "ops/own/own.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "interp/eval.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "quant/quantizable.h"
#include "support/located.h"

namespace qc {
namespace {

/// The ops that were added. Never destroyed: their functions may belong to what ends before static
/// objects do.
struct OwnOps {
  std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const OwnOp>, std::less<>> by_name;
  std::map<std::pair<std::string, std::string>, std::string> by_row;  // domain and foreign op
  std::vector<std::shared_ptr<const OwnOp>> all;                      // whose texts tables refer to
};
OwnOps& own_ops() {
  static auto* const ops = new OwnOps;
  return *ops;
}

/// What all nodes of such ops have.
struct OwnState {
  std::shared_ptr<const OwnOp> op;
  std::vector<AttrValue> values;

  explicit OwnState(std::shared_ptr<const OwnOp> own) : op(std::move(own)) {
    for (const OwnParameter& p : op->parameters) values.push_back(p.standard);
  }

  void attrs(AttrVisitor& v) {
    for (size_t i = 0; i < values.size(); ++i) {
      const OwnParameter& p = op->parameters[i];
      std::visit(
          [&](auto& value) {
            using T = std::remove_reference_t<decltype(value)>;
            v(p.name.c_str(), value, std::get<T>(p.standard));
          },
          static_cast<AttrVariant&>(values[i]));
    }
  }
  OwnArguments arguments() const {
    OwnArguments out;
    for (size_t i = 0; i < values.size(); ++i) out.emplace_back(op->parameters[i].name, values[i]);
    return out;
  }
  /// Adds what the formats of codes say.
  OwnArguments arguments(const Node& node) const {
    OwnArguments out = arguments();
    for (size_t i = 0; op->on_codes && i < op->inputs.size() + op->outputs.size(); ++i) {
      const Format* f = type(node, i).format.get();
      if (!f) continue;
      const std::string& name = operand(i).name;
      out.emplace_back(name + "_scale", static_cast<double>(f->scale_at()));
      out.emplace_back(name + "_zero_point", int64_t{f->zero_at()});
      out.emplace_back(name + "_qmin", f->qmin);
      out.emplace_back(name + "_qmax", f->qmax);
    }
    return out;
  }
  /// Operand i, results counted after the operands.
  const OwnOperand& operand(size_t i) const {
    return i < op->inputs.size() ? op->inputs[i] : op->outputs[i - op->inputs.size()];
  }
  const Type& type(const Node& node, size_t i) const {
    return i < op->inputs.size() ? node.input_type(i) : node.output(i - op->inputs.size())->type();
  }

  Result<std::vector<Dims>> shapes(const Node& node) const {
    std::vector<Dims> in;
    std::set<std::string> known, used;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const Type& type = node.input_type(i);
      if (type.dtype != op->inputs[i].dtype) {
        return error(Code::type, node.loc(), "operand '{}' of {} is {}, expected {}",
                     op->inputs[i].name, op->name, qc::name(type.dtype),
                     qc::name(op->inputs[i].dtype));
      }
      if (type.rank() > kMostAxes) {
        return error(Code::unsupported, node.loc(), "operand '{}' of {} has {} axes: up to {}",
                     op->inputs[i].name, op->name, type.rank(), kMostAxes);
      }
      for (const Dim& d : type.shape) d.collect_symbols(known);
      in.push_back(type.shape);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const OwnParameter& p = op->parameters[i];
      const auto* text = std::get_if<std::string>(&values[i]);
      if (text && std::find(p.choices.begin(), p.choices.end(), *text) == p.choices.end()) {
        return error(Code::attribute, node.loc(), "{} of {} is '{}', expected one of {}", p.name,
                     op->name, *text, fmt::join(p.choices, ", "));
      }
    }
    QC_ASSIGN(std::vector<Dims> out, located(op->shape(arguments(), in), node.loc()));
    if (out.size() != op->outputs.size()) {
      return error(Code::shape, node.loc(), "shape of {} gives {} shapes for {} results", op->name,
                   out.size(), op->outputs.size());
    }
    for (const Dims& dims : out) {
      for (const Dim& d : dims) d.collect_symbols(used);
      const bool bad = std::any_of(dims.begin(), dims.end(),
                                   [](const Dim& d) { return d.is_static() && d.value() < 0; });
      const bool unknown = !std::includes(known.begin(), known.end(), used.begin(), used.end());
      if (bad || unknown || dims.size() > static_cast<size_t>(kMostAxes)) {
        return error(Code::shape, node.loc(), "shape of {} gives {}: {}", op->name, str(dims),
                     bad       ? "a size is negative"
                     : unknown ? "a size that no operand has"
                               : "too many axes");
      }
    }
    return out;
  }

  Result<Ok> eval(const Node& node, EvalContext& c) const {
    std::vector<const Tensor*> in;
    for (size_t i = 0; i < c.input_count(); ++i) in.push_back(&c.in(i));
    return located(op->evaluate(arguments(node), in, c.outputs()), node.loc());
  }

  Result<Ok> lower(const Node& node, Lowering& l) const {
    Call call;
    call.kernel = find_kernel(op->kernel);
    for (size_t i = 0; i < op->inputs.size(); ++i) call.in.push_back(l.in(i));
    for (size_t i = 0; i < values.size(); ++i) {
      if (auto list = list_of(values[i]))
        call.in.push_back(l.constant(*list, op->parameters[i].name));
    }
    for (size_t i = 0; i < op->outputs.size(); ++i) call.out.push_back(l.out(i));
    for (const OwnMember& m : op->members) QC_TRY(add_member(node, l, m, call.params));
    l.add(std::move(call));
    return Ok{};
  }

  static constexpr int64_t kMostAxes = 8;  // of the member `shape`

 private:
  /// The elements of a parameter that is a list.
  static std::optional<Tensor> list_of(const AttrValue& value) {
    if (const auto* ints = std::get_if<Ints>(&value))
      return Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(ints->size())}, *ints);
    const auto* floats = std::get_if<Floats>(&value);
    if (!floats) return std::nullopt;
    const std::vector<float> narrow(floats->begin(), floats->end());
    return Tensor::of<float>(DType::f32, {static_cast<int64_t>(narrow.size())}, narrow);
  }

  Param parameter(size_t i) const {
    const AttrValue& value = values[i];
    if (const auto* b = std::get_if<bool>(&value)) return Dim(*b ? 1 : 0);
    if (const auto* n = std::get_if<int64_t>(&value)) return Dim(*n);
    if (const auto* f = std::get_if<double>(&value)) return static_cast<float>(*f);
    const std::vector<std::string>& choices = op->parameters[i].choices;
    const auto& text = std::get<std::string>(value);
    return Dim(std::find(choices.begin(), choices.end(), text) - choices.begin());
  }

  Result<Ok> add_member(const Node& node, Lowering& l, const OwnMember& m,
                        std::vector<Param>& out) const {
    using Kind = OwnMember::Kind;
    if (m.kind == Kind::parameter) {
      out.push_back(parameter(m.of));
      return Ok{};
    }
    if (m.kind == Kind::count) {
      out.emplace_back(Dim(list_of(values[m.of])->size()));
      return Ok{};
    }
    const Type& own = type(node, m.of);
    const Format* f = own.format.get();
    switch (m.kind) {
      case Kind::shape:
        for (size_t d = 0; d < static_cast<size_t>(kMostAxes); ++d) {
          QC_ASSIGN(Dim size, l.param(d < own.shape.size() ? own.shape[d] : Dim(0)));
          out.emplace_back(std::move(size));
        }
        break;
      case Kind::rank:
        out.emplace_back(Dim(own.rank()));
        break;
      case Kind::size: {
        QC_ASSIGN(Dim size, l.param(product(own.shape)));
        out.emplace_back(std::move(size));
        break;
      }
      case Kind::scale:
        out.emplace_back(f->scale_at());
        break;
      case Kind::zero_point:
        out.emplace_back(Dim(f->zero_at()));
        break;
      default:
        out.emplace_back(Dim(m.kind == Kind::qmin ? f->qmin : f->qmax));
        break;
    }
    return Ok{};
  }
};

/// A node in float, or of any types but codes.
template <class Derived>
class OwnBase : public OpNode<Derived> {
 public:
  explicit OwnBase(std::shared_ptr<const OwnOp> op) : state_(std::move(op)) {}
  const OpInfo& info() const override { return state_.op->info; }
  void attrs(AttrVisitor& v) override { state_.attrs(v); }
  Result<std::vector<Type>> infer() const override {
    QC_ASSIGN(const std::vector<Dims> shapes, state_.shapes(*this));
    std::vector<Type> out;
    for (size_t i = 0; i < shapes.size(); ++i)
      out.emplace_back(state_.op->outputs[i].dtype, shapes[i]);
    return out;
  }
  Result<Ok> eval(EvalContext& c) const override { return state_.eval(*this, c); }
  Result<Ok> lower(Lowering& l) const override { return state_.lower(*this, l); }

 protected:
  OwnState state_;
};

class OwnNode final : public OwnBase<OwnNode> {
 public:
  using OwnBase::OwnBase;
};

/// One that has a form on codes.
class OwnQuantizable final : public OwnBase<OwnQuantizable>, public Quantizable {
 public:
  using OwnBase::OwnBase;
  bool is_float_operand(size_t i) const override {
    return i < quantized_op().inputs.size() && !is_code_type(quantized_op().inputs[i].dtype);
  }

  Result<Value*> quantized(Quantizer& q) const override {
    if (!q.result()) return q.refuse("its form on codes gives codes, and its readers want f32");
    const OwnOperand& y = quantized_op().outputs[0];
    if (q.result()->dtype != y.dtype) {
      return q.refuse(fmt::format("its form on codes gives {}, not {}", qc::name(y.dtype),
                                  qc::name(q.result()->dtype)));
    }
    std::vector<Value*> operands;
    for (size_t i = 0; i < quantized_op().inputs.size(); ++i) {
      const OwnOperand& x = quantized_op().inputs[i];
      if (!is_code_type(x.dtype) || !is_float(state_.op->inputs[i].dtype)) {
        operands.push_back(this->input(i));
        continue;
      }
      Value* codes = q.codes(i);
      if (!codes || codes->dtype() != x.dtype) {
        return q.refuse(fmt::format("its form on codes takes {} for '{}', not {}",
                                    qc::name(x.dtype), x.name,
                                    codes ? qc::name(codes->dtype()) : "f32"));
      }
      if (q.format(i).is_dynamic() || q.format(i).granularity != Granularity::tensor)
        return q.refuse(fmt::format("its form on codes takes one static scale for '{}'", x.name));
      operands.push_back(codes);
    }
    AttrMap attrs{{"to", *q.result()}, {"arithmetic", str(q.arithmetic())}};
    for (const auto& [key, value] : state_.arguments()) attrs.emplace(key, value);
    return q.emit(quantized_op().name, std::move(operands), std::move(attrs));
  }

 private:
  const OwnOp& quantized_op() const { return *state_.op->quantized; }
};

/// The form on codes.
class OwnOnCodes final : public QuantNodeBase<OwnOnCodes> {
 public:
  explicit OwnOnCodes(std::shared_ptr<const OwnOp> op) : state_(std::move(op)) {}
  const OpInfo& info() const override { return state_.op->info; }
  void attrs(AttrVisitor& v) override {
    QuantNodeBase::attrs(v);
    state_.attrs(v);
  }
  Result<std::vector<Type>> infer() const override {
    for (size_t i = 0; i < state_.op->inputs.size(); ++i) {
      const Type& x = input_type(i);
      if (!x.format) continue;
      QC_TRY(check_quantized({i}));
      if (x.format->is_dynamic() || x.format->granularity != Granularity::tensor) {
        return error(Code::quant, loc(), "operand '{}' of {} has no single static scale",
                     state_.op->inputs[i].name, state_.op->name);
      }
    }
    QC_TRY(check_quantized({}));
    if (!to.format || to.dtype != state_.op->outputs[0].dtype) {
      return error(Code::attribute, loc(), "{} gives codes of {}", state_.op->name,
                   qc::name(state_.op->outputs[0].dtype));
    }
    QC_ASSIGN(std::vector<Dims> shapes, state_.shapes(*this));
    return result(std::move(shapes[0]), Layout::row_major);
  }
  Result<Ok> eval(EvalContext& c) const override { return state_.eval(*this, c); }
  Result<Ok> lower(Lowering& l) const override { return state_.lower(*this, l); }

 private:
  OwnState state_;
};

std::unique_ptr<Node> make_node(const std::string& name) {
  std::shared_ptr<const OwnOp> op = find_own_op(name);
  if (op->on_codes) return std::make_unique<OwnOnCodes>(std::move(op));
  if (op->quantized) return std::make_unique<OwnQuantizable>(std::move(op));
  return std::make_unique<OwnNode>(std::move(op));
}

/// The parameter as the model gives it.
Result<AttrValue> parameter_of(const Import& m, const OwnParameter& p) {
  return std::visit(
      [&](const auto& standard) -> Result<AttrValue> {
        using T = std::remove_cvref_t<decltype(standard)>;
        const auto value = [&](auto read) -> Result<AttrValue> {
          if (!read.ok()) return read.diag();
          return AttrValue(*read);
        };
        if constexpr (std::is_same_v<T, bool>) return value(m.b(p.name, standard));
        if constexpr (std::is_same_v<T, int64_t>) return value(m.i(p.name, standard));
        if constexpr (std::is_same_v<T, double>) return value(m.f(p.name, standard));
        if constexpr (std::is_same_v<T, std::string>) return value(m.s(p.name, standard));
        if constexpr (std::is_same_v<T, Ints>) return value(m.ints(p.name, standard));
        if constexpr (std::is_same_v<T, Floats>) return value(m.floats(p.name, standard));
        return p.standard;
      },
      static_cast<const AttrVariant&>(p.standard));
}

/// Nodes of ONNX have their operands in order, those of PyTorch by the names of their schema.
Result<Values> import_own(Import& m) {
  std::shared_ptr<const OwnOp> op;
  {
    const std::shared_lock lock(own_ops().mutex);
    op = own_ops().by_name.at(own_ops().by_row.at({m.node().domain, m.node().op}));
  }
  std::set<std::string_view> known;
  for (const OwnOperand& x : op->inputs) known.insert(x.name);
  for (const OwnParameter& p : op->parameters) known.insert(p.name);
  for (const auto& [name, value] : m.node().args) {
    if (!known.contains(name))
      return m.fail(Code::attribute, "op '{}::{}' has no parameter '{}'", op->domain, op->op, name);
  }
  Values inputs;
  if (m.input_count() > 0) {
    for (size_t i = 0; i < m.input_count(); ++i) inputs.push_back(m.in(i));
  } else {
    for (const OwnOperand& x : op->inputs) {
      QC_ASSIGN(Value * value, m.tensor(x.name));
      inputs.push_back(value);
    }
  }
  if (inputs.size() != op->inputs.size() ||
      std::find(inputs.begin(), inputs.end(), nullptr) != inputs.end()) {
    return m.fail(Code::graph, "op '{}::{}' takes {} operands", op->domain, op->op,
                  op->inputs.size());
  }
  AttrMap attrs;
  for (const OwnParameter& p : op->parameters) {
    QC_ASSIGN(AttrValue value, parameter_of(m, p));
    attrs.emplace(p.name, std::move(value));
  }
  return m.emit_all(op->name, std::move(inputs), attrs);
}

}  // namespace

bool is_code_type(DType dtype) { return is_integer(dtype) && bits(dtype) <= 16; }

std::shared_ptr<const OwnOp> find_own_op(std::string_view name) {
  const std::shared_lock lock(own_ops().mutex);
  const auto it = own_ops().by_name.find(name);
  return it == own_ops().by_name.end() ? nullptr : it->second;
}

Result<Ok> add_own_op(OwnOp given) {
  auto op = std::make_shared<OwnOp>(std::move(given));
  op->info = {.name = op->name,
              .min_inputs = static_cast<int>(op->inputs.size()),
              .max_inputs = static_cast<int>(op->inputs.size()),
              .outputs = static_cast<int>(op->outputs.size()),
              .traits = op->on_codes || op->quantized ? 0u : uint32_t{kQuantizedInFloat},
              .summary = op->summary};
  const bool fresh = !find_own_op(op->name);
  std::vector<ImportRow> rows;
  OwnOps& ops = own_ops();
  const std::unique_lock lock(ops.mutex);
  const std::set<std::string_view> names = {op->op, op->onnx, op->torch};
  for (const std::string_view row : names) {
    if (op->on_codes) continue;
    const auto known = ops.by_row.find({op->domain, std::string(row)});
    if (known != ops.by_row.end() && known->second != op->name) {
      return error(Code::usage, "op '{}::{}': '{}' of that domain imports op '{}' already",
                   op->domain, op->op, row, known->second);
    }
    if (known == ops.by_row.end()) rows.push_back({op->domain, row, import_own});
  }
  if (std::any_of(rows.begin(), rows.end(),
                  [](const ImportRow& row) {
                    return import_table().find(row.domain, row.op, 0) != nullptr;
                  }) ||
      (fresh && op_table().find(op->name)))
    return error(Code::usage, "'{}::{}' is an op of quantc", op->domain, op->op);
  for (const ImportRow& row : rows)
    ops.by_row.emplace(std::pair(op->domain, std::string(row.op)), op->name);
  ops.by_name.insert_or_assign(op->name, op);
  ops.all.push_back(op);
  import_table().add(rows);
  if (fresh) op_table().add({&op->info, [name = op->name] { return make_node(name); }, "own"});
  return Ok{};
}

/// Nothing of the build: ops come with add_own_op.
void register_own(Registration&) {}

}  // namespace qc
