// Restricted reader of the pickles torch.save writes: tensors in plain containers, and nothing
// else. No code is ever run; a pickle that names any other class or function is refused by that
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/result.h"

namespace qc::pt2 {

/// A decoded object. Children are indices into the Pickle's `values`, since objects may be shared.
struct PickleValue {
  enum class Kind { none, boolean, integer, real, text, sequence, dict, global, storage, tensor };
  Kind kind = Kind::none;
  int64_t integer = 0;  // boolean and integer; the element count of a storage; a tensor's offset
  double real = 0;
  std::string text;             // text; "module.name" of a global; the key of a storage
  std::string dtype;            // storage and tensor: "float32", ...; "" for an untyped storage
  std::vector<uint32_t> items;  // sequence
  std::vector<std::pair<uint32_t, uint32_t>> pairs;  // dict, in order
  uint32_t storage = 0;                              // tensor
  std::vector<int64_t> sizes, strides;               // tensor
};

struct Pickle {
  std::deque<PickleValue> values;
  uint32_t root = 0;

  const PickleValue& at(uint32_t index) const { return values[index]; }
};

/// Decodes a pickle of protocol 2 to 5. `loc` is where messages point to.
Result<Pickle> read_pickle(std::span<const std::byte> bytes, const Loc& loc);

}  // namespace qc::pt2
