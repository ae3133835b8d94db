// From a loaded model to a contract graph, a planned Program and a project.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/common/backend.h"
#include "ir/graph.h"
#include "passes/pipeline.h"
#include "program/module.h"
#include "quantc/options.h"
#include "support/output.h"

namespace qc {

using quantc::Options;

/// The options with what they mean but do not say: the target, and all that code without floats
/// asks for.
Options implied(Options options);
/// What code is generated for.
Result<Target> target_of(const Options& options);

/// Checks everything about the options that can be wrong without a model.
Result<Ok> check(const Options& options);

/// What a caller may watch: each pass, once it ran.
struct PassObserver {
  std::function<void(const Pass&, bool changed, double seconds, const Graph&)> graph;
  std::function<void(const char* pass, double seconds, const Program&)> program;
};

/// An input of the graph must have a free dimension of this name.
Result<Ok> check_dim(const Graph& graph, const std::string& name);

/// Binds the options' dims and runs the passes up to the contract graph. `context` holds the rules
/// of a quantization and, afterwards, what the passes noted.
Result<Ok> make_contract(Graph& graph, const Options& options, const PassObserver& observe = {});
Result<Ok> make_contract(Graph& graph, const Options& options, PassContext& context,
                         const PassObserver& observe = {});

/// The contract graph of a loaded model without the rules of the options.
Result<std::unique_ptr<Graph>> float_contract(const Graph& model, const Options& options);

/// An error where the options have a range for the dimension, and the size is outside it.
Result<Ok> check_range(const Graph& graph, const std::string& symbol, int64_t size,
                       const Options& options);

/// Adds to the options' dims the sizes that `inputs` give free dimensions without a range.
Result<Ok> add_dims_of(const Graph& graph, const std::vector<Tensor>& inputs, Options& options);

/// Runs the passes after the contract graph, lowers and plans, for the part of the target that this
/// machine runs. The graph is left in its final form.
Result<Program> make_program(Graph& graph, const Options& options,
                             const PassObserver& observe = {});
/// What computes each kernel call of the program and why other variants do not, as text with lines
/// of at most `width` columns.
Result<std::string> kernel_choices(const Graph& graph, const Options& options, size_t width);
/// The programs of a contract graph for each part of the target; `noted` takes remarks and
/// warnings. The graph is left in the form it has for the last part.
Result<Module> make_module(Graph& graph, const Options& options, PassContext& noted,
                           const PassObserver& observe = {});

/// The options of a backend; the name comes from the model's file where none is given.
Result<ProjectOptions> project_options(const Options& options, const std::string& model_file);

struct CompileResult {
  FileSet files;  // of the project, written aside
  ProjectReport report;
  std::string name;
  std::string source;                 // the file that has the model's functions
  std::vector<std::string> remarks;   // what the passes and the plan did
  std::vector<std::string> warnings;  // as PassContext::warnings, of what follows the contract
};

/// Writes the project for a contract graph, which `files.commit()` of the result puts into `dir`.
/// `inputs`, when given, are recorded in the test program together with what the interpreter
/// answers.
Result<CompileResult> compile_project(Graph& graph, const Options& options, const std::string& dir,
                                      const std::vector<Tensor>* inputs,
                                      const PassObserver& observe = {});

}  // namespace qc
