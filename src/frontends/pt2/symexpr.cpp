#include "frontends/pt2/symexpr.h"

#include <cctype>
#include <charconv>

namespace qc::pt2 {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxText = 1 << 14;

/// srepr wraps every symbol and number in a call; infix text has them bare.
bool is_srepr(std::string_view text) {
  return text.find("Symbol(") != text.npos || text.find("Integer(") != text.npos;
}

/// Whether a product would have more terms than any real size.
bool too_large(const Dim& a, const Dim& b) {
  return a.str().size() * b.str().size() > size_t{1} << 20;
}

class Parser {
 public:
  Parser(std::string_view text, const Loc& loc) : text_(text), loc_(loc) {}

  Result<Dim> all() {
    QC_ASSIGN(Dim d, expression(0));
    skip();
    if (pos_ != text_.size()) return fail("unexpected text");
    return d;
  }

 private:
  Diag fail(std::string_view what) const {
    return error(Code::format, loc_, "size expression '{}': {} at position {}",
                 text_.substr(0, 200), what, pos_);
  }
  void skip() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool take(char c) {
    skip();
    if (pos_ == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  std::string_view word() {
    skip();
    size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) {
      ++pos_;
    }
    return text_.substr(begin, pos_ - begin);
  }

  /// Symbol('name', assumption=True, ...), after the bracket.
  Result<Dim> symbol() {
    if (!take('\'')) return fail("expected a symbol's name");
    size_t end = text_.find('\'', pos_);
    if (end == text_.npos || end == pos_) return fail("expected a symbol's name");
    std::string_view name = text_.substr(pos_, end - pos_);
    for (char c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
        return fail("a bad symbol name");
    }
    pos_ = end + 1;
    while (take(',')) {
      if (word().empty() || !take('=') || word().empty()) return fail("expected an assumption");
    }
    if (!take(')')) return fail("expected ')'");
    return Dim::symbol(name);
  }

  Result<Dim> integer() {
    bool negative = take('-');
    std::string_view digits = word();
    int64_t value = 0;
    auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (bad != std::errc() || end != digits.data() + digits.size() || !take(')')) {
      return fail("expected a 64-bit integer");
    }
    return Dim(negative ? -value : value);
  }

  Result<Dim> expression(int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    std::string_view head = word();
    if (head.empty() || !take('(')) return fail("expected a function");
    if (head == "Symbol") return symbol();
    if (head == "Integer") return integer();
    std::vector<Dim> args;
    if (!known(head)) {
      return error(Code::unsupported, loc_,
                   "size expression '{}' uses {}, which is no integer arithmetic on sizes",
                   text_.substr(0, 200), head);
    }
    do {
      QC_ASSIGN(Dim arg, expression(depth + 1));
      args.push_back(std::move(arg));
    } while (take(','));
    if (!take(')')) return fail("expected ')'");
    return apply(head, args);
  }

  static bool known(std::string_view head) {
    for (std::string_view name :
         {"Add", "Mul", "Max", "Min", "Pow", "PowByNatural", "FloorDiv", "CleanDiv", "CeilDiv",
          "Mod", "PythonMod", "ModularIndexing", "Identity"}) {
      if (head == name) return true;
    }
    return false;
  }

  Result<Dim> apply(std::string_view head, const std::vector<Dim>& args) {
    if (head == "Add" || head == "Mul" || head == "Max" || head == "Min") {
      Dim out = args[0];
      for (size_t i = 1; i < args.size(); ++i) {
        if (head == "Add") out = out + args[i];
        if (head == "Mul") {
          if (too_large(out, args[i])) return fail("too many terms");
          out = out * args[i];
        }
        if (head == "Max") out = max(out, args[i]);
        if (head == "Min") out = min(out, args[i]);
      }
      return out;
    }
    size_t arity = head == "Identity" ? 1 : head == "ModularIndexing" ? 3 : 2;
    if (args.size() != arity) return fail("wrong number of arguments");
    if (head == "Identity") return args[0];
    if (args[1].is_static() && args[1].value() == 0 && head.substr(0, 3) != "Pow") {
      return fail("division by zero");
    }
    if (head == "FloorDiv" || head == "CleanDiv") return floordiv(args[0], args[1]);
    if (head == "CeilDiv") return ceildiv(args[0], args[1]);
    if (head == "Mod" || head == "PythonMod") return mod(args[0], args[1]);
    if (head == "ModularIndexing") return mod(floordiv(args[0], args[1]), args[2]);
    if (!args[1].is_static() || args[1].value() < 0 || args[1].value() > 8) {
      return fail("expected a power from 0 to 8");
    }
    Dim out(1);
    for (int64_t i = 0; i < args[1].value(); ++i) {
      if (too_large(out, args[0])) return fail("too many terms");
      out = out * args[0];
    }
    return out;
  }

  std::string_view text_;
  const Loc& loc_;
  size_t pos_ = 0;
};

}  // namespace

Result<Dim> parse_symexpr(std::string_view text, const Loc& loc) {
  if (text.size() > kMaxText) {
    return error(Code::limit, loc, "a size expression has {} characters", text.size());
  }
  if (is_srepr(text)) return Parser(text, loc).all();
  auto infix = Dim::parse(text);
  if (!infix.ok()) return error(infix.diag().code, loc, "{}", infix.diag().text);
  return infix;
}

}  // namespace qc::pt2
