#include "tests/random/planted.h"

#include <cmath>
#include <set>

#include "program/liveness.h"

namespace qc {
namespace {

/// The number of a call's parameters by name ("dims" means dims[0], "dims+1" dims[1]).
Param* find_param(Call& call, std::string_view wanted) {
  size_t plus = 0;
  if (const size_t at = wanted.find('+'); at != std::string_view::npos) {
    plus = static_cast<size_t>(std::atoi(std::string(wanted.substr(at + 1)).c_str()));
    wanted = wanted.substr(0, at);
  }
  const Field* field = call.kernel->field(wanted);
  return field ? &call.params[field->at + plus] : nullptr;
}

/// The first call of a kernel for which `change` says that it changed something.
bool in_some_call(Program& p, std::string_view kernel, const std::function<bool(Call&)>& change) {
  for (Step& s : p.steps) {
    if (s.call() && s.call()->kernel->name == kernel && change(*s.call())) return true;
  }
  return false;
}

PlantedBug field(std::string name, std::string kernel, std::string member,
                 std::function<bool(int32_t&)> change) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, kernel, [&](Call& c) {
              Param* param = find_param(c, member);
              if (!param) return false;
              auto value = static_cast<int32_t>(std::get<Dim>(*param).value());
              if (!change(value)) return false;
              *param = Dim(value);
              return true;
            });
          }};
}

PlantedBug number(std::string name, std::string kernel, std::string member,
                  std::function<float(float)> change) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, kernel, [&](Call& c) {
              Param* param = find_param(c, member);
              if (!param) return false;
              const float value = std::get<float>(*param), other = change(value);
              *param = other;
              return other != value;
            });
          }};
}

/// Another function of the same kernel.
PlantedBug other_function(std::string name, std::string kernel, std::string from, std::string to) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, kernel, [&](Call& c) {
              if (c.select[0] != from) return false;
              c.select[0] = to;
              c.body = find_body(*c.kernel, c.select);
              return c.body != nullptr;
            });
          }};
}

bool fewer(int32_t& n) {
  if (n < 2) return false;
  --n;
  return true;
}

bool fewer_or_none(int32_t& n) {
  if (n < 1) return false;
  --n;
  return true;
}

int64_t bytes_at(const Program& p, const View& v) {
  return v.present() ? p.buffer(v.buffer).size() - v.offset.value() : -1;
}

bool swap_operands(Program& p, std::string_view kernel, std::string_view function) {
  return in_some_call(p, kernel, [&](Call& c) {
    if (c.select[0] != function || c.in[0] == c.in[1] ||
        bytes_at(p, c.in[0]) != bytes_at(p, c.in[1]))
      return false;
    std::swap(c.in[0], c.in[1]);
    return true;
  });
}

bool drop_operand(Program& p, std::string_view kernel, std::string_view operand) {
  return in_some_call(p, kernel, [&](Call& c) {
    View& view = c.in[static_cast<size_t>(c.kernel->operand(operand))];
    const bool present = view.present();
    view = View{};
    return present;
  });
}

/// The clamp of an integer product lets everything through, as if the product had limited it.
bool lose_integer_limit(Program& p) {
  std::set<int> products;
  for (const Step& s : p.steps) {
    const Call* c = s.call();
    if (c && c->kernel->name == "matmul" && !is_float(c->in[0].dtype))
      products.insert(p.resolve(c->out[0]).buffer);
  }
  return in_some_call(p, "clamp", [&](Call& c) {
    if (!products.contains(p.resolve(c.in[0]).buffer)) return false;
    *find_param(c, "lo") = -INFINITY;
    *find_param(c, "hi") = INFINITY;
    return true;
  });
}

/// Two buffers alive together get the same place.
bool overlap(Program& p) {
  const Liveness live = liveness(p);
  for (size_t a = 0; a < p.buffers.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      Buffer &x = p.buffers[a], &y = p.buffers[b];
      const LiveRange &r = live.ranges[a], &q = live.ranges[b];
      if (x.kind != BufferKind::arena || y.kind != BufferKind::arena || x.alias_of >= 0 ||
          y.alias_of >= 0)
        continue;
      if (r.empty() || q.empty() || r.last <= q.first || q.last <= r.first || x.offset == y.offset)
        continue;
      if (y.offset.value() + x.size() > p.arena_bytes) continue;
      x.offset = y.offset;
      return true;
    }
  }
  return false;
}

