#include "program/parse.h"

#include <algorithm>

#include "ir/text_reader.h"
#include "program/params.h"
#include "program/program.h"
#include "program/size_conditions.h"

namespace qc {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::string_view kKinds[] = {"arena", "input", "output", "constant", "state"};

class Parser {
 public:
  Parser(std::string_view text, std::shared_ptr<ConstantPool> pool) : r_(text) {
    p_.pool = std::move(pool);
  }

  Result<Program> run() {
    QC_TRY(r_.expect_word("program"));
    QC_ASSIGN(p_.name, r_.string());
    QC_TRY(named("arena", p_.arena_bytes));
    QC_TRY(named("align", p_.arena_align));
    QC_TRY(named("state", p_.state_bytes));
    if (r_.take_word("dot")) {
      QC_TRY(r_.expect_word("mul_add"));
      p_.dot = DotStep::mul_add;
    }
    QC_TRY(ports("input", p_.inputs));
    QC_TRY(ports("output", p_.outputs));
    QC_TRY(ports("state", p_.states));
    if (r_.take_word("record")) {
      QC_ASSIGN(p_.index_record, index());
    }
    while (r_.take_word("dim")) QC_TRY(free_dim());
    while (r_.take_word("guard")) QC_TRY(guard());
    while (r_.take_word("offset_symbol")) {
      ArenaSymbol position;
      QC_ASSIGN(position.symbol, r_.string());
      QC_ASSIGN(position.value, number());
      p_.arena_symbols.push_back(std::move(position));
    }
    while (r_.take_word("scalar")) QC_TRY(scalar());
    while (r_.next_is('%')) QC_TRY(buffer());
    QC_TRY(steps(p_.steps, 0));
    if (!r_.at_end()) return r_.expected("a step");
    QC_TRY(verify(p_));
    return std::move(p_);
  }

 private:
  Result<Ok> named(std::string_view word, int64_t& value) {
    QC_TRY(r_.expect_word(word));
    QC_ASSIGN(value, r_.integer());
    return Ok{};
  }
  Result<int> index() {
    QC_TRY(r_.expect('%'));
    QC_ASSIGN(int64_t i, r_.integer());
    if (i < 0 || i > INT32_MAX) return r_.fail("no such buffer");
    return static_cast<int>(i);
  }

  Result<Ok> ports(std::string_view kind, std::vector<Port>& list) {
    while (r_.take_word(kind)) {
      Port port;
      QC_ASSIGN(port.buffer, index());
      QC_ASSIGN(port.name, r_.string());
      QC_TRY(r_.expect(':'));
      QC_ASSIGN(port.type, r_.type());
      list.push_back(std::move(port));
    }
    return Ok{};
  }

  Result<Ok> free_dim() {
    FreeDim d;
    QC_ASSIGN(d.name, r_.string());
    QC_ASSIGN(d.min, r_.integer());
    QC_TRY(r_.expect_word("to"));
    QC_ASSIGN(d.max, r_.integer());
    QC_TRY(r_.expect_word("step"));
    QC_ASSIGN(d.step, r_.integer());
    if (d.step < 1 || d.min > d.max) return r_.fail("no such range");
    p_.dims.push_back(std::move(d));
    return Ok{};
  }
  Result<Ok> guard() {
    QC_ASSIGN(const std::string text, r_.string());
    QC_ASSIGN(DimGuard guard, DimGuard::parse(text));
    p_.guards.push_back(std::move(guard));
    return Ok{};
  }

  Result<Ok> scalar() {
    Scalar s;
    QC_ASSIGN(s.symbol, r_.string());
    QC_ASSIGN(s.min, r_.integer());
    QC_TRY(r_.expect_word("to"));
    QC_ASSIGN(s.max, r_.integer());
    QC_TRY(r_.expect_word("from"));
    QC_ASSIGN(s.source, view());
    p_.scalars.push_back(std::move(s));
    return Ok{};
  }

  Result<Ok> buffer() {
    QC_ASSIGN(int i, index());
    if (i != static_cast<int>(p_.buffers.size()))
      return r_.fail("buffers must be numbered in order");
    Buffer b;
    if (r_.take('=')) {
      QC_ASSIGN(b.alias_of, index());
      if (b.alias_of == i) return r_.fail("a buffer cannot be a view of itself");
      QC_TRY(r_.expect('+'));
      QC_ASSIGN(b.alias_offset, number());
      QC_TRY(r_.expect(','));
      QC_ASSIGN(b.bytes, number());
    } else {
      if (r_.take_word("device")) b.space = Space::device;
      QC_ASSIGN(std::string_view kind, r_.word());
      size_t k = 0;
      while (k < std::size(kKinds) && kKinds[k] != kind) ++k;
      if (k == std::size(kKinds))
        return r_.fail("unknown kind of buffer '" + std::string(kind) + "'");
      b.kind = static_cast<BufferKind>(k);
      QC_ASSIGN(b.bytes, number());
      if (r_.take('#')) {
        QC_ASSIGN(int64_t id, r_.integer());
        if (id < 0 || static_cast<size_t>(id) >= p_.pool->size())
          return r_.fail("no such constant");
        b.constant = static_cast<ConstId>(id);
      }
      if (r_.take('[')) {
        QC_ASSIGN(int64_t slot, r_.integer());
        b.slot = static_cast<int>(slot);
        QC_TRY(r_.expect(']'));
      }
      if (r_.take('@')) {
        QC_ASSIGN(b.offset, number());
      }
    }
    QC_ASSIGN(b.name, r_.string());
    p_.buffers.push_back(std::move(b));
    return Ok{};
  }

