// DotStep: how a step of a float dot product rounds, one choice for a whole graph. It is part of
// what a model computes, as its weights are, and never of a machine: docs/arithmetic.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace qc {

enum class DotStep : uint8_t {
  fma,      // sum + a * b, rounded once
  mul_add,  // the product is rounded, then the sum: for cores without fused multiply-add
};

constexpr std::string_view name(DotStep dot) { return dot == DotStep::fma ? "fma" : "mul_add"; }

constexpr std::optional<DotStep> dot_step_named(std::string_view text) {
  for (const DotStep dot : {DotStep::fma, DotStep::mul_add}) {
    if (name(dot) == text) return dot;
  }
  return std::nullopt;
}

}  // namespace qc
