#include "backends/common/named_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "backends/common/text.h"

namespace qc {
namespace {

/// Bytes of weights that are written as numbers; of more, compilers take long and much memory.
constexpr int64_t kReadable = int64_t{1} << 20;
constexpr size_t kLongestName = 60, kWidth = 100;

/// A name of the model as part of a C identifier.
std::string as_identifier(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  out.resize(std::min(out.size(), kLongestName));
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out = "w_" + out;
  return out;
}

/// The type of an element as it is stored: of what C has no type for, its bits.
std::string element_type(DType dtype) {
  if (bits(dtype) < 8 || dtype == DType::boolean) return "uint8_t";
  if (dtype == DType::f32) return "float";
  if (dtype == DType::f64) return "double";
  if (is_integer(dtype)) return fmt::format("{}int{}_t", is_signed(dtype) ? "" : "u", bits(dtype));
  return fmt::format("uint{}_t", bits(dtype));
}
int64_t element_bytes(DType dtype) { return std::max<int64_t>(bits(dtype) / 8, 1); }

template <class T>
std::string float_text(T v, const char* suffix) {
  if (std::isinf(v)) return v < 0 ? "-INFINITY" : "INFINITY";
  // Compilers warn of decimal digits below the least number that has all its bits.
  if (v != 0 && std::abs(v) < std::numeric_limits<T>::min())
    return fmt::format("{:a}{}", v, suffix);
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

/// C has one NaN, and weights may have others.
bool has_nan(const Tensor& t) {
  if (!is_float(t.dtype()) || bits(t.dtype()) < 32) return false;
  for (int64_t i = 0; i < t.size(); ++i) {
    if (std::isnan(t.as_double(i))) return true;
  }
  return false;
}

/// Element i as C writes it; masks have infinities.
std::string number_text(const Tensor& t, int64_t i) {
  const std::byte* at = t.bytes().data() + i * element_bytes(t.dtype());
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (t.dtype() == DType::f32) return float_text(read(float{}), "f");
  if (t.dtype() == DType::f64) return float_text(read(double{}), "");
  const bool negative = is_integer(t.dtype()) && is_signed(t.dtype()) && bits(t.dtype()) >= 8;
  switch (element_bytes(t.dtype())) {
    case 1:
      return negative ? std::to_string(read(int8_t{})) : std::to_string(read(uint8_t{}));
    case 2:
      return negative ? std::to_string(read(int16_t{})) : std::to_string(read(uint16_t{}));
    case 4:
      return negative ? c_integer(read(int32_t{})) : fmt::format("{}u", read(uint32_t{}));
    default:
      return negative ? c_integer(read(int64_t{})) : fmt::format("UINT64_C({})", read(uint64_t{}));
  }
}

std::map<int64_t, ConstId> in_order(const WeightMap& map, const ConstantPool& pool) {
  std::map<int64_t, ConstId> out;
  for (const auto& [id, offset] : map.offsets) {
    if (pool.byte_size(id) > 0) out.emplace(offset, id);
  }
  return out;
}

/// The layer that reads a constant first, for constants that are not the model's own.
std::map<ConstId, std::string> first_readers(const Program& program) {
  std::map<ConstId, std::string> out;
  for_each_step(program.steps, [&](const Step& step) {
    const std::string layer = step.loc.names.empty() ? "" : step.loc.names[0];
    for_each_view(step, [&](const View& v, bool) {
      const Buffer& b = program.buffer(program.owner(v.buffer));
      if (b.kind == BufferKind::constant) out.try_emplace(b.constant, layer);
    });
  });
  return out;
}

}  // namespace

Result<Ok> name_weights(const Module& module, const ProjectOptions& options, WeightMap& map) {
  if (options.weights != WeightStorage::literal || module.programs.size() != 1) return Ok{};
  if (map.bytes == 0 || map.bytes > kReadable) return Ok{};
  const Program& program = module.program();
  for (const auto& [offset, id] : in_order(map, *program.pool)) {
    QC_ASSIGN(const Tensor t, program.pool->get(id));
    if (has_nan(t)) return Ok{};
  }
  const std::map<ConstId, std::string> readers = first_readers(program);
  std::map<std::string, int> count;
  for (const auto& [id, offset] : map.offsets) ++count[program.pool->name(id)];
  std::set<std::string> taken;
  for (const auto& [offset, id] : in_order(map, *program.pool)) {
    std::string text = program.pool->name(id);
    // What the compiler made has the name of its purpose.
    const auto reader = readers.find(id);
    if (reader != readers.end() && (text.empty() || count[text] > 1))
      text = reader->second + "_" + text;
    const std::string base = as_identifier(text);
    std::string unique = base;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", base, i);
    map.names.emplace(id, unique);
  }
  return Ok{};
}

std::string named_weights_declaration(const ConstantPool& pool, const WeightMap& map,
                                      const std::string& name) {
  std::string out = fmt::format(
      "/* Weights of {0}: {1} bytes. Each array begins at a multiple of 64 bytes and says which "
      "constant of\n * the model it is. */\ntypedef struct {0}_weights_t {{\n",
      name, map.bytes);
  for (const auto& [offset, id] : in_order(map, pool)) {
    const DType dtype = pool.dtype(id);
    out += fmt::format("  _Alignas(64) {} {}[{}]; /* '{}': {} */\n", element_type(dtype),
                       map.names.at(id), pool.byte_size(id) / element_bytes(dtype),
                       c_comment(pool.name(id)), str(pool.type(id)));
  }
  return out + fmt::format("}} {0}_weights_t;\nextern const {0}_weights_t {0}_weights[1];\n", name);
}

Result<Ok> write_named_weights(const ConstantPool& pool, const WeightMap& map,
                               const std::string& name, FileSet& files,
                               const std::function<void(ConstId, const Tensor&)>& see) {
  std::string text = fmt::format("const {0}_weights_t {0}_weights[1] = {{{{\n", name);
  for (const auto& [offset, id] : in_order(map, pool)) {
    QC_ASSIGN(const Tensor t, pool.get(id));
    see(id, t);
    text += fmt::format("    .{} = {{", map.names.at(id));
    const int64_t count = static_cast<int64_t>(t.bytes().size()) / element_bytes(t.dtype());
    size_t column = kWidth;
    for (int64_t i = 0; i < count; ++i) {
      const std::string number = number_text(t, i);
      if (column + number.size() + 2 > kWidth) {
        text += "\n        ";
        column = 8;
      } else {
        text += ' ';
      }
      text += number + ',';
      column += number.size() + 2;
    }
    text += "\n    },\n";
    QC_TRY(files.append(text.data(), text.size()));
    text.clear();
  }
  return files.append("}};\n", 4);
}

}  // namespace qc
