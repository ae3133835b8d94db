// Ops written in Python.
#include "ops.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "arrays.h"

namespace quantc::python {
namespace {

/// The functions of a class. Python owns them (quantc._ops.functions): what C++ owns would outlive
/// the interpreter.
class PythonOp {
 public:
  PythonOp(int64_t number, std::string name) : number_(number), name_(std::move(name)) {}

  Expected<OpShapes> shape(const OpValues& values, const OpShapes& shapes) const {
    return called([&](const nb::object& own) {
      return nb::cast<OpShapes>(own.attr("shape")(dict_of(values), shapes));
    });
  }
  Expected<std::vector<Array>> evaluate(const OpValues& values, const ArrayViews& in) const {
    return called([&](const nb::object& own) {
      std::vector<Array> arrays;
      for (const ArrayView& v : in) arrays.push_back(copy_of(v));
      const nb::object given =
          own.attr("evaluate")(dict_of(values), results_of(std::move(arrays), false));
      const auto list = nb::cast<nb::sequence>(given);
      const Arguments results(list, std::vector<std::string>(nb::len(list)));
      std::vector<Array> out;
      for (const ArrayView& v : results.views()) out.push_back(copy_of(v));
      return out;
    });
  }

 private:
  static Array copy_of(const ArrayView& v) {
    const auto* data = static_cast<const std::byte*>(v.data);
    return {v.name, v.type, v.shape, {data, data + v.bytes}};
  }
  static nb::dict dict_of(const OpValues& values) {
    nb::dict out;
    for (const auto& [name, value] : values)
      out[name.c_str()] = std::visit([](const auto& v) { return nb::cast(v); }, value);
    return out;
  }
  /// What the class raises comes out as it is; a note names the op.
  template <class F>
  auto called(F&& f) const -> Expected<decltype(f(nb::object()))> {
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object all = nb::module_::import_("quantc._ops").attr("functions");
      return f(nb::object(all[nb::cast(number_)]));
    } catch (nb::python_error& error) {
      add_note(error, "in op '" + name_ + "'");
      throw;
    }
  }

  int64_t number_;
  std::string name_;
};

OpValue value_of(const std::string& kind, const nb::handle& value) {
  if (kind == "bool") return nb::cast<bool>(value);
  if (kind == "int") return nb::cast<int64_t>(value);
  if (kind == "float") return nb::cast<double>(value);
  if (kind == "str") return nb::cast<std::string>(value);
  if (kind == "ints") return nb::cast<std::vector<int64_t>>(value);
  return nb::cast<std::vector<double>>(value);
}

std::vector<OwnOp::Operand> operands_of(const nb::handle& list) {
  std::vector<OwnOp::Operand> out;
  for (nb::handle pair : list)
    out.push_back({nb::cast<std::string>(pair[0]), nb::cast<std::string>(pair[1])});
  return out;
}

/// `keys` are the members of OwnOp that are no functions; parameters are (name, kind,
/// default, choices); `number` says which functions of quantc._ops.functions are its.
void define(const nb::dict& keys, int64_t number) {
  const auto text = [&](const char* key) { return nb::cast<std::string>(keys[key]); };
  OwnOp op;
  op.name = text("name");
  op.onnx = text("onnx");
  op.summary = text("summary");
  op.inputs = operands_of(keys["inputs"]);
  op.outputs = operands_of(keys["outputs"]);
  for (nb::handle p : keys["parameters"]) {
    op.parameters.push_back({nb::cast<std::string>(p[0]),
                             value_of(nb::cast<std::string>(p[1]), p[2]),
                             nb::cast<std::vector<std::string>>(p[3])});
  }
  op.c = text("c");
  op.helpers = text("helpers");
  op.cuda = text("cuda");
  op.units = text("units");
  op.stack = nb::cast<int>(keys["stack"]);
  op.quantizes = text("quantizes");
  const auto own = std::make_shared<const PythonOp>(number, op.name);
  op.shape = [own](const OpValues& values, const OpShapes& in) { return own->shape(values, in); };
  op.evaluate = [own](const OpValues& values, const ArrayViews& in) {
    return own->evaluate(values, in);
  };
  unlocked([&] { return add_op(std::move(op)); });
}

}  // namespace

void bind_ops(nb::module_& m) { m.def("add_op", &define); }

}  // namespace quantc::python
