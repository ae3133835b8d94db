// The C backend: a Program to a folder of standalone C11. It walks the Program and knows no op.
#pragma once

#include <string>

#include "ir/tensor.h"
#include "program/module.h"
#include "support/output.h"

namespace qc {

enum class WeightForm { literal, incbin, file };
enum class Specialise { speed, size };

struct COptions {
  std::string name = "model";  // prefix of every symbol and file; a C identifier
  WeightForm weights = WeightForm::literal;
  Specialise specialise = Specialise::speed;
  std::string machine;  // the macro of machines it is for; empty: all
  bool project = true;  // also write the build files and the test program
};

/// Inputs and the outputs they must give, recorded in the test program.
struct Vectors {
  std::vector<Tensor> inputs, outputs;
  int64_t size = 0;  // of the free dimension, where there is one
};

/// Sizes known when the files are written; also in the header.
struct CReport {
  int64_t weight_bytes = 0;
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t macs = 0;
  std::vector<std::string> not_finite;  // constants with a NaN or a positive infinity
};

/// Writes NAME.h, NAME.c, NAME_kernels.h, NAME_weights.*, NAME_test.c, Makefile and CMakeLists.txt;
/// of a module with several parts NAME_PART.c and NAME_PART_kernels.h for each.
/// The same module and options give the same bytes, always.
Result<CReport> write_c(const Module& module, const COptions& options, const Vectors* vectors,
                        FileSet& files);

/// The C files that write_c writes besides that of the weights.
std::vector<std::string> c_sources(const Module& module, const COptions& options);

/// Whether `name` can prefix C symbols.
bool is_c_identifier(std::string_view name);

}  // namespace qc
