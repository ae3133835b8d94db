// Recursive descent over the infix grammar of dims; depth is bounded because the text may come from
// a model file.
#include <cctype>

#include "ir/dim.h"

namespace qc {
namespace {

constexpr int kMaxDepth = 64;

/// Whether a product would have more terms than any real shape.
bool too_large(const Dim& a, const Dim& b) {
  return a.str().size() * b.str().size() > size_t{1} << 20;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Dim> all() {
    const uint64_t overflows = Dim::overflows();
    QC_ASSIGN(Dim d, sum(0));
    skip();
    if (pos_ != text_.size()) return fail("unexpected text");
    if (Dim::overflows() != overflows) return fail("number too large");
    return d;
  }

 private:
  Diag fail(const char* what) {
    return error(Code::format, "dimension expression '{}': {} at position {}", text_, what, pos_);
  }
  void skip() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(pos_, token.size()) != token) return false;
    pos_ += token.size();
    return true;
  }
  Result<Dim> sum(int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    QC_ASSIGN(Dim left, term(depth));
    while (true) {
      if (take("+")) {
        QC_ASSIGN(Dim right, term(depth));
        left = left + right;
      } else if (take("-")) {
        QC_ASSIGN(Dim right, term(depth));
        left = left - right;
      } else {
        return left;
      }
    }
  }
  Result<Dim> term(int depth) {
    QC_ASSIGN(Dim left, unary(depth));
    while (true) {
      if (take("//")) {
        QC_ASSIGN(Dim right, unary(depth));
        left = floordiv(left, right);
      } else if (take("%")) {
        QC_ASSIGN(Dim right, unary(depth));
        left = mod(left, right);
      } else if (take("*")) {
        QC_ASSIGN(Dim right, unary(depth));
        if (too_large(left, right)) return fail("too many terms");
        left = left * right;
      } else {
        return left;
      }
    }
  }
  Result<Dim> unary(int depth) {
    if (take("-")) {
      if (depth > kMaxDepth) return fail("nested too deeply");
      QC_ASSIGN(Dim d, unary(depth + 1));
      return Dim(0) - d;
    }
    QC_ASSIGN(Dim base, atom(depth));
    if (take("**")) {
      QC_ASSIGN(Dim power, atom(depth));
      if (!power.is_static() || power.value() < 0 || power.value() > 8) return fail("bad power");
      Dim out(1);
      for (int64_t i = 0; i < power.value(); ++i) {
        if (too_large(out, base)) return fail("too many terms");
        out = out * base;
      }
      return out;
    }
    return base;
  }
  Result<Dim> atom(int depth) {
    skip();
    if (take("(")) {
      QC_ASSIGN(Dim d, sum(depth + 1));
      if (!take(")")) return fail("expected ')'");
      return d;
    }
    size_t begin = pos_;
    if (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) {
      int64_t value = 0;
      while (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) {
        if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
            __builtin_add_overflow(value, int64_t{text_[pos_] - '0'}, &value)) {
          return fail("number too large");
        }
        ++pos_;
      }
      return Dim(value);
    }
    auto name_char = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    };
    while (pos_ < text_.size() && name_char(text_[pos_])) ++pos_;
    if (pos_ == begin) return fail("expected a number, name or '('");
    std::string_view name = text_.substr(begin, pos_ - begin);
    if (!take("(")) return Dim::symbol(name);
    QC_ASSIGN(Dim a, sum(depth + 1));
    if (!take(",")) return fail("expected ','");
    QC_ASSIGN(Dim b, sum(depth + 1));
    while (take(",")) {  // Max and Min take any number of arguments
      QC_ASSIGN(Dim c, sum(depth + 1));
      if (name == "Max" || name == "max")
        b = max(b, c);
      else if (name == "Min" || name == "min")
        b = min(b, c);
      else
        return fail("too many arguments");
    }
    if (!take(")")) return fail("expected ')'");
    if (name == "floordiv" || name == "FloorDiv") return floordiv(a, b);
    if (name == "mod" || name == "Mod") return mod(a, b);
    if (name == "min" || name == "Min") return min(a, b);
    if (name == "max" || name == "Max") return max(a, b);
    return fail("unknown function");
  }

  std::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

Result<Dim> Dim::parse(std::string_view text) { return Parser(text).all(); }

}  // namespace qc
