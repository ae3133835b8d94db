// Model: a loaded network, and everything that can be done with it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "quantc/array.h"
#include "quantc/compiled.h"
#include "quantc/diagnostic.h"
#include "quantc/options.h"
#include "quantc/pass.h"
#include "quantc/reports.h"
#include "quantc/rules.h"

namespace quantc {

/// Rules in the order they are tried.
using Rules = std::vector<std::shared_ptr<const Rule>>;

/// A model with the options it was loaded with. It never changes: other rules or options make
/// another Model, which shares the network. Any number of threads may call its functions at once;
/// runs go on side by side, everything that compiles alternates.
class Model {
 public:
  /// Loads an ONNX model, a torch.export archive (.pt2), an FX dump (.fx.json) or quantc's own text
  /// form.
  static Expected<Model> load(const std::string& path, const Options& options = {});
  /// The same of a file's bytes, which are copied. `name` is for messages and, unless the options
  /// have one, for what is generated. Weights in further files are refused.
  static Expected<Model> load(const void* bytes, size_t size, const std::string& name,
                              const Options& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const Options& options() const;
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  /// What passes found so far that a user should know.
  std::vector<std::string> warnings() const;

  /// The model with these rules in place of those it has. Rules that match nothing or ask for what
  /// an op cannot do are errors at once.
  Expected<Model> quantize(const Rules& rules) const;
  /// The model with its network changed by a pass, which sees it with every spelling brought to one
  /// form, before anything is fused or quantized. The graph is checked afterwards; rules and
  /// options stay.
  Expected<Model> transform(const Pass& pass) const;
  /// The model with other options. Those that matter while loading (`dims` and `arithmetic` of a
  /// file, `state`) must be those it was loaded with.
  Expected<Model> with(const Options& options) const;

  /// The nodes as rules see them: with every spelling brought to one form, before anything is fused
  /// or quantized, and each with its neighbours. Bodies of branches and loops come last.
  Expected<std::vector<NodeView>> nodes() const;

  /// Runs the model by the kernels for this machine. Arrays are matched by name, or as in_0, in_1,
  /// ..., or by their place; symbolic dimensions take their sizes from the arrays. Runs begin with
  /// the initial state. What the passes make for sizes is kept: a second run with the same sizes
  /// only computes.
  Expected<std::vector<Array>> run(const ArrayViews& inputs) const;
  Expected<std::vector<Array>> run(const std::vector<Array>& inputs) const;
  /// The same with results in memory that `allocate` gives: nothing has to be cleared or copied.
  Expected<ArrayViews> run(const ArrayViews& inputs, const Allocate& allocate) const;
  /// The same in the reference interpreter; the answer is the same bits.
  Expected<std::vector<Array>> run_reference(const ArrayViews& inputs) const;
  Expected<std::vector<Array>> run_reference(const std::vector<Array>& inputs) const;

  /// Finds scales from samples, which lie along axis 0 of an array for each input. Samples of other
  /// sizes are further arrays for all inputs. The model's own rules are left aside.
  Expected<Calibration> calibrate(const ArrayViews& samples,
                                  const CalibrationOptions& options = {}) const;
  /// How every node is quantized, by which rule, and what is left in float.
  Expected<Explanation> explain() const;
  /// How far each quantized layer is from the float model on such samples; with a title also as a
  /// page with plots and the graph.
  Expected<Analysis> analyze(const ArrayViews& samples, const std::string& title = "") const;
  /// What every node computes from these inputs, in order; conversions of codes, codes whose scale
  /// is found at run time and bodies of branches and loops are left out.
  Expected<std::vector<LayerValue>> layers(const ArrayViews& inputs) const;
  /// Compares interpreter and generated code, and both with expected outputs where there are some;
  /// a model with rules without them with what it computes in float.
  Expected<Validation> validate(const ArrayViews& inputs, const ArrayViews& expected = {},
                                const ValidateOptions& options = {}) const;

  /// Writes a project of standalone C into `folder`. With inputs its test program has them, and
  /// what the interpreter answers.
  Expected<Report> compile(const std::string& folder, const ArrayViews& vectors = {}) const;
  /// The same, then builds it and loads it into this process.
  Expected<CompiledModel> build(const std::string& folder, const BuildOptions& options = {}) const;

  /// The graph in text form, after the passes that every target shares. With all constants in it
  /// the text is a model that can be loaded again.
  Expected<std::string> text(bool all_constants = false) const;

  /// Limits the cache of programs compiled for sizes that were run: at most `count` (16 unless
  /// called) and `bytes` (1 GiB).
  void limit_program_cache(size_t count, uint64_t bytes) const;
  CacheReport program_cache() const;
  [[deprecated("use limit_program_cache")]] void keep_forms(size_t count, uint64_t bytes) const {
    limit_program_cache(count, bytes);
  }
  [[deprecated("use program_cache")]] CacheReport forms() const { return program_cache(); }

 private:
  struct State;
  template <class Read>
  static Expected<Model> loaded(const Options& options, Read&& read);
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quantc
