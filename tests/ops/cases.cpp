#include "tests/ops/cases.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "arrays/npy.h"
#include "interp/interpreter.h"
#include "ir/text.h"
#include "program/lowering.h"
#include "program/plan.h"
#include "program/run.h"
#include "program/select_kernels.h"
#include "tests/support/device.h"

namespace qc::testing {
namespace {

Result<Tensor> read_input(TextReader& r, DType dtype, const std::vector<int64_t>& shape) {
  QC_TRY(checked_bytes(dtype, shape));
  if (r.take_word("random")) {
    QC_ASSIGN(int64_t seed, r.integer());
    return random_tensor(dtype, shape, static_cast<uint64_t>(seed));
  }
  if (r.take_word("iota")) {
    Tensor t(dtype, shape);
    for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i);
    return t;
  }
  return r.elements(dtype, shape);
}

/// Elements, or the name of an .npy file in the folder of `file`.
Result<Tensor> read_output(TextReader& r, const Type& type, const std::string& file) {
  const Ints shape = static_dims(type.shape);
  if (!r.next_is('"')) return r.elements(type.dtype, shape);
  QC_ASSIGN(const std::string name, r.string());
  QC_ASSIGN(const Tensor stored,
            read_npy((std::filesystem::path(file).parent_path() / name).string()));
  if (stored.shape() != shape || is_float(stored.dtype()) != is_float(type.dtype)) {
    return r.fail(name + " does not fit " + str(type));
  }
  Tensor t(type.dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) {
    if (is_float(type.dtype)) {
      t.set_double(i, stored.as_double(i));
    } else {
      t.set_int(i, stored.as_int(i));
    }
  }
  return t;
}

Result<Ok> read_expectation(TextReader& r, Case& c, const std::string& file) {
  if (r.take_word("error")) {
    QC_TRY(r.expect('['));
    QC_ASSIGN(std::string_view code, r.word());
    c.error_code = code;
    QC_TRY(r.expect(']'));
    QC_ASSIGN(c.error_text, r.string());
    return Ok{};
  }
  while (r.take_word("out")) {
    if (c.outputs.size() == c.graph->outputs().size())
      return r.fail("more 'out' lines than outputs");
    const Type& type = c.graph->outputs()[c.outputs.size()].value->type();
    if (!all_static(type.shape)) return r.fail("output shape " + str(type.shape) + " is not bound");
    Expected e;
    QC_ASSIGN(e.tensor, read_output(r, type, file));
    if (r.take_word("within")) {
      QC_ASSIGN(e.within, r.number());
    }
    c.outputs.push_back(std::move(e));
  }
  if (c.outputs.empty() && r.take_word("unanswered")) {
    QC_ASSIGN(c.unanswered, r.string());
  }
  return Ok{};
}

Result<Case> read_case(TextReader& r, const std::string& file) {
  Case c;
  QC_TRY(r.expect_word("case"));
  c.line = r.line();
  QC_ASSIGN(c.name, r.string());
  // A graph that must not build leaves the reader inside it: skip to the expectation.
  Result<std::unique_ptr<Graph>> graph = parse_graph(r, {.file = file, .side = nullptr});
  if (!graph.ok()) {
    c.failure = graph.diag();
    if (!r.skip_to("error"))
      return c.failure->code == Code::format ? *c.failure : r.locate(*c.failure);
    QC_TRY(read_expectation(r, c, file));
    return c;
  }
  c.graph = std::move(*graph);
  Bindings bindings;
  while (r.take_word("bind")) {
    QC_ASSIGN(std::string_view symbol, r.word());
    QC_TRY(r.expect('='));
    QC_ASSIGN(bindings[std::string(symbol)], r.integer());
  }
  if (!bindings.empty()) {
    Result<Ok> bound = c.graph->bind(bindings);
    if (!bound.ok()) c.failure = bound.diag();
  }
  while (r.take_word("in")) {
    if (c.inputs.size() == c.graph->inputs().size()) return r.fail("more 'in' lines than inputs");
    const Type& type = c.graph->inputs()[c.inputs.size()]->type();
    if (!all_static(type.shape)) return r.fail("input shape " + str(type.shape) + " is not bound");
    QC_ASSIGN(Tensor t, read_input(r, type.dtype, static_dims(type.shape)));
    c.inputs.push_back(std::move(t));
  }
  QC_TRY(read_expectation(r, c, file));
  return c;
}

}  // namespace

Result<std::vector<Case>> read_cases(std::string_view text, const std::string& file) {
  std::vector<Case> cases;
  TextReader reader(text, file);
  while (!reader.at_end()) {
    QC_ASSIGN(Case c, read_case(reader, file));
    cases.push_back(std::move(c));
  }
  return cases;
}

Tensor random_tensor(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  Tensor t(dtype, std::move(shape));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < t.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (dtype == DType::boolean)
      t.set_int(i, unit < 0.5);
    else if (is_float(dtype))
      t.set_double(i, unit * 4 - 2);
    else if (is_signed(dtype))
      t.set_int(i, static_cast<int64_t>(unit * 41) - 20);
    else
      t.set_int(i, static_cast<int64_t>(unit * 21));
  }
  return t;
}

