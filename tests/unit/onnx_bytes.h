// Builds ONNX messages byte by byte for the tests.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qc::onnx_bytes {

using protozero::pbf_writer;

inline std::span<const std::byte> as_bytes(std::string_view s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

/// A message made by `fill`.
template <class F>
std::string message(F&& fill) {
  std::string out;
  pbf_writer w(out);
  fill(w);
  return out;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string out(values.size() * sizeof(T), '\0');
  size_t at = 0;
  for (T v : values) {
    std::memcpy(out.data() + at, &v, sizeof v);
    at += sizeof v;
  }
  return out;
}

/// A TensorProto: dims, data type, then what `fill` adds.
template <class F>
std::string tensor(std::vector<int64_t> dims, int type, F&& fill, std::string_view name = "w") {
  return message([&](pbf_writer& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, type);
    w.add_bytes(8, name.data(), name.size());
    fill(w);
  });
}

inline std::string external_tensor(
    std::vector<int64_t> dims, int type,
    std::initializer_list<std::pair<const char*, std::string>> keys) {
  return tensor(dims, type, [&](pbf_writer& w) {
    for (const auto& pair : keys) {
      w.add_message(13, message([&](pbf_writer& p) {
                      p.add_string(1, pair.first);
                      p.add_string(2, pair.second);
                    }));
    }
    w.add_int32(14, 1);
  });
}

/// A ValueInfoProto of a tensor; a dim is a number or, as text, a symbol.
struct DimText {
  DimText(int64_t v) : value(v) {}
  DimText(const char* p) : param(p) {}
  int64_t value = -1;
  std::string param;
};
inline std::string value_info(std::string_view name, int type, std::vector<DimText> dims) {
  std::string shape = message([&](pbf_writer& w) {
    for (const DimText& d : dims) {
      w.add_message(1, message([&](pbf_writer& p) {
                      if (d.param.empty()) p.add_int64(1, d.value);
                      if (!d.param.empty()) p.add_string(2, d.param);
                    }));
    }
  });
  std::string tensor_type = message([&](pbf_writer& w) {
    w.add_int32(1, type);
    w.add_message(2, shape);
  });
  return message([&](pbf_writer& w) {
    w.add_bytes(1, name.data(), name.size());
    w.add_message(2, message([&](pbf_writer& t) { t.add_message(1, tensor_type); }));
  });
}

using Names = std::vector<std::string>;
/// A NodeProto; `attributes` are AttributeProto messages.
inline std::string node(std::string_view op, const Names& inputs, const Names& outputs,
                        std::string_view name = "", const Names& attributes = {},
                        std::string_view domain = "") {
  return message([&](pbf_writer& w) {
    for (const auto& s : inputs) w.add_string(1, s);
    for (const auto& s : outputs) w.add_string(2, s);
    if (!name.empty()) w.add_bytes(3, name.data(), name.size());
    w.add_bytes(4, op.data(), op.size());
    for (const auto& s : attributes) w.add_message(5, s);
    if (!domain.empty()) w.add_bytes(7, domain.data(), domain.size());
  });
}

/// An AttributeProto of the given AttributeType with the value `fill` writes.
template <class F>
std::string attribute(std::string_view name, int type, F&& fill) {
  return message([&](pbf_writer& w) {
    w.add_bytes(1, name.data(), name.size());
    fill(w);
    w.add_int32(20, type);
  });
}
inline std::string attribute_i(std::string_view name, int64_t value) {
  return attribute(name, 2, [&](pbf_writer& w) { w.add_int64(3, value); });
}

struct GraphParts {
  Names nodes = {};
  Names initializers = {};
  Names inputs = {};
  Names outputs = {};
};
inline std::string graph(const GraphParts& g) {
  return message([&](pbf_writer& w) {
    for (const auto& s : g.nodes) w.add_message(1, s);
    w.add_string(2, "g");
    for (const auto& s : g.initializers) w.add_message(5, s);
    for (const auto& s : g.inputs) w.add_message(11, s);
    for (const auto& s : g.outputs) w.add_message(12, s);
  });
}

/// A ModelProto at the given opset of the default domain; `functions` are FunctionProto messages.
inline std::string model(const GraphParts& g, int64_t opset = 21, const Names& functions = {}) {
  return message([&](pbf_writer& w) {
    w.add_int64(1, 10);
    w.add_message(7, graph(g));
    w.add_message(8, message([&](pbf_writer& o) { o.add_int64(2, opset); }));
    for (const auto& f : functions) w.add_message(25, f);
  });
}

}  // namespace qc::onnx_bytes
