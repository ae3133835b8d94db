#include "ir/padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/capability.h"
#include "ir/op_table.h"
#include "support/budget.h"

namespace qc {
namespace {

/// Visits the sizes among the attributes of a node.
template <class F>
class SizeVisitor final : public AttrVisitor {
 public:
  explicit SizeVisitor(F on_size) : on_size_(std::move(on_size)) {}

 protected:
  void visit(const char*, AttrValue& value, const AttrValue*) override {
    if (Dim* d = std::get_if<Dim>(&value)) on_size_(*d);
    if (Dims* list = std::get_if<Dims>(&value)) std::for_each(list->begin(), list->end(), on_size_);
  }

 private:
  F on_size_;
};

/// The element that padding of a value becomes; of its format where it has one.
Result<Value*> filling(Graph& graph, const Type& type, Fill with, const PaddedNode& c) {
  Tensor value(type.dtype, {});
  const bool zero = with == Fill::zero || with == Fill::minus_zero;
  if (type.format && zero) {
    if (type.format->granularity != Granularity::tensor || type.format->is_dynamic())
      return c.refuse("its codes have no zero point that all share");
    value.set_int(0, type.format->zero_at());
  } else if (type.dtype == DType::boolean) {
    value.set_int(0, with == Fill::highest || with == Fill::one ? 1 : 0);
  } else {
    const double element = with == Fill::zero         ? 0.0
                           : with == Fill::minus_zero ? -0.0
                           : with == Fill::one        ? 1.0
                           : with == Fill::lowest     ? -kInf
                                                      : kInf;
    value.set_double(0, element);
  }
  return graph.constant(graph.pool().add(std::move(value), "filling"), type.format);
}

/// Whether an axis has at the bucket's size at least the elements it has at every smaller one,
/// other sizes being their least or their largest.
bool holds_smaller(const Dim& size, const BucketedDim& dim, const SymbolBounds& symbols) {
  std::set<std::string> names;
  size.collect_symbols(names);
  const auto range = symbols.find(dim.symbol);
  const Bounds sizes{range == symbols.end() ? 0 : range->second.min, dim.size};
  for (const bool largest : {false, true}) {
    Bindings others;
    for (const std::string& name : names) {
      const auto it = symbols.find(name);
      if (name == dim.symbol) continue;
      others[name] = it == symbols.end() ? 1 : largest ? it->second.max : it->second.min;
    }
    const Dim own = size.substitute(others), there = dim.resized(own);
    if ((there - own).bounds({{dim.symbol, sizes}}).min >= 0) continue;
    // Intervals say too little of some, as of s + mod(-s, 8).
    spend(Cost::work, dim.size);
    for (int64_t s = sizes.min; s < sizes.max; ++s) {
      if ((there - own.substitute({{dim.symbol, s}})).bounds({}).min < 0) return false;
    }
  }
  return true;
}

bool has_padding(const Padding& padding) {
  return std::any_of(padding.begin(), padding.end(),
                     [](const AxisSegments& parts) { return !parts.empty(); });
}

}  // namespace

bool BucketedDim::in(const Dim& dim) const {
  if (dim.is_static()) return false;
  std::set<std::string> symbols;
  dim.collect_symbols(symbols);
  return symbols.count(symbol) > 0;
}

bool BucketedDim::in(const Dims& dims) const {
  return std::any_of(dims.begin(), dims.end(), [&](const Dim& d) { return in(d); });
}

Dims BucketedDim::resized(const Dims& dims) const {
  Dims out;
  for (const Dim& d : dims) out.push_back(resized(d));
  return out;
}

bool depends_on(const Node& node, const BucketedDim& dim) {
  bool found = false;
  SizeVisitor visitor([&](const Dim& d) { found = found || dim.in(d); });
  node.clone()->attrs(visitor);
  return found;
}

bool depends_on_sizes(const Node& node) {
  bool found = false;
  SizeVisitor visitor([&](const Dim& d) { found = found || !d.is_static(); });
  node.clone()->attrs(visitor);
  return found;
}

void resize_attributes(Node& node, const BucketedDim& dim) {
  SizeVisitor visitor([&](Dim& d) { d = dim.resized(d); });
  node.attrs(visitor);
}

PaddedNode::PaddedNode(const Node& node, const BucketedDim& dim, Graph& to,
                       std::vector<Value*> operands, std::vector<Padding> paddings)
    : node_(node),
      dim_(dim),
      to_(to),
      operands_(std::move(operands)),
      paddings_(std::move(paddings)) {
  for (size_t i = 0; i < node.output_count(); ++i)
    results_.emplace_back(static_cast<size_t>(node.output(i)->rank()));
}

bool PaddedNode::is_padded(size_t operand) const {
  return operand < paddings_.size() && has_padding(paddings_[operand]);
}

Diag PaddedNode::refuse(std::string_view why) const {
  return error(Code::unsupported, node_.loc(), "{} cannot be padded along '{}': {}", node_.op(),
               dim_.symbol, why);
}

void PaddedNode::set_operand(size_t i, Value* value) {
  if (i >= operands_.size()) operands_.resize(i + 1);
  operands_[i] = value;
}

Result<Ok> PaddedNode::fill(size_t operand, int64_t axis, Value* with) {
  const std::optional<Dim> valid = elements_before(parts(operand, axis));
  if (!valid) return refuse("padding lies between elements that are summed up");
  Value* x = operands_[operand];
  QC_ASSIGN(operands_[operand], fitted(to_, x, axis, x->shape()[static_cast<size_t>(axis)], *valid,
                                       {with, false}, node_.loc()));
  return Ok{};
}

Result<Ok> PaddedNode::fill(size_t operand, int64_t axis, Fill with) {
  QC_ASSIGN(Value * value, filling(to_, operands_[operand]->type(), with, *this));
  return fill(operand, axis, value);
}

Result<Ok> PaddedNode::repeat_edges() {
  const auto repeated = [&](Value* x, int64_t axis, const AxisSegment& part) -> Result<Value*> {
    if (part.size.bounds(to_.symbol_bounds()).min < 1)
      return refuse("there may be no element whose range is that of the tensor");
    return fitted(to_, x, axis, x->shape()[static_cast<size_t>(axis)], part.size, {nullptr, true},
                  node_.loc());
  };
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (!is_padded(i)) continue;
    QC_ASSIGN(operands_[i],
              pad_factors(to_, operands_[i], paddings_[i], dim_, false, repeated, node_.loc()));
  }
  return Ok{};
}

