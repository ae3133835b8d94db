#include "program/run.h"

#include <cstdint>
#include <cstring>

#include "program/index_record.h"
#include "program/params.h"
#include "program/size_conditions.h"
#include "program/split.h"
#include "support/budget.h"
#include "support/counted.h"

namespace qc {
namespace {

class Runner {
 public:
  Runner(const ProgramOptions& options, DotStep dot, bool fast, RunMemory& memory)
      : options_(options), dot_(dot), fast_(fast), memory_(memory) {}

  void run(const Steps& steps) {
    for (const Step& step : steps) {
      if (const Call* c = step.call()) {
        call(step, *c);
      } else if (const BranchStep* branch = step.branch()) {
        const bool taken = branch->condition.present() ? read<uint8_t>(branch->condition) != 0
                                                       : by_sizes(*branch).value() != 0;
        run(taken ? branch->body : branch->otherwise);
      } else if (const LoopStep* own = step.loop()) {
        loop(*own);
      } else if (const CopyStep* copy = step.copy()) {
        std::memcpy(memory_.at(copy->to), memory_.at(copy->from),
                    static_cast<size_t>(extent(copy->from).value()));
      }
    }
  }

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
    if (dot_ == DotStep::mul_add) {
      body = mul_add_body(*body);
    } else if (fast_) {
      body = fast_body(*body);
    }
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const View& v : c.in) in.push_back(v.present() ? memory_.at(v) : nullptr);
    for (const View& v : c.out) out.push_back(v.present() ? memory_.at(v) : nullptr);
    const std::vector<std::byte> params = write_params(*c.kernel, c.params);
    const auto* parallel = std::get_if<ParallelStep>(&step.op);
    const auto units = [&] {
      return static_cast<int32_t>(parallel->units == 0 ? units_of(c) : parallel->units.value());
    };
    if (parallel && options_.parallel_for) {
      options_.parallel_for(units(), [&](int32_t first, int32_t last) {
        run_units(*body, params, in, out, first, last);
      });
    } else if (parallel) {  // each unit for itself, as a device's threads compute them
      for (int32_t unit = 0; unit < units(); ++unit)
        run_units(*body, params, in, out, unit, unit + 1);
    } else {
      body->run(params.data(), in.data(), out.data());
    }
    if (options_.observe) {
      options_.observe(step, [this](const View& v) -> const std::byte* { return memory_.at(v); });
    }
  }

  /// A part of a call, all of it where it cannot be split; several threads may be in it.
  static void run_units(const Body& body, const std::vector<std::byte>& params,
                        const std::vector<const void*>& in, const std::vector<void*>& out,
                        int32_t first, int32_t last) {
    if (!body.subrange) {
      body.run(params.data(), in.data(), out.data());
      return;
    }
    int32_t units[4] = {first, last, 0, 0};
    while (units[0] < last) {
      std::vector<std::byte> own = params;
      std::vector<const void*> own_in = in;
      std::vector<void*> own_out = out;
      const int32_t next = body.subrange(own.data(), own_in.data(), own_out.data(), units);
      body.run(own.data(), own_in.data(), own_out.data());
      units[0] = next;
    }
  }

  const ProgramOptions& options_;
  DotStep dot_;
  bool fast_;
  RunMemory& memory_;
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
  out.pool_ = std::make_shared<MemoryPool>();
  out.constants_.resize(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.kind != BufferKind::constant || b.alias_of >= 0) continue;
    QC_ASSIGN(out.constants_[i], program.pool->get(b.constant));
  }
  return out;
}

