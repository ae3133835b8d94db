// Arrays that go into a model and come out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace quantc {

/// Elements in row-major order. `type` is quantc's name of the element type: "f32", "i8", "bool",
/// ...
struct Array {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  template <class T>
  static Array of(std::string name, std::string type, std::vector<int64_t> shape,
                  const std::vector<T>& values) {
    Array a{std::move(name), std::move(type), std::move(shape), {}};
    const auto* p = reinterpret_cast<const std::byte*>(values.data());
    a.data.assign(p, p + values.size() * sizeof(T));
    return a;
  }
  /// The elements as what they are.
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
};

/// The same, of elements that lie elsewhere and stay there during the call. Without a name an array
/// is the input that has its place in the list.
struct ArrayView {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;

  ArrayView() = default;
  ArrayView(std::string name, std::string type, std::vector<int64_t> shape, const void* data,
            size_t bytes)
      : name(std::move(name)),
        type(std::move(type)),
        shape(std::move(shape)),
        data(data),
        bytes(bytes) {}
  ArrayView(const Array& array)
      : ArrayView(array.name, array.type, array.shape, array.data.data(), array.data.size()) {}
};

using ArrayViews = std::vector<ArrayView>;

/// Gives memory for results, chunk by chunk in the order of the outputs.
using Allocate = std::function<void*(size_t bytes)>;

/// An input or output of a model. Sizes that depend on a symbol are text such as "batch" or "2*n".
struct Port {
  std::string name;
  std::string type;
  std::vector<std::string> shape;
};

}  // namespace quantc