Result<Value*> PaddedNode::meant(const AxisSegments& axis) {
  if (axis.size() != 1) return refuse("padding lies between elements that are meant");
  const Dim size = dim_.resized(axis[0].size);
  if (!size.is_static()) return refuse("the padded axis has another free dimension");
  Tensor all(DType::boolean, {size.value()});
  for (int64_t i = 0; i < all.size(); ++i) all.set_int(i, 1);
  return fitted(to_, to_.constant(std::move(all), "meant"), 0, size, axis[0].size, {}, node_.loc());
}

void PaddedNode::set_result(Padding padding) {
  for (Padding& result : results_) result = padding;
}

Result<Ok> PaddedNode::broadcast() {
  Padding result(static_cast<size_t>(node_.output()->rank()));
  for (size_t i = 0; i < node_.input_count(); ++i) {
    if (!is_padded(i)) continue;
    const Padding& own = paddings_[i];
    if (own.size() > result.size()) return refuse("its operands do not broadcast to the result");
    for (size_t axis = 0; axis < own.size(); ++axis) {
      AxisSegments& to = result[result.size() - own.size() + axis];
      if (own[axis].empty()) continue;
      if (!to.empty() && to != own[axis]) return refuse("its operands are padded differently");
      to = own[axis];
    }
  }
  set_result(std::move(result));
  return Ok{};
}

Result<Ok> PaddedNode::rows(int64_t axes) {
  const Padding& x = paddings_[0];
  for (size_t i = 0; i < node_.input_count(); ++i) {
    if (!is_padded(i)) continue;
    bool alike = paddings_[i].size() == x.size();
    for (int64_t axis = 0; alike && axis < std::ssize(x); ++axis) {
      if (axis < axes) alike = parts(i, axis) == parts(0, axis);
      if (axis >= axes) alike = !is_padded(i, axis);
    }
    if (!alike) return refuse("it mixes elements along it");
  }
  for (Padding& result : results_) {
    for (size_t axis = 0; axis < result.size() && static_cast<int64_t>(axis) < axes; ++axis)
      result[axis] = x[axis];
  }
  return Ok{};
}

Result<Ok> PaddedNode::except(int64_t axis) {
  if (is_padded(0, resolved(axis))) return refuse("it mixes elements along it");
  set_result(paddings_[0]);
  return Ok{};
}

