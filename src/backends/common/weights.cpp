#include "backends/common/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/common/named_weights.h"
#include "backends/common/text.h"

namespace qc {
namespace {
constexpr int64_t kAlign = 64;
constexpr size_t kFlush = 1 << 20;
constexpr int64_t kDropEvery = int64_t{256} << 20;
}  // namespace

namespace {
/// `takes` says of which buffers.
template <class Takes>
void add_weights(const Program& program, WeightMap& map, Takes&& takes) {
  std::vector<bool> used(program.buffers.size(), false);
  for_each_step(program.steps, [&](const Step& s) {
    for_each_view(
        s, [&](const View& v, bool) { used[static_cast<size_t>(program.owner(v.buffer))] = true; });
  });
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    // A state has its initial contents there, for the reset function.
    if (b.alias_of >= 0 || !takes(b)) continue;
    if (!(b.kind == BufferKind::constant && used[i]) && b.kind != BufferKind::state) continue;
    if (!map.offsets.try_emplace(b.constant, map.bytes).second) continue;
    map.bytes += (program.pool->byte_size(b.constant) + kAlign - 1) / kAlign * kAlign;
  }
}
}  // namespace

WeightMap map_weights(const Module& module) {
  WeightMap map;
  for (const Module::TargetProgram& compiled : module.programs)
    add_weights(compiled.program, map, [](const Buffer&) { return true; });
  return map;
}

WeightMap map_device_weights(const Program& program) {
  WeightMap map;
  add_weights(program, map, [](const Buffer& b) { return b.space == Space::device; });
  return map;
}

std::vector<WeightRange> ranges_between(const WeightMap& blob, const WeightMap& device) {
  std::map<int64_t, ConstId> in_order;
  for (const auto& [id, offset] : device.offsets) in_order.emplace(offset, id);
  std::vector<WeightRange> out;
  for (auto at = in_order.begin(); at != in_order.end(); ++at) {
    const int64_t end = std::next(at) == in_order.end() ? device.bytes : std::next(at)->first;
    const WeightRange own{blob.offsets.at(at->second), at->first, end - at->first};
    const bool joins = !out.empty() && out.back().from + out.back().bytes == own.from;
    if (joins) {
      out.back().bytes += own.bytes;
    } else if (own.bytes > 0) {
      out.push_back(own);
    }
  }
  return out;
}

namespace {

/// Whether a float element is NaN or infinite upwards. An exponent of all ones that is not a
/// negative infinity is so in every IEEE format.
template <class Bits, int kMantissa>
bool has_not_finite(const Tensor& t) {
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  constexpr Bits kInfinity = Bits(kSign - (Bits(1) << kMantissa));
  const Bits* x = t.data<Bits>();
  for (int64_t i = 0; i < t.size(); ++i) {
    if ((x[i] & kInfinity) == kInfinity && x[i] != (kSign | kInfinity)) return true;
  }
  return false;
}

bool has_not_finite(const Tensor& t) {
  switch (t.dtype()) {
    case DType::f32:
      return has_not_finite<uint32_t, 23>(t);
    case DType::f64:
      return has_not_finite<uint64_t, 52>(t);
    case DType::f16:
      return has_not_finite<uint16_t, 10>(t);
    case DType::bf16:
      return has_not_finite<uint16_t, 7>(t);
    default:
      return false;
  }
}

constexpr std::byte kZeros[kAlign] = {};
int64_t padding_after(int64_t bytes) { return (kAlign - bytes % kAlign) % kAlign; }

/// Calls `sink(data, size)` with the blob's bytes in order, one constant at a time.
template <class Sink>
Result<Ok> stream(const ConstantPool& pool, const WeightMap& map, WrittenWeights& written,
                  Sink&& sink) {
  int64_t at = 0, since_drop = 0;
  std::map<int64_t, ConstId> by_offset;
  for (const auto& [id, offset] : map.offsets) {
    if (pool.byte_size(id) > 0) by_offset.emplace(offset, id);
  }
  for (const auto& [offset, id] : by_offset) {
    QC_ASSIGN(Tensor t, pool.get(id));
    if (t.size() > 1 && has_not_finite(t)) written.not_finite.push_back(pool.name(id));
    QC_TRY(sink(t.bytes().data(), t.bytes().size()));
    at = offset + static_cast<int64_t>(t.bytes().size());
    QC_TRY(sink(kZeros, static_cast<size_t>(padding_after(at))));
    since_drop += static_cast<int64_t>(t.bytes().size());
    if (since_drop > kDropEvery) {
      pool.drop_pages();
      since_drop = 0;
    }
  }
  return Ok{};
}

}  // namespace

