#include "tests/support/c_batch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "backends/c/c_backend.h"
#include "backends/c/text.h"
#include "kernels/kernels.h"
#include "support/file.h"
#include "tests/support/processor.h"

namespace qc {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargeMacs = 20'000'000;
constexpr int64_t kLargeWeights = 8 << 20;
constexpr size_t kPerUnit = 100;
constexpr size_t kAlign = 64;

/// What the generated entry function looks like to the loader.
using Entry = int (*)(const void* const*, void* const*, void* arena, void* state,
                      const void* weights, const int64_t* dims);

using Symbols = std::set<std::string>;

/// One header with these bodies.
std::string kernels_header(const Symbols& symbols, const Target& target) {
  Program program;
  for (const std::string& symbol : symbols) {
    const Body& body = *find_body(symbol);
    Call call;
    call.kernel = body.kernel;
    call.body = &body;
    call.in.resize(body.kernel->in.size());
    call.out.resize(body.kernel->out.size());
    // Floats that say something: not a program of integers alone, which has less code.
    for (const Field& f : body.kernel->fields)
      call.params.insert(call.params.end(), static_cast<size_t>(f.count),
                         f.type == Field::Type::f32 ? Param(1.0f) : Param(Dim(0)));
    program.steps.push_back({{}, std::move(call)});
  }
  const Module module = Module::of(std::move(program), target);
  return "#ifndef QC_ALL_KERNELS\n#define QC_ALL_KERNELS\n" + kernels_text(module.programs, {}) +
         (target.macro.empty() ? "" : "QK_TARGET_END\n") + "#endif\n";
}

Symbols portable_bodies() {
  Symbols out;
  for (const Body& body : all_bodies()) {
    if (body.machine.empty()) out.insert(body.symbol);
  }
  return out;
}

Symbols bodies_of(const Program& program) {
  Symbols out;
  for_each_step(program.steps, [&](const Step& s) {
    if (const Call* c = s.call()) out.insert(c->body->symbol);
  });
  return out;
}

Symbols read_symbols(const std::string& path) {
  Symbols out;
  std::ifstream file(path);
  for (std::string symbol; std::getline(file, symbol);) out.insert(symbol);
  return out;
}

/// The function the loader calls, and the sizes it needs.
std::string entry_text(const std::string& name, const Program& program, bool file) {
  std::string reset;
  if (program.state_bytes > 0) {
    reset = fmt::format("  {}_reset(state{});\n", name, file ? ", weights" : "");
  }
  return fmt::format(
      "const int64_t {0}_memory[3] = {{{1}_ARENA_BYTES, {1}_STATE_BYTES, {2}}};\n"
      "int {0}_entry(const void *const *in, void *const *out, void *arena, void *state, const void "
      "*weights, const int64_t *dims);\n"
      "int {0}_entry(const void *const *in, void *const *out, void *arena, void *state, const void "
      "*weights, const int64_t *dims) {{\n"
      "  const {0}_args args = {{in, out, arena, state, weights, dims}};\n{3}"
      "  (void)state;\n  return {0}_invoke_args(&args);\n}}\n",
      name, c_upper(name), file ? 1 : 0, reset);
}

/// Runs commands, `jobs` at a time, and says for each whether it succeeded.
std::vector<bool> run_commands(const std::vector<std::string>& commands, int jobs) {
  std::vector<bool> good(commands.size());
  std::map<pid_t, size_t> running;
  size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    while (next < commands.size() && static_cast<int>(running.size()) < jobs) {
      pid_t child = fork();
      if (child == 0) {
        execl("/bin/sh", "sh", "-c", commands[next].c_str(), nullptr);
        _exit(127);
      }
      running[child] = next++;
    }
    int status = 0;
    pid_t done = wait(&status);
    auto it = running.find(done);
    if (it == running.end()) continue;
    good[it->second] = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    running.erase(it);
  }
  return good;
}

struct Unit {
  std::string name;
  std::vector<std::string> programs;
  bool large = false;
  bool mul_add = false;  // all have dot products of rounded products
  /// Instructions that kernels of the programs are written for: those for different ones define the
  /// same names, so that a unit has kernels for the same.
  std::set<std::string> machines;
  Symbols bodies;  // of kernels for a target
};

/// The compiler command for a unit: messages go to UNIT.log.
std::string command(const std::string& dir, const Unit& unit, const CBuild& how) {
  const char* cc = std::getenv("CC");
  return fmt::format(
      "cd '{}' && {} -std=c11 {} -w -fPIC -shared {}.c -o {}.so -lm > {}.log 2>&1", dir,
      !how.compiler.empty() ? how.compiler
      : cc                  ? cc
                            : "cc",
      unit.large ? "-O3" + vector_flags() : how.flags, unit.name, unit.name, unit.name);
}