Result<Ok> ProgramRunner::bind_inputs(const std::vector<Tensor>& inputs, RunMemory& memory) const {
  const Program& program = *program_;
  if (inputs.size() != program.inputs.size()) {
    return error(Code::input, "the program takes {}, got {}",
                 counted(program.inputs.size(), "input"), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = program.inputs[i];
    if (inputs[i].dtype() != port.type.dtype || to_dims(inputs[i].shape()) != port.type.shape) {
      return error(Code::input, "input '{}' is {}, got {}{}", port.name, str(port.type),
                   name(inputs[i].dtype()), str(to_dims(inputs[i].shape())));
    }
    const std::span<const std::byte> bytes = inputs[i].bytes();
    const auto address = reinterpret_cast<uintptr_t>(bytes.data());
    const bool serves = !bytes.empty() && address % qc::bytes(port.type.dtype) == 0;
    if (is_callers(port.buffer) && serves) {
      memory.set(port.buffer, const_cast<std::byte*>(bytes.data()));  // never written: see verify
      continue;
    }
    if (is_callers(port.buffer)) memory.set(port.buffer, memory.spare(port.buffer));
    if (!bytes.empty()) std::memcpy(memory.at(port.buffer), bytes.data(), bytes.size());
  }
  return Ok{};
}

Result<std::vector<Tensor>> ProgramRunner::bind_outputs(const ProgramOptions& options,
                                                        RunMemory& memory) const {
  std::vector<Tensor> out;
  for (const Port& port : program_->outputs) {
    const std::vector<int64_t> shape = static_dims(port.type.shape);
    if (options.allocate) {
      QC_ASSIGN(const int64_t bytes, checked_bytes(port.type.dtype, shape));
      auto* const data = static_cast<std::byte*>(options.allocate(static_cast<size_t>(bytes)));
      if (!data && bytes > 0) return error(Code::limit, "not enough memory for the results");
      out.push_back(Tensor::borrow(port.type.dtype, shape, {data, static_cast<size_t>(bytes)}, {}));
    } else {
      out.emplace_back(port.type.dtype, shape);
    }
    const std::span<const std::byte> bytes = out.back().bytes();
    if (is_callers(port.buffer)) {
      memory.set(port.buffer,
                 bytes.empty() ? memory.spare(port.buffer) : const_cast<std::byte*>(bytes.data()));
    }
  }
  return out;
}

/// A buffer of its own that the caller's memory can stand for.
bool ProgramRunner::is_callers(int buffer) const {
  const Buffer& b = program_->buffers[static_cast<size_t>(buffer)];
  return b.alias_of < 0 && (b.kind == BufferKind::input || b.kind == BufferKind::output);
}

Result<ProgramResult> ProgramRunner::run(const std::vector<Tensor>& inputs,
                                         const ProgramOptions& options) const {
  const Program& program = *program_;
  MemoryPool::Lease lease = pool_->take(program);
  RunMemory& memory = *lease;
  for (size_t i = 0; i < constants_.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.kind == BufferKind::constant && b.alias_of < 0)
      memory.set(static_cast<int>(i), const_cast<std::byte*>(constants_[i].bytes().data()));
  }
  ProgramResult result;
  QC_ASSIGN(result.outputs, bind_outputs(options, memory));
  QC_TRY(bind_inputs(inputs, memory));
  for (size_t i = 0; i < program.states.size(); ++i) {
    const Port& port = program.states[i];
    Tensor initial;
    if (i < options.states.size()) {
      initial = options.states[i];
    } else {
      QC_ASSIGN(initial,
                program.pool->get(program.buffers[static_cast<size_t>(port.buffer)].constant));
    }
    std::memcpy(memory.at(port.buffer), initial.bytes().data(), initial.bytes().size());
  }
  Runner(options, program.dot, fast_, memory).run(program.steps);
  if (program.index_record >= 0) {
    int64_t found[2];
    std::memcpy(found, memory.at(program.index_record), sizeof found);
    if (found[0] != 0) return index_error(program, found[0], found[1]);
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const std::span<const std::byte> to = result.outputs[i].bytes();
    const std::byte* const from = memory.at(program.outputs[i].buffer);
    if (!to.empty() && from != to.data())
      std::memcpy(const_cast<std::byte*>(to.data()), from, to.size());
  }
  for (const Port& port : program.states) {
    Tensor t(port.type.dtype, static_dims(port.type.shape));
    std::memcpy(t.mutable_bytes().data(), memory.at(port.buffer), t.bytes().size());
    result.states.push_back(std::move(t));
  }
  return result;
}

Result<ProgramResult> run_program(const Program& program, const std::vector<Tensor>& inputs,
                                  const ProgramOptions& options) {
  QC_ASSIGN(const ProgramRunner runner, ProgramRunner::create(program));
  return runner.run(inputs, options);
}

}  // namespace qc
