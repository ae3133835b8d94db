// Importer: walks a model and builds the graph. Internal to the ONNX front end.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "frontends/common/fold.h"
#include "frontends/common/foreign.h"
#include "frontends/common/options.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/schedule.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/types.h"

namespace qc::onnx {

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);
  Result<std::unique_ptr<Graph>> run();

 private:
  // import.cpp
  Result<Ok> graph_inputs(Scope& scope);
  Result<Ok> graph_outputs(Scope& scope);
  /// Imports the nodes `outputs` depend on, into the scope's graph.
  Result<Ok> body(std::span<const NodeProto> nodes, const std::vector<std::string_view>& outputs,
                  Scope& scope, const Env& env);
  Result<Ok> node(const NodeProto& node, const Schedule& plan, Scope& scope, const Env& env);
  Result<Ok> by_row(const NodeProto& node, const Schedule& plan, Scope& scope, const Env& env);
  /// Binds the node's output names to values.
  Result<Ok> define(const NodeProto& node, const Values& results, const Schedule& plan,
                    Scope& scope, const Env& env);

  // function.cpp
  const FunctionProto* function_of(const NodeProto& node) const;
  Result<Ok> inlined(const FunctionProto& function, const NodeProto& node, const Schedule& plan,
                     Scope& scope, const Env& env);

  // control.cpp, scan.cpp
  using Handler = Result<Values> (Importer::*)(const NodeProto&, Scope&, const Env&);
  /// The handler of an op that holds graphs, null for all others.
  static Handler control_flow(const NodeProto& node);
  Result<Values> if_node(const NodeProto& node, Scope& scope, const Env& env);
  Result<Values> loop_node(const NodeProto& node, Scope& scope, const Env& env);
  Result<Values> scan_node(const NodeProto& node, Scope& scope, const Env& env);
  /// One scan over `inputs`: `states` initial states, then the scanned values.
  Result<Values> scan(const NodeProto& node, const Values& inputs, size_t states, Scope& scope,
                      const Env& env);
  Result<const GraphProto*> graph_attribute(const NodeProto& node, std::string_view name,
                                            const Env& env) const;
  Result<Values> in_place(const GraphProto& branch, Scope& scope, const Env& env);
  /// Captured values of the graphs: names in order, and the distinct outer values behind them.
  struct Captures {
    std::vector<std::string_view> names;
    Values values;  // not constant, each once
  };
  Result<Captures> captures(std::initializer_list<const GraphProto*> graphs, Scope& scope);
  /// A scope for `body` as a region: what it captures is bound to new inputs of `region`.
  Result<Ok> bind_captures(const Captures& captures, Scope& outer, Scope& inner);
  Result<Ok> region_outputs(const GraphProto& body, Scope& inner, const Env& env);

  // sequence.cpp
  /// Whether the node makes or reads a sequence or an optional.
  static bool makes_sequences(const NodeProto& node);
  Result<Ok> sequence_node(const NodeProto& node, const Schedule& plan, Scope& scope,
                           const Env& env);

  // counted.cpp
  /// Whether these are rows and how many of them are meant.
  static bool counts_rows(const Values& results);
  /// Takes note of the count of such rows; where both are constants, only the rows meant remain.
  Result<Ok> note_count(Values& results, const Loc& loc, Scope& scope);
  /// An error when the node reads rows that have a count.
  Result<Ok> check_reads(const NodeProto& node, Scope& scope, const Env& env) const;

  // unsupported.cpp
  /// One error for all ops below `nodes` that no import row covers.
  Result<Ok> check_supported(const std::vector<const NodeProto*>& nodes, const Env& env) const;

  // attributes.cpp
  Result<Arg> argument(const AttributeProto& attribute, const Loc& loc);
  Result<Value*> constant_node(const NodeProto& node, Scope& scope, const Env& env);

  Loc file_loc() const { return Loc{file_, {}, {}}; }
  static std::string node_name(const NodeProto& node, const Env& env);
  Loc loc(const NodeProto& node, const Env& env) const;
  Result<int> version(std::string_view domain, const Env& env, const Loc& loc) const;

  const Model& model_;
  const Interned file_;
  const ImportOptions& options_;
  std::shared_ptr<TensorReader> reader_;
  TypeReader types_;
  Env top_;
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<FunctionKey, const FunctionProto*> functions_;  // by domain, name, overload
  std::set<const FunctionProto*> active_;                  // functions being inlined
  std::unordered_map<std::string_view, const ValueInfo*> declared_;
  const Graph* main_ = nullptr;                      // the graph of the model, no region
  std::unordered_map<const Value*, Value*> counts_;  // of rows whose number the data decide
  int64_t imported_ = 0;
};

}  // namespace qc::onnx
