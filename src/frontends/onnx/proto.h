// The messages of an ONNX file as plain structs. Names, strings and raw tensor bytes are views into
// the file's memory: nothing of a weight is copied by reading.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/file.h"
#include "support/result.h"

namespace qc::onnx {

struct StringPair {
  std::string_view key;
  std::string_view value;
};

struct OpsetId {
  std::string_view domain;  // "" is the default domain; "ai.onnx" is read as ""
  int64_t version = 0;
};

struct TensorProto {
  std::string_view name;
  int32_t data_type = 0;  // number of ONNX's DataType
  std::vector<int64_t> dims;
  std::optional<std::string_view> raw_data;
  bool segmented = false;
  bool external = false;  // data_location is EXTERNAL
  std::vector<StringPair> external_data;
  std::string_view wire;  // the whole message; typed data fields are decoded from it on demand
};

struct SparseTensorProto {
  TensorProto values;
  TensorProto indices;
  std::vector<int64_t> dims;
};

struct DimProto {
  enum class Kind : uint8_t { unknown, value, param };
  Kind kind = Kind::unknown;
  int64_t value = 0;
  std::string_view param;
};

struct TypeProto {
  enum class Kind : uint8_t { none, tensor, sequence, map, opaque, sparse_tensor, optional };
  Kind kind = Kind::none;
  int32_t elem_type = 0;
  bool has_shape = false;  // without a shape the rank is unknown; an empty shape is a scalar
  std::vector<DimProto> shape;
  std::unique_ptr<TypeProto> element;  // of a sequence or an optional
};

struct ValueInfo {
  std::string_view name;
  TypeProto type;
};

struct GraphProto;

struct AttributeProto {
  enum class Type : int32_t {
    undefined,
    f,
    i,
    s,
    t,
    g,
    floats,
    ints,
    strings,
    tensors,
    graphs,
    sparse_tensor,
    sparse_tensors,
    type_proto,
    type_protos,
  };
  std::string_view name;
  std::string_view ref_attr_name;  // set inside functions: the caller's attribute of that name
  Type type = Type::undefined;     // what IR versions below 3 leave out is derived from the fields
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::unique_ptr<TensorProto> t;
  std::unique_ptr<GraphProto> g;
  std::unique_ptr<SparseTensorProto> sparse_tensor;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
};

struct NodeProto {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> attributes;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_infos;
};

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;        // without default
  std::vector<AttributeProto> attribute_defaults;  // with default
  std::vector<NodeProto> nodes;
  std::vector<OpsetId> opsets;
};

/// A whole file. The views point into `file`, or into memory the caller keeps.
struct Model {
  std::shared_ptr<const MappedFile> file;
  std::string path;
  int64_t ir_version = 0;
  std::string_view producer_name;
  std::vector<OpsetId> opsets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
};

/// Deepest nesting of messages a file may have.
inline constexpr int kMaxNesting = 64;
/// Most messages and strings a file may hold, so that small files cannot ask for much memory.
inline constexpr int64_t kMaxMessages = int64_t{1} << 22;

/// Maps and reads a model file.
Result<Model> read_model(const std::string& path);
/// Reads a model from memory that outlives it; `path` is for messages only.
Result<Model> parse_model(std::span<const std::byte> bytes, const std::string& path);
/// Reads a bare TensorProto from memory that outlives it.
Result<TensorProto> parse_tensor(std::span<const std::byte> bytes, const std::string& path);

/// "ai.onnx" and "" are the same domain.
inline std::string_view normal_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

}  // namespace qc::onnx