Result<Ok> write_unit(const std::string& dir, const Unit& unit, const Target& target) {
  std::string text = unit.mul_add ? "#define QN_DOT_MUL_ADD 1\n" : "";
  if (target.macro.empty()) {
    text += "#include \"kernels.h\"\n";
  } else {
    QC_TRY(write_file(fmt::format("{}/{}_kernels.h", dir, unit.name),
                      kernels_header(unit.bodies, target)));
    text += fmt::format("#include \"{}_kernels.h\"\n", unit.name);
  }
  for (const std::string& p : unit.programs) {
    // Programs with free sizes have functions of the same names.
    for (const char* function : {"floordiv", "mod", "min", "max"})
      text += fmt::format("#undef qc_{0}\n#define qc_{0} {1}_qc_{0}\n", function, p);
    text += fmt::format("#include \"{0}/{0}.c\"\n#include \"{0}/{0}_entry.c\"\n", p);
    if (fs::exists(fmt::format("{0}/{1}/{1}_weights.c", dir, p))) {
      text += fmt::format("#include \"{0}/{0}_weights.c\"\n", p);
    }
  }
  return write_file(fmt::format("{}/{}.c", dir, unit.name), text);
}

Result<std::vector<Unit>> collect(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  std::vector<Unit> units;
  const auto is_mul_add = [&](const std::string& name) {
    return fs::exists(fmt::format("{}/{}/mul_add", dir, name));
  };
  std::map<std::string, Symbols> bodies;
  std::map<std::string, std::set<std::string>> machines;
  for (const std::string& name : names) {
    bodies[name] = read_symbols(fmt::format("{}/{}/bodies", dir, name));
    for (const std::string& symbol : bodies[name]) {
      const std::string& machine = find_body(symbol)->machine;
      if (!machine.empty()) machines[name].insert(machine);
    }
  }
  std::ranges::stable_sort(names, {}, [&](const std::string& name) {
    return std::pair(!is_mul_add(name), machines[name]);
  });
  for (const std::string& name : names) {
    const bool large = fs::exists(fmt::format("{}/{}/large", dir, name)),
               mul_add = is_mul_add(name);
    if (large || units.empty() || units.back().large || units.back().mul_add != mul_add ||
        units.back().machines != machines[name] || units.back().programs.size() >= kPerUnit) {
      units.push_back(
          {fmt::format("unit_{}", units.size()), {}, large, mul_add, machines[name], {}});
    }
    units.back().bodies.insert(bodies[name].begin(), bodies[name].end());
    units.back().programs.push_back(name);
  }
  return units;
}

/// One bad program must not hide the others: those the compiler names go alone; without a name the
/// unit is halved.
void split(const Unit& unit, const Result<std::string>& log, std::vector<Unit>& units) {
  Unit good = unit, bad = unit;
  good.name += "g";
  bad.name += "b";
  good.programs.clear();
  bad.programs.clear();
  for (const std::string& p : unit.programs) {
    bool named = log.ok() && log->find(p + "/" + p) != std::string::npos;
    (named ? bad : good).programs.push_back(p);
  }
  if (bad.programs.empty() || good.programs.empty()) {
    auto middle = unit.programs.begin() + static_cast<ptrdiff_t>(unit.programs.size() / 2);
    good.programs.assign(unit.programs.begin(), middle);
    bad.programs.assign(middle, unit.programs.end());
  }
  units.push_back(std::move(good));
  units.push_back(std::move(bad));
}

}  // namespace

Result<Ok> emit_c(const std::string& dir, const std::string& name, const Program& program,
                  const Target& target) {
  int64_t macs = 0, weights = 0;
  for_each_step(program.steps, [&](const Step& s) { macs += s.call() ? s.call()->macs : 0; });
  for (const Buffer& b : program.buffers) weights += b.kind == BufferKind::constant ? b.size() : 0;
  COptions options;
  options.name = name;
  options.project = false;
  options.weights = weights > kLargeWeights ? WeightStorage::file : WeightStorage::literal;
  QC_ASSIGN(FileSet files, FileSet::create(dir + "/" + name, Overwrite::any));
  QC_TRY(write_c(Module::of(program, target), options, nullptr, files));
  QC_TRY(files.write(name + "_entry.c",
                     entry_text(name, program, options.weights == WeightStorage::file)));
  if (macs > kLargeMacs) QC_TRY(files.write("large", ""));
  if (program.dot == DotStep::mul_add) QC_TRY(files.write("mul_add", ""));
  QC_TRY(files.commit());
  const std::string folder = dir + "/" + name;
  if (!target.macro.empty())
    QC_TRY(
        write_file(folder + "/bodies", fmt::format("{}\n", fmt::join(bodies_of(program), "\n"))));
  // The unit has included the kernels already: here is what stands before a program's functions.
  return write_file(
      fmt::format("{}/{}_kernels.h", folder, name),
      target.macro.empty()
          ? ""
          : "#undef QK_TARGET_H\n" + std::string(embedded_header("kernels/common/target.h")));
}

