#include "program/run.h"

#include <cstdint>
#include <cstring>

#include "program/params.h"
#include "program/split.h"
#include "support/budget.h"

namespace qc {
namespace {

/// Memory for every buffer that owns storage, aligned to 64 bytes.
class Memory {
 public:
  Memory(const Program& program, bool planned) : program_(program), base_(program.buffers.size()) {
    if (planned) arena_ = allocate(program.arena_bytes);
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& b = program.buffers[i];
      if (b.alias_of >= 0) continue;
      if (b.kind == BufferKind::arena && planned) {
        base_[i] = b.placed() ? arena_ + b.offset.value() : nullptr;
      } else if (b.kind != BufferKind::constant) {
        base_[i] = allocate(b.size());
      }
    }
  }
  std::byte* at(const View& view) { return at(program_.resolve(view)); }
  std::byte* at(int buffer) { return at(program_.resolve(Place{buffer, 0})); }
  std::byte* at(Place place) {
    std::byte* base = base_[static_cast<size_t>(place.buffer)];
    return base ? base + place.offset.value() : nullptr;
  }
  void set(int buffer, std::byte* base) { base_[static_cast<size_t>(buffer)] = base; }
  bool has(int buffer) const { return base_[static_cast<size_t>(buffer)] != nullptr; }

 private:
  std::byte* allocate(int64_t bytes) {
    blocks_.emplace_back(static_cast<size_t>(bytes) + 64);
    auto address = reinterpret_cast<uintptr_t>(blocks_.back().data());
    return reinterpret_cast<std::byte*>((address + 63) & ~uintptr_t{63});
  }
  const Program& program_;
  std::vector<std::byte*> base_;
  std::vector<std::vector<std::byte>> blocks_;
  std::byte* arena_ = nullptr;
};

class Runner {
 public:
  Runner(const Program& program, const ProgramOptions& options, bool planned, bool fast,
         const std::vector<Tensor>& constants)
      : options_(options), fast_(fast), memory_(program, planned) {
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const Buffer& b = program.buffers[i];
      if (b.kind != BufferKind::constant || b.alias_of >= 0) continue;
      memory_.set(static_cast<int>(i), const_cast<std::byte*>(constants[i].bytes().data()));
    }
  }

  void run(const Steps& steps) {
    for (const Step& step : steps) {
      if (const Call* c = step.call()) {
        call(step, *c);
      } else if (const BranchStep* branch = step.branch()) {
        run(read<uint8_t>(branch->condition) != 0 ? branch->body : branch->otherwise);
      } else if (const LoopStep* own = step.loop()) {
        loop(*own);
      } else if (const CopyStep* copy = step.copy()) {
        std::memcpy(memory_.at(copy->to), memory_.at(copy->from),
                    static_cast<size_t>(extent(copy->from).value()));
      }
    }
  }

  Memory& memory() { return memory_; }

 private:
  template <class T>
  T read(const View& view) {
    T value;
    std::memcpy(&value, memory_.at(view), sizeof(T));
    return value;
  }
  void loop(const LoopStep& own) {
    const int64_t limit = own.limit.present() ? read<int64_t>(own.limit) : INT64_MAX;
    for (int64_t trip = 0; trip < limit; ++trip) {
      if (own.condition.present() && read<uint8_t>(own.condition) == 0) break;
      if (own.counter.present()) std::memcpy(memory_.at(own.counter), &trip, sizeof(trip));
      run(own.body);
    }
  }
  void call(const Step& step, const Call& c) {
    spend(Cost::work, kNodeWork);
    const Body* body = c.body ? c.body : find_body(*c.kernel, c.select);
    if (fast_) body = fast_body(*body);
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const View& v : c.in) in.push_back(v.present() ? memory_.at(v) : nullptr);
    for (const View& v : c.out) out.push_back(v.present() ? memory_.at(v) : nullptr);
    const std::vector<std::byte> params = write_params(*c.kernel, c.params);
    const auto* parallel = std::get_if<ParallelStep>(&step.op);
    if (parallel && options_.parallel_for) {
      options_.parallel_for(
          static_cast<int32_t>(parallel->units == 0 ? units_of(c) : parallel->units.value()),
          [&](int32_t first, int32_t last) { run_units(*body, params, in, out, first, last); });
    } else {
      body->run(params.data(), in.data(), out.data());
    }
    if (options_.observe) {
      options_.observe(step, [this](const View& v) -> const std::byte* { return memory_.at(v); });
    }
  }

  /// A part of a call; several threads may be in it.
  static void run_units(const Body& body, const std::vector<std::byte>& params,
                        const std::vector<const void*>& in, const std::vector<void*>& out,
                        int32_t first, int32_t last) {
    int32_t units[4] = {first, last, 0, 0};
    while (units[0] < last) {
      std::vector<std::byte> own = params;
      std::vector<const void*> own_in = in;
      std::vector<void*> own_out = out;
      const int32_t next = body.part(own.data(), own_in.data(), own_out.data(), units);
      body.run(own.data(), own_in.data(), own_out.data());
      units[0] = next;
    }
  }

  const ProgramOptions& options_;
  bool fast_;
  Memory memory_;
};

}  // namespace

