#include "backends/common/template.h"

#include <fmt/format.h>

#include <set>

#include "support/bug.h"

namespace qc {
namespace {

class Expander {
 public:
  Expander(std::string_view text, const Holes& holes) : holes_(holes) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
  }

  std::string run() {
    block(true);
    if (at_ < lines_.size()) fail(fmt::format("'{}' without a block", lines_[at_]));
    for (const auto& [name, hole] : holes_) {
      if (!named_.contains(name)) throw Bug(fmt::format("template: no line names '{}'", name));
    }
    return std::move(out_);
  }

 private:
  /// Lines to the end of a block, which is left for the caller. Where they are not `live` they are
  /// only checked.
  void block(bool live) {
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view line = lines_[at_];
      if (line == "%else" || line == "%end") return;
      if (line.starts_with("%#")) continue;
      if (line.starts_with("%if ")) {
        condition(line.substr(4), live);
      } else if (line.starts_with("%each ")) {
        each(line.substr(6), live);
      } else if (line.starts_with("%text ")) {
        const std::string& text = text_of(line.substr(6));
        if (live) out_ += text;
      } else if (line.starts_with("%")) {
        fail(fmt::format("the directive '{}'", line));
      } else {
        const std::string filled = fill(line) + "\n";
        if (live) out_ += filled;
      }
    }
  }

  void condition(std::string_view name, bool live) {
    constexpr std::string_view kNot = "not ";
    const bool negated = name.starts_with(kNot);
    if (negated) name.remove_prefix(kNot.size());
    const bool wanted = is_set(name) != negated;
    ++at_;
    block(live && wanted);
    if (at_ < lines_.size() && lines_[at_] == "%else") {
      ++at_;
      block(live && !wanted);
    }
    expect_end();
  }

  void each(std::string_view name, bool live) {
    const auto* rows = find(name).as<TemplateRows>();
    if (!rows) fail(fmt::format("'{}' has no rows", name));
    if (columns_) fail("%each in %each");
    const size_t begin = ++at_;
    columns_ = rows;
    const std::vector<std::string> nothing(rows->columns.size());
    row_ = &nothing;
    block(false);  // where there are no rows, too
    for (const std::vector<std::string>& row : rows->rows) {
      at_ = begin;
      row_ = &row;
      block(live);
    }
    columns_ = nullptr;
    expect_end();
  }

  void expect_end() const {
    if (at_ == lines_.size() || lines_[at_] != "%end") fail("a block without %end");
  }

  /// A line with its holes filled.
  std::string fill(std::string_view line) {
    std::string out;
    while (true) {
      const size_t hole = line.find("${");
      out += line.substr(0, hole);
      if (hole == line.npos) return out;
      const size_t end = line.find('}', hole);
      if (end == line.npos) fail("a hole without '}'");
      const std::string_view inside = line.substr(hole + 2, end - hole - 2);
      const size_t mark = inside.find('?');
      if (mark == inside.npos) {
        out += text_of(inside);
      } else {
        const std::string_view both = inside.substr(mark + 1);
        const size_t other = both.find(':');
        if (is_set(inside.substr(0, mark))) {
          out += both.substr(0, other);
        } else if (other != both.npos) {
          out += both.substr(other + 1);
        }
      }
      line.remove_prefix(end + 1);
    }
  }

  /// The text of a column of the row, or of a hole.
  const std::string& text_of(std::string_view name) {
    if (const std::string* text = column(name)) return *text;
    const auto* text = find(name).as<std::string>();
    if (!text) fail(fmt::format("'{}' is no text", name));
    return *text;
  }

  bool is_set(std::string_view name) {
    if (const std::string* text = column(name)) return !text->empty();
    const Hole& hole = find(name);
    if (const bool* flag = hole.as<bool>()) return *flag;
    return !text_of(name).empty();
  }

  const std::string* column(std::string_view name) const {
    if (!columns_) return nullptr;
    for (size_t i = 0; i < columns_->columns.size(); ++i) {
      if (columns_->columns[i] == name) return &row_->at(i);
    }
    return nullptr;
  }

  const Hole& find(std::string_view name) {
    const auto found = holes_.find(name);
    if (found == holes_.end()) fail(fmt::format("there is no hole '{}'", name));
    named_.emplace(name);
    return found->second;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw Bug(fmt::format("template, line {}: {}", at_ + 1, why));
  }

  const Holes& holes_;
  std::vector<std::string_view> lines_;
  size_t at_ = 0;  // of the lines
  const TemplateRows* columns_ = nullptr;
  const std::vector<std::string>* row_ = nullptr;
  std::set<std::string, std::less<>> named_;
  std::string out_;
};

}  // namespace

std::string expand(std::string_view text, const Holes& holes) {
  return Expander(text, holes).run();
}

}  // namespace qc
