// Every option of a compilation, as one value: the command line, quantc.toml and programs that use
// the library fill the same struct.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quantc/rules.h"

namespace quantc {

/// Sizes a dimension may have: min, min + step, ... up to max.
struct SizeRange {
  int64_t min = 1, max = 1, step = 1;
  /// Sizes that programs are compiled for, ascending up to max: a run takes the smallest that holds
  /// its own, and what is padded changes no bit of an answer. None: one program for all sizes.
  std::vector<int64_t> buckets;
  /// With a file of sizes as they occur, this many buckets are chosen so that runs of them compute
  /// the least. 0: not asked for.
  int64_t chosen_buckets = 0;
  std::string observed;
  /// Layers that cannot be padded to buckets take the run's own size; otherwise they are refused.
  bool own_size = false;
};

struct Options {
  std::string name;  // prefix of C names; empty: after the model's file
  // What code is generated for (`quantc targets` lists them); empty: native, without floats
  // portable.
  std::string target;
  int level = 2;                                       // -O0, -O1, -O2; never changes an answer
  std::map<std::string, int64_t> dims;                 // numbers for symbolic dimensions
  std::map<std::string, SizeRange> ranges;             // of dimensions whose sizes each run chooses
  std::map<std::string, std::vector<int64_t>> shapes;  // of inputs: numbers for their dimensions
  std::map<std::string, std::string> constants;  // inputs that are constants: a number or a file
  std::string weights = "literal";               // literal, incbin or file
  std::string specialise = "speed";              // speed or size
  std::string plan = "fixed";                    // offsets of free sizes: fixed or smallest
  bool single_file = false;                      // kernels, weights and code in one C file
  std::string state = "kept";                    // kept between runs, or io: inputs and outputs
  std::vector<std::string> disabled_passes;      // passes to leave out
  std::string stop_after;                        // stop after this pass
  std::vector<std::string> kernels;              // LAYER=VARIANT: what computes a layer
  bool allow_host = false;     // steps that a GPU has no threads for run on the host
  bool threads = false;        // large steps are split among the caller's threads
  bool check_indices = false;  // generated code refuses indices that are out of range
  bool verify = false;         // check every invariant after each pass
  int64_t budget =
      1;  // times the work and memory that files of their size may take (docs/limits.md)

  // Quantization. Rules are tried in this order: own classes (and values among them, rule_of),
  // values, those of the file.
  std::vector<std::shared_ptr<const Rule>> own_rules;
  std::vector<RuleSpec> rules;
  std::string rules_file;           // TOML, see docs/rules.md
  bool allow_unused_rules = false;  // rules that match nothing are no errors
  // How quantized nodes round (docs/arithmetic.md); empty: "exact" for rules, for quantized models
  // "onnxruntime" (ONNX) or "torch" (PyTorch). Also "dot=mul_add", alone or after a comma: each
  // step of a float dot product rounds twice, for processors without fma.
  std::string arithmetic;
  std::string io_dtype = "keep";  // quantized: inputs and outputs are codes where they can be
  bool require_integer = false;   // refuse to compile what computes in float
  // For cores without an FPU: require_integer, inputs and outputs are codes, accumulators are
  // rescaled by integers (`arithmetic` is "exact,rescale=q31" where none is given), and no step
  // needs a float.
  bool no_float = false;

  bool force = false;  // replace files that quantc did not write, or that were changed since
};

}  // namespace quantc
