#include "tests/random/planted.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include "kernels/kernels.h"
#include "program/liveness.h"

namespace qc {
namespace {

bool has_prefix(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// Index of a member in the parameter words, by name ("dims" means dims[0], "dims+1" dims[1]).
std::optional<size_t> field_index(const Step& step, std::string_view wanted) {
  size_t plus = 0;
  if (const size_t at = wanted.find('+'); at != std::string_view::npos) {
    plus = static_cast<size_t>(std::atoi(std::string(wanted.substr(at + 1)).c_str()));
    wanted = wanted.substr(0, at);
  }
  std::string_view fields = find_kernel(step.kernel)->fields;
  size_t index = 0;
  while (!fields.empty()) {
    const size_t comma = fields.find(',');
    std::string_view name =
        fields.substr(2, comma == std::string_view::npos ? std::string_view::npos : comma - 2);
    fields = comma == std::string_view::npos ? std::string_view{} : fields.substr(comma + 1);
    size_t count = 1;
    if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
      count = static_cast<size_t>(std::atoi(std::string(name.substr(bracket + 1)).c_str()));
      name = name.substr(0, bracket);
    }
    if (name == wanted) return index + plus;
    index += count;
  }
  return std::nullopt;
}

/// The first call for which `change` says that it changed something.
bool in_some_call(Program& p, std::string_view prefix, const std::function<bool(Step&)>& change) {
  for (Step& s : p.steps) {
    if (s.kind == Step::Kind::call && has_prefix(s.kernel, prefix) && change(s)) return true;
  }
  return false;
}

PlantedBug field(std::string name, std::string prefix, std::string member,
                 std::function<bool(int32_t&)> change) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, prefix, [&](Step& s) {
              auto at = field_index(s, member);
              if (!at) return false;
              int32_t value;
              std::memcpy(&value, &s.params[*at], 4);
              if (!change(value)) return false;
              std::memcpy(&s.params[*at], &value, 4);
              return true;
            });
          }};
}

PlantedBug number(std::string name, std::string prefix, std::string member,
                  std::function<float(float)> change) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, prefix, [&](Step& s) {
              auto at = field_index(s, member);
              if (!at) return false;
              float value;
              std::memcpy(&value, &s.params[*at], 4);
              const float other = change(value);
              if (other == value) return false;
              std::memcpy(&s.params[*at], &other, 4);
              return true;
            });
          }};
}

