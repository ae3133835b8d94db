#include "driver/build.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "driver/tool.h"

namespace qc {

Result<std::shared_ptr<Library>> Library::build(const std::string& folder,
                                                const std::vector<std::string>& sources,
                                                const BuildOptions& options) {
  std::string compiler = options.compiler;
  if (compiler.empty()) {
    const char* cc = std::getenv("CC");
    compiler = cc && *cc ? cc : "cc";
  }
  const std::string path = folder + "/lib.so";
  std::vector<std::string> command = {compiler, "-std=c11", "-fPIC", "-shared", "-I" + folder};
  command.insert(command.end(), options.flags.begin(), options.flags.end());
  for (const std::string& s : sources) command.push_back(folder + "/" + s);
  command.insert(command.end(), {"-o", path, "-lm"});
  QC_TRY(run_tool({command, kCompilerLimits, ""}));
  return load(path);
}

Result<std::shared_ptr<Library>> Library::load(const std::string& path) {
  std::shared_ptr<Library> library(new Library);
  library->handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle_)
    return error(Code::tool, "cannot load the compiled model: {}", ::dlerror());
  return library;
}

Result<std::shared_ptr<Library>> Library::open(const std::string& path) {
  // The system's loader knows libraries by their paths and would hand out an older one.
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  const std::string copy = folder.path() + "/lib.so";
  std::error_code failed;
  std::filesystem::copy_file(path, copy, failed);
  if (failed) return error(Code::file, Loc{path, {}, {}}, "cannot be read: {}", failed.message());
  return load(copy);
}

Library::~Library() {
  if (handle_) ::dlclose(handle_);
}

void* Library::symbol(const std::string& name) const { return ::dlsym(handle_, name.c_str()); }

namespace {

constexpr size_t kGuard = 256;
constexpr std::byte kPattern{0xa5};

/// Aligned bytes with a pattern before and after them.
class Guarded {
 public:
  explicit Guarded(int64_t size)
      : size_(static_cast<size_t>(size)), memory_(size_ + 2 * kGuard + 64, kPattern) {
    auto address = reinterpret_cast<uintptr_t>(memory_.data()) + kGuard;
    data_ = reinterpret_cast<std::byte*>((address + 63) & ~uintptr_t{63});
  }
  std::byte* data() { return data_; }
  bool intact() const {
    for (size_t i = 1; i <= kGuard; ++i) {
      if (data_[-static_cast<std::ptrdiff_t>(i)] != kPattern || data_[size_ + i - 1] != kPattern)
        return false;
    }
    return true;
  }

 private:
  size_t size_;
  std::vector<std::byte> memory_;
  std::byte* data_;
};

}  // namespace

void native_parallel_for(void* threads, int32_t units,
                         void (*part)(const void* call, int32_t first, int32_t last),
                         const void* call) {
  static_cast<Threads*>(threads)->run(
      units, [&](int32_t first, int32_t last) { part(call, first, last); });
}

Result<NativeResult> run_native(const Library& library, const std::string& name,
                                const Program& program, const std::vector<Tensor>& inputs,
                                const std::vector<Tensor>& states, const std::vector<int64_t>& dims,
                                Threads* threads, int more) {
  auto invoke = reinterpret_cast<int (*)(const NativeArgs*)>(library.symbol(name + "_invoke_args"));
  if (!invoke) return error(Code::bug, "the library has no model '{}'", name);
  std::vector<const void*> in;
  std::vector<Guarded> copies;  // aligned, and outside the caller's tensors
  copies.reserve(inputs.size());
  for (const Tensor& t : inputs) {
    copies.emplace_back(static_cast<int64_t>(t.bytes().size()));
    std::memcpy(copies.back().data(), t.bytes().data(), t.bytes().size());
    in.push_back(copies.back().data());
  }
  std::vector<Guarded> results;
  std::vector<void*> out;
  results.reserve(program.outputs.size());
  for (const Port& port : program.outputs) {
    results.emplace_back(program.buffer(port.buffer).size());
    out.push_back(results.back().data());
  }
  Guarded arena(program.arena_bytes), state(program.state_bytes);
  if (program.state_bytes > 0) {
    auto reset = reinterpret_cast<void (*)(void*)>(library.symbol(name + "_reset"));
    if (reset) reset(state.data());
    for (size_t i = 0; i < states.size(); ++i) {
      const Buffer& b = program.buffers[static_cast<size_t>(program.states[i].buffer)];
      std::memcpy(state.data() + b.offset.value(), states[i].bytes().data(),
                  states[i].bytes().size());
    }
  }
  const NativeArgs args{in.data(),
                        out.data(),
                        arena.data(),
                        state.data(),
                        nullptr,
                        dims.data(),
                        threads ? native_parallel_for : nullptr,
                        threads};
  const auto begin = std::chrono::steady_clock::now();
  const int code = invoke(&args);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  if (code != 0) return error(Code::bug, "model '{}' returned code {}", name, code);
  bool intact = arena.intact() && state.intact();
  for (const Guarded& g : results) intact = intact && g.intact();
  for (const Guarded& g : copies) intact = intact && g.intact();
  if (!intact) return error(Code::bug, "model '{}' wrote outside its buffers", name);
  NativeResult result;
  result.seconds = spent.count();
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Type& type = program.outputs[i].type;
    Tensor t(type.dtype, static_dims(type.shape));
    std::memcpy(t.mutable_bytes().data(), results[i].data(), t.bytes().size());
    result.outputs.push_back(std::move(t));
  }
  for (int i = 0; i < more; ++i) {
    const auto from = std::chrono::steady_clock::now();
    if (invoke(&args) != 0) return error(Code::bug, "model '{}' failed when called again", name);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - from;
    result.again.push_back(took.count());
  }
  for (const Port& port : program.states) {
    const Buffer& b = program.buffers[static_cast<size_t>(port.buffer)];
    Tensor t(port.type.dtype, static_dims(port.type.shape));
    std::memcpy(t.mutable_bytes().data(), state.data() + b.offset.value(), t.bytes().size());
    result.states.push_back(std::move(t));
  }
  return result;
}

}  // namespace qc
