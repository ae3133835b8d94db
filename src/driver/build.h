// Building and running generated C: the system compiler makes a shared library, which is loaded and
// called in process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/c/c_backend.h"
#include "ir/tensor.h"
#include "program/program.h"
#include "support/scratch.h"
#include "support/threads.h"

namespace qc {

struct BuildOptions {
  std::string compiler;            // empty: $CC, else cc
  std::vector<std::string> flags;  // empty: -O2, and -march=native for portable code
  bool host = false;               // CUDA without CUDA: its threads run one after another
};

/// A loaded shared library of one or several generated models.
class Library {
 public:
  /// Compiles `sources` (files of `folder`) into one library and loads it.
  static Result<std::shared_ptr<Library>> build(const std::string& folder,
                                                const std::vector<std::string>& sources,
                                                const BuildOptions& options);
  /// Loads a library that is a file. It may be removed or replaced afterwards: what is loaded is a
  /// copy of its own.
  static Result<std::shared_ptr<Library>> open(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  void* symbol(const std::string& name) const;

 private:
  Library() = default;
  static Result<std::shared_ptr<Library>> load(const std::string& path);
  void* handle_ = nullptr;
};

/// The layout of NAME_args; the same for every model but the last two, which only models that split
/// steps look at.
struct NativeArgs {
  const void* const* inputs;
  void* const* outputs;
  void* arena;
  void* state;
  const void* weights;
  const int64_t* dims;
  void (*parallel_for)(void* threads, int32_t units,
                       void (*part)(const void* call, int32_t first, int32_t last),
                       const void* call);
  void* threads;
};
/// The `parallel_for` of arguments whose `threads` are Threads.
void native_parallel_for(void* threads, int32_t units,
                         void (*part)(const void* call, int32_t first, int32_t last),
                         const void* call);

struct NativeResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> states;
  double seconds = 0;         // of the call alone
  std::vector<double> again;  // of further calls, one after another
};

/// Runs model `name` of the library, which was generated from `program`, on `inputs`. Guard bytes
/// around arena, state and outputs are checked: a model that writes outside them is an error. Of a
/// shape set, `program` is that of the size `dims` gives. `threads`, where given, take the units of
/// split steps. The outputs are those of the first call; `more` calls follow it and are timed.
Result<NativeResult> run_native(const Library& library, const std::string& name,
                                const Program& program, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& states = {},
                                const std::vector<int64_t>& dims = {}, Threads* threads = nullptr,
                                int more = 0);

}  // namespace qc