  /// A number, or an expression in brackets.
  Result<Dim> number() {
    if (!r_.next_is('[')) {
      QC_ASSIGN(int64_t value, r_.integer());
      return Dim(value);
    }
    QC_ASSIGN(Dims one, r_.dims());
    if (one.size() != 1) return r_.fail("expected one expression in brackets");
    return one[0];
  }

  Result<View> view() {
    if (r_.take_word("_")) return View{};
    View v;
    QC_ASSIGN(v.buffer, index());
    if (r_.take('+')) {
      QC_ASSIGN(v.offset, number());
    }
    QC_TRY(r_.expect(':'));
    QC_ASSIGN(v.dtype, r_.dtype());
    QC_ASSIGN(v.dims, r_.dims());
    if (r_.take('<')) {
      while (!r_.take('>')) {
        if (!v.strides.empty()) QC_TRY(r_.expect(','));
        QC_ASSIGN(Dim stride, number());
        v.strides.push_back(stride);
      }
      if (v.strides.size() != v.dims.size()) return r_.fail("a stride for each dim is needed");
    }
    return v;
  }

  /// `(x=%1:f32[8], bias=%2:f32[1])`: those of the signature that are not optional, and some that
  /// are.
  Result<std::vector<View>> views(const std::vector<OperandSpec>& names) {
    std::vector<View> out(names.size());
    QC_TRY(r_.expect('('));
    for (bool first = true; !r_.take(')'); first = false) {
      if (!first) QC_TRY(r_.expect(','));
      QC_ASSIGN(std::string_view name, r_.word());
      size_t i = 0;
      while (i < names.size() && names[i].name != name) ++i;
      if (i == names.size()) return r_.fail("no operand '" + std::string(name) + "'");
      QC_TRY(r_.expect('='));
      QC_ASSIGN(out[i], view());
    }
    return out;
  }

  Result<Param> param(const Field& f) {
    if (f.type == Field::Type::f32) {
      QC_ASSIGN(double value, r_.number());
      return Param(static_cast<float>(value));
    }
    QC_ASSIGN(Dim value, number());
    const bool narrow = f.type == Field::Type::i32 && value.is_static();
    if (narrow && (value.value() < INT32_MIN || value.value() > INT32_MAX))
      return r_.fail("a parameter does not fit 32 bits");
    return Param(value);
  }

  /// `{n = 1, stride = (1, 1)}`: what is left out is 0.
  Result<std::vector<Param>> params(const Signature& kernel) {
    std::vector<Param> out = zeros(kernel);
    QC_TRY(members(kernel, "", out));
    return out;
  }

  /// The members in braces, of the struct whose members have names that begin with `path`.
  Result<Ok> members(const Signature& kernel, const std::string& path, std::vector<Param>& out) {
    QC_TRY(r_.expect('{'));
    for (bool first = true; !r_.take('}'); first = false) {
      if (!first) QC_TRY(r_.expect(','));
      QC_ASSIGN(std::string_view word, r_.word());
      const std::string name = path + std::string(word);
      QC_TRY(r_.expect('='));
      if (std::ranges::any_of(kernel.groups, [&](const Group& g) { return g.name == name; })) {
        QC_TRY(members(kernel, name + '.', out));
        continue;
      }
      const Field* f = kernel.field(name);
      if (!f) return r_.fail("no parameter '" + name + "'");
      if (f->array) QC_TRY(r_.expect('('));
      for (int i = 0; i < f->count; ++i) {
        if (i > 0) QC_TRY(r_.expect(','));
        QC_ASSIGN(out[f->at + static_cast<size_t>(i)], param(*f));
      }
      if (f->array) QC_TRY(r_.expect(')'));
    }
    return Ok{};
  }

  /// `rescale(multipliers=%4:f32[8]) {y_zero = 3}`, after its bar.
  Result<Stage> stage() {
    QC_ASSIGN(std::string_view name, r_.word());
    Stage out;
    out.kind = find_stage(name);
    if (!out.kind) return r_.fail("there is no stage '" + std::string(name) + "'");
    QC_ASSIGN(out.in, views(out.kind->in));
    QC_ASSIGN(out.params, params(*out.kind));
    out.in_place = r_.take_word("in_place");
    return out;
  }

