#include "backends/common/steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/names.h"
#include "backends/common/text.h"
#include "program/params.h"
#include "program/size_conditions.h"
#include "program/split.h"

namespace qc {
void StepPrinter::steps(const Steps& list, int depth) {
  const std::string pad(static_cast<size_t>(depth) * 2, ' ');
  for (const Step& step : list) {
    if (const std::string text = step.copy() ? copy(step) : ""; step.copy()) {
      if (!text.empty()) body += pad + text + ";\n";
      continue;
    }
    if (!step.loc.names.empty()) {
      body += pad + "/* " + c_comment(layers(step)) + " */\n";
    }
    if (std::holds_alternative<ParallelStep>(step.op)) {
      body += parallel(step, pad);
    } else if (step.call()) {
      body += pad + call(step) + ";\n";
    } else if (const BranchStep* branch = step.branch()) {
      body += pad + "if (" + condition(*branch) + ") {\n";
      steps(branch->body, depth + 1);
      body += pad + "} else {\n";
      steps(branch->otherwise, depth + 1);
      body += pad + "}\n";
    } else if (const LoopStep* own = step.loop()) {
      loop(*own, depth, pad);
    }
  }
}

std::string StepPrinter::layers(const Step& step) {
  return clipped(fmt::format("{}", fmt::join(step.loc.names, " + ")), 90);
}

std::string StepPrinter::copy(const Step& step) {
  const CopyStep& own = *step.copy();
  const Space space = program_.buffer(program_.owner(own.to.buffer)).space;
  return copy(step, pointer(own.from, false), pointer(own.to, true), sizes(extent(own.from)),
              space == Space::device);
}

std::string StepPrinter::condition(const BranchStep& branch) {
  if (!branch.condition.present()) return sizes(by_sizes(branch)) + " != 0";
  return "*(const unsigned char *)" + pointer(branch.condition, false);
}

void StepPrinter::loop(const LoopStep& own, int depth, const std::string& pad) {
  const std::string i = fmt::format("trip{}", depth);
  std::string test;
  if (own.limit.present())
    test = fmt::format("{} < *(const int64_t *){}", i, pointer(own.limit, false));
  if (own.condition.present()) {
    test += fmt::format("{}*(const unsigned char *){}", test.empty() ? "" : " && ",
                        pointer(own.condition, false));
  }
  body += pad + fmt::format("for (int64_t {0} = 0; {1}; ++{0}) {{\n", i, test);
  if (own.counter.present()) {
    body += pad + fmt::format("  *(int64_t *){} = {};\n", pointer(own.counter, true), i);
  }
  steps(own.body, depth + 1);
  body += pad + "}\n";
}

std::string StepPrinter::pointer(const View& view, bool writable) {
  if (!view.present()) return "NULL";
  const BufferOffset root = program_.resolve(view);
  const Buffer& b = program_.buffer(root.buffer);
  const bool callers = b.kind == BufferKind::input || b.kind == BufferKind::output;
  // Nothing is read or written there, but null is for absent operands.
  if (!callers && b.bytes == 0) return fmt::format("({}void *)\"\"", writable ? "" : "const ");
  if (const auto named = weights_.names.find(b.constant);
      b.kind == BufferKind::constant && named != weights_.names.end() && root.offset == 0)
    return fmt::format("{}_weights->{}", options_.name, named->second);
  Dim position = root.offset;
  if (b.kind == BufferKind::arena || b.kind == BufferKind::state) position = position + b.offset;
  if (b.kind == BufferKind::constant) position = position + Dim(constant_offset(b));
  const std::string offset = sizes(position);
  const bool at_start = offset == "0";
  std::string base = memory(b);
  if (!at_start && b.kind == BufferKind::input) base = "(const unsigned char *)" + base;
  if (!at_start && b.kind == BufferKind::output) base = "(unsigned char *)" + base;
  std::string text = at_start ? base : fmt::format("({} + {})", base, offset);
  if (callers && at_start) return text;
  return fmt::format("({}void *){}", writable ? "" : "const ", text);
}

std::string StepPrinter::memory(const Buffer& b) const {
  switch (b.kind) {
    case BufferKind::arena:
      return "arena";
    case BufferKind::state:
      return "state";
    case BufferKind::constant:
      return "weights";
    case BufferKind::input:
      return fmt::format("inputs[{}]", b.slot);
    case BufferKind::output:
      return fmt::format("outputs[{}]", b.slot);
  }
  return {};
}

int64_t StepPrinter::constant_offset(const Buffer& b) const {
  return weights_.offsets.at(b.constant);
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

std::string StepPrinter::key_of(const Call& call, bool is_split) {
  std::string key = (is_split ? "parts of " : "") + call.body->symbol;
  for (const View& v : call.in) key += v.present() ? '1' : '0';
  key += '|';
  for (const View& v : call.out) key += v.present() ? '1' : '0';
  return key;
}

void StepPrinter::compare_calls() {
  if (options_.specialise == Specialise::speed) return;
  std::map<std::string, const Call*> first;
  std::map<std::string, std::set<std::string>> distinct;
  for_each_step(program_.steps, [&](const Step& step) {
    if (!step.call() || !may_share(*step.call())) return;
    const Call& own = *step.call();
    const std::string key = key_of(own, std::holds_alternative<ParallelStep>(step.op));
    const Call& other = *first.try_emplace(key, &own).first->second;
    distinct[key].insert(initialiser(own, std::vector<bool>(own.params.size())));
    std::vector<bool>& differs = differs_[key];
    differs.resize(own.params.size());
    for (const Field& f : own.kernel->fields) {
      // As they are written: zeros of both signs differ.
      for (size_t i = f.at; i < f.at + static_cast<size_t>(f.count); ++i)
        differs[i] = differs[i] || number(f, own.params[i]) != number(f, other.params[i]);
    }
  });
  // Where calls differ in many numbers, two functions with constants take less than one that reads
  // them, and so do all that are as short as those without products.
  constexpr int64_t kMany = 6;
  std::erase_if(differs_, [&](const auto& entry) {
    const auto& [key, differs] = entry;
    return std::count(differs.begin(), differs.end(), true) >= kMany &&
           (first.at(key)->macs == 0 || distinct.at(key).size() == 2);
  });
}

std::vector<bool> StepPrinter::given_numbers(const Call& call, bool is_split) const {
  const auto found = differs_.find(key_of(call, is_split));
  std::vector<bool> out =
      found != differs_.end() ? found->second : std::vector<bool>(call.params.size());
  for (size_t i = 0; i < out.size() && !reads_sizes(); ++i) {
    const Dim* size = std::get_if<Dim>(&call.params[i]);
    out[i] = out[i] || (size && !size->is_static());
  }
  return out;
}

StepPrinter::Instance StepPrinter::instance(const Step& step, bool is_split) {
  const Call& own = *step.call();
  const std::vector<bool> differs = given_numbers(own, is_split);
  bool varies = false;
  for (size_t i = 0; i < own.params.size(); ++i) {
    const Dim* size = std::get_if<Dim>(&own.params[i]);
    varies = varies || (size && !size->is_static() && !differs[i]);
  }
  const bool local = std::find(differs.begin(), differs.end(), true) == differs.end();
  const std::string values = initialiser(own, differs);
  auto [it, fresh] = functions_.try_emplace(key_of(own, is_split) + (varies ? "n" : "") + values);
  if (fresh) it->second = function_name(step);
  Instance out{it->second, own, values, local, varies, rare_.contains(&own), {}};
  if (!local) {
    std::string& type = given_types_[out.function];
    if (fresh) {
      type = out.function + "_values";
      while (!names_.insert(type).second) type += "_";
      instances += given_type(own, type, differs);
    }
    out.given = type;
  }
  if (fresh) instances += is_split ? subrange_definition(out) : definition(out);
  return out;
}

std::string StepPrinter::subrange_definition(const Instance&) {
  QC_CHECK(false, "this language splits no steps");
  return {};
}

std::string StepPrinter::parallel(const Step&, const Instance&, const std::string&,
                                  const std::string&, const std::string&, const std::string&,
                                  const std::string&) const {
  QC_CHECK(false, "this language splits no steps");
  return {};
}

std::string StepPrinter::counted_units(const Call& call) {
  return fmt::format("{}_units(&(const {}){{{}}})", call.body->split, call.kernel->params,
                     initialiser(call, std::vector<bool>(call.params.size())));
}

std::string StepPrinter::call(const Step& step) {
  const Call& own = *step.call();
  const Instance made = instance(step, false);
  std::string args;
  const auto pass = [&](const View& view, bool writable) {
    if (view.present()) args += (args.empty() ? "" : ", ") + pointer(view, writable);
  };
  for (const View& v : own.in) pass(v, false);
  for (const View& v : own.out) pass(v, true);
  return invocation(step, made, handed(made, false), args);
}

std::string StepPrinter::parallel(const Step& step, const std::string& pad) {
  const Call& own = *step.call();
  const Instance made = instance(step, true);
  const Dim& units = std::get<ParallelStep>(step.op).units;
  const auto pointers = [&](const std::vector<View>& views, bool writable) {
    std::string list;
    for (const View& v : views) list += (list.empty() ? "" : ", ") + pointer(v, writable);
    return list;
  };
  // Of free sizes the kernel counts.
  const std::string count = units == 0 ? counted_units(own) : sizes(units);
  return parallel(step, made, handed(made, true), pointers(own.in, false), pointers(own.out, true),
                  count, pad);
}

std::string StepPrinter::number(const Field& field, const Param& param) {
  if (const float* real = std::get_if<float>(&param)) return c_float(*real);
  const Dim& size = std::get<Dim>(param);
  if (size.is_static()) return c_integer(size.value());
  return (field.type == Field::Type::i64 ? "" : "(int32_t)") + sizes(size);
}

namespace {
/// The name of a number in the struct of those that calls differ in.
std::string given_name(const Field& field, size_t i) {
  std::string name = field.name;
  std::ranges::replace(name, '.', '_');
  return field.array ? fmt::format("{}_{}", name, i - field.at) : name;
}
}  // namespace

std::string StepPrinter::given_type(const Call& call, const std::string& name,
                                    const std::vector<bool>& differs) {
  std::string members;
  for (const Field& f : call.kernel->fields) {
    const char* type = f.type == Field::Type::f32   ? "float"
                       : f.type == Field::Type::i64 ? "int64_t"
                                                    : "int32_t";
    for (size_t i = f.at; i < f.at + static_cast<size_t>(f.count); ++i) {
      if (differs[i]) members += fmt::format(" {} {};", type, given_name(f, i));
    }
  }
  return fmt::format("typedef struct {{{} }} {};\n", members, name);
}

std::string StepPrinter::handed(const Instance& made, bool is_split) {
  if (made.local) return "";
  const Call& own = made.call;
  const std::vector<bool> differs = given_numbers(own, is_split);
  std::string values;
  bool free = false;
  for (const Field& f : own.kernel->fields) {
    for (size_t i = f.at; i < f.at + static_cast<size_t>(f.count); ++i) {
      if (!differs[i]) continue;
      values += (values.empty() ? "" : ", ") + number(f, own.params[i]);
      const Dim* size = std::get_if<Dim>(&own.params[i]);
      free = free || (size && !size->is_static());
    }
  }
  return free ? literal(made.given, values) : parameters(made.given, values);
}

std::string StepPrinter::literal(const std::string& type, const std::string& values) const {
  return fmt::format("(const {}){{{}}}", type, values);
}

std::string StepPrinter::initialiser(const Call& call, const std::vector<bool>& differs) {
  const auto is_zero = [&](size_t i) { return !differs[i] && is_default(call.params[i]); };
  const auto value = [&](const Field& f, size_t i) {
    return differs[i] ? "given->" + given_name(f, i) : number(f, call.params[i]);
  };
  MemberText out(".");
  for (const Field& f : call.kernel->fields) {
    size_t count = static_cast<size_t>(f.count);
    while (count > 0 && is_zero(f.at + count - 1)) --count;
    if (count == 0) continue;
    std::string values;
    for (size_t i = 0; i < count; ++i) values += (i ? ", " : "") + value(f, f.at + i);
    out.add(f.name, f.array ? "{" + values + "}" : values);
  }
  const std::string text = out.str();
  return text.empty() ? "0" : text;
}

std::string StepPrinter::parameters(const std::string& type, const std::string& values) {
  auto [it, fresh] = structs_.try_emplace(type + '|' + values);
  if (fresh) {
    it->second = fmt::format("{}_p{}", options_.name, structs_.size() - 1);
    instances += fmt::format("static const {} {} = {{{}}};\n\n", type, it->second, values);
  }
  return it->second;
}

}  // namespace qc
