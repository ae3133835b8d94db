// Backend: what writes projects in one language. The base does what all of them share: it counts
// work and memory, writes weights, build files and the test program, and knows the kinds of errors
// that generated functions return. A backend prints sources.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backends/common/weights.h"

namespace qc {

/// What the files of a project are made from.
struct Project {
  const Module& module;
  const ProjectOptions& options;
  const Vectors* vectors;  // null: none are recorded
  const WeightMap& weights;
  uint64_t weight_hash = 0;
  ProjectReport report = {};
};

/// A file of the project that is written whole.
struct TextFile {
  std::string name, text;
};

/// A pass of a backend over Programs whose buffers are placed; it keeps every bit.
struct BackendPass {
  const char* name;
  int level;  // the least optimisation level that runs it
  /// Adds what it did to `remarks`.
  void (*run)(Program& program, const ProjectOptions& options, std::vector<std::string>& remarks);
  const char* summary;
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Target::language of what it writes.
  virtual std::string_view language() const = 0;
  /// As messages name it: "CUDA".
  virtual std::string_view title() const = 0;
  /// The file that has the model's functions ends so: ".cu".
  virtual std::string_view extension() const = 0;
  /// The hooks of the optimisation levels.
  virtual std::span<const BackendPass> passes() const { return {}; }
  /// Whether these options are for it, before there is a model.
  virtual Result<Ok> check(const Target& target, const ProjectOptions& options) const = 0;

  /// Writes the project. The same module and options give the same bytes, always.
  Result<ProjectReport> write(const Module& module, const ProjectOptions& options,
                              const Vectors* vectors, FileSet& files) const;

 protected:
  /// Whether literal weights may be named arrays (backends/common/named_weights.h), else bytes.
  virtual bool names_weights() const { return false; }
  /// Whether it can print these programs; an error says what it cannot.
  virtual Result<Ok> check(const Module& module, const ProjectOptions& options,
                           const WeightMap& weights) const = 0;
  /// Writes header, source and kernels. The weights are written; what is known once the
  /// source is printed may be added to the report.
  virtual Result<Ok> write_sources(Project& project, FileSet& files) const = 0;
  virtual std::vector<TextFile> build_files(const Project& project) const = 0;
  /// Writes the program that runs the recorded inputs and compares every bit.
  virtual Result<Ok> write_test(const Project& project, FileSet& files) const = 0;
};

}  // namespace qc