bool wrong_alias(Program& p) {
  for (Buffer& b : p.buffers) {
    if (b.alias_of >= 0 && b.alias_offset.value() > 0) {
      b.alias_offset = 0;
      return true;
    }
  }
  return false;
}

bool skip_step(Program& p) {
  for (size_t i = 0; i < p.steps.size(); ++i) {
    if (!p.steps[i].call()) continue;
    p.steps.erase(p.steps.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

bool swap_dependent_steps(Program& p) {
  for (size_t i = 0; i + 1 < p.steps.size(); ++i) {
    Step &a = p.steps[i], &b = p.steps[i + 1];
    if (!a.call() || !b.call()) continue;
    for (const View& v : b.call()->in) {
      if (!v.present() || p.resolve(v).buffer != p.resolve(a.call()->out[0]).buffer) continue;
      std::swap(a, b);
      return true;
    }
  }
  return false;
}

/// A call reads another operand of the same size.
bool wrong_operand(Program& p) {
  for (Step& s : p.steps) {
    if (!s.call()) continue;
    for (View& v : s.call()->in) {
      if (!v.present()) continue;
      for (const Port& port : p.inputs) {
        if (port.buffer == v.buffer || p.buffer(port.buffer).size() < bytes_at(p, v)) continue;
        v.buffer = port.buffer;
        v.offset = 0;
        return true;
      }
    }
  }
  return false;
}

bool zero_constant(Program& p) {
  for (Buffer& b : p.buffers) {
    if (b.kind != BufferKind::constant || b.size() < 8) continue;
    Tensor zeros(p.pool->dtype(b.constant), p.pool->shape(b.constant));
    b.constant = p.pool->add(std::move(zeros), "zeros");
    return true;
  }
  return false;
}

}  // namespace

std::vector<PlantedBug> planted_bugs() {
  return {
      {"a step is skipped", skip_step},
      {"two dependent steps are swapped", swap_dependent_steps},
      {"two live buffers overlap", overlap},
      {"a view starts at the wrong byte", wrong_alias},
      {"a call reads the wrong operand", wrong_operand},
      {"a constant is zeroed", zero_constant},
      {"operands of a subtraction are swapped",
       [](Program& p) { return swap_operands(p, "binary", "sub"); }},
      {"operands of a division are swapped",
       [](Program& p) { return swap_operands(p, "binary", "div"); }},
      {"the bias of a convolution is dropped",
       [](Program& p) { return drop_operand(p, "conv_nhwc", "bias"); }},
      {"the bias of a linear layer is dropped",
       [](Program& p) { return drop_operand(p, "gemm_panels", "bias"); }},
      other_function("max for min", "binary", "min", "max"),
      other_function("ceil for floor", "unary", "floor", "ceil"),
      other_function("less-or-equal for less", "compare", "lt", "le"),
      number("a lower limit is lost", "clamp", "lo", [](float) { return -3e38f; }),
      number("an upper limit is wrong", "clamp", "hi", [](float v) { return v - 0.5f; }),
      {"the clamp of an integer product is lost", lose_integer_limit},
      field("the last element is left out", "clamp", "n", fewer),
      field("the innermost axis of a copy is too short", "strided", "dims+7", fewer),
      field("the second axis of a copy is too short", "strided", "dims+6", fewer),
      field("padding of a convolution is one too small", "conv_nhwc", "pad+2", fewer_or_none),
      field("a pool window is one too small", "pool", "k+2", fewer),
      number("epsilon is wrong", "norm", "eps", [](float v) { return v * 2 + 1e-3f; }),
      field("a reduction misses its last element", "reduce", "inner_dims", fewer),
      field("a softmax misses its last element", "softmax", "n", fewer),
      field("padding goes to the other end", "pad", "before+7", fewer_or_none),
  };
}

}  // namespace qc
