#include "program/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace qc {
namespace {

/// All bytes of a buffer.
View whole(const Program& program, int buffer) {
  View view;
  view.buffer = buffer;
  view.dims = {program.buffer(buffer).bytes};
  return view;
}

/// The port gets a buffer of its own on the host; the one that steps name becomes one of the
/// device's arena. The copy goes from one to the other.
Step copy_step(Program& program, Port& port, bool to_device) {
  const int device = port.buffer, host = static_cast<int>(program.buffers.size());
  Buffer own = program.buffer(device);
  own.space = Space::host;
  program.buffers.push_back(std::move(own));
  port.buffer = host;
  Buffer& arena = program.buffer(device);
  arena.kind = BufferKind::arena;
  arena.slot = -1;
  const View from = whole(program, to_device ? host : device);
  const View to = whole(program, to_device ? device : host);
  return {Loc{{}, {port.name}, {}}, CopyStep{from, to}};
}

/// Gives the calls of the host buffers there, with copies before and after them.
class HostSteps {
 public:
  explicit HostSteps(Program& program) : program_(program) {}

  void run(Steps& steps) {
    Steps out;
    for (Step& step : steps) {
      const auto* call = std::get_if<Call>(&step.op);
      if (!call || !call->body || !call->body->machine.empty()) {
        out.push_back(std::move(step));
        continue;
      }
      add(step, out);
    }
    steps = std::move(out);
  }

 private:
  void add(Step& step, Steps& out) {
    Call& call = std::get<Call>(step.op);
    call.in_place.clear();
    Steps after;
    for (View& v : call.in) {
      if (v.present()) bring(v, step.loc, out);
    }
    for (View& v : call.out) {
      if (!v.present()) continue;
      const View device = bytes_of(v);
      // What lies between the elements it writes stays as it is.
      if (v.strides.empty()) {
        to_host(v);
      } else {
        bring(v, step.loc, out);
      }
      after.push_back({step.loc, CopyStep{bytes_of(v), device}});
    }
    out.push_back(std::move(step));
    std::move(after.begin(), after.end(), std::back_inserter(out));
  }

  /// The bytes from the first element of a view to the end of the last.
  static View bytes_of(const View& v) {
    View out;
    out.buffer = v.buffer;
    out.offset = v.offset;
    out.dims = {extent(v)};
    return out;
  }

  /// Makes a view one of the host's memory that has the same bytes.
  void bring(View& v, const Loc& loc, Steps& out) {
    const BufferOffset position = program_.resolve(v);
    if (program_.buffer(position.buffer).kind == BufferKind::constant) {
      const auto [at, fresh] =
          constants_.try_emplace(position.buffer, static_cast<int>(program_.buffers.size()));
      if (fresh) {
        Buffer own = program_.buffer(position.buffer);
        own.space = Space::host;
        program_.buffers.push_back(std::move(own));
      }
      v.buffer = at->second;
      v.offset = position.offset;
      return;
    }
    const View device = bytes_of(v);
    to_host(v);
    out.push_back({loc, CopyStep{device, bytes_of(v)}});
  }

  void to_host(View& v) {
    Buffer own;
    own.name = program_.buffer(v.buffer).name;
    own.bytes = extent(v);
    v.buffer = static_cast<int>(program_.buffers.size());
    v.offset = 0;
    program_.buffers.push_back(std::move(own));
  }

  Program& program_;
  std::map<int, int> constants_;  // by the device's, those of the host
};

}  // namespace

bool is_host_step(const Program& program, const Step& step) {
  const auto* call = std::get_if<Call>(&step.op);
  if (!call) return false;
  const auto written = std::ranges::find_if(call->out, [](const View& v) { return v.present(); });
  return written != call->out.end() &&
         program.buffer(program.owner(written->buffer)).space == Space::host;
}

std::vector<std::string> host_steps(const Program& program) {
  std::vector<std::string> out;
  const bool device = std::ranges::any_of(program.buffers,
                                          [](const Buffer& b) { return b.space == Space::device; });
  if (!device) return out;
  for (const Step& step : program.steps) {
    if (!is_host_step(program, step)) continue;
    int64_t there = 0, back = 0;
    for_each_view(step, [&](const View& v, bool written) {
      if (program.buffer(program.owner(v.buffer)).kind == BufferKind::constant) return;
      (written ? back : there) += program.largest(extent(v));
    });
    out.push_back(fmt::format("{} for layer '{}' ({} bytes to the host, {} back)",
                              step.call()->kernel->name, fmt::join(step.loc.names, " + "), there,
                              back));
  }
  return out;
}

void move_to_device(Program& program) {
  for (Buffer& b : program.buffers) b.space = Space::device;
  HostSteps(program).run(program.steps);
  Steps steps;
  for (Port& port : program.inputs) steps.push_back(copy_step(program, port, true));
  std::move(program.steps.begin(), program.steps.end(), std::back_inserter(steps));
  for (Port& port : program.outputs) steps.push_back(copy_step(program, port, false));
  program.steps = std::move(steps);
}

}  // namespace qc
