// Rules: values, and classes written in Python.
#include "rules.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>

#include "arrays.h"

namespace quantc::python {
namespace {

/// A Python object with `matches(node)` and `scheme(node)`. Python's garbage collector does not see
/// what C++ owns, and a rule may refer to the graph that has it. So the graph owns its rules in
/// Python (quantc.Graph), and this one only knows where the rule is.
class PythonRule final : public Rule {
 public:
  explicit PythonRule(const nb::handle rule)
      : rule_(nb::weakref(rule)), origin_(nb::cast<std::string>(rule.type().attr("__name__"))) {}
  ~PythonRule() override {
    const nb::gil_scoped_acquire gil;
    rule_.reset();
  }

  bool matches(const NodeView& node) const override {
    return called(node, [&] {
      const nb::object answer = rule().attr("matches")(node);
      const int truth = PyObject_IsTrue(answer.ptr());
      if (truth < 0) throw nb::python_error();
      return truth == 1;
    });
  }
  RuleSpec scheme(const NodeView& node) const override {
    return called(node, [&] {
      return nb::cast<RuleSpec>(
          nb::module_::import_("quantc._rules").attr("spec_of")(rule().attr("scheme")(node)));
    });
  }
  std::string origin() const override { return origin_; }

 private:
  nb::object rule() const {
    nb::object rule = rule_();
    if (rule.is_none()) throw std::runtime_error("the graph that has the rule is gone");
    return rule;
  }

  /// What the class raises comes out as it is; a note says at which node.
  template <class F>
  auto called(const NodeView& node, F&& f) const -> decltype(f()) {
    const nb::gil_scoped_acquire gil;
    try {
      return f();
    } catch (nb::python_error& error) {
      const std::string name = node.names.empty() ? node.op : node.names.front();
      const std::string note = origin_ + " at node '" + name + "' (" + node.op + ")";
      add_note(error, note);
      throw;
    }
  }

  nb::weakref rule_;
  std::string origin_;
};

}  // namespace

Rules rules_of(const nb::sequence& rules) {
  Rules out;
  for (nb::handle rule : rules) {
    RuleSpec spec;
    if (nb::try_cast(rule, spec)) {
      out.push_back(rule_of(std::move(spec)));
    } else {
      out.push_back(std::make_shared<const PythonRule>(rule));
    }
  }
  return out;
}

void bind_rules(nb::module_& m) {
  nb::class_<RuleSpec>(m, "RuleSpec", "The keys of one rule, as in a rule file.")
      .def(nb::init<>())
      .def_rw("pattern", &RuleSpec::pattern)
      .def_rw("exclude", &RuleSpec::exclude)
      .def_rw("op", &RuleSpec::op)
      .def_rw("kind", &RuleSpec::kind)
      .def_rw("dtype", &RuleSpec::dtype)
      .def_rw("scale", &RuleSpec::scale)
      .def_rw("offset", &RuleSpec::offset)
      .def_rw("min", &RuleSpec::min)
      .def_rw("max", &RuleSpec::max)
      .def_rw("qmin", &RuleSpec::qmin)
      .def_rw("qmax", &RuleSpec::qmax)
      .def_rw("output_dtype", &RuleSpec::output_dtype)
      .def_rw("input_dtype", &RuleSpec::input_dtype)
      .def_rw("input_scale", &RuleSpec::input_scale)
      .def_rw("input_offset", &RuleSpec::input_offset)
      .def_rw("input_min", &RuleSpec::input_min)
      .def_rw("input_max", &RuleSpec::input_max)
      .def_rw("weight_dtype", &RuleSpec::weight_dtype)
      .def_rw("weight_scale", &RuleSpec::weight_scale)
      .def_rw("weight_offset", &RuleSpec::weight_offset)
      .def_rw("weight_qmin", &RuleSpec::weight_qmin)
      .def_rw("weight_qmax", &RuleSpec::weight_qmax)
      .def_rw("per_channel", &RuleSpec::per_channel)
      .def_rw("group", &RuleSpec::group)
      .def_rw("weight_zero_points", &RuleSpec::weight_zero_points)
      .def_rw("output_multiplier", &RuleSpec::output_multiplier)
      .def_rw("input_multiplier", &RuleSpec::input_multiplier)
      .def_rw("bias_correction", &RuleSpec::bias_correction)
      .def_rw("per_token", &RuleSpec::per_token)
      .def_rw("symmetric", &RuleSpec::symmetric)
      .def_rw("arithmetic", &RuleSpec::arithmetic)
      .def_rw("attention", &RuleSpec::attention)
      .def_rw("skip_unsupported", &RuleSpec::skip_unsupported)
      .def_rw("origin", &RuleSpec::origin)
      .def_rw("calibrated", &RuleSpec::calibrated);
  nb::class_<NodeView::Operand>(m, "Operand", "What a rule sees of an operand.")
      .def_ro("type", &NodeView::Operand::type, "Element type such as 'f32'; '' for none.")
      .def_ro("shape", &NodeView::Operand::shape, "Sizes; -1 for those that are not known.")
      .def_ro("constant", &NodeView::Operand::constant, "Whether its elements are known.")
      .def_ro("name", &NodeView::Operand::name, "Of a constant or an input; may be empty.");
  nb::class_<NodeView>(m, "Node", "What a rule sees of a node.")
      .def_prop_ro(
          "name", [](const NodeView& n) { return n.names.empty() ? "" : n.names[0]; },
          "The first of its names.")
      .def_ro("names", &NodeView::names, "The model's own names of what it came from.")
      .def_ro("op", &NodeView::op, "Its op: docs/ops.md lists them.")
      .def_ro("attributes", &NodeView::attributes, "As in the graph's text form.")
      .def_ro("operands", &NodeView::operands, "What it reads, in order.")
      .def_ro("results", &NodeView::results, "What it makes, in order.")
      .def_ro("op_type", &NodeView::op, "Another name of `op`.")
      .def_prop_ro("inputs", &NodeView::producers,
                   "The nodes that make its operands but for constants; an input of the graph is a "
                   "node of the op 'input'.")
      .def_prop_ro("users", &NodeView::users, "The nodes that read its results.")
      .def_prop_ro(
          "output_shape",
          [](const NodeView& n) {
            return nb::tuple(
                nb::cast(n.results.empty() ? std::vector<int64_t>() : n.results[0].shape));
          },
          "Sizes of its first result; -1 for those that are not known.")
      .def_prop_ro(
          "dtype", [](const NodeView& n) { return n.results.empty() ? "" : n.results[0].type; },
          "Element type of its first result.")
      .def_prop_ro(
          "metadata",
          [](const NodeView& n) {
            return nb::module_::import_("quantc._matcher").attr("values_of")(n.attributes);
          },
          "Its attributes as values.")
      .def("__repr__",
           [](const NodeView& n) {
             return "<quantc.Node " + (n.names.empty() ? std::string() : n.names[0]) + ": " + n.op +
                    ">";
           })
      .def(
          "__eq__",
          [](const NodeView& a, const NodeView& b) {
            return a.all && a.all == b.all && a.at == b.at;
          },
          nb::is_operator())
      .def("__hash__", [](const NodeView& n) {
        return std::hash<const void*>()(n.all.get()) ^ std::hash<size_t>()(n.at);
      });
  m.def("read_rules",
        [](const std::string& path, bool partial) { return value_of(read_rules(path, partial)); });
  m.def("save_rules", [](const std::vector<RuleSpec>& rules, const std::string& path, bool force) {
    return value_of(save_rules(rules, path, force));
  });
}

}  // namespace quantc::python
