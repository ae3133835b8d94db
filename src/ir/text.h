// The text form of graphs: printed for people, parsed by tests. docs/ir.md has the grammar.
//   print(parse(s)) == s for every s that print wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/text_reader.h"

namespace qc {

struct PrintOptions {
  /// Constants of at most this many elements are written out; larger ones as a hash.
  int64_t inline_elements = 64;
  /// The hash of large constants, which has to read (and, where recorded, compute) them all; a '#'
  /// alone stands for each without.
  bool hashes = true;
  /// Larger constants are written byte by byte, so that the text alone is the whole graph.
  bool all_constants = false;
};

std::string print(const Graph& graph, const PrintOptions& options = {});

struct ParseOptions {
  std::string file;  // for messages
  /// Where the contents of constants written as a hash are looked up.
  const ConstantPool* side = nullptr;
};

/// Parses one graph; anything after it is an error. Result types are optional in the text and
/// checked against inference where they are given.
Result<std::unique_ptr<Graph>> parse(std::string_view text, const ParseOptions& options = {});
/// Parses one graph at the reader's place and leaves the reader after it.
Result<std::unique_ptr<Graph>> parse_graph(TextReader& reader, const ParseOptions& options = {});

/// Hash of type, shape and elements as the text form shows it: 16 hexadecimal digits.
std::string content_hash(const Tensor& tensor);

}  // namespace qc