Result<ProgramRunner> ProgramRunner::create(const Program& program, bool fast) {
  Result<Ok> runs = Ok{};
  for_each_step(program.steps, [&](const Step& s) {
    const Call* c = s.call();
    const Body* body = c ? (c->body ? c->body : find_body(*c->kernel, c->select)) : nullptr;
    if (c && runs.ok() && (!body || !body->run)) {
      runs = error(Code::unsupported, s.loc, "'{}' {}", c->kernel->name,
                   body ? "is computed by instructions that this machine does not have"
                        : "is not bound to a kernel that runs");
    }
  });
  QC_TRY(runs);
  ProgramRunner out(program, fast);
  out.constants_.resize(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.kind != BufferKind::constant || b.alias_of >= 0) continue;
    QC_ASSIGN(out.constants_[i], program.pool->get(b.constant));
  }
  return out;
}

Result<ProgramResult> ProgramRunner::run(const std::vector<Tensor>& inputs,
                                         const ProgramOptions& options) const {
  const Program& program = *program_;
  if (inputs.size() != program.inputs.size()) {
    return error(Code::input, "the program takes {} inputs, got {}", program.inputs.size(),
                 inputs.size());
  }
  bool planned = true;
  for (const Buffer& b : program.buffers) {
    if (b.kind == BufferKind::arena && b.alias_of < 0 && !b.placed() && b.size() > 0)
      planned = false;
  }
  Runner runner(program, options, planned, fast_, constants_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    if (inputs[i].dtype() != port.type.dtype || to_dims(inputs[i].shape()) != port.type.shape) {
      return error(Code::input, "input '{}' is {}, got {}{}", port.name, str(port.type),
                   name(inputs[i].dtype()), str(to_dims(inputs[i].shape())));
    }
    std::memcpy(runner.memory().at(port.buffer), inputs[i].bytes().data(),
                inputs[i].bytes().size());
  }
  for (size_t i = 0; i < program.states.size(); ++i) {
    const Port& port = program.states[i];
    Tensor initial;
    if (i < options.states.size()) {
      initial = options.states[i];
    } else {
      QC_ASSIGN(initial,
                program.pool->get(program.buffers[static_cast<size_t>(port.buffer)].constant));
    }
    std::memcpy(runner.memory().at(port.buffer), initial.bytes().data(), initial.bytes().size());
  }
  runner.run(program.steps);
  auto collect = [&](const Port& port) {
    Tensor t(port.type.dtype, static_dims(port.type.shape));
    std::memcpy(t.mutable_bytes().data(), runner.memory().at(port.buffer), t.bytes().size());
    return t;
  };
  ProgramResult result;
  for (const Port& port : program.outputs) result.outputs.push_back(collect(port));
  for (const Port& port : program.states) result.states.push_back(collect(port));
  return result;
}

Result<ProgramResult> run_program(const Program& program, const std::vector<Tensor>& inputs,
                                  const ProgramOptions& options) {
  QC_ASSIGN(const ProgramRunner runner, ProgramRunner::create(program));
  return runner.run(inputs, options);
}

}  // namespace qc
