// What the projects have in common that backends write: options, recorded vectors, sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/indices.h"
#include "ir/tensor.h"
#include "program/module.h"
#include "support/output.h"

namespace qc {

enum class WeightStorage { literal, incbin, file };
enum class Specialise { speed, size };

struct ProjectOptions {
  std::string name = "model";  // prefix of every symbol and file; a C identifier
  WeightStorage weights = WeightStorage::literal;
  Specialise specialise = Specialise::speed;
  std::string machine;       // the macro of machines it is for; empty: all
  bool threads = false;      // runs take a parallel_for
  bool single_file = false;  // everything but the header in one C file
  std::string left_out;      // passes before the contract graph that were switched off
  bool project = true;       // also write the build files and the test program
  std::string target = {};   // as it was asked for
  std::map<std::string, std::vector<int64_t>> buckets = {};  // of dimensions that have some
  bool check_indices = false;                 // runs refuse inputs that `index_checks` excludes
  std::vector<IndexCheck> index_checks = {};  // of the model's inputs, where they are wanted
};

/// Inputs and the outputs they must give, recorded in the test program.
struct Vectors {
  std::vector<Tensor> inputs, outputs;
  std::vector<int64_t> dims;  // sizes of the free dimensions
};

/// What runs take of one memory space, at the largest sizes.
struct SpaceStats {
  Space space = Space::host;
  int64_t arena_bytes = 0;
  int64_t live_bytes = 0;  // no arena can be smaller for this order of steps
  int64_t weight_bytes = 0;
  int64_t state_bytes = 0;
  int64_t copied_bytes = 0;  // to it, in one run
};

/// Sizes known when the files are written; also in the header.
struct ProjectReport {
  int64_t weight_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t macs = 0;
  int64_t fma_by_flags = 0;  // float MACs of code that takes fma from the compiler's flags
  int64_t float_steps = 0;   // that read, write or compute a float
  // Whether they are worth a note: code for any machine, whose products are of codes.
  bool notes_floats = false;
  std::vector<SpaceStats> spaces;       // the host's first
  std::vector<std::string> not_finite;  // constants with a NaN or a positive infinity
};

/// Whether `name` can prefix C symbols.
bool is_c_identifier(std::string_view name);

}  // namespace qc
