// The wire reader: protobuf bytes -> the structs of proto.h. protozero reports malformed input by
// exceptions; they end at `guarded`. A field with an unexpected wire type is skipped like an
// unknown field, which is what protobuf does. The last value of a repeated singular field wins.
#include <protozero/pbf_reader.hpp>

#include "frontends/onnx/proto.h"

namespace qc::onnx {
namespace {

using protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

constexpr uint32_t varint(uint32_t field) { return protozero::tag_and_type(field, Wire::varint); }
constexpr uint32_t fixed32(uint32_t field) { return protozero::tag_and_type(field, Wire::fixed32); }
constexpr uint32_t bytes(uint32_t field) {
  return protozero::tag_and_type(field, Wire::length_delimited);
}

std::string_view to_view(protozero::data_view v) { return {v.data(), v.size()}; }

// One line per field.
// clang-format off
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  /// Runs `read` on the bytes and turns what protozero throws into a diagnostic.
  template <class T>
  Result<T> guarded(std::span<const std::byte> in, void (Reader::*read)(std::string_view, T&)) {
    base_ = reinterpret_cast<const char*>(in.data());
    try {
      T out;
      (this->*read)({base_, in.size()}, out);
      return out;
    } catch (const Stop& stop) {
      return error(Code::limit, loc(), "{}", stop.reason);
    } catch (const protozero::exception& e) {
      return error(Code::format, loc(), "malformed protobuf in the {} at byte {}: {}", message_,
                   start_ - base_, e.what());
    }
  }