Result<std::vector<Value*>> PaddedNode::add() {
  std::unique_ptr<Node> clone = node_.clone();
  QC_TRY(pad(*clone));
  std::vector<Value*> out{replaced_};
  if (!replaced_) {
    QC_ASSIGN(Node * added, add_copy(to_, node_, std::move(clone), operands_));
    out.clear();
    for (size_t i = 0; i < node_.output_count(); ++i) out.push_back(added->output(i));
  }
  for (size_t i = 0; i < node_.output_count(); ++i) QC_TRY(check(i, out[i]));
  return out;
}

/// Prepares operands and attributes of the copy, and says what of its results is padding.
Result<Ok> PaddedNode::pad(Node& copied) {
  if (auto* takes = capability<TakesPadding>(&copied)) return takes->pad(*this);
  if (node_.info().has(kElementwise) && !depends_on(node_, dim_)) return broadcast();
  if (!node_.info().has(kReshapes)) return refuse("it may mix elements along it");
  resize_attributes(copied, dim_);
  QC_ASSIGN(Padding to, reshaped_padding(paddings_[0], shape(0), result_shape(), *this));
  set_result(std::move(to));
  return Ok{};
}

/// Sizes that depend on the dimension are padded, all others are not; none depend on data.
Result<Ok> PaddedNode::check(size_t i, const Value* is) const {
  const Value* was = node_.output(i);
  const Padding& padding = results_[i];
  bool same = was->rank() == is->rank() && padding.size() == was->shape().size() &&
              is->shape() == dim_.resized(was->shape());
  for (size_t axis = 0; same && axis < padding.size(); ++axis)
    same = dim_.in(was->shape()[axis]) == !padding[axis].empty();
  if (!same) {
    return refuse(fmt::format("{} does not become a size of the bucket", str(was->shape())));
  }
  const SymbolBounds symbols = to_.symbol_bounds();
  for (const Dim& size : was->shape()) {
    if (dim_.in(size) && !holds_smaller(size, dim_, symbols))
      return refuse(fmt::format("{} has fewer elements at a larger size", str(was->shape())));
  }
  return Ok{};
}

namespace {

/// Gives axes the factors that they are made of, in order; a number that is not padded may be
/// divided among neighbours. False where a padded factor would be.
bool share_out(AxisSegments factors, const std::vector<size_t>& axes, const Dims& sizes,
               Padding& out) {
  size_t at = 0;
  for (size_t axis : axes) {
    AxisSegments own;
    Dim reached(1);
    while (!(reached == sizes[axis])) {
      if (at == factors.size()) return false;
      AxisSegment& next = factors[at];
      int64_t divided = 0;
      for (int64_t d = 2; !next.padded && next.size.is_static() && d * 2 <= next.size.value();
           ++d) {
        if (next.size.value() % d == 0 && reached * Dim(d) == sizes[axis]) divided = d;
      }
      own.push_back(divided ? AxisSegment{Dim(divided), false} : next);
      reached = reached * own.back().size;
      if (divided) next.size = Dim(next.size.value() / divided);
      if (!divided) ++at;
    }
    if (std::any_of(own.begin(), own.end(), [](const AxisSegment& p) { return p.padded; }))
      out[axis] = own;
  }
  return at == factors.size();
}

}  // namespace

Result<Padding> reshaped_padding(const Padding& padding, const Dims& from, const Dims& to,
                                 const PaddedNode& c) {
  Padding out(to.size());
  AxisSegments factors;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!padding[i].empty())
      factors.insert(factors.end(), padding[i].begin(), padding[i].end());
    else if (!(from[i] == Dim(1)))
      factors.push_back({from[i], false});
  }
  // Factors and axes up to which both sides have the same number of elements belong together.
  size_t first = 0, first_axis = 0;
  Dim elements(1);
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < to.size(); ++axis) {
    if (to[axis] == Dim(1)) continue;
    axes.push_back(axis);
    elements = elements * to[axis];
    Dim reached(1);
    size_t end = 0;
    while (end < factors.size() && !(end > first && reached == elements))
      reached = reached * factors[end++].size;
    if (!(reached == elements)) continue;
    const AxisSegments group(factors.begin() + static_cast<std::ptrdiff_t>(first),
                             factors.begin() + static_cast<std::ptrdiff_t>(end));
    const bool padded = std::any_of(group.begin(), group.end(), [](auto& p) { return p.padded; });
    const std::vector<size_t> together(axes.begin() + static_cast<std::ptrdiff_t>(first_axis),
                                       axes.end());
    if (padded && !share_out(group, together, to, out)) return c.refuse("a reshape divides it");
    first = end;
    first_axis = axes.size();
  }
  if (first != factors.size()) return c.refuse("a reshape divides it");
  return out;
}