/// Another kernel of the same family and parameters.
PlantedBug other_kernel(std::string name, std::string from, std::string to) {
  return {std::move(name), [=](Program& p) {
            return in_some_call(p, from, [&](Step& s) {
              const std::string other = to + s.kernel.str().substr(from.size());
              if (!find_kernel(other)) return false;
              s.kernel = other;
              return true;
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

int64_t bytes_at(const Program& p, View v) {
  return v.buffer < 0 ? -1 : p.buffers[static_cast<size_t>(v.buffer)].bytes - v.offset;
}

bool swap_operands(Program& p, std::string_view prefix) {
  return in_some_call(p, prefix, [&](Step& s) {
    if (s.in.size() < 2 || s.in[0] == s.in[1] || bytes_at(p, s.in[0]) != bytes_at(p, s.in[1]))
      return false;
    std::swap(s.in[0], s.in[1]);
    return true;
  });
}

bool drop_operand(Program& p, std::string_view prefix, size_t i) {
  return in_some_call(p, prefix, [&](Step& s) {
    if (i >= s.in.size() || s.in[i].buffer < 0) return false;
    s.in[i] = View{};
    return true;
  });
}

/// The clamp of an integer product lets everything through, as if the product had limited it.
bool lose_integer_limit(Program& p) {
  std::set<int> products;
  for (const Step& s : p.steps) {
    if (s.kind == Step::Kind::call &&
        (has_prefix(s.kernel, "qk_matmul_i") || has_prefix(s.kernel, "qk_matmul_u"))) {
      products.insert(p.resolve(s.out[0]).buffer);
    }
  }
  return in_some_call(p, "qk_clamp_", [&](Step& s) {
    if (!products.contains(p.resolve(s.in[0]).buffer)) return false;
    const float limits[] = {-INFINITY, INFINITY};
    std::memcpy(&s.params[*field_index(s, "lo")], limits, sizeof limits);
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
      if (y.offset + x.bytes > p.arena_bytes) continue;
      x.offset = y.offset;
      return true;
    }
  }
  return false;
}

bool wrong_alias(Program& p) {
  for (Buffer& b : p.buffers) {
    if (b.alias_of >= 0 && b.alias_offset > 0) {
      b.alias_offset = 0;
      return true;
    }
  }
  return false;
}

bool skip_step(Program& p) {
  for (size_t i = 0; i < p.steps.size(); ++i) {
    if (p.steps[i].kind != Step::Kind::call) continue;
    p.steps.erase(p.steps.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

bool swap_dependent_steps(Program& p) {
  for (size_t i = 0; i + 1 < p.steps.size(); ++i) {
    Step &a = p.steps[i], &b = p.steps[i + 1];
    if (a.kind != Step::Kind::call || b.kind != Step::Kind::call || a.out.empty()) continue;
    for (View v : b.in) {
      if (v.buffer < 0 || p.resolve(v).buffer != p.resolve(a.out[0]).buffer) continue;
      std::swap(a, b);
      return true;
    }
  }
  return false;
}

/// A call reads another operand of the same size.
bool wrong_operand(Program& p) {
  for (Step& s : p.steps) {
    for (View& v : s.in) {
      if (v.buffer < 0) continue;
      for (const Port& port : p.inputs) {
        if (port.buffer == v.buffer ||
            p.buffers[static_cast<size_t>(port.buffer)].bytes < bytes_at(p, v))
          continue;
        v = View{port.buffer, 0};
        return true;
      }
    }
  }
  return false;
}

bool zero_constant(Program& p) {
  for (Buffer& b : p.buffers) {
    if (b.kind != BufferKind::constant || b.bytes < 8) continue;
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
       [](Program& p) { return swap_operands(p, "qk_binary_sub_"); }},
      {"operands of a division are swapped",
       [](Program& p) { return swap_operands(p, "qk_binary_div_"); }},
      {"the bias of a convolution is dropped",
       [](Program& p) { return drop_operand(p, "qk_conv", 2); }},
      {"the bias of a linear layer is dropped",
       [](Program& p) { return drop_operand(p, "qk_gemm", 2); }},
      other_kernel("max for min", "qk_binary_min_", "qk_binary_max_"),
      other_kernel("ceil for floor", "qk_unary_floor_", "qk_unary_ceil_"),
      other_kernel("less-or-equal for less", "qk_compare_lt_", "qk_compare_le_"),
      number("a lower limit is lost", "qk_clamp", "lo", [](float) { return -3e38f; }),
      number("an upper limit is wrong", "qk_clamp", "hi", [](float v) { return v - 0.5f; }),
      {"the clamp of an integer product is lost", lose_integer_limit},
      field("the last element is left out", "qk_clamp", "n", fewer),
      field("the innermost axis of a copy is too short", "qk_strided", "dims+7", fewer),
      field("the second axis of a copy is too short", "qk_strided", "dims+6", fewer),
      field("padding of a convolution is one too small", "qk_conv_rows", "pad+2", fewer_or_none),
      field("a pool window is one too small", "qk_max_pool", "k+2", fewer),
      number("epsilon is wrong", "qk_norm", "eps", [](float v) { return v * 2 + 1e-3f; }),
      field("a reduction misses its last element", "qk_reduce", "inner_dims", fewer),
      field("a softmax misses its last element", "qk_softmax", "n", fewer),
      field("padding goes to the other end", "qk_pad", "before+7", fewer_or_none),
  };
}

}  // namespace qc