  void model(std::string_view in, Model& out) {
    message("model", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case varint(1): out.ir_version = m.get_int64(); return true;
        case bytes(2): out.producer_name = text(m); return true;
        case bytes(7): out.graph = {}; graph(text(m), out.graph); return true;
        case bytes(8): opset(text(m), out.opsets.emplace_back()); return true;
        case bytes(25): function(text(m), out.functions.emplace_back()); return true;
        default: return false;
      }
    });
  }

  void tensor(std::string_view in, TensorProto& out) {
    out.wire = in;
    message("tensor", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case varint(1): out.dims.push_back(m.get_int64()); return true;
        case bytes(1): append(out.dims, m.get_packed_int64()); return true;
        case varint(2): out.data_type = m.get_int32(); return true;
        case bytes(3): m.skip(); out.segmented = true; return true;
        case bytes(8): out.name = text(m); return true;
        case bytes(9): out.raw_data = text(m); return true;
        case bytes(13): pair(text(m), out.external_data.emplace_back()); return true;
        case varint(14): out.external = m.get_int32() == 1; return true;
        default: return false;
      }
    });
  }

 private:
  struct Stop {
    const char* reason;
  };

  Loc loc() const { return Loc{path_, {}, {}}; }
  std::string_view text(pbf_reader& m) { return to_view(m.get_view()); }
  std::string_view counted_text(pbf_reader& m) {
    count();
    return text(m);
  }
  void count() {
    if (++messages_ > kMaxMessages) throw Stop{"the file holds more than 2^22 messages"};
  }
  template <class T, class Range>
  void append(std::vector<T>& out, const Range& values) {
    for (auto v : values) out.push_back(v);
  }

  /// Walks one message: `field` consumes the current field or returns false to have it skipped.
  /// The name and place of the innermost message are kept for the diagnostic when it throws.
  template <class F>
  void message(const char* what, std::string_view in, F&& field) {
    count();
    if (++depth_ > kMaxNesting) throw Stop{"messages are nested more than 64 deep"};
    const char* outer = std::exchange(message_, what);
    const char* outer_start = std::exchange(start_, in.data());
    pbf_reader m(in.data(), in.size());
    while (m.next()) {
      if (!field(m)) m.skip();
    }
    message_ = outer;
    start_ = outer_start;
    --depth_;
  }

  void pair(std::string_view in, StringPair& out) {
    message("string pair", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.key = text(m); return true;
        case bytes(2): out.value = text(m); return true;
        default: return false;
      }
    });
  }

  void opset(std::string_view in, OpsetId& out) {
    message("opset import", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.domain = normal_domain(text(m)); return true;
        case varint(2): out.version = m.get_int64(); return true;
        default: return false;
      }
    });
  }

  void graph(std::string_view in, GraphProto& out) {
    message("graph", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): node(text(m), out.nodes.emplace_back()); return true;
        case bytes(2): out.name = text(m); return true;
        case bytes(5): tensor(text(m), out.initializers.emplace_back()); return true;
        case bytes(11): value_info(text(m), out.inputs.emplace_back()); return true;
        case bytes(12): value_info(text(m), out.outputs.emplace_back()); return true;
        case bytes(13): value_info(text(m), out.value_infos.emplace_back()); return true;
        case bytes(15): sparse(text(m), out.sparse_initializers.emplace_back()); return true;
        default: return false;
      }
    });
  }

  void node(std::string_view in, NodeProto& out) {
    message("node", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.inputs.push_back(counted_text(m)); return true;
        case bytes(2): out.outputs.push_back(counted_text(m)); return true;
        case bytes(3): out.name = text(m); return true;
        case bytes(4): out.op_type = text(m); return true;
        case bytes(5): attribute(text(m), out.attributes.emplace_back()); return true;
        case bytes(7): out.domain = normal_domain(text(m)); return true;
        case bytes(8): out.overload = text(m); return true;
        default: return false;
      }
    });
  }

  void attribute(std::string_view in, AttributeProto& out) {
    using Type = AttributeProto::Type;
    Type seen = Type::undefined;
    message("attribute", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.name = text(m); return true;
        case fixed32(2): out.f = m.get_float(); seen = Type::f; return true;
        case varint(3): out.i = m.get_int64(); seen = Type::i; return true;
        case bytes(4): out.s = text(m); seen = Type::s; return true;
        case bytes(5): tensor(text(m), fresh(out.t)); seen = Type::t; return true;
        case bytes(6): graph(text(m), fresh(out.g)); seen = Type::g; return true;
        case fixed32(7): out.floats.push_back(m.get_float()); seen = Type::floats; return true;
        case bytes(7): append(out.floats, m.get_packed_float()); seen = Type::floats; return true;
        case varint(8): out.ints.push_back(m.get_int64()); seen = Type::ints; return true;
        case bytes(8): append(out.ints, m.get_packed_int64()); seen = Type::ints; return true;
        case bytes(9): out.strings.push_back(counted_text(m)); seen = Type::strings; return true;
        case bytes(10):
          tensor(text(m), out.tensors.emplace_back());
          seen = Type::tensors;
          return true;
        case bytes(11): graph(text(m), out.graphs.emplace_back()); seen = Type::graphs; return true;
        case varint(20): out.type = attribute_type(m.get_int32()); return true;
        case bytes(21): out.ref_attr_name = text(m); return true;
        case bytes(22):
          sparse(text(m), fresh(out.sparse_tensor));
          seen = Type::sparse_tensor;
          return true;
        default: return false;
      }
    });
    if (out.type == Type::undefined) out.type = seen;
  }

  static AttributeProto::Type attribute_type(int32_t number) {
    using Type = AttributeProto::Type;
    constexpr Type kTypes[] = {Type::undefined, Type::f, Type::i, Type::s, Type::t, Type::g,
                               Type::floats, Type::ints, Type::strings, Type::tensors, Type::graphs,
                               Type::sparse_tensor, Type::sparse_tensors, Type::type_proto,
                               Type::type_protos};
    bool known = number >= 0 && number < static_cast<int32_t>(std::size(kTypes));
    return known ? kTypes[number] : Type::undefined;
  }

  template <class T>
  static T& fresh(std::unique_ptr<T>& slot) {
    slot = std::make_unique<T>();
    return *slot;
  }

  void sparse(std::string_view in, SparseTensorProto& out) {
    message("sparse tensor", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.values = {}; tensor(text(m), out.values); return true;
        case bytes(2): out.indices = {}; tensor(text(m), out.indices); return true;
        case varint(3): out.dims.push_back(m.get_int64()); return true;
        case bytes(3): append(out.dims, m.get_packed_int64()); return true;
        default: return false;
      }
    });
  }

  void value_info(std::string_view in, ValueInfo& out) {
    message("value info", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.name = text(m); return true;
        case bytes(2): out.type = {}; type(text(m), out.type); return true;
        default: return false;
      }
    });
  }

  void type(std::string_view in, TypeProto& out) {
    using Kind = TypeProto::Kind;
    message("type", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): tensor_type(text(m), Kind::tensor, out); return true;
        case bytes(4): element_type(text(m), Kind::sequence, out); return true;
        case bytes(5): m.skip(); out.kind = Kind::map; return true;
        case bytes(7): m.skip(); out.kind = Kind::opaque; return true;
        case bytes(8): tensor_type(text(m), Kind::sparse_tensor, out); return true;
        case bytes(9): element_type(text(m), Kind::optional, out); return true;
        default: return false;
      }
    });
  }

  void tensor_type(std::string_view in, TypeProto::Kind kind, TypeProto& out) {
    out = {};
    out.kind = kind;
    message("tensor type", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case varint(1): out.elem_type = m.get_int32(); return true;
        case bytes(2): shape(text(m), out); return true;
        default: return false;
      }
    });
  }

  void element_type(std::string_view in, TypeProto::Kind kind, TypeProto& out) {
    out = {};
    out.kind = kind;
    message("element type", in, [&](pbf_reader& m) {
      if (m.tag_and_type() != bytes(1)) return false;
      type(text(m), fresh(out.element));
      return true;
    });
  }

  void shape(std::string_view in, TypeProto& out) {
    out.has_shape = true;
    out.shape.clear();
    message("shape", in, [&](pbf_reader& m) {
      if (m.tag_and_type() != bytes(1)) return false;
      dim(text(m), out.shape.emplace_back());
      return true;
    });
  }

  void dim(std::string_view in, DimProto& out) {
    message("dim", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case varint(1): out = {DimProto::Kind::value, m.get_int64(), {}}; return true;
        case bytes(2): out = {DimProto::Kind::param, 0, text(m)}; return true;
        default: return false;
      }
    });
  }

  void function(std::string_view in, FunctionProto& out) {
    message("function", in, [&](pbf_reader& m) {
      switch (m.tag_and_type()) {
        case bytes(1): out.name = text(m); return true;
        case bytes(4): out.inputs.push_back(counted_text(m)); return true;
        case bytes(5): out.outputs.push_back(counted_text(m)); return true;
        case bytes(6): out.attributes.push_back(counted_text(m)); return true;
        case bytes(7): node(text(m), out.nodes.emplace_back()); return true;
        case bytes(9): opset(text(m), out.opsets.emplace_back()); return true;
        case bytes(10): out.domain = normal_domain(text(m)); return true;
        case bytes(11): attribute(text(m), out.attribute_defaults.emplace_back()); return true;
        case bytes(13): out.overload = text(m); return true;
        default: return false;
      }
    });
  }

  std::string path_;
  const char* base_ = nullptr;
  const char* message_ = "file";
  const char* start_ = nullptr;
  int depth_ = 0;
  int64_t messages_ = 0;
};
// clang-format on

}  // namespace

Result<Model> parse_model(std::span<const std::byte> bytes, const std::string& path) {
  QC_ASSIGN(Model model, Reader(path).guarded<Model>(bytes, &Reader::model));
  model.path = path;
  if (model.ir_version <= 0 || model.graph.outputs.empty()) {
    return error(Code::format, Loc{path, {}, {}}, "not an ONNX model: {}",
                 model.ir_version <= 0 ? "it has no IR version" : "its graph has no outputs");
  }
  return model;
}

Result<Model> read_model(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  QC_ASSIGN(Model model, parse_model(file->bytes(), path));
  model.file = std::move(file);
  return model;
}

Result<TensorProto> parse_tensor(std::span<const std::byte> bytes, const std::string& path) {
  return Reader(path).guarded<TensorProto>(bytes, &Reader::tensor);
}

}  // namespace qc::onnx
