#include "ops/slice/slice.h"

namespace qc {

const OpInfo Slice::kInfo = {
    .name = "slice",
    .traits = kMovesElements | kAnyLayout,
    .summary = "a regular part of the operand: start, size and step along each axis",
};

const OpInfo AsStrided::kInfo = {
    .name = "as_strided",
    .traits = kMovesElements,
    .summary = "elements of the row-major operand under given sizes, strides and offset",
};

}  // namespace qc