std::string difference(const Tensor& got, const Expected& expected) {
  if (got.dtype() != expected.tensor.dtype() || got.shape() != expected.tensor.shape()) {
    return fmt::format("is {}{}", name(got.dtype()), str(to_dims(got.shape())));
  }
  for (int64_t i = 0; i < got.size(); ++i) {
    bool same = false;
    if (is_float(got.dtype())) {
      const double a = got.as_double(i), b = expected.tensor.as_double(i);
      same = a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
      if (expected.within > 0) {
        same = same || std::abs(a - b) <= expected.within * std::max(1.0, std::abs(b));
      }
    } else {
      same = got.as_int(i) == expected.tensor.as_int(i);
    }
    if (same) continue;
    std::string shown = got.size() <= 64 ? elements_text(got) : std::string();
    return fmt::format(
        "element {} is {}, expected {}\n    got {}", i,
        is_float(got.dtype()) ? float_text(got.as_double(i)) : std::to_string(got.as_int(i)),
        is_float(got.dtype()) ? float_text(expected.tensor.as_double(i))
                              : std::to_string(expected.tensor.as_int(i)),
        shown);
  }
  return {};
}

namespace {

Result<std::vector<Tensor>> interpreted(const Case& c, bool plain) {
  RunOptions options;
  options.how.plain = plain;
  QC_ASSIGN(RunResult result, interpret(*c.graph, c.inputs, options));
  return std::move(result.outputs);
}

/// A program as lowered, with its memory planned, or planned and with this machine's kernels.
struct Way {
  const char* name;
  bool planned, fast;
};
constexpr Way kWays[] = {
    {"program", false, false}, {"planned program", true, false}, {"fast kernels", true, true}};

Result<std::vector<Tensor>> lowered(const Case& c, const Way& way) {
  QC_ASSIGN(Program program, lower(*c.graph));
  QC_TRY(select_kernels(program));
  if (way.planned) plan(program);
  QC_ASSIGN(const ProgramRunner runner, ProgramRunner::create(program, way.fast));
  QC_ASSIGN(ProgramResult result, runner.run(c.inputs));
  return std::move(result.outputs);
}

/// With the kernels for CUDA; nothing where one is missing.
Result<std::optional<std::vector<Tensor>>> on_device(const Case& c, const char* target,
                                                     bool lowered) {
  QC_ASSIGN(const auto program, device_program(*c.graph, target, lowered));
  if (!program) return std::optional<std::vector<Tensor>>();
  QC_ASSIGN(ProgramResult result, run_program(*program, c.inputs));
  return std::optional(std::move(result.outputs));
}

std::string check_error(const Case& c, const Diag& diag) {
  const std::string code = info(diag.code).name;
  if (code != c.error_code || diag.text.find(c.error_text) == std::string::npos) {
    return fmt::format("expected error[{}] \"{}\", got {}", c.error_code, c.error_text,
                       render(diag));
  }
  return {};
}

}  // namespace

/// Empty where all ways of running it give the bits of plain evaluation.
static std::string check_ways(const Case& c, const std::vector<Tensor>& reference) {
  const auto agrees = [&](const char* way, const Result<std::vector<Tensor>>& result) {
    if (!result.ok()) return fmt::format("{}: {}", way, render(result.diag()));
    for (size_t i = 0; i < reference.size(); ++i) {
      if ((*result)[i].identical(reference[i])) continue;
      return fmt::format(
          "{}: output {} has other bits than plain evaluation\n    this  {}\n    plain {}", way, i,
          elements_text((*result)[i]), elements_text(reference[i]));
    }
    return std::string();
  };
  std::string wrong = agrees("fast evaluation", interpreted(c, false));
  for (const Way& way : kWays) {
    if (wrong.empty()) wrong = agrees(way.name, lowered(c, way));
  }
  if (!wrong.empty()) return wrong;
  for (const char* target : kDevices) {
    for (const bool lowered : {false, true}) {
      const std::string name = fmt::format("{}{}", target, lowered ? " after all passes" : "");
      auto device = on_device(c, target, lowered);
      if (!device.ok()) return fmt::format("for {}: {}", name, render(device.diag()));
      if (*device && wrong.empty()) wrong = agrees(name.c_str(), std::move(**device));
    }
  }
  return wrong;
}

std::string check(const Case& c) {
  if (c.failure) return c.error_code.empty() ? render(*c.failure) : check_error(c, *c.failure);
  if (Result<Ok> sound = verify(*c.graph); !sound.ok()) return render(sound.diag());
  if (c.inputs.size() != c.graph->inputs().size()) return "an input has no 'in' line";
  Result<std::vector<Tensor>> reference = interpreted(c, true);
  if (!reference.ok()) {
    return c.error_code.empty() ? "interpreter: " + render(reference.diag())
                                : check_error(c, reference.diag());
  }
  if (!c.error_code.empty()) return fmt::format("expected error[{}], but it runs", c.error_code);
  if (c.outputs.size() != reference->size() && c.unanswered.empty())
    return "an output has no 'out' line";
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    if (auto text = difference((*reference)[i], c.outputs[i]); !text.empty()) {
      return fmt::format("interpreter: output {}: {}", i, text);
    }
  }
  std::string wrong = check_ways(c, *reference);
  if (!wrong.empty()) return wrong;
  // The same with float dot products summed in the other way.
  c.graph->set_dot(c.graph->dot == DotStep::fma ? DotStep::mul_add : DotStep::fma);
  reference = interpreted(c, true);
  wrong = reference.ok() ? check_ways(c, *reference) : render(reference.diag());
  return wrong.empty() ? wrong : fmt::format("dot {}: {}", name(c.graph->dot), wrong);
}

}  // namespace qc::testing