std::optional<Dim> elements_before(const AxisSegments& axis) {
  Dim elements(1);
  for (size_t i = 0; i < axis.size(); ++i) {
    if (axis[i].padded != (i == 0)) return std::nullopt;
    elements = elements * axis[i].size;
  }
  return elements;
}

namespace {

/// `x` as codes of the format that it had before its elements moved: their scales are operands of
/// the readers, or lie along an axis that stayed.
Result<Value*> as_codes(Graph& graph, Value* x, const QType& codes, const Loc& loc) {
  if (x->type().quant() == codes) return x;
  return graph.emit("with_format", {x}, {{"to", codes}}, loc);
}

}  // namespace

Result<Value*> pad_factors(
    Graph& graph, Value* x, const Padding& padding, const BucketedDim& dim, bool own,
    const std::function<Result<Value*>(Value*, int64_t, const AxisSegment&)>& pad, const Loc& loc) {
  const QType codes = x->type().quant();
  AxisSegments all;
  bool joined = false;
  for (size_t axis = 0; axis < padding.size(); ++axis) {
    joined = joined || padding[axis].size() > 1;
    if (padding[axis].empty()) all.push_back({x->shape()[axis], false});
    all.insert(all.end(), padding[axis].begin(), padding[axis].end());
  }
  Dims apart, together;
  for (const AxisSegment& p : all) apart.push_back(own ? p.size : dim.resized(p.size));
  if (joined) {
    QC_ASSIGN(x, reshaped(graph, x, apart, loc));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].padded) continue;
    QC_ASSIGN(x, pad(x, static_cast<int64_t>(i), all[i]));
  }
  if (!joined) return x;
  const Dims shape = x->shape();
  size_t at = 0;
  for (const AxisSegments& parts : padding) {
    Dim elements = shape[at++];
    for (size_t i = 1; i < parts.size(); ++i) elements = elements * shape[at++];
    together.push_back(elements);
  }
  QC_ASSIGN(x, reshaped(graph, x, together, loc));
  return as_codes(graph, x, codes, loc);
}

Result<Value*> fitted(Graph& graph, Value* x, int64_t axis, const Dim& size, const Dim& valid,
                      const Filler& with, const Loc& loc) {
  AttrMap attrs{{"axis", axis}, {"size", size}, {"valid", valid}};
  if (with.repeat) attrs.insert({"repeat", true});
  QC_ASSIGN(Value * y,
            graph.emit("pad_or_trim",
                       with.value ? std::vector<Value*>{x, with.value} : std::vector<Value*>{x},
                       attrs, loc));
  return as_codes(graph, y, x->type().quant(), loc);
}

Result<Node*> add_copy(Graph& to, const Node& node, std::unique_ptr<Node> clone,
                       std::vector<Value*> operands) {
  for (const auto& region : node.regions()) {
    QC_ASSIGN(auto body, copy(*region));
    clone->add_region(std::move(body));
  }
  QC_ASSIGN(Node * added, to.add(std::move(clone), std::move(operands), node.loc()));
  for (size_t i = 0; i < node.output_count(); ++i)
    to.set_name(added->output(i), node.output(i)->name());
  return added;
}

Result<Value*> first_elements(Graph& graph, Value* x, const Dims& shape, const Loc& loc,
                              Node* before) {
  const Dims start(shape.size(), Dim(0)), step(shape.size(), Dim(1));
  return graph.emit("slice", {x}, {{"start", start}, {"size", shape}, {"step", step}}, loc, before);
}

Result<Value*> reshaped(Graph& graph, Value* x, const Dims& shape, const Loc& loc) {
  return graph.emit("reshape", {x}, {{"shape", shape}}, loc);
}

Result<Node*> chosen(Graph& graph, const Dim& size, int64_t limit, std::unique_ptr<Graph> fits,
                     std::unique_ptr<Graph> larger, const std::vector<Value*>& inputs) {
  const Loc loc{graph.file, {}, {}};
  QC_ASSIGN(Value * fits_in, graph.emit("at_most", {}, {{"size", size}, {"limit", limit}}, loc));
  std::unique_ptr<Node> node = op_table().find("if")->create();
  node->add_region(std::move(fits));
  node->add_region(std::move(larger));
  std::vector<Value*> operands{fits_in};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return graph.add(std::move(node), std::move(operands), loc);
}

}  // namespace qc
