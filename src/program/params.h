// Parameters of calls: from and to the structs that ops fill in and that kernels take.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "program/program.h"

namespace qc {

/// The numbers of one of the structs of kernels/<folder>/params.h.
template <class Params>
std::vector<Param> numbers(const Params& params) {
  std::vector<Param> out;
  Params::members(params, [&](const auto& member) {
    if constexpr (std::is_array_v<std::remove_reference_t<decltype(member)>>) {
      for (const auto& one : member) out.emplace_back(one);
    } else {
      out.emplace_back(member);
    }
  });
  return out;
}

/// Such a struct from the numbers of a call.
template <class Params>
Params params_as(const Call& call) {
  Params out;
  size_t at = 0;
  const auto take = [&](auto& one) {
    QC_CHECK(at < call.params.size(), "parameters of another kernel");
    one = std::get<std::remove_reference_t<decltype(one)>>(call.params[at++]);
  };
  Params::members(out, [&](auto& member) {
    if constexpr (std::is_array_v<std::remove_reference_t<decltype(member)>>) {
      for (auto& one : member) take(one);
    } else {
      take(member);
    }
  });
  QC_CHECK(at == call.params.size(), "parameters of another kernel");
  return out;
}

/// The parameter struct in C of a call; `free` stands for numbers that are not known yet, which
/// there must be none of where it is 0.
std::vector<std::byte> write_params(const Signature& kernel, const std::vector<Param>& params,
                                    int32_t free = 0);
/// The same as its type. Sizes that are not known count as the largest there are, so that limits of
/// sizes hold for all.
template <class Params>
Params c_params(const Call& call) {
  Params out;
  const std::vector<std::byte> bytes = write_params(*call.kernel, call.params, INT32_MAX);
  QC_CHECK(bytes.size() == sizeof out, "parameters of another kernel");
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

/// Whether a number is its member's default, 0.
bool is_default(const Param& param);

}  // namespace qc
