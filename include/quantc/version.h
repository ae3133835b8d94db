#pragma once

namespace quantc {

inline constexpr const char* kVersion = "0.2.0";

}  // namespace quantc
