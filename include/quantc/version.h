#pragma once

namespace quantc {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace quantc
