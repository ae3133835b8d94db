#include "support/diag.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/escape.h"

namespace qc {
namespace {
constexpr CodeInfo kCodes[] = {
#define QC_CODE(name, kind, meaning) {#name, Kind::kind, meaning},
#include "support/codes.inc"
#undef QC_CODE
};
}  // namespace

const CodeInfo& info(Code code) { return kCodes[static_cast<size_t>(code)]; }

const std::vector<Code>& all_codes() {
  static const std::vector<Code> codes = {
#define QC_CODE(name, kind, meaning) Code::name,
#include "support/codes.inc"
#undef QC_CODE
  };
  return codes;
}

Loc::Loc() noexcept = default;
Loc::Loc(Interned file, std::vector<std::string> names, Interned op)
    : file(file), op(op), names(std::move(names)) {}
Loc::Loc(const Loc&) = default;
Loc::Loc(Loc&&) noexcept = default;
Loc& Loc::operator=(const Loc&) = default;
Loc& Loc::operator=(Loc&&) noexcept = default;
Loc::~Loc() = default;
bool Loc::operator==(const Loc&) const = default;

Diag::Diag(Code code, const Loc& loc, std::string text)
    : code(code), loc(loc), text(std::move(text)) {}
Diag::Diag(const Diag&) = default;
Diag::Diag(Diag&&) noexcept = default;
Diag& Diag::operator=(const Diag&) = default;
Diag& Diag::operator=(Diag&&) noexcept = default;
Diag::~Diag() = default;

Loc join(const Loc& a, const Loc& b) {
  constexpr size_t kMostNames = 1000;  // else merging many nodes into one is quadratic
  Loc out = a;
  if (out.file.empty()) out.file = b.file;
  if (out.op.empty()) out.op = b.op;
  for (const std::string& name : b.names) {
    if (out.names.size() > kMostNames) break;
    if (std::find(out.names.begin(), out.names.end(), name) == out.names.end()) {
      out.names.push_back(out.names.size() < kMostNames ? name : "...");
    }
  }
  return out;
}

std::string render(const Diag& diag) {
  std::string out;
  constexpr size_t kNames = 400;  // of nodes that were fused into one
  if (!diag.loc.file.empty()) out += shortened_line(shown(diag.loc.file.str())) + ": ";
  out += fmt::format("error[{}]: ", info(diag.code).name);
  if (!diag.loc.op.empty()) out += shortened_line(shown(diag.loc.op.str())) + " ";
  if (!diag.loc.names.empty()) {
    const std::string names = fmt::format("{}", fmt::join(diag.loc.names, "+"));
    out += "'" + shortened(shown(names), kNames) + "'";
  }
  if (!diag.loc.op.empty() || !diag.loc.names.empty()) {
    if (out.back() == ' ') out.pop_back();
    out += ": ";
  }
  out += shortened_line(shown(diag.text));
  for (const std::string& note : diag.notes) {
    // What a tool printed has several lines; indented, none can pass for a message of quantc.
    out += "\n  note: ";
    for (const char c : shortened_line(shown_lines(note)))
      out += c == '\n' ? std::string("\n    ") : std::string(1, c);
  }
  return out;
}

int exit_status(const Diag& diag) {
  switch (info(diag.code).kind) {
    case Kind::user:
      return 1;
    case Kind::unsupported:
      return 2;
    case Kind::internal:
      return 3;
  }
  return 3;
}

namespace detail {
Diag make(Code code, const Loc& loc, fmt::string_view format, fmt::format_args args) {
  return Diag(code, loc, fmt::vformat(format, args));
}
}  // namespace detail

}  // namespace qc
