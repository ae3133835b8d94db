// quantc._core: the C++ library for the package. Work is done with the interpreter lock released.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <quantc/quantc.h>

#include "arrays.h"
#include "ops.h"
#include "passes.h"
#include "rules.h"

namespace quantc::python {
namespace {

using Names = std::vector<std::string>;

void bind_options(nb::module_& m) {
  nb::class_<Options>(m, "Options", "The options of a compilation.")
      .def(nb::init<>())
      .def(nb::init<const Options&>())
      .def_rw("name", &Options::name)
      .def_rw("target", &Options::target)
      .def_rw("level", &Options::level)
      .def_rw("dims", &Options::dims)
      .def_prop_rw(
          "ranges",
          [](const Options& o) {
            nb::dict out;
            for (const auto& [name, range] : o.ranges)
              out[nb::cast(name)] =
                  nb::make_tuple(range.min, range.max, range.step, range.buckets, range.own_size);
            return out;
          },
          [](Options& o, const nb::dict& ranges) {
            o.ranges.clear();
            for (const auto& [name, range] : ranges) {
              o.ranges[nb::cast<std::string>(name)] = {
                  .min = nb::cast<int64_t>(range[0]),
                  .max = nb::cast<int64_t>(range[1]),
                  .step = nb::cast<int64_t>(range[2]),
                  .buckets = nb::cast<std::vector<int64_t>>(range[3]),
                  .own_size = nb::cast<bool>(range[4])};
            }
          })
      .def_rw("shapes", &Options::shapes)
      .def_rw("constants", &Options::constants)
      .def_rw("weights", &Options::weights)
      .def_rw("specialise", &Options::specialise)
      .def_rw("plan", &Options::plan)
      .def_rw("single_file", &Options::single_file)
      .def_rw("state", &Options::state)
      .def_rw("disabled_passes", &Options::disabled_passes)
      .def_rw("stop_after", &Options::stop_after)
      .def_rw("kernels", &Options::kernels)
      .def_rw("threads", &Options::threads)
      .def_rw("check_indices", &Options::check_indices)
      .def_rw("allow_host", &Options::allow_host)
      .def_rw("verify", &Options::verify)
      .def_rw("budget", &Options::budget)
      .def_rw("rules_file", &Options::rules_file)
      .def_rw("allow_unused_rules", &Options::allow_unused_rules)
      .def_rw("arithmetic", &Options::arithmetic)
      .def_rw("io_dtype", &Options::io_dtype)
      .def_rw("require_integer", &Options::require_integer)
      .def_rw("no_float", &Options::no_float)
      .def_rw("force", &Options::force);
}

void bind_reports(nb::module_& m) {
  nb::class_<Port>(m, "Port", "An input or output of a model.")
      .def_ro("name", &Port::name)
      .def_ro("type", &Port::type)
      .def_ro("shape", &Port::shape)
      .def("__repr__", [](const Port& p) {
        std::string out = "<quantc.Port " + p.name + ": " + p.type + "[";
        for (const std::string& size : p.shape) out += (&size == &p.shape[0] ? "" : ", ") + size;
        return out + "]>";
      });
  nb::class_<Report>(m, "Report", "Sizes of a compiled model.")
      .def_ro("name", &Report::name)
      .def_ro("arena_bytes", &Report::arena_bytes)
      .def_ro("state_bytes", &Report::state_bytes)
      .def_ro("stack_bytes", &Report::stack_bytes)
      .def_ro("weight_bytes", &Report::weight_bytes)
      .def_ro("macs", &Report::macs)
      .def("__repr__",
           [](const Report& r) {
             return "<quantc.Report " + r.name + ": arena " + std::to_string(r.arena_bytes) +
                    " bytes, weights " + std::to_string(r.weight_bytes) + " bytes, " +
                    std::to_string(r.macs) + " MACs>";
           })
      .def_ro("warnings", &Report::warnings);
  nb::class_<QuantParams>(m, "QuantParams",
                          "What codes mean: a code q stands for (q - zero_point) * scale.")
      .def_ro("dtype", &QuantParams::dtype, "Element type of the codes, such as 'i8'.")
      .def_ro("qmin", &QuantParams::qmin, "The least code in use.")
      .def_ro("qmax", &QuantParams::qmax, "The greatest code in use.")
      .def_ro("granularity", &QuantParams::granularity,
              "Which elements share a scale: 'tensor', 'axis' or 'group'.")
      .def_ro("axis", &QuantParams::axis, "Of 'axis' and 'group'; None for 'tensor'.")
      .def_ro("group", &QuantParams::group, "Indices of the axis that share a scale.")
      .def_ro("dynamic", &QuantParams::dynamic, "Whether scales are found at run time.")
      .def_prop_ro(
          "scale", &QuantParams::scale,
          "One number, or one for each index of the axis or each group; none where dynamic.")
      .def_prop_ro("zero_point", &QuantParams::zero_point,
                   "One number, or as many as there are scales; none where found at run time.")
      .def("__repr__", [](const QuantParams& p) {
        const size_t scales = p.scale().size();
        return "<quantc.QuantParams " + p.dtype + " per " + p.granularity + ", " +
               (p.dynamic ? std::string("scales found at run time")
                          : std::to_string(scales) + (scales == 1 ? " scale" : " scales")) +
               ">";
      });
  nb::class_<NodeExplanation>(m, "NodeExplanation", "What became of one node.")
      .def_ro("names", &NodeExplanation::names)
      .def_ro("op", &NodeExplanation::op)
      .def_ro("computes", &NodeExplanation::computes)
      .def_ro("rule", &NodeExplanation::rule)
      .def_ro("why", &NodeExplanation::why)
      .def_ro("inputs", &NodeExplanation::inputs)
      .def_ro("output", &NodeExplanation::output)
      .def_ro("weight", &NodeExplanation::weight)
      .def_ro("input_qparams", &NodeExplanation::input_qparams)
      .def_ro("output_qparams", &NodeExplanation::output_qparams)
      .def_ro("weight_qparams", &NodeExplanation::weight_qparams)
      .def_ro("weight_elements", &NodeExplanation::weight_elements)
      .def_ro("weight_saturated", &NodeExplanation::weight_saturated)
      .def_ro("weight_sqnr_db", &NodeExplanation::weight_sqnr_db);
  nb::class_<Explanation>(m, "Explanation")
      .def_ro("nodes", &Explanation::nodes)
      .def_ro("remarks", &Explanation::remarks)
      .def_ro("warnings", &Explanation::warnings)
      .def_ro("totals", &Explanation::totals)
      .def_ro("json", &Explanation::json)
      .def("table", &Explanation::table, nb::arg("width") = 0);
  nb::class_<Comparison>(m, "Comparison")
      .def_ro("run", &Comparison::run)
      .def_ro("against", &Comparison::against)
      .def_ro("output", &Comparison::output)
      .def_ro("max_abs", &Comparison::max_abs)
      .def_ro("max_rel", &Comparison::max_rel)
      .def_ro("sqnr_db", &Comparison::sqnr_db)
      .def_ro("bits_equal", &Comparison::bits_equal)
      .def_ro("ok", &Comparison::ok)
      .def_ro("judged", &Comparison::judged)
      .def_ro("failed", &Comparison::failed)
      .def_ro("top1", &Comparison::top1)
      .def_ro("perplexity", &Comparison::perplexity)
      .def_ro("wanted_perplexity", &Comparison::wanted_perplexity);
  nb::class_<LayerComparison>(m, "LayerComparison")
      .def_ro("against", &LayerComparison::against)
      .def_ro("names", &LayerComparison::names)
      .def_ro("op", &LayerComparison::op)
      .def_ro("output", &LayerComparison::output)
      .def_ro("error", &LayerComparison::error);
  nb::class_<Validation>(m, "Validation")
      .def_ro("comparisons", &Validation::comparisons)
      .def_ro("layers", &Validation::layers)
      .def_ro("first_bad", &Validation::first_bad)
      .def_ro("ok", &Validation::ok)
      .def_ro("table", &Validation::table);
  nb::class_<Calibration>(m, "Calibration")
      .def_ro("rules", &Calibration::rules)
      .def_ro("text", &Calibration::text)
      .def_ro("runs", &Calibration::runs)
      .def_ro("passed_over", &Calibration::passed_over)
      .def_ro("warnings", &Calibration::warnings)
      .def("save", [](const Calibration& c, const std::string& path, bool force) {
        return value_of(c.save(path, force));
      });
  nb::class_<ErrorReport>(m, "ErrorReport", "How far results are from those of the float model.")
      .def_ro("sqnr_db", &ErrorReport::sqnr_db)
      .def_ro("cosine", &ErrorReport::cosine)
      .def_ro("max_abs", &ErrorReport::max_abs);
  nb::class_<LayerReport>(m, "LayerReport", "One quantized layer beside what it is in float.")
      .def_ro("names", &LayerReport::names)
      .def_ro("op", &LayerReport::op)
      .def_ro("rule", &LayerReport::rule)
      .def_ro("format", &LayerReport::format)
      .def_ro("alone", &LayerReport::alone)
      .def_ro("cumulative", &LayerReport::cumulative)
      .def_ro("least", &LayerReport::least)
      .def_ro("greatest", &LayerReport::greatest)
      .def_ro("elements", &LayerReport::elements)
      .def_ro("saturated", &LayerReport::saturated)
      .def_ro("histogram", &LayerReport::histogram)
      .def_ro("suggestion", &LayerReport::suggestion);
  nb::class_<Analysis>(m, "Analysis")
      .def_ro("layers", &Analysis::layers)
      .def_ro("runs", &Analysis::runs)
      .def_ro("table", &Analysis::table)
      .def_ro("json", &Analysis::json)
      .def_ro("page", &Analysis::page);
  nb::class_<CacheReport>(m, "CacheReport", "How the cache of compiled programs was used.")
      .def_ro("hits", &CacheReport::hits)
      .def_ro("misses", &CacheReport::misses)
      .def_ro("evictions", &CacheReport::evictions)
      .def_ro("count", &CacheReport::count)
      .def_ro("bytes", &CacheReport::bytes)
      .def_ro("hit_rate", &CacheReport::hit_rate)
      .def("__repr__", [](const CacheReport& c) {
        return "<quantc.CacheReport " + std::to_string(c.count) + " programs of " +
               std::to_string(c.bytes) + " bytes: " + std::to_string(c.hits) + " hits, " +
               std::to_string(c.misses) + " misses, " + std::to_string(c.evictions) + " evictions>";
      });
  nb::class_<Timing>(m, "Timing", "Seconds of calls.")
      .def_ro("runs", &Timing::runs)
      .def_ro("least", &Timing::least)
      .def_ro("median", &Timing::median)
      .def_ro("mean", &Timing::mean);
}

/// Sets an option to the value of its key; without the key it stays as it is.
struct TakenFrom {
  const nb::dict& keys;
  template <class T>
  void operator()(const char* key, T& to) const {
    if (keys.contains(key)) to = nb::cast<T>(keys[key]);
  }
};

Calibration calibrate(const Model& model, const nb::sequence& arrays, const Names& names,
                      const nb::dict& keys, const nb::object& progress) {
  const Arguments arguments(arrays, names);
  CalibrationOptions how;
  const TakenFrom set{keys};
  set("method", how.method);
  set("percentile", how.percentile);
  set("activations", how.activations);
  set("results", how.results);
  set("headroom", how.headroom);
  set("ops", how.ops);
  set("per_channel", how.per_channel);
  set("reference", how.reference);
  set("equalise", how.equalise);
  set("bias_correction", how.bias_correction);
  if (keys.contains("rules")) how.rules = rules_of(nb::cast<nb::sequence>(keys["rules"]));
  if (!progress.is_none()) {
    how.progress = [&](int64_t done, int64_t total) {
      const nb::gil_scoped_acquire gil;
      progress(done, total);
    };
  }
  return unlocked([&] { return model.calibrate(arguments.views(), how); });
}

Validation validate(const Model& model, const nb::sequence& arrays, const Names& names,
                    const nb::sequence& expected, const Names& expected_names,
                    const nb::dict& keys) {
  const Arguments in(arrays, names), out(expected, expected_names);
  ValidateOptions how;
  const TakenFrom set{keys};
  set("atol", how.atol);
  set("rtol", how.rtol);
  set("min_sqnr", how.min_sqnr);
  set("min_top1", how.min_top1);
  set("max_perplexity", how.max_perplexity);
  set("tokens", how.tokens);
  set("targets", how.targets);
  set("per_layer", how.per_layer);
  return unlocked([&] { return model.validate(in.views(), out.views(), how); });
}

void bind_model(nb::module_& m) {
  nb::class_<CompiledModel>(m, "CompiledModel")
      .def_prop_ro("report", &CompiledModel::report, nb::rv_policy::copy)
      .def_prop_ro("folder", &CompiledModel::folder)
      .def_prop_ro("inputs", &CompiledModel::inputs)
      .def_prop_ro("outputs", &CompiledModel::outputs)
      .def("run",
           [](const CompiledModel& c, const nb::sequence& arrays, const Names& names) {
             const Arguments arguments(arrays, names);
             Results results;
             const ArrayViews views = unlocked([&] {
               return c.run(arguments.views(),
                            [&](size_t bytes) { return results.allocate(bytes); });
             });
             return results.take(views, arguments.torch());
           })
      .def(
          "benchmark",
          [](const CompiledModel& c, const nb::sequence& arrays, const Names& names, int64_t runs) {
            const Arguments arguments(arrays, names);
            return unlocked([&] { return c.benchmark(arguments.views(), runs); });
          })
      .def("reset", &CompiledModel::reset, nb::call_guard<nb::gil_scoped_release>())
      .def("copy", &CompiledModel::copy, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Model>(m, "Model")
      .def_static("load",
                  [](const std::string& path, const Options& options) {
                    return unlocked([&] { return Model::load(path, options); });
                  })
      .def_static(
          "load_bytes",
          [](const nb::bytes& bytes, const std::string& name, const Options& options) {
            return unlocked([&] { return Model::load(bytes.data(), bytes.size(), name, options); });
          })
      .def_prop_ro("options", [](const Model& model) { return Options(model.options()); })
      .def_prop_ro("inputs", &Model::inputs)
      .def_prop_ro("outputs", &Model::outputs)
      .def_prop_ro("warnings", &Model::warnings)
      .def_prop_ro("warning_count", [](const Model& model) { return model.warnings().size(); })
      .def_prop_ro("program_cache", &Model::program_cache)
      .def("limit_program_cache", &Model::limit_program_cache)
      .def("quantize",
           [](const Model& model, const nb::sequence& rules) {
             const Rules all = rules_of(rules);
             return unlocked([&] { return model.quantize(all); });
           })
      .def("transform", &transformed)
      .def("with_options",
           [](const Model& model, const Options& options) { return value_of(model.with(options)); })
      .def("run",
           [](const Model& model, const nb::sequence& arrays, const Names& names) {
             const Arguments arguments(arrays, names);
             Results results;
             const ArrayViews views = unlocked([&] {
               return model.run(arguments.views(),
                                [&](size_t bytes) { return results.allocate(bytes); });
             });
             return results.take(views, arguments.torch());
           })
      .def("run_reference",
           [](const Model& model, const nb::sequence& arrays, const Names& names) {
             const Arguments arguments(arrays, names);
             return results_of(unlocked([&] { return model.run_reference(arguments.views()); }),
                               arguments.torch());
           })
      .def("calibrate", &calibrate, nb::arg("arrays"), nb::arg("names"), nb::arg("keys"),
           nb::arg("progress").none())
      .def("nodes", [](const Model& model) { return unlocked([&] { return model.nodes(); }); })
      .def("explain", [](const Model& model) { return unlocked([&] { return model.explain(); }); })
      .def("analyze",
           [](const Model& model, const nb::sequence& arrays, const Names& names,
              const std::string& title) {
             const Arguments arguments(arrays, names);
             return unlocked([&] { return model.analyze(arguments.views(), title); });
           })
      .def("layers",
           [](const Model& model, const nb::sequence& arrays, const Names& names) {
             const Arguments arguments(arrays, names);
             nb::list out;
             for (LayerValue& l : unlocked([&] { return model.layers(arguments.views()); })) {
               std::vector<Array> one;
               one.push_back(std::move(l.value));
               out.append(
                   nb::make_tuple(l.names, l.op, l.output, results_of(std::move(one), false)[0]));
             }
             return out;
           })
      .def("validate", &validate)
      .def("compile",
           [](const Model& model, const std::string& folder, const nb::sequence& arrays,
              const Names& names) {
             const Arguments arguments(arrays, names);
             return unlocked([&] { return model.compile(folder, arguments.views()); });
           })
      .def("build",
           [](const Model& model, const std::string& folder, const std::string& compiler,
              const std::string& flags, int threads) {
             return unlocked([&] { return model.build(folder, {compiler, flags, threads}); });
           })
      .def("text",
           [](const Model& model, bool all) { return unlocked([&] { return model.text(all); }); });
}

}  // namespace
}  // namespace quantc::python

NB_MODULE(_core, m) {
  m.doc() = "The C++ library of quantc.";
  m.attr("version") = quantc::kVersion;
  quantc::python::watch_signals();
  quantc::python::bind_rules(m);
  quantc::python::bind_passes(m);
  quantc::python::bind_ops(m);
  quantc::python::bind_options(m);
  quantc::python::bind_reports(m);
  quantc::python::bind_model(m);
}