  Result<Ok> call(std::string_view name, Call& call) {
    call.kernel = find_kernel(name);
    if (!call.kernel) return r_.fail("there is no kernel '" + std::string(name) + "'");
    if (r_.take('[')) {
      do {
        QC_ASSIGN(std::string value, r_.label());
        call.select.push_back(std::move(value));
      } while (r_.take(','));
      QC_TRY(r_.expect(']'));
    }
    QC_ASSIGN(call.in, views(call.kernel->in));
    QC_ASSIGN(call.params, params(*call.kernel));
    while (r_.take('|')) {
      QC_ASSIGN(Stage next, stage());
      call.epilogue.push_back(std::move(next));
    }
    QC_TRY(r_.expect('-'));
    QC_TRY(r_.expect('>'));
    QC_ASSIGN(call.out, views(call.kernel->out));
    if (r_.take(':')) {
      QC_ASSIGN(std::string_view symbol, r_.word());
      call.body = find_body(symbol);
      if (!call.body) return r_.fail("there is no kernel body '" + std::string(symbol) + "'");
    }
    while (r_.take_word("in_place")) {
      QC_TRY(r_.expect('('));
      QC_ASSIGN(int64_t i, r_.integer());
      QC_TRY(r_.expect(','));
      QC_ASSIGN(int64_t o, r_.integer());
      QC_TRY(r_.expect(')'));
      call.in_place.emplace_back(static_cast<int>(i), static_cast<int>(o));
    }
    if (r_.take_word("facts")) {
      QC_TRY(r_.expect('('));
      do {
        QC_ASSIGN(std::string_view fact, r_.word());
        call.facts.emplace_back(fact);
      } while (r_.take(','));
      QC_TRY(r_.expect(')'));
    }
    if (r_.take_word("macs")) {
      QC_TRY(r_.expect('('));
      QC_ASSIGN(call.macs, r_.integer());
      QC_TRY(r_.expect(')'));
    }
    return Ok{};
  }

  Result<Ok> loc(Loc& loc) {
    if (!r_.take_word("loc")) return Ok{};
    QC_TRY(r_.expect('('));
    do {
      QC_ASSIGN(std::string text, r_.string());
      loc.names.push_back(std::move(text));
    } while (r_.take(','));
    return r_.expect(')');
  }

  Result<Ok> block(Steps& out, int depth) {
    if (depth > kMaxDepth) return r_.fail("nested too deeply");
    QC_TRY(r_.expect('{'));
    QC_TRY(steps(out, depth));
    return r_.expect('}');
  }

  Result<BranchStep> branch(int depth) {
    BranchStep b;
    if (r_.next_is('%')) {
      QC_ASSIGN(b.condition, view());
    } else {
      QC_ASSIGN(const Dim when, number());
      b.condition = decided_by(when);
    }
    QC_TRY(block(b.body, depth + 1));
    QC_TRY(r_.expect_word("else"));
    QC_TRY(block(b.otherwise, depth + 1));
    return b;
  }
  Result<LoopStep> loop(int depth) {
    LoopStep l;
    QC_TRY(r_.expect_word("while"));
    QC_ASSIGN(l.condition, view());
    QC_TRY(r_.expect_word("limit"));
    QC_ASSIGN(l.limit, view());
    QC_TRY(r_.expect_word("counter"));
    QC_ASSIGN(l.counter, view());
    QC_TRY(block(l.body, depth + 1));
    return l;
  }

  Result<Ok> steps(Steps& out, int depth) {
    while (!r_.at_end() && !r_.next_is('}')) {
      Step step;
      QC_ASSIGN(std::string_view name, r_.word());
      if (name == "if") {
        QC_ASSIGN(step.op, branch(depth));
      } else if (name == "loop") {
        QC_ASSIGN(step.op, loop(depth));
      } else if (name == "parallel") {
        ParallelStep parallel;
        QC_ASSIGN(parallel.units, number());
        QC_ASSIGN(std::string_view kernel, r_.word());
        QC_TRY(call(kernel, parallel.call));
        step.op = std::move(parallel);
      } else if (name == "copy" && r_.next_is('%')) {
        CopyStep copy;
        QC_ASSIGN(copy.from, view());
        QC_TRY(r_.expect_word("to"));
        QC_ASSIGN(copy.to, view());
        step.op = std::move(copy);
      } else {
        Call own;
        QC_TRY(call(name, own));
        step.op = std::move(own);
      }
      QC_TRY(loc(step.loc));
      out.push_back(std::move(step));
    }
    return Ok{};
  }

  TextReader r_;
  Program p_;
};

}  // namespace

Result<Program> parse_program(std::string_view text, std::shared_ptr<ConstantPool> pool) {
  return Parser(text, std::move(pool)).run();
}

}  // namespace qc
