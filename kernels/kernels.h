// The kernels as quantc itself sees them: their signatures and the bodies that compute them, made
// from every folder's kernels.sig.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "kernels/table.h"
}

namespace qc {

/// A number, or an array of them, of a parameter struct.
struct Field {
  enum class Type : uint8_t { i32, i64, f32 };
  std::string name;  // with the members that it is in: "epilogue.add.kind"
  Type type = Type::i32;
  int count = 1;  // more than 1: an array
  bool array = false;
  size_t at = 0;      // of its first number among all numbers of the struct
  size_t offset = 0;  // in bytes
};

/// A member of a parameter struct that is a struct itself.
struct Group {
  std::string type;  // the struct in C
  std::string name;  // as a field's
  size_t at = 0;     // of its first number among all numbers of the outer struct
  size_t numbers = 0;
};

/// Something that a kernel reads or writes.
struct OperandSpec {
  std::string name;
  bool optional = false;
};

/// A selector, a member, or with "before." a member of the stage before, has one of these values.
struct Condition {
  std::string name;
  std::vector<std::string> values;
};

/// How calls of a kernel become the stage of the call that makes one of their operands.
struct Fusion {
  /// A member of the stage: a number or a member of the call, which may depend on whether the
  /// operand is its first.
  struct Member {
    std::string name, first, other;
  };
  std::string kernel;
  bool joins = false;  // changes the stage that is there
  std::string count;   // the member that counts the elements
  std::vector<Condition> conditions;
  std::vector<Member> members;
};

/// What calls of a kernel do, as far as passes know it, under some conditions.
struct Meaning {
  enum class Kind : uint8_t {
    copy,   // so many bytes of the operand
    list,   // the first numbers of a member, as i64
    test,   // whether elements, so many, are not 0
    check,  // whether indices are in range; the number by which a run names it
  };
  Kind kind = Kind::copy;
  std::vector<std::string> members;  // that say how much
  std::vector<Condition> conditions;
};

/// What a call of a kernel, or a stage of an epilogue, consists of, by name.
struct Signature {
  std::string name = {};
  std::string folder = {};
  std::string params = {};  // the parameter struct in C
  std::vector<std::string> selectors = {};
  std::vector<OperandSpec> in = {}, out = {};
  std::vector<Field> fields = {};
  std::vector<Group> groups = {};
  std::vector<std::string> epilogue = {};  // stages it takes, in their order
  size_t numbers = 0;                      // of all fields
  size_t params_size = 0;                  // in bytes
  std::string unit = {};                   // what calls may be split into; empty: nothing
  std::vector<Fusion> fusions = {};        // of a stage
  std::optional<Meaning> meaning = {};

  /// The index of an operand or a field; -1 when the kernel has none of that name.
  int operand(std::string_view name) const;
  int result(std::string_view name) const;
  const Field* field(std::string_view name) const;
  /// The member that is a struct of this type; null when there is none.
  const Group* group(std::string_view type) const;
};

/// A function that computes calls of one kernel.
struct Body {
  std::string symbol;
  const Signature* kernel = nullptr;
  std::vector<std::string> select;  // values of the kernel's selectors
  std::string file;                 // that has it, e.g. "kernels/copy/portable.c"
  std::string machine;              // what the target must have; empty: nothing
  int stack = 0;
  /// Null where quantc is not built with it, or this machine cannot run it.
  void (*run)(const void* params, const void* const* in, void* const* out) = nullptr;
  /// Calls in parts (kernels/common/units.h), null where they cannot be split: how many units a
  /// call has, and what makes a call of some of them. In C they are `split`_units and
  /// `split`_subrange.
  std::string split;
  int32_t (*units)(const void* params) = nullptr;
  int32_t (*subrange)(void* params, const void** in, void** out, int32_t* units) = nullptr;
  /// Elements that a thread of a device takes at once (kernels/common/vectors.h), 0 where it takes
  /// a unit.
  int32_t vector_width = 0;
};

/// All kernels and all bodies, each sorted by name.
std::span<const Signature> all_kernels();
std::span<const Body> all_bodies();
/// Null when there is none.
const Signature* find_kernel(std::string_view name);
const Signature* find_stage(std::string_view name);
const Body* find_body(std::string_view symbol);
/// The body for these values of the kernel's selectors; null when there is none.
const Body* find_body(const Signature& kernel, std::span<const std::string> select);
/// The same body, built for the best instructions of this machine where quantc has such a form. It
/// gives the same bits.
const Body* fast_body(const Body& body);

/// The same body with a rounded product and a rounded sum for each step of its float dot products
/// (QN_DOT_MUL_ADD, kernels/numerics/dot.h); the body itself where it has none.
const Body* mul_add_body(const Body& body);

/// C source of these bodies (by symbol) and of all they need, nothing else, in the order of the
/// kernels' own files; sorted and without repetitions, so that it depends on the set only.
std::string kernel_source(std::span<const std::string> symbols);
/// A header that a backend prints whole in front of the kernels: one of runtime/, or one of the few
/// of kernels/common that kernel_tables.py lists. Empty for others.
std::string_view embedded_header(std::string_view path);

}  // namespace qc
