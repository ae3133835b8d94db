// Registration: what an op folder adds to the program. Each folder src/ops/<op> defines
//   void register_<op>(qc::Registration&);
// and the build calls all of them; nothing else names an op folder.
#pragma once

#include <memory>
#include <span>

#include "frontends/common/foreign.h"
#include "ir/op_table.h"
#include "ir/rewrite.h"

namespace qc {

class Registration {
 public:
  explicit Registration(std::string_view folder) : folder_(folder) {}

  /// An op whose class has `static const OpInfo kInfo` and a default constructor.
  template <class T>
  void op() {
    op_table().add(
        {&T::kInfo, [] { return std::unique_ptr<Node>(std::make_unique<T>()); }, folder_});
  }
  /// An op of a family: `create` makes a node whose info() is `info`.
  void op(const OpInfo* info, std::function<std::unique_ptr<Node>()> create) {
    op_table().add({info, std::move(create), folder_});
  }
  void imports(std::span<const ImportRow> rows) { import_table().add(rows); }
  /// Rewrites that bring other spellings of the op, found in real models, to its canonical form.
  void rewrites(std::span<const Rewrite> rows) { rewrite_table().add(rows); }

 private:
  std::string_view folder_;
};

/// Registers every op folder once; called by the public API before anything else.
void register_all_ops();

}  // namespace qc
