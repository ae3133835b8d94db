#include <fmt/format.h>

#include <cstdio>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "driver/choices.h"
#include "driver/config.h"
#include "driver/pass_list.h"
#include "driver/renamed.h"
#include "ir/text.h"
#include "support/budget.h"
#include "support/escape.h"

namespace qc::cli {

std::string default_text(const std::string& value) {
  return value.empty() ? "" : fmt::format(" (default {})", value);
}

std::string value_text(const std::string& value) {
  const std::vector<std::string> words = choices(value);
  return words.empty() ? value : fmt::format("{}", fmt::join(words, "|"));
}

void add_model(CLI::App& app, std::string& model) {
  app.add_option("MODEL", model,
                 "a model: .onnx, .pt2, .fx.json or quantc's own text (.ir); what is in it decides")
      ->required();
}

void CompileFlags::add_dims(CLI::App& app) {
  add_value(
      app, "--dim", dims, "NAME=SIZE",
      "size of a symbolic dimension, or NAME=MIN..MAX to choose it in each run; with :buckets "
      "padded to one of some sizes (docs/sizes-buckets.md)");
  add_value(app, "--shape", shapes, "INPUT=SHAPE",
            "the shape of an input, which gives its symbolic dimensions their sizes, as in "
            "x=1,3,224,224");
  add_value(app, "--const", constants, "INPUT=VALUE",
            "make an input a constant: a number for all its elements, or a file (.npy, .npz, .pb)");
  add(app, "--state", &Options::state, "state",
      "buffers the model changes: kept between runs, or io: inputs and outputs");
  add(app, "--budget", &Options::budget, "N",
      "let files take N times the work and memory that their size allows");
  add_value(app, "--config", config, "FILE", "read options from this file (quantc.toml)");
}

void CompileFlags::add_quantization(CLI::App& app) {
  add(app, "--rules", &Options::rules_file, "FILE", "quantize by the rules of this file (TOML)");
  add(app, "--arithmetic", &Options::arithmetic, "arithmetic",
      "how quantized nodes round; FIELD=VALUE after a comma changes a field of it "
      "(docs/arithmetic.md; default exact for rules, for quantized models that of their "
      "framework); dot=mul_add: float dot products for processors without fma");
  add(app, "--io-dtype", &Options::io_dtype, "io_dtype",
      "inputs and outputs: keep their types, or quantized: codes where they can be");
  add(app, "--allow-unused-rules", &Options::allow_unused_rules, "",
      "let rules pass that match nothing");
  add(app, "--require-integer", &Options::require_integer, "",
      "fail, with a list, when an operation computes in float; converting inputs and outputs and "
      "rescaling accumulators may still (docs/rules.md)");
  add(app, "--no-float", &Options::no_float, "",
      "for cores without an FPU: codes in and out, rescaling by integers; fail, with a list, when "
      "any step needs a float (docs/rules.md)");
}

void CompileFlags::add_disable_pass(CLI::App& app) {
  add(app, "--disable-pass", &Options::disabled_passes, "PASS",
      "leave out a pass that `quantc passes` says can be");
}

void CompileFlags::add_target(CLI::App& app, const std::string& help) {
  add(app, "--target", &Options::target, "TARGET",
      help + default_text("native, with --no-float portable"));
}

void CompileFlags::add_code(CLI::App& app) {
  add(app, "-O,--level", &Options::level, "level", "optimisation level; never changes an answer");
  add(app, "--weights", &Options::weights, "weights", "how weights are stored");
  add(app, "--specialise", &Options::specialise, "specialise",
      "kernels for speed (one per shape) or size (shared)");
  add_allow_host(app);
  add_disable_pass(app);
}

void CompileFlags::add_allow_host(CLI::App& app) {
  add(app, "--allow-host", &Options::allow_host, "",
      "steps that a GPU has no kernel for, or one of a single thread, run on the host");
}

void CompileFlags::add_all(CLI::App& app) {
  add_dims(app);
  add_quantization(app);
  add(app, "--name", &Options::name, "NAME",
      "prefix of files and C names (default: after the model's file)");
  add_target(app, fmt::format("what to generate code for: {}; `quantc targets` describes them",
                              fmt::join(choices("target"), ", ")));
  add_code(app);
  add(app, "--plan", &Options::plan, "plan",
      "where buffers of free sizes lie: fixed by the largest, or as low as the sizes of a run "
      "allow");
  add(app, "--single-file", &Options::single_file, "",
      "kernels, weights and code in one C file (portable or one target, literal weights)");
  add(app, "--threads", &Options::threads, "",
      "split large steps: runs take a parallel_for, by which the caller brings threads");
  add(app, "--check-indices", &Options::check_indices, "",
      "code whose runs return NAME_BAD_INDEX where an index is out of range");
  add(app, "--kernel", &Options::kernels, "LAYER=VARIANT",
      "what computes a layer, one of those that `quantc inspect --kernels` names");
  add(app, "--stop-after", &Options::stop_after, "PASS", "stop after this pass");
  add_value(app, "--print-ir-after", print_after, "PASS",
            "print the graph or the program after this pass, or after `all`");
  app.add_flag("--time-passes", time_passes, "print how long each pass took");
  add(app, "--verify", &Options::verify, "", "check every invariant after each pass");
}

void CompileFlags::add_force(CLI::App& app) {
  add(app, "--force", &Options::force, "",
      "replace files that quantc did not write, or that were changed since");
}

Result<Options> CompileFlags::resolve() const {
  Options out;
  if (!config.empty()) {
    QC_ASSIGN(out, read_config(config));
  }
  for (const auto& [option, take_over] : given) {
    if (option->count() > 0) take_over(out);
  }
  std::erase(out.disabled_passes, "");  // --disable-pass '' disables none
  for (const std::string& text : dims) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool named = equals != std::string::npos && equals > 0;
    const auto sizes = named ? read_sizes(text.substr(equals + 1)) : std::nullopt;
    if (!sizes) return error(Code::usage, "--dim '{}' is not NAME=SIZE or NAME=MIN..MAX", text);
    set_sizes(out, name, *sizes);
  }
  for (const std::string& text : shapes) {
    const size_t equals = text.find('=');
    std::vector<int64_t> sizes;
    for (const std::string& word :
         CLI::detail::split(text.substr(std::min(equals, text.size() - 1) + 1), ',')) {
      const auto size = read_sizes(word);
      if (equals == 0 || equals == std::string::npos || !size || size->min != size->max)
        return error(Code::usage, "--shape '{}' is not INPUT=SIZE,SIZE,...", text);
      sizes.push_back(size->min);
    }
    out.shapes[text.substr(0, equals)] = sizes;
  }
  for (const std::string& text : constants) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      return error(Code::usage, "--const '{}' is not INPUT=NUMBER or INPUT=FILE", text);
    out.constants[text.substr(0, equals)] = text.substr(equals + 1);
  }
  std::vector<std::string> renamed;
  out = implied(with_current_names(std::move(out), renamed));
  for (std::string& name : print_after) use_current_pass(name, renamed);
  warn(config.empty() ? "quantc" : config, renamed);
  QC_TRY(check(out));
  if (Budget* budget = Budget::current()) budget->set_factor(out.budget);
  for (const std::string& name : print_after) {
    if (name != "all") QC_TRY(find_any_pass(name));
  }
  return out;
}

