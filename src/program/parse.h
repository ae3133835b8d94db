// Reading the text form of programs; `str(Program)` in program.h writes it.
#pragma once

#include <memory>
#include <string_view>

#include "program/program.h"

namespace qc {

/// Parses a program whose constants are those of `pool`; the result is verified.
/// `str(*parse_program(str(p), p.pool)) == str(p)`.
Result<Program> parse_program(std::string_view text, std::shared_ptr<ConstantPool> pool);

}  // namespace qc
