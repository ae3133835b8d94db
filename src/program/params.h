// Parameters of calls: from and to the structs that ops fill in and that kernels take.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "program/program.h"

namespace qc {

/// Calls `visit` on every number of one of the structs of kernels/<folder>/params.h, in order,
/// those of structs in it and of arrays among them.
template <class Params, class F>
void for_each_number(Params& params, F&& visit) {
  std::remove_const_t<Params>::members(params, [&](auto& member) {
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_array_v<Member>) {
      for (auto& one : member) visit(one);
    } else if constexpr (std::is_same_v<std::remove_const_t<Member>, Dim> ||
                         std::is_same_v<std::remove_const_t<Member>, float>) {
      visit(member);
    } else {
      for_each_number(member, visit);
    }
  });
}

/// The numbers of such a struct.
template <class Params>
std::vector<Param> numbers(const Params& params) {
  std::vector<Param> out;
  for_each_number(params, [&](const auto& one) { out.emplace_back(one); });
  return out;
}

/// Such a struct from the numbers of a call.
template <class Params>
Params params_as(const Call& call) {
  Params out;
  size_t at = 0;
  for_each_number(out, [&](auto& one) {
    QC_CHECK(at < call.params.size(), "parameters of another kernel");
    one = std::get<std::remove_reference_t<decltype(one)>>(call.params[at++]);
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

/// Numbers of a signature, all 0.
std::vector<Param> zeros(const Signature& kernel);
/// Whether a number is its member's default, 0.
bool is_default(const Param& param);

/// Values of members by their full names, in the order of their struct, as text: what lies in a
/// member that is a struct stands in braces of its own.
class MemberText {
 public:
  /// `mark` stands before every name.
  explicit MemberText(std::string_view mark = "") : mark_(mark) {}
  void add(std::string_view name, std::string_view value);
  /// "a = 1, epilogue = {add = {kind = 2}}"
  std::string str() const;

 private:
  std::string mark_, text_,
      open_;  // open_: the structs that the last value lies in, "epilogue.add."
};

}  // namespace qc
