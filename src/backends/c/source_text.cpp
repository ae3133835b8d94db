// Prints the Program's steps: one function per distinct kernel instance, one call per step. Numbers
// that depend on the size of a free dimension are expressions in `n`.
#include <fmt/format.h>

#include <cstring>

#include "backends/c/formula.h"
#include "backends/c/source.h"
#include "backends/c/text.h"
#include "kernels/kernels.h"

namespace qc {
namespace {

std::string integer_text(int32_t i) {
  return i == INT32_MIN ? std::string("(-2147483647 - 1)") : std::to_string(i);
}

float float_of(uint32_t word) {
  float f;
  std::memcpy(&f, &word, sizeof f);
  return f;
}

/// The initialiser of a parameter struct by the kernel's field list; `word(i, is_float)` is the
/// text of its i-th word.
template <class Word>
std::string initialiser(const qk_entry& kernel, Word&& word) {
  std::string out;
  size_t at = 0;
  std::string_view fields = kernel.fields;
  while (!fields.empty()) {
    const size_t comma = fields.find(',');
    const std::string_view field = fields.substr(0, comma);
    fields = comma == std::string_view::npos ? std::string_view{} : fields.substr(comma + 1);
    const bool is_float = field[0] == 'f';
    std::string_view name = field.substr(2);
    out += out.empty() ? "." : ", .";
    if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
      const int count = std::atoi(std::string(name.substr(bracket + 1)).c_str());
      out += std::string(name.substr(0, bracket)) + " = {";
      for (int i = 0; i < count; ++i) out += (i ? ", " : "") + word(at++, is_float);
      out += "}";
    } else {
      out += std::string(name) + " = " + word(at++, is_float);
    }
  }
  return out;
}

std::string initialiser(const qk_entry& kernel, const std::vector<uint32_t>& words) {
  return initialiser(kernel, [&](size_t i, bool is_float) {
    return is_float ? c_float(float_of(words[i])) : integer_text(static_cast<int32_t>(words[i]));
  });
}

}  // namespace

void Source::form(std::span<const Program> programs, std::span<const int64_t> sizes) {
  programs_ = programs;
  sizes_ = sizes;
  steps_.assign(programs.size(), {});
  for (size_t p = 0; p < programs.size(); ++p) {
    for_each_step(programs[p].steps, [&](const Step& s) { steps_[p].push_back(&s); });
  }
  at_ = 0;
  body.clear();
  steps(programs.back().steps, 1);
}

void Source::steps(const Steps& list, int depth) {
  const std::string pad(static_cast<size_t>(depth) * 2, ' ');
  for (const Step& step : list) {
    const size_t at = at_++;
    if (!step.loc.names.empty()) {
      const std::string names = fmt::format("{}", fmt::join(step.loc.names, " + "));
      body += pad + "/* " + c_comment(clipped(names, 90)) + " */\n";
    }
    switch (step.kind) {
      case Step::Kind::call:
        body += pad + call(at) + ";\n";
        break;
      case Step::Kind::branch:
        body += pad + "if (*(const unsigned char *)" + pointer(at, condition, false) + ") {\n";
        steps(step.body, depth + 1);
        body += pad + "} else {\n";
        steps(step.otherwise, depth + 1);
        body += pad + "}\n";
        break;
      case Step::Kind::loop:
        loop(at, depth, pad);
        break;
    }
  }
}

void Source::loop(size_t at, int depth, const std::string& pad) {
  const Step& step = *steps_.back()[at];
  const std::string i = fmt::format("trip{}", depth);
  std::string test;
  if (step.limit.buffer >= 0)
    test = fmt::format("{} < *(const int64_t *){}", i, pointer(at, limit, false));
  if (step.condition.buffer >= 0) {
    test += fmt::format("{}*(const unsigned char *){}", test.empty() ? "" : " && ",
                        pointer(at, condition, false));
  }
  body += pad + fmt::format("for (int64_t {0} = 0; {1}; ++{0}) {{\n", i, test);
  if (step.counter.buffer >= 0) {
    body += pad + fmt::format("  *(int64_t *){} = {};\n", pointer(at, counter, true), i);
  }
  steps(step.body, depth + 1);
  body += pad + "}\n";
}