Result<std::map<std::string, std::string>> build_c(const std::string& dir, int jobs,
                                                   const CBuild& how) {
  std::string kernels = kernels_header(portable_bodies(), all_targets()[0]);
  for (const auto& [from, to] : how.edits) {
    size_t at = kernels.find(from);
    if (at == std::string::npos) return error(Code::tool, "no kernel says '{}'", from);
    for (; at != std::string::npos; at = kernels.find(from, at + to.size())) {
      kernels.replace(at, from.size(), to);
    }
  }
  QC_TRY(write_file(dir + "/kernels.h", kernels));
  QC_ASSIGN(std::vector<Unit> units, collect(dir));
  std::map<std::string, std::string> failed;
  std::string index;
  while (!units.empty()) {
    std::vector<std::string> commands;
    for (const Unit& unit : units) {
      QC_TRY(write_unit(dir, unit, how.target));
      commands.push_back(command(dir, unit, how));
    }
    std::vector<bool> good = run_commands(commands, jobs);
    std::vector<Unit> again;
    for (size_t i = 0; i < units.size(); ++i) {
      const Unit& unit = units[i];
      if (good[i]) {
        for (const std::string& p : unit.programs) index += p + " " + unit.name + "\n";
      } else if (unit.programs.size() == 1) {
        auto log = read_text(fmt::format("{}/{}.log", dir, unit.name));
        failed[unit.programs[0]] = log.ok() ? *log : "the compiler failed";
      } else {
        split(unit, read_text(fmt::format("{}/{}.log", dir, unit.name)), again);
      }
    }
    units = std::move(again);
  }
  QC_TRY(write_file(dir + "/index.txt", index));
  return failed;
}

struct CBatch::Library {
  void* handle = nullptr;
  ~Library() {
    if (handle) dlclose(handle);
  }
};

Result<CBatch> CBatch::open(const std::string& dir) {
  QC_ASSIGN(std::string index, read_text(dir + "/index.txt"));
  CBatch batch;
  batch.dir_ = dir;
  std::map<std::string, std::shared_ptr<Library>> opened;
  for (size_t at = 0; at < index.size();) {
    size_t end = index.find('\n', at), space = index.find(' ', at);
    std::string program = index.substr(at, space - at);
    std::string unit = index.substr(space + 1, end - space - 1);
    at = end + 1;
    auto& library = opened[unit];
    if (!library) {
      library = std::make_shared<Library>();
      library->handle =
          dlopen(fmt::format("{}/{}.so", fs::absolute(dir).string(), unit).c_str(), RTLD_LAZY);
      if (!library->handle) return error(Code::tool, "cannot load {}: {}", unit, dlerror());
    }
    batch.libraries_[program] = library;
  }
  return batch;
}

bool CBatch::has(const std::string& name) const { return libraries_.contains(name); }

Result<Ok> CBatch::set(const std::string& symbol, int value) const {
  for (const auto& [name, library] : libraries_) {
    auto* at = static_cast<int*>(dlsym(library->handle, symbol.c_str()));
    if (!at) return error(Code::tool, "there is no '{}' in the unit of '{}'", symbol, name);
    *at = value;
  }
  return Ok{};
}

Result<Ok> CBatch::run(const std::string& name, const std::vector<Tensor>& inputs,
                       std::vector<Tensor>& outputs, const std::vector<int64_t>& dims) const {
  auto it = libraries_.find(name);
  if (it == libraries_.end()) return error(Code::tool, "there is no compiled program '{}'", name);
  auto sizes = static_cast<const int64_t*>(dlsym(it->second->handle, (name + "_memory").c_str()));
  auto entry = reinterpret_cast<Entry>(dlsym(it->second->handle, (name + "_entry").c_str()));
  if (!sizes || !entry) return error(Code::tool, "program '{}' has no entry", name);

  std::shared_ptr<const MappedFile> weights;
  if (sizes[2]) {
    QC_ASSIGN(weights, MappedFile::open(fmt::format("{0}/{1}/{1}_weights.bin", dir_, name)));
  }
  auto allocate = [](int64_t bytes) {
    auto size = (static_cast<size_t>(bytes) / kAlign + 1) * kAlign;
    void* memory = std::aligned_alloc(kAlign, size);
    std::fill_n(static_cast<unsigned char*>(memory), size, 0xa5);  // contents must not matter
    return std::unique_ptr<void, void (*)(void*)>(memory, std::free);
  };
  auto arena = allocate(sizes[0]), state = allocate(sizes[1]);
  std::vector<const void*> in;
  std::vector<void*> out;
  static const char kEmpty[1] = {};
  for (const Tensor& t : inputs)
    in.push_back(t.size() ? t.bytes().data() : static_cast<const void*>(kEmpty));
  static char empty_out[1];
  for (Tensor& t : outputs)
    out.push_back(t.size() ? t.mutable_bytes().data() : static_cast<void*>(empty_out));
  int status =
      entry(in.data(), out.data(), arena.get(), state.get(),
            weights ? static_cast<const void*>(weights->bytes().data()) : nullptr, dims.data());
  if (status != 0) return error(Code::tool, "program '{}' returned {}", name, status);
  return Ok{};
}

}  // namespace qc