std::string weight_check_text(const ProjectOptions& options) {
  return fmt::format(
      "int {0}_check_weights(const void *weights) {{\n"
      "  const unsigned char *p = (const unsigned char *)weights;\n"
      "  uint64_t hash = UINT64_C(0xcbf29ce484222325);\n"
      "  for (size_t i = 0; i < {1}_WEIGHT_BYTES; i += 8) {{\n"
      "    uint64_t word = 0;\n"
      "    for (unsigned k = 0; k < 8; ++k) word |= (uint64_t)p[i + k] << (8 * k);\n"
      "    hash = (hash ^ word) * UINT64_C(0x100000001b3);\n"
      "  }}\n"
      "  return hash == {1}_WEIGHT_HASH;\n}}\n",
      options.name, c_upper(options.name));
}

Result<Ok> LiteralRows::flush() {
  QC_TRY(files_.append(text_.data(), text_.size()));
  text_.clear();
  return Ok{};
}

namespace {

/// How a byte is written in a string literal of C.
struct Spelling {
  char text[4];
  uint8_t length;
};

constexpr std::array<Spelling, 256> kSpellings = [] {
  std::array<Spelling, 256> out{};
  for (unsigned c = 0; c < 256; ++c) {
    const auto digit = [&](int position) { return static_cast<char>('0' + ((c >> position) & 7)); };
    const bool plain = c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?';
    out[c] = plain ? Spelling{{static_cast<char>(c)}, 1}
                   : Spelling{{'\\', digit(6), digit(3), digit(0)}, 4};
  }
  return out;
}();

}  // namespace

Result<Ok> LiteralRows::add(const std::byte* data, size_t size) {
  const std::byte* const end = data + size;
  while (data != end) {
    const size_t count = std::min<size_t>(kRow - in_row_, static_cast<size_t>(end - data));
    const size_t before = text_.size();
    text_.resize(before + 4 * count + 4);
    char* to = text_.data() + before;
    if (in_row_ == 0) *to++ = '"';
    for (size_t i = 0; i < count; ++i) {
      const Spelling& s = kSpellings[static_cast<size_t>(data[i])];
      std::memcpy(to, s.text, sizeof s.text);
      to += s.length;
    }
    data += count;
    in_row_ += count;
    text_.resize(static_cast<size_t>(to - text_.data()));
    if (in_row_ < kRow) continue;
    text_ += "\",\n";
    in_row_ = 0;
    if (text_.size() > kFlush) QC_TRY(flush());
  }
  return Ok{};
}

Result<Ok> LiteralRows::finish() {
  if (in_row_ != 0) text_ += "\",\n";
  in_row_ = 0;
  return flush();
}

Result<Ok> write_array(FileSet& files, const std::string& name, const Tensor& t) {
  const size_t rows =
      std::max<size_t>(1, (t.bytes().size() + LiteralRows::kRow - 1) / LiteralRows::kRow);
  const std::string head = fmt::format("_Alignas(64) static const unsigned char {}[{}][{}] = {{\n",
                                       name, rows, LiteralRows::kRow);
  QC_TRY(files.append(head.data(), head.size()));
  LiteralRows literal(files);
  QC_TRY(literal.add(t.bytes().data(), t.bytes().size()));
  if (t.bytes().empty()) QC_TRY(files.append("\"\",\n", 4));
  QC_TRY(literal.finish());
  return files.append("};\n", 3);
}

