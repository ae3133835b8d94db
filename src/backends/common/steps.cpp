#include "backends/common/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/formula.h"
#include "backends/common/names.h"
#include "backends/common/text.h"
#include "program/params.h"

namespace qc {
void StepPrinter::form(std::span<const Program> programs, std::span<const int64_t> sizes) {
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

void StepPrinter::steps(const Steps& list, int depth) {
  const std::string pad(static_cast<size_t>(depth) * 2, ' ');
  for (const Step& step : list) {
    const size_t at = at_++;
    if (!step.loc.names.empty()) {
      body += pad + "/* " + c_comment(layers(step)) + " */\n";
    }
    if (std::holds_alternative<ParallelStep>(step.op)) {
      body += parallel(at, pad);
    } else if (step.call()) {
      body += pad + call(at) + ";\n";
    } else if (step.copy()) {
      body += pad + copy(at) + ";\n";
    } else if (const BranchStep* branch = step.branch()) {
      const auto condition = [](const Step& s) -> const View& { return s.branch()->condition; };
      body += pad + "if (*(const unsigned char *)" + pointer(at, condition, false) + ") {\n";
      steps(branch->body, depth + 1);
      body += pad + "} else {\n";
      steps(branch->otherwise, depth + 1);
      body += pad + "}\n";
    } else if (step.loop()) {
      loop(at, depth, pad);
    }
  }
}

std::string StepPrinter::layers(const Step& step) {
  return clipped(fmt::format("{}", fmt::join(step.loc.names, " + ")), 90);
}

std::string StepPrinter::copy(size_t at) {
  const Step& step = *steps_.back()[at];
  const Program& program = programs_.back();
  const CopyStep& own = *step.copy();
  const std::string from = pointer(
      at, [](const Step& s) -> const View& { return s.copy()->from; }, false);
  const std::string to = pointer(
      at, [](const Step& s) -> const View& { return s.copy()->to; }, true);
  const Space space = program.buffer(program.owner(own.to.buffer)).space;
  return copy(step, from, to, extent(own.from).value(), space == Space::device);
}

void StepPrinter::loop(size_t at, int depth, const std::string& pad) {
  const LoopStep& own = *steps_.back()[at]->loop();
  const auto condition = [](const Step& s) -> const View& { return s.loop()->condition; };
  const auto limit = [](const Step& s) -> const View& { return s.loop()->limit; };
  const auto counter = [](const Step& s) -> const View& { return s.loop()->counter; };
  const std::string i = fmt::format("trip{}", depth);
  std::string test;
  if (own.limit.present())
    test = fmt::format("{} < *(const int64_t *){}", i, pointer(at, limit, false));
  if (own.condition.present()) {
    test += fmt::format("{}*(const unsigned char *){}", test.empty() ? "" : " && ",
                        pointer(at, condition, false));
  }
  body += pad + fmt::format("for (int64_t {0} = 0; {1}; ++{0}) {{\n", i, test);
  if (own.counter.present()) {
    body += pad + fmt::format("  *(int64_t *){} = {};\n", pointer(at, counter, true), i);
  }
  steps(own.body, depth + 1);
  body += pad + "}\n";
}

std::string StepPrinter::pointer(size_t at, const Select& select, bool writable) {
  const Program& program = programs_.back();
  const View& view = select(*steps_.back()[at]);
  if (!view.present()) return "NULL";
  const Buffer& b = program.buffer(program.owner(view.buffer));
  const bool callers = b.kind == BufferKind::input || b.kind == BufferKind::output;
  bool empty = !callers;
  std::vector<int64_t> offsets;
  for (size_t p = 0; p < programs_.size(); ++p) {
    const Place root = programs_[p].resolve(select(*steps_[p][at]));
    const Buffer& own = programs_[p].buffer(root.buffer);
    int64_t offset = root.offset;
    if (own.kind == BufferKind::arena || own.kind == BufferKind::state)
      offset += own.offset.value();
    if (own.kind == BufferKind::constant) offset += weights_.offsets.at(own.constant);
    offsets.push_back(offset);
    empty = empty && own.size() == 0;
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

std::string StepPrinter::function_name(const Step& step) {
  constexpr size_t kLongest = 60;
  std::string text;
  for (const std::string& layer : step.loc.names) {
    if (!text.empty()) text += '_';
    for (char c : layer) {
      const bool letter =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (letter) {
        text += c;
      } else if (!text.empty() && text.back() != '_') {
        text += '_';
      }
    }
  }
  text.resize(std::min(text.size(), kLongest));
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.empty()) text = step.call()->kernel->name;
  // The layer's name may be that of another function, macro or type; nothing else ends in _layer.
  std::string base = options_.name + "_" + text;
  if (is_reserved(options_.name, base)) base += "_layer";
  std::string unique = base;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}_{}", base, i);
  return unique;
}

StepPrinter::Instance StepPrinter::instance(size_t at, bool in_parts) {
  const Step& step = *steps_.back()[at];
  const Call& own = *step.call();
  std::string key = (in_parts ? "parts of " : "") + own.body->symbol;
  for (const View& v : own.in) key += v.present() ? '1' : '0';
  key += '|';
  for (const View& v : own.out) key += v.present() ? '1' : '0';
  bool varies = false;
  for (const auto& list : steps_) varies = varies || list[at]->call()->params != own.params;
  const bool local = varies || options_.specialise == Specialise::speed;
  const std::string values = initialiser(at);
  if (local) key += (varies ? "n" : "") + values;
  auto [it, fresh] = functions_.try_emplace(key);
  if (fresh) it->second = function_name(step);
  Instance out{it->second, own, values, local, varies};
  if (fresh) instances += in_parts ? part_definition(out) : definition(out);
  return out;
}

std::string StepPrinter::part_definition(const Instance&) {
  QC_CHECK(false, "this language splits no steps");
  return {};
}

std::string StepPrinter::parallel(const Instance&, const std::string&, const std::string&,
                                  const std::string&, const std::string&,
                                  const std::string&) const {
  QC_CHECK(false, "this language splits no steps");
  return {};
}

std::string StepPrinter::call(size_t at) {
  const Step& step = *steps_.back()[at];
  const Call& own = *step.call();
  const Instance made = instance(at, false);
  const std::string params = made.local ? "" : parameters(own, made.values);
  std::string args;
  const auto pass = [&](const Select& select, bool writable) {
    if (!select(step).present()) return;
    args += (args.empty() ? "" : ", ") + pointer(at, select, writable);
  };
  for (size_t i = 0; i < own.in.size(); ++i)
    pass([i](const Step& s) -> const View& { return s.call()->in[i]; }, false);
  for (size_t i = 0; i < own.out.size(); ++i)
    pass([i](const Step& s) -> const View& { return s.call()->out[i]; }, true);
  return invocation(step, made, params, args);
}

std::string StepPrinter::parallel(size_t at, const std::string& pad) {
  const Call& own = *steps_.back()[at]->call();
  const Instance made = instance(at, true);
  std::vector<int64_t> units;
  for (const auto& list : steps_)
    units.push_back(std::get<ParallelStep>(list[at]->op).units.value());
  std::string count = formulas_.integer(sizes_, units);
  if (made.varies) count = "(int32_t)(" + count + ")";
  const auto pointers = [&](const std::vector<View>& views, auto select, bool writable) {
    std::string list;
    for (size_t i = 0; i < views.size(); ++i) {
      const auto one = [&](const Step& s) -> const View& { return select(s)[i]; };
      list += (i ? ", " : "") + pointer(at, one, writable);
    }
    return list;
  };
  const std::string in = pointers(
      own.in, [](const Step& s) -> const auto& { return s.call()->in; }, false);
  const std::string out = pointers(
      own.out, [](const Step& s) -> const auto& { return s.call()->out; }, true);
  return parallel(made, made.local ? "" : parameters(own, made.values), in, out, count, pad);
}

std::string StepPrinter::number(size_t at, const Field& field, size_t i) {
  const Param& first = steps_[0][at]->call()->params[i];
  bool equal = true;
  for (const auto& list : steps_) equal = equal && list[at]->call()->params[i] == first;
  if (std::holds_alternative<float>(first)) {
    if (equal) return c_float(std::get<float>(first));
    std::vector<float> floats;
    for (const auto& list : steps_) floats.push_back(std::get<float>(list[at]->call()->params[i]));
    return formulas_.real(sizes_, floats);
  }
  if (equal) return c_integer(std::get<Dim>(first).value());
  std::vector<int64_t> integers;
  for (const auto& list : steps_)
    integers.push_back(std::get<Dim>(list[at]->call()->params[i]).value());
  return fmt::format("({})({})", field.type == Field::Type::i64 ? "int64_t" : "int32_t",
                     formulas_.integer(sizes_, integers));
}

std::string StepPrinter::initialiser(size_t at) {
  const Call& own = *steps_.back()[at]->call();
  const auto is_zero = [&](size_t i) {
    return std::all_of(steps_.begin(), steps_.end(),
                       [&](const auto& list) { return is_default(list[at]->call()->params[i]); });
  };
  std::string out;
  for (const Field& f : own.kernel->fields) {
    size_t count = static_cast<size_t>(f.count);
    while (count > 0 && is_zero(f.at + count - 1)) --count;
    if (count == 0) continue;
    out += (out.empty() ? "." : ", .") + f.name + " = ";
    if (!f.array) {
      out += number(at, f, f.at);
      continue;
    }
    std::string values;
    for (size_t i = 0; i < count; ++i) values += (i ? ", " : "") + number(at, f, f.at + i);
    out += "{" + values + "}";
  }
  return out.empty() ? "0" : out;
}

std::string StepPrinter::parameters(const Call& call, const std::string& values) {
  auto [it, fresh] = structs_.try_emplace(call.kernel->params + '|' + values);
  if (fresh) {
    it->second = fmt::format("{}_p{}", options_.name, structs_.size() - 1);
    instances +=
        fmt::format("static const {} {} = {{{}}};\n\n", call.kernel->params, it->second, values);
  }
  return it->second;
}

}  // namespace qc
