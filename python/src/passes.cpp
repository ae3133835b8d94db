// Passes written in Python.
#include "passes.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"

namespace quantc::python {
namespace {

/// A Python object with `run(graph)`.
class PythonPass final : public Pass {
 public:
  explicit PythonPass(const nb::object& pass)
      : pass_(pass), name_(nb::cast<std::string>(pass.type().attr("__name__"))) {}

  std::string name() const override { return name_; }
  /// What the class raises comes out as it is; a note names the pass.
  Expected<Done> run(GraphEditor& graph) const override {
    const nb::gil_scoped_acquire gil;
    const nb::object view = nb::module_::import_("quantc._passes")
                                .attr("GraphEditor")(nb::cast(&graph, nb::rv_policy::reference));
    try {
      pass_.attr("run")(view);
    } catch (nb::python_error& error) {
      add_note(error, "in pass " + name_);
      view.attr("_close")();
      throw;
    }
    view.attr("_close")();
    return Done{};
  }

 private:
  const nb::object& pass_;
  std::string name_;
};

}  // namespace

Model transformed(const Model& model, const nb::object& pass) {
  const PythonPass own(pass);
  return unlocked([&] { return model.transform(own); });
}

void bind_passes(nb::module_& m) {
  nb::class_<ValueView>(m, "ValueView")
      .def_ro("name", &ValueView::name)
      .def_ro("type", &ValueView::type)
      .def_ro("shape", &ValueView::shape)
      .def_ro("constant", &ValueView::constant)
      .def_ro("readers", &ValueView::readers);
  nb::class_<GraphNode>(m, "GraphNode")
      .def_ro("names", &GraphNode::names)
      .def_ro("op", &GraphNode::op)
      .def_ro("attributes", &GraphNode::attributes)
      .def_ro("inputs", &GraphNode::inputs)
      .def_ro("outputs", &GraphNode::outputs);
  nb::class_<GraphEditor>(m, "GraphEditor")
      .def("nodes", &GraphEditor::nodes)
      .def("inputs", &GraphEditor::inputs)
      .def("outputs", &GraphEditor::outputs)
      .def("value",
           [](const GraphEditor& g, ValueId v) { return unlocked([&] { return g.value(v); }); })
      .def("elements",
           [](const GraphEditor& g, ValueId v) {
             std::vector<Array> one;
             one.push_back(unlocked([&] { return g.elements(v); }));
             return nb::object(results_of(std::move(one), false)[0]);
           })
      .def("constant",
           [](GraphEditor& g, const nb::sequence& array) {
             const Arguments arguments(array, {""});
             return unlocked([&] { return g.constant(arguments.views()[0]); });
           })
      .def("insert",
           [](GraphEditor& g, const std::string& op, const std::vector<ValueId>& inputs,
              const std::map<std::string, std::string>& attributes, const std::string& name) {
             return unlocked([&] { return g.insert(op, inputs, attributes, name); });
           })
      .def("replace", [](GraphEditor& g, ValueId from,
                         ValueId to) { unlocked([&] { return g.replace(from, to); }); })
      .def("erase", [](GraphEditor& g, ValueId v) { unlocked([&] { return g.erase(v); }); });
}

}  // namespace quantc::python
