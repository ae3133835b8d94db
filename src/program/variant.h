// Variants: the ways in which calls of a kernel are computed. Ops emit calls with plain weights; a
// variant turns such a call into one of a kernel that has bodies, with operands packed as they read
// them. Each is a row in a kernel folder's *.variant.cpp, which the build finds.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/params.h"
#include "program/size_limits.h"
#include "target/target.h"

namespace qc {

/// What a variant uses to turn a call into its own.
class Binder {
 public:
  /// Buffers of packed constants, which calls share.
  using PackedBuffers = std::unordered_map<ConstId, int>;

  Binder(Program& program, const Target& target, PackedConstants& constants,
         std::span<const int> uses, PackedBuffers& buffers, Steps& before)
      : program_(program),
        target_(target),
        constants_(constants),
        uses_(uses),
        buffers_(buffers),
        before_(before) {}

  /// What the call is computed on.
  const Target& target() const { return target_; }
  /// The largest that a size of the program can be.
  int64_t largest(const Dim& size) const { return program_.largest(size); }
  /// Numbers between which a size lies, whatever the free dimensions are.
  Bounds bounds(const Dim& size) const { return size.bounds(program_.symbol_bounds()); }
  /// An error where a size may be beyond 32 bits.
  Result<Dim> param(const Dim& size) const { return as_param(size, program_.symbol_bounds()); }
  /// How the program's float dot products are rounded.
  DotStep dot() const { return program_.dot; }
  /// All of a constant, not a part.
  bool is_constant(const View& view) const;
  /// Why operands of these names cannot be packed when weights are written; empty where they can,
  /// or are absent.
  std::string not_constant(const Call& call, std::initializer_list<std::string_view> names) const;
  /// A constant made from `source` and further constants (absent ones are empty tensors) when the
  /// weights are written. What is made from the same constants with the same purpose exists once,
  /// so the purpose names all that `make` depends on besides; its first word is part of the name.
  View packed(const View& source, std::vector<View> more, std::string purpose, DType dtype,
              std::vector<int64_t> shape,
              std::function<Result<Tensor>(const std::vector<Tensor>&)> make);
  /// Operand `w` as the packing kernel of `call` (with operand w and result packed) makes it: when
  /// the weights are written where it is a constant, else by a call before the one that is bound.
  template <class PackCall>
  View packed_by(const View& w, const PackCall& call, std::string purpose, DType dtype,
                 Dims sizes) {
    return packed_by(w, make({}, PackCall::kName, numbers(call), call.select(), {w}, {View{}}),
                     std::move(purpose), dtype, std::move(sizes));
  }
  /// Arena bytes that live as long as steps name them: what a body needs beside its operands.
  View scratch(DType dtype, Dims shape, std::string_view purpose);
  /// A call of a kernel that runs before the one that is bound.
  template <class KernelCall>
  void before(const KernelCall& call) {
    record(KernelCall::kName, numbers(call), call.select(), call.operand_views(),
           call.result_views());
  }
  void before(Call call) { before_.push_back({{}, std::move(call)}); }
  /// The bound call: what `call` says; operands and results that it leaves out are those of the
  /// same name of `from`.
  template <class KernelCall>
  static Call bound(const Call& from, const KernelCall& call) {
    return make(from, KernelCall::kName, numbers(call), call.select(), call.operand_views(),
                call.result_views());
  }
  /// A call of another kernel with what it has in common with `from`: parameters, operands and
  /// results of the same names. Others are 0 or absent until they are set.
  static Call like(const Call& from, std::string_view kernel, std::vector<std::string> select = {});

 private:
  View packed_by(const View& w, Call pack, std::string purpose, DType dtype, Dims sizes);
  void record(std::string_view kernel, std::vector<Param> params,
              const std::vector<std::string_view>& select, std::vector<View> in,
              std::vector<View> out);
  static Call make(const Call& from, std::string_view kernel, std::vector<Param> params,
                   const std::vector<std::string_view>& select, std::vector<View> in,
                   std::vector<View> out);

  Program& program_;
  const Target& target_;
  PackedConstants& constants_;
  std::span<const int> uses_;  // of each buffer, by calls
  PackedBuffers& buffers_;
  Steps& before_;
};

struct Variant {
  std::string_view kernel;        // whose calls it takes
  std::string_view name;          // "portable", "avx512vnni", ...
  std::string_view feature = {};  // what the target must have; empty: nothing
  /// Estimated nanoseconds on the target's machine, of a call that it takes (program/estimate.h).
  double (*cost)(const Call& call, const Binder& binder);
  /// Why it does not take a call; empty where it does.
  std::string (*refusal)(const Call& call, const Binder& binder);
  Result<Call> (*bind)(const Call& call, Binder& binder);
};

/// All variants, those of one kernel together.
std::span<const Variant> all_variants();

/// Gives a call an operand, a result or an integer, which its kernel must have.
void set_view(Call& call, std::string_view name, View view);
void set_integer(Call& call, std::string_view name, const Dim& value);

}  // namespace qc
