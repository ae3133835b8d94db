// Golden tests of passes over Programs: program_golden [--bless] FOLDER. The folder's name is the
// pass. Each NAME.ir is lowered and goes through the passes up to it; the Program must print as
// NAME.expected.txt, read back as the same text, and, once all passes ran, give the interpreter's
// bits in two runs, of outputs and states. A first line `// target NAME` says what for (portable
// where there is none), and words `DIM MOST` after it the largest sizes of free dimensions, whose
// bits are not compared. In a build without variants for that target only the bits are compared.
#include "tests/support/golden.h"

#include <sstream>

#include "interp/interpreter.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/parse.h"
#include "program/passes.h"
#include "program/run.h"
#include "program/split.h"
#include "tests/ops/cases.h"
#include "tests/support/variants.h"

namespace fs = std::filesystem;
using namespace qc;

namespace {

/// The Program after pass `last`; all passes run where it is empty.
Result<Program> after(const Graph& graph, const Target& target, std::string_view last) {
  PackedConstants constants;
  QC_ASSIGN(Program program, lower(graph, constants));
  ProgramPassContext context{target, constants};
  for (const ProgramPass& pass : program_passes()) {
    QC_TRY(pass.run(program, context));
    if (pass.name == last) return program;
  }
  // Whatever its size, and in parts when it runs.
  if (last.empty() || last == "split") split(program, 0);
  return program;
}

Result<Ok> check(const std::string& pass, const fs::path& file, bool bless) {
  const std::string text = qc::testing::read_text_of(file);
  constexpr std::string_view kTarget = "// target ";
  std::string name = "portable", dim;
  std::istringstream first(text.substr(0, text.find('\n')));
  if (text.starts_with(kTarget)) first.ignore(kTarget.size()) >> name;
  QC_ASSIGN(const Target target, find_target(name));
  QC_ASSIGN(auto graph, parse(text, {.file = file.string(), .side = nullptr}));
  for (int64_t most = 0; first >> dim >> most;)
    graph->dim_ranges[dim] = {.min = 1, .max = most, .hint = std::nullopt};
  QC_ASSIGN(const Program program, after(*graph, target, pass));
  QC_TRY(verify(program));
  const std::string printed = str(program);
  fs::path golden = file;
  golden.replace_extension(".expected.txt");
  if (bless) std::ofstream(golden, std::ios::binary) << printed;
  const std::string wanted = qc::testing::read_text_of(golden);
  if (printed != wanted && has_variants_for(target))
    return error(Code::bug, "expected:\n{}got:\n{}", wanted, printed);
  QC_ASSIGN(const Program again, parse_program(printed, program.pool));
  if (str(again) != printed) return error(Code::bug, "reads back as:\n{}", str(again));
  if (!runs_here(target) || !program.dims.empty()) return Ok{};
  std::vector<Tensor> inputs;
  for (const Value* v : graph->inputs()) {
    inputs.push_back(
        qc::testing::random_tensor(v->dtype(), static_dims(v->shape()), inputs.size() + 1));
  }
  QC_ASSIGN(const Program whole, after(*graph, target, ""));
  ProgramOptions options;
  options.parallel_for = [](int32_t units, const Part& part) {
    for (int32_t i = units - 1; i >= 0; --i) part(i, i + 1);
  };
  RunOptions reference;
  for (int run = 0; run < 2; ++run) {  // the second one starts from what the first one leaves
    QC_ASSIGN(const RunResult expected, interpret(*graph, inputs, reference));
    QC_ASSIGN(const ProgramResult got, run_program(whole, inputs, options));
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      if (!got.outputs[i].identical(expected.outputs[i]))
        return error(Code::bug, "output {} has other bits", i);
    }
    for (size_t i = 0; i < expected.states.size(); ++i) {
      if (!got.states[i].identical(expected.states[i]))
        return error(Code::bug, "state {} has other bits", i);
    }
    reference.states = expected.states;
    options.states = got.states;
  }
  return Ok{};
}

}  // namespace

int main(int argc, char** argv) {
  register_all_ops();
  return qc::testing::run_goldens(argc, argv,
                                  [](const std::string& pass, const fs::path& file, bool bless) {
                                    const Result<Ok> result = check(pass, file, bless);
                                    return result.ok() ? std::string() : render(result.diag());
                                  });
}
