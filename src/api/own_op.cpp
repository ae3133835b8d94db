// Ops from outside the tree, described while the program runs.
#include "driver/own_op.h"

#include <cstring>
#include <memory>
#include <type_traits>

#include "api/convert.h"
#include "quantc/op.h"
#include "support/budget.h"

namespace quantc {
namespace {

using qc::Result;

/// What a function of the user says.
template <class T>
qc::Diag diag_of(const Expected<T>& failed) {
  const Diagnostic& d = failed.diagnostic();
  qc::Diag out = qc::error(d.kind == Kind::unsupported ? qc::Code::unsupported : qc::Code::usage,
                           "{}", d.text);
  out.notes = d.notes;
  return out;
}

OpValues values_of(const qc::OwnArguments& arguments) {
  OpValues out;
  for (const auto& [name, value] : arguments) {
    std::visit(
        [&, &name = name](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_constructible_v<OpValue, std::in_place_type_t<T>, const T&>)
            out.emplace(name, v);
        },
        static_cast<const qc::AttrVariant&>(value));
  }
  return out;
}

Result<std::vector<qc::Dims>> shapes_of(const OwnOp& op, const qc::OwnArguments& arguments,
                                        const std::vector<qc::Dims>& in) {
  OpShapes given;
  for (const qc::Dims& dims : in) {
    given.emplace_back();
    for (const qc::Dim& d : dims) given.back().push_back(d.str());
  }
  const Expected<OpShapes> shapes = op.shape(values_of(arguments), given);
  if (!shapes) return diag_of(shapes);
  std::vector<qc::Dims> out;
  for (const std::vector<std::string>& shape : *shapes) {
    out.emplace_back();
    for (const std::string& size : shape) {
      QC_ASSIGN(qc::Dim dim, qc::Dim::parse(size));
      out.back().push_back(std::move(dim));
    }
  }
  return out;
}

Result<qc::Ok> evaluated(const OwnOp& op, const qc::OwnArguments& arguments,
                         const std::vector<const qc::Tensor*>& in, std::vector<qc::Tensor>& out) {
  ArrayViews views;
  for (size_t i = 0; i < in.size(); ++i) {
    views.emplace_back(op.inputs[i].name, std::string(qc::name(in[i]->dtype())), in[i]->shape(),
                       in[i]->bytes().data(), in[i]->bytes().size());
  }
  const Expected<std::vector<Array>> arrays = op.evaluate(values_of(arguments), views);
  if (!arrays) return diag_of(arrays);
  if (arrays->size() != out.size()) {
    return qc::error(qc::Code::usage, "evaluate of op '{}' gives {} arrays for {} results", op.name,
                     arrays->size(), out.size());
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const Array& a = (*arrays)[i];
    const std::span<std::byte> to = out[i].mutable_bytes();
    if (a.type != qc::name(out[i].dtype()) || a.shape != out[i].shape() ||
        a.data.size() != to.size()) {
      return qc::error(qc::Code::usage, "evaluate of op '{}' gives {}{} for '{}', expected {}{}",
                       op.name, a.type, qc::str(qc::to_dims(a.shape)), op.outputs[i].name,
                       qc::name(out[i].dtype()), qc::str(qc::to_dims(out[i].shape())));
    }
    if (!to.empty()) std::memcpy(to.data(), a.data.data(), to.size());
  }
  return qc::Ok{};
}

Result<std::vector<qc::OwnOperand>> operands_of(const OwnOp& op,
                                                const std::vector<OwnOp::Operand>& list) {
  std::vector<qc::OwnOperand> out;
  for (const OwnOp::Operand& o : list) {
    const auto dtype = qc::parse_dtype(o.type);
    if (!dtype) {
      return qc::error(qc::Code::usage, "op '{}': '{}' has the unknown type '{}'", op.name, o.name,
                       o.type);
    }
    out.push_back({o.name, *dtype});
  }
  return out;
}

}  // namespace

Expected<Done> add_op(OwnOp given) {
  const auto op = std::make_shared<const OwnOp>(std::move(given));
  const auto added = qc::within(nullptr, [&]() -> Result<qc::Ok> {
    if (!op->shape || !op->evaluate)
      return qc::error(qc::Code::usage, "op '{}' has no shape or no evaluate", op->name);
    qc::OwnOp own;
    own.name = op->name;
    own.onnx = op->onnx;
    own.summary = op->summary;
    QC_ASSIGN(own.inputs, operands_of(*op, op->inputs));
    QC_ASSIGN(own.outputs, operands_of(*op, op->outputs));
    for (const OwnOp::Parameter& p : op->parameters) {
      std::visit(
          [&](const auto& v) {
            own.parameters.push_back({p.name, v, p.choices});
          },
          p.standard);
    }
    own.shape = [op](const auto& arguments, const auto& in) {
      return shapes_of(*op, arguments, in);
    };
    own.evaluate = [op](const auto& arguments, const auto& in, auto& out) {
      return evaluated(*op, arguments, in, out);
    };
    return qc::define_own_op(std::move(own),
                             {op->c, op->helpers, op->units, op->cuda, op->stack, op->quantizes});
  });
  if (!added.ok()) return converted(added.diag());
  return Done{};
}

}  // namespace quantc
