#include "program/parse.h"

#include <cstring>

#include "ir/text_reader.h"
#include "kernels/kernels.h"
#include "program/program.h"

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
    QC_TRY(ports("input", p_.inputs));
    QC_TRY(ports("output", p_.outputs));
    QC_TRY(ports("state", p_.states));
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
      QC_ASSIGN(port.type.dtype, r_.dtype());
      QC_ASSIGN(port.type.shape, r_.dims());
      list.push_back(std::move(port));
    }
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
      QC_ASSIGN(b.alias_offset, r_.integer());
      QC_TRY(r_.expect(','));
      QC_ASSIGN(b.bytes, r_.integer());
    } else {
      QC_ASSIGN(std::string_view kind, r_.word());
      size_t k = 0;
      while (k < std::size(kKinds) && kKinds[k] != kind) ++k;
      if (k == std::size(kKinds))
        return r_.fail("unknown kind of buffer '" + std::string(kind) + "'");
      b.kind = static_cast<BufferKind>(k);
      QC_ASSIGN(b.bytes, r_.integer());
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
        QC_ASSIGN(b.offset, r_.integer());
      }
    }
    QC_ASSIGN(b.name, r_.string());
    p_.buffers.push_back(std::move(b));
    return Ok{};
  }

  Result<View> view() {
    if (r_.take_word("_")) return View{};
    View v;
    QC_ASSIGN(v.buffer, index());
    if (r_.take('+')) {
      QC_ASSIGN(v.offset, r_.integer());
    }
    return v;
  }
  Result<std::vector<View>> views() {
    std::vector<View> out;
    QC_TRY(r_.expect('('));
    while (!r_.take(')')) {
      if (!out.empty()) QC_TRY(r_.expect(','));
      QC_ASSIGN(View v, view());
      out.push_back(v);
    }
    return out;
  }

  Result<uint32_t> word(bool is_float) {
    uint32_t out;
    if (is_float) {
      QC_ASSIGN(double value, r_.number());
      const float f = static_cast<float>(value);
      std::memcpy(&out, &f, sizeof out);
    } else {
      QC_ASSIGN(int64_t value, r_.integer());
      if (value < INT32_MIN || value > INT32_MAX)
        return r_.fail("a parameter does not fit 32 bits");
      out = static_cast<uint32_t>(static_cast<int32_t>(value));
    }
    return out;
  }

  /// `{n = 1, stride = [1, 1]}` by the kernel's list of members.
  Result<Ok> params(const qk_entry& kernel, std::vector<uint32_t>& words) {
    QC_TRY(r_.expect('{'));
    std::string_view fields = kernel.fields;
    for (bool first = true; !fields.empty(); first = false) {
      const size_t comma = fields.find(',');
      const std::string_view field = fields.substr(0, comma);
      fields = comma == std::string_view::npos ? std::string_view{} : fields.substr(comma + 1);
      std::string_view name = field.substr(2);
      int count = 1;
      if (const size_t bracket = name.find('['); bracket != std::string_view::npos) {
        count = std::atoi(std::string(name.substr(bracket + 1)).c_str());
        name = name.substr(0, bracket);
      }
      if (!first) QC_TRY(r_.expect(','));
      QC_TRY(r_.expect_word(name));
      QC_TRY(r_.expect('='));
      if (count > 1) QC_TRY(r_.expect('['));
      for (int i = 0; i < count; ++i) {
        if (i > 0) QC_TRY(r_.expect(','));
        QC_ASSIGN(uint32_t w, word(field[0] == 'f'));
        words.push_back(w);
      }
      if (count > 1) QC_TRY(r_.expect(']'));
    }
    return r_.expect('}');
  }

  Result<Ok> call(std::string_view name, Step& step) {
    const qk_entry* kernel = find_kernel(name);
    if (!kernel) return r_.fail("there is no kernel '" + std::string(name) + "'");
    step.kernel = name;
    QC_ASSIGN(step.in, views());
    QC_TRY(r_.expect('-'));
    QC_TRY(r_.expect('>'));
    QC_ASSIGN(step.out, views());
    QC_TRY(params(*kernel, step.params));
    while (r_.take_word("in_place")) {
      QC_TRY(r_.expect('('));
      QC_ASSIGN(int64_t i, r_.integer());
      QC_TRY(r_.expect(','));
      QC_ASSIGN(int64_t o, r_.integer());
      QC_TRY(r_.expect(')'));
      step.in_place.emplace_back(static_cast<int>(i), static_cast<int>(o));
    }
    if (r_.take_word("macs")) {
      QC_TRY(r_.expect('('));
      QC_ASSIGN(step.macs, r_.integer());
      QC_TRY(r_.expect(')'));
    }
    if (r_.take_word("loc")) {
      QC_TRY(r_.expect('('));
      do {
        QC_ASSIGN(std::string text, r_.string());
        step.loc.names.push_back(std::move(text));
      } while (r_.take(','));
      QC_TRY(r_.expect(')'));
    }
    return Ok{};
  }

  Result<Ok> block(Steps& out, int depth) {
    if (depth > kMaxDepth) return r_.fail("nested too deeply");
    QC_TRY(r_.expect('{'));
    QC_TRY(steps(out, depth));
    return r_.expect('}');
  }

  Result<Ok> steps(Steps& out, int depth) {
    while (!r_.at_end() && !r_.next_is('}')) {
      Step step;
      if (r_.take_word("if")) {
        step.kind = Step::Kind::branch;
        QC_ASSIGN(step.condition, view());
        QC_TRY(block(step.body, depth + 1));
        QC_TRY(r_.expect_word("else"));
        QC_TRY(block(step.otherwise, depth + 1));
      } else if (r_.take_word("loop")) {
        step.kind = Step::Kind::loop;
        QC_TRY(r_.expect_word("while"));
        QC_ASSIGN(step.condition, view());
        QC_TRY(r_.expect_word("limit"));
        QC_ASSIGN(step.limit, view());
        QC_TRY(r_.expect_word("counter"));
        QC_ASSIGN(step.counter, view());
        QC_TRY(block(step.body, depth + 1));
      } else {
        QC_ASSIGN(std::string_view name, r_.word());
        QC_TRY(call(name, step));
      }
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