std::string Source::pointer(size_t at, const Select& select, bool writable) {
  const Program& program = programs_.back();
  const View view = select(*steps_.back()[at]);
  if (view.buffer < 0) return "NULL";
  const Buffer& b = program.buffers[static_cast<size_t>(program.resolve(view).buffer)];
  const bool callers = b.kind == BufferKind::input || b.kind == BufferKind::output;
  bool empty = !callers;
  std::vector<int64_t> offsets;
  for (size_t p = 0; p < programs_.size(); ++p) {
    const View root = programs_[p].resolve(select(*steps_[p][at]));
    const Buffer& own = programs_[p].buffers[static_cast<size_t>(root.buffer)];
    int64_t offset = root.offset;
    if (own.kind == BufferKind::arena || own.kind == BufferKind::state) offset += own.offset;
    if (own.kind == BufferKind::constant) offset += weights_.offsets.at(own.constant);
    offsets.push_back(offset);
    empty = empty && own.bytes == 0;
  }
  // Nothing is read or written there, but null is for absent operands.
  if (empty) return fmt::format("({}void *)\"\"", writable ? "" : "const ");
  const std::string offset = formulas_.integer(sizes_, offsets);
  const bool at_start = offset == "0";
  std::string base;
  switch (b.kind) {
    case BufferKind::arena:
      base = "arena";
      break;
    case BufferKind::state:
      base = "state";
      break;
    case BufferKind::constant:
      base = "weights";
      break;
    case BufferKind::input:
      base = at_start ? fmt::format("inputs[{}]", b.slot)
                      : fmt::format("(const unsigned char *)inputs[{}]", b.slot);
      break;
    case BufferKind::output:
      base = at_start ? fmt::format("outputs[{}]", b.slot)
                      : fmt::format("(unsigned char *)outputs[{}]", b.slot);
      break;
  }
  std::string text = at_start ? base : fmt::format("({} + {})", base, parenthesised(offset));
  if (callers && at_start) return text;
  return fmt::format("({}void *){}", writable ? "" : "const ", text);
}

std::string Source::call(size_t at) {
  const Step& step = *steps_.back()[at];
  const qk_entry& kernel = *find_kernel(step.kernel);
  std::string absent;
  for (View v : step.in) absent += v.buffer < 0 ? '0' : '1';
  absent += '|';
  for (View v : step.out) absent += v.buffer < 0 ? '0' : '1';
  bool varies = false;
  for (const auto& list : steps_) varies = varies || list[at]->params != step.params;
  const bool local = varies || options_.specialise == Specialise::speed;
  std::string key = step.kernel.str() + absent;
  std::string values;
  if (varies) {
    values = initialiser(kernel, [&](size_t i, bool is_float) { return word(at, i, is_float); });
    key += "n" + values;
  } else if (local) {
    key += std::string(reinterpret_cast<const char*>(step.params.data()), step.params.size() * 4);
  }
  auto [it, fresh] =
      functions_.try_emplace(key, fmt::format("{}_{}", options_.name, functions_.size()));
  if (fresh) {
    if (local && !varies) values = initialiser(kernel, step.params);
    define(it->second, kernel, step, values, varies);
  }
  std::string args = varies ? "n" : local ? "" : "&" + parameters(kernel, step);
  for (size_t i = 0; i < step.in.size(); ++i) {
    if (step.in[i].buffer < 0) continue;
    args += (args.empty() ? "" : ", ") + pointer(
                                             at, [i](const Step& s) { return s.in[i]; }, false);
  }
  for (size_t i = 0; i < step.out.size(); ++i) {
    if (step.out[i].buffer < 0) continue;
    args += (args.empty() ? "" : ", ") + pointer(
                                             at, [i](const Step& s) { return s.out[i]; }, true);
  }
  return it->second + "(" + args + ")";
}

std::string Source::word(size_t at, size_t i, bool is_float) {
  std::vector<int64_t> integers;
  std::vector<float> floats;
  bool equal = true;
  for (const auto& list : steps_) {
    const uint32_t w = list[at]->params[i];
    equal = equal && w == steps_[0][at]->params[i];
    integers.push_back(static_cast<int32_t>(w));
    floats.push_back(float_of(w));
  }
  if (is_float) return equal ? c_float(floats[0]) : formulas_.real(sizes_, floats);
  if (equal) return integer_text(static_cast<int32_t>(integers[0]));
  return fmt::format("(int32_t)({})", formulas_.integer(sizes_, integers));
}

void Source::define(const std::string& function, const qk_entry& kernel, const Step& step,
                    const std::string& values, bool varies) {
  const bool local = !values.empty();
  std::string declared = varies  ? "int64_t n"
                         : local ? std::string()
                                 : fmt::format("const {} *p", kernel.params);
  std::string passed = local ? "&p" : "p";
  auto add = [&](const char* type, const char* name, const std::vector<View>& views) {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].buffer >= 0)
        declared += fmt::format("{}{} *{}{}", declared.empty() ? "" : ", ", type, name, i);
      passed += views[i].buffer >= 0 ? fmt::format(", {}{}", name, i) : std::string(", NULL");
    }
  };
  add("const void", "in", step.in);
  add("void", "out", step.out);
  instances += fmt::format("static QC_NOINLINE void {}({}) {{\n", function, declared);
  if (local) instances += fmt::format("  const {} p = {{{}}};\n", kernel.params, values);
  instances += fmt::format("  {}({});\n}}\n\n", step.kernel.str(), passed);
}

std::string Source::parameters(const qk_entry& kernel, const Step& step) {
  std::string key =
      std::string(kernel.params) + '|' +
      std::string(reinterpret_cast<const char*>(step.params.data()), step.params.size() * 4);
  auto [it, fresh] =
      structs_.try_emplace(key, fmt::format("{}_p{}", options_.name, structs_.size()));
  if (fresh) {
    instances += fmt::format("static const {} {} = {{{}}};\n\n", kernel.params, it->second,
                             initialiser(kernel, step.params));
  }
  return it->second;
}

}  // namespace qc
