// A contract graph as Programs for the sizes of its runs.
#pragma once

#include <memory>
#include <optional>

#include "driver/compile.h"

namespace qc {

/// As in "batch=2, seq=77".
std::string str(const Bindings& sizes);

/// The options with plain ranges, for measurements of layers: a Program with buckets has each layer
/// once for every bucket.
Options without_buckets(Options options);

/// One Program for all sizes in the options' ranges where it can be made, into which each size is
/// put: nothing is compiled for it. Else a Program is made for each size.
class SizedProgram {
 public:
  /// The Program has the buckets of the ranges, as a compiled one has; none where a layer refuses
  /// them.
  static Result<SizedProgram> create(const Graph& contract, Options options);
  /// The Program for these sizes of all of the graph's free dimensions; an error where the model
  /// does not take them.
  Result<Program> at(const Bindings& sizes) const;
  /// Whether one Program serves all sizes.
  bool serves_all() const { return whole_.has_value(); }

 private:
  SizedProgram(std::unique_ptr<Graph> contract, Options options)
      : contract_(std::move(contract)), options_(std::move(options)) {}

  std::unique_ptr<Graph> contract_;
  Options options_;
  std::optional<Program> whole_;
};

}  // namespace qc