PassObserver CompileFlags::observer() const {
  PassObserver out;
  out.graph = [this](const Pass& pass, bool changed, double seconds, const Graph& graph) {
    if (time_passes)
      say("{:<24} {:>10.3f} ms{}\n", pass.name, seconds * 1e3, changed ? "" : "  (no change)");
    for (const std::string& name : print_after) {
      if (name == pass.name || (name == "all" && changed)) {
        fmt::print("// after {}\n{}\n", pass.name, print(graph));
      }
    }
  };
  out.program = [this](std::string_view pass, double seconds, const Program& program) {
    if (time_passes) say("{:<24} {:>10.3f} ms\n", pass, seconds * 1e3);
    for (const std::string& name : print_after) {
      if (name == pass || name == "all") fmt::print("// after {}\n{}\n", pass, str(program));
    }
  };
  return out;
}

void InputFlags::add(CLI::App& app) {
  add_value(app, "-i,--input", files, "FILE",
            "arrays by input name or as in_0, in_1, ... (.npz, .npy, .pb)");
  add_value(app, "--data", data, "FILE",
            "many samples instead, along axis 0 of each array: one run for each, or for as many as "
            "the model's own batch (.npz, .npy); further files may have other sizes");
  add_value(app, "--random", seed, "SEED", "make inputs from this seed instead");
}

