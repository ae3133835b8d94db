// How many operands an op of ONNX cannot do without.
#pragma once

#include <cstddef>
#include <string_view>

namespace qc::onnx {

/// Leading operands that a node of `given` operands must name, by the operator's schema at this
/// opset version. Import rows may rely on them and must expect any other to be left out.
size_t required_operands(std::string_view domain, std::string_view op, int version, size_t given);

}  // namespace qc::onnx
