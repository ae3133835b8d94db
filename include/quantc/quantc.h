// quantc as a library: load a model, run it, compile it to C. Everything that can go wrong comes
// back as a Diagnostic; nothing is printed and nothing is thrown.
//
//   auto model = quantc::Model::load("model.onnx");
//   if (!model) { std::puts(model.diagnostic().message.c_str()); return 1; }
//   auto report = model->compile("out");
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quantc/options.h"
#include "quantc/version.h"

namespace quantc {

/// Who has to act on a failure; also the exit status of the command line: 1, 2, 3.
enum class Kind { user = 1, unsupported = 2, internal = 3 };

struct Diagnostic {
  Kind kind = Kind::internal;
  std::string code;  // as in docs/errors.md
  std::string file;
  std::vector<std::string> nodes;  // the model's own names
  std::string op;
  std::string text;
  std::vector<std::string> notes;
  std::string message;  // all of it, as the command line prints it
};

/// A value or a diagnostic.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Diagnostic diagnostic) : state_(std::in_place_index<1>, std::move(diagnostic)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Diagnostic& diagnostic() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diagnostic> state_;
};

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
};

/// An input or output of a model. Sizes that depend on a symbol are text such as "batch" or "2*n".
struct Port {
  std::string name;
  std::string type;
  std::vector<std::string> shape;
};

/// Sizes of a compiled model, known before anything is deployed.
struct Report {
  std::string name;
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t weight_bytes = 0;
  int64_t macs = 0;
  std::vector<std::string> warnings;  // what was not done as asked, or costs more than it seems to
};

class Model {
 public:
  /// Loads an ONNX model, a torch.export archive (.pt2) or quantc's own text form.
  static Expected<Model> load(const std::string& path, const Options& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;

  /// Runs the reference interpreter. Arrays are matched by name or as in_0, in_1, ...; symbolic
  /// dimensions take their sizes from the arrays.
  Expected<std::vector<Array>> run(const std::vector<Array>& inputs) const;

  /// Writes a project of standalone C into `folder`.
  Expected<Report> compile(const std::string& folder) const;

  /// The graph in text form, after the passes that every target shares.
  Expected<std::string> text() const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quantc
