// Parameters of calls: from and to the structs that kernels take.
#pragma once

#include <cstddef>
#include <vector>

#include "program/program.h"

namespace qc {

/// The numbers of a parameter struct of this kernel.
std::vector<Param> read_params(const Signature& kernel, const void* params);
/// The parameter struct of a call whose numbers are all known.
std::vector<std::byte> write_params(const Call& call);
/// Whether a number is its member's default, 0.
bool is_default(const Param& param);

}  // namespace qc