namespace {

/// Numbers of named arrays, whose bytes are those of the blob.
Result<WrittenWeights> write_named(const ConstantPool& pool, const WeightMap& map,
                                   const ProjectOptions& options, FileSet& files) {
  const std::string& name = options.name;
  const std::string declared = named_weights_declaration(pool, map, name);
  std::string head = "#include <math.h>\n#include <stdint.h>\n\n";
  if (options.single_file) {
    QC_TRY(files.begin(name + ".c"));
    head += declared + "\n";
  } else {
    QC_TRY(files.write(name + "_weights.h",
                       fmt::format("#ifndef {0}_WEIGHTS_H\n#define {0}_WEIGHTS_H\n"
                                   "#include <stdint.h>\n\n{1}\n#endif\n",
                                   c_upper(name), declared)));
    QC_TRY(files.begin(name + "_weights.c"));
    head += fmt::format("#include \"{}_weights.h\"\n\n", name);
  }
  QC_TRY(files.append(head.data(), head.size()));
  WrittenWeights written;
  Checksum checksum;
  QC_TRY(write_named_weights(pool, map, name, files, [&](ConstId id, const Tensor& t) {
    if (t.size() > 1 && has_not_finite(t)) written.not_finite.push_back(pool.name(id));
    const int64_t size = static_cast<int64_t>(t.bytes().size());
    checksum.add(t.bytes().data(), t.bytes().size());
    checksum.add(kZeros, static_cast<size_t>(padding_after(size)));
  }));
  if (!options.single_file) QC_TRY(files.end());
  written.hash = checksum.value();
  return written;
}

/// Which bytes of the blob are which constant, as a comment.
std::string table_of_bytes(const ConstantPool& pool, const WeightMap& map) {
  std::map<int64_t, ConstId> by_offset;
  for (const auto& [id, offset] : map.offsets) by_offset.emplace(offset, id);
  std::string out;
  for (const auto& [offset, id] : by_offset) {
    out += fmt::format(" * {} on, {} bytes: '{}', {}\n", offset, pool.byte_size(id),
                       c_comment(pool.name(id)), str(pool.type(id)));
  }
  return out;
}

}  // namespace

Result<WrittenWeights> write_weights(const ConstantPool& pool, const WeightMap& map,
                                     const ProjectOptions& options, FileSet& files) {
  if (!map.names.empty()) return write_named(pool, map, options, files);
  WrittenWeights written;
  Checksum checksum;
  const std::string& name = options.name;
  if (options.weights == WeightStorage::literal) {
    const int64_t rows = std::max<int64_t>(1, (map.bytes + 2047) / 2048);
    QC_TRY(files.begin(name + (options.single_file ? ".c" : "_weights.c")));
    const std::string head = fmt::format(
        "/* Weights of {0}: {1} bytes.\n{3} */\n"
        "_Alignas(64) extern const unsigned char {0}_weights[{2}][2048];\n"
        "_Alignas(64) const unsigned char {0}_weights[{2}][2048] = {{\n",
        name, map.bytes, rows, table_of_bytes(pool, map));
    QC_TRY(files.append(head.data(), head.size()));
    LiteralRows literal(files);
    QC_TRY(stream(pool, map, written, [&](const std::byte* data, size_t size) -> Result<Ok> {
      checksum.add(data, size);
      return literal.add(data, size);
    }));
    if (map.bytes == 0) {
      const std::byte zero{};
      QC_TRY(literal.add(&zero, 1));
    }
    QC_TRY(literal.finish());
    QC_TRY(files.append("};\n", 3));
    if (!options.single_file) QC_TRY(files.end());
    written.hash = checksum.value();
    return written;
  }
  // The header states the checksum of these bytes.
  QC_TRY(files.begin(name + "_weights.bin", name + ".h"));
  QC_TRY(stream(pool, map, written, [&](const std::byte* data, size_t size) -> Result<Ok> {
    checksum.add(data, size);
    return files.append(data, size);
  }));
  QC_TRY(files.end());
  if (options.weights == WeightStorage::incbin) {
    QC_TRY(files.write(name + "_weights.S",
                       fmt::format("/* Weights of {0}: {1} bytes. */\n"
                                   "    .section .rodata\n"
                                   "    .balign 64\n"
                                   "    .globl {0}_weights\n"
                                   "    .hidden {0}_weights\n"
                                   "    .type {0}_weights, %object\n"
                                   "{0}_weights:\n"
                                   "    .incbin \"{0}_weights.bin\"\n"
                                   "    .byte 0\n"
                                   "    .size {0}_weights, . - {0}_weights\n"
                                   "    .section .note.GNU-stack, \"\", %progbits\n",
                                   name, map.bytes)));
  }
  written.hash = checksum.value();
  return written;
}

}  // namespace qc
