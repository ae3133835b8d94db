// An FX graph as a file has it: docs/fx-format.md.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dim.h"
#include "ir/dtype.h"
#include "support/result.h"

namespace qc::fx {

/// An argument of a call, as Python has it.
struct Item {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    real,
    text,
    dtype,
    node,      // the result of a node, by name
    list,      // and tuples
    slice,     // three items
    ellipsis,  // ...
    ignored    // a device, a layout, a memory format: they do not matter here
  };
  Kind kind = Kind::none;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  DType dtype = DType::f32;
  std::string text;  // of texts and nodes
  std::vector<Item> items;
};
using NamedItems = std::vector<std::pair<std::string, Item>>;

struct DumpNode {
  std::string name, op, target;
  std::string module;  // path of the innermost module the call stands in, "" for the root
  std::vector<Item> args;
  NamedItems kwargs;
  bool returns_list = false;  // or several results
};

struct DumpInput {
  DType dtype = DType::f32;
  Dims shape;
};

struct DumpModule {
  std::string type;  // "torch.nn.modules.conv.Conv2d"
  NamedItems attributes;
  std::vector<std::string> children;  // called one after the other, by name
};

struct Dump {
  std::string tensors;  // the safetensors file beside it; empty for none
  std::vector<DumpNode> nodes;
  std::map<std::string, DumpInput, std::less<>> inputs;    // by placeholder
  std::map<std::string, DumpModule, std::less<>> modules;  // by path
};

Result<Dump> parse_dump(std::string_view json, const Loc& loc);

}  // namespace qc::fx