namespace {

/// Refuses an array that holds many samples of an input: those are given in another way.
Result<Ok> check_single(const Graph& graph, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = *graph.inputs()[i];
    const std::vector<int64_t>& got = inputs[i].shape();
    if (!all_static(v.shape()) || v.rank() == 0 || got.size() != v.shape().size()) continue;
    std::vector<int64_t> wanted = static_dims(v.shape());
    const bool is_longer = got[0] > wanted[0];
    wanted[0] = got[0];
    if (!is_longer || wanted != got) continue;
    return error(Code::input, Loc{graph.file, {}, {}},
                 "input '{}' is {}, got {}{}: for a run on each of many samples give the file with "
                 "--data",
                 v.name(), str(v.type()), name(inputs[i].dtype()), str(to_dims(got)));
  }
  return Ok{};
}

}  // namespace

Result<Samples> InputFlags::open(const Graph& graph, const Options& options) const {
  if (!files.empty() + !data.empty() + (seed >= 0) != 1)
    return error(Code::usage, "give one of --input, --data and --random");
  if (!data.empty()) {
    QC_ASSIGN(auto sets, open_arrays(data, graph.inputs().size()));
    QC_ASSIGN(Samples samples, Samples::open(graph, std::move(sets),
                                             Bindings(options.dims.begin(), options.dims.end())));
    warn(graph.file, samples.warnings());
    return samples;
  }
  std::vector<Tensor> inputs;
  if (seed >= 0) {
    QC_ASSIGN(inputs, random_inputs(graph, static_cast<uint64_t>(seed)));
  } else {
    QC_ASSIGN(auto arrays, read_arrays(files));
    std::vector<std::string> notes;
    QC_ASSIGN(inputs, match_inputs(graph, arrays, &notes));
    warn(graph.file, notes);
    QC_TRY(check_single(graph, inputs));
  }
  return Samples::of(std::move(inputs));
}

Result<Ok> InputFlags::renew(const Graph& contract, Samples& samples) const {
  bool matches = true;
  for (size_t i = 0; i < contract.inputs().size(); ++i) {
    matches = matches && samples.first()[i].dtype() == contract.inputs()[i]->dtype();
  }
  if (seed < 0 || matches) return Ok{};
  QC_ASSIGN(auto inputs, random_inputs(contract, static_cast<uint64_t>(seed)));
  samples = Samples::of(std::move(inputs));
  return Ok{};
}

void warn(const std::string& file, std::span<const std::string> warnings) {
  for (const std::string& text : warnings) {
    say("{}: warning: {}\n", shown(file), shortened_line(shown(text)));
  }
}

Result<std::unique_ptr<Graph>> load(const std::string& path, const Options& options,
                                    std::vector<std::string>* remarks) {
  std::vector<std::string> own;
  std::vector<std::string>& said = remarks ? *remarks : own;
  const size_t before = said.size();
  std::unique_ptr<Graph> graph;
  {
    Progress progress("loading " + path);
    QC_ASSIGN(graph, load_model(path, options, &said));
  }
  // What importing leaves out may make an answer wrong, so it is said without -v too.
  warn(path, std::span(said).subspan(before));
  return graph;
}

Result<Ok> contract(Graph& graph, const Options& options, PassContext& context,
                    const PassObserver& observe) {
  QC_TRY(make_contract(graph, options, context, observe));
  warn(graph.file, context.warnings);
  return Ok{};
}

}  // namespace qc::cli
