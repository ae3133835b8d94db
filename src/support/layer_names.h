// Names of layers in tables: exporters give long ones that differ at their ends alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qc {

class LayerNames {
 public:
  /// `all` has the names of the nodes that each layer is made of. With `cut`, the path that all of
  /// them begin with is left out, and of further names of a layer the path of the first.
  LayerNames(const std::vector<std::vector<std::string>>& all, bool cut);

  /// "q_proj/linear+view" for {"model.q_proj/linear", "model.q_proj/view"}, safe for terminals.
  std::string of(const std::vector<std::string>& names) const;
  /// A line that says what is left out; empty where nothing is.
  std::string note() const;

 private:
  bool cut_;
  std::string path_;
};

/// A name as lines of `width` columns, broken between the nodes of a layer alone ("a+" "b", and the
/// "a;b" of exporters that fuse): a longer name of a node stays whole.
std::string name_lines(const std::string& name, size_t width);

}  // namespace qc
