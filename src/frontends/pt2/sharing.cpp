#include "frontends/pt2/sharing.h"

namespace qc::pt2 {
namespace {

/// The ops that take strides, and what one is when these are the operand's own.
struct StrideOp {
  std::string_view op, unchanged;
};
constexpr StrideOp kStrideOps[] = {
    {"as_strided.default", "alias.default"},
    {"as_strided_.default", ""},
    {"as_strided_copy.default", "clone.default"},
    {"as_strided_scatter.default", ""},
};

/// An error when strides lead outside the `count` elements of a storage, as far as that is known.
Result<Ok> check_inside(const Layout& at, const Dim& count, const Loc& loc) {
  if (!all_static(at.sizes) || !all_static(at.strides) || !at.offset.is_static() ||
      !count.is_static() || product(at.sizes) == Dim(0)) {
    return Ok{};
  }
  __int128 low = at.offset.value(), high = low;
  for (size_t i = 0; i < at.sizes.size(); ++i) {
    const __int128 reach = static_cast<__int128>(at.sizes[i].value() - 1) * at.strides[i].value();
    (reach < 0 ? low : high) += reach;
  }
  if (low >= 0 && high < count.value()) return Ok{};
  return error(Code::unsupported, loc, "strides {} lead outside the tensor that owns the memory",
               str(at.strides));
}

}  // namespace

Sharing::Sharing(Context& context, const ExportedNode& node, const ForeignNode& foreign,
                 size_t self)
    : context_(context),
      node_(node),
      foreign_(foreign),
      view_(foreign.domain == "aten" ? find_view(foreign.op) : nullptr),
      self_(self) {
  if (view_ == nullptr || !first_tensor(node).empty()) return;
  for (self_ = 0; self_ < foreign.args.size(); ++self_) {
    if (std::holds_alternative<Values>(foreign.args[self_].second)) return;
  }
  view_ = nullptr;
}

std::string Sharing::base_of(size_t at) const {
  if (std::string_view self = first_tensor(node_); !self.empty()) return std::string(self);
  for (const NamedArgument& input : node_.inputs) {
    if (input.arg.kind == ArgKind::tensors && at < input.arg.items.size()) {
      return input.arg.items[at].text;
    }
  }
  return {};
}

Result<CellId> Sharing::cell_of(size_t at, const std::string& name, Value* value) {
  Memory& memory = context_.memory;
  const TensorMeta* to = context_.meta_of(name);
  const std::string base_name = view_ == nullptr ? std::string() : base_of(at);
  if (base_name.empty()) return memory.allocate(value, to);
  const CellId base = context_.cells.at(base_name);
  const TensorMeta* from = memory.meta(base);
  if (from == nullptr || to == nullptr || from->device != to->device ||
      (from->dtype != to->dtype && foreign_.op != "view.dtype") || !may_share(*view_, node_)) {
    return memory.allocate(value, to);
  }
  if (view_->shares == Shares::always) return view_of(base, at, value, to);
  SizeFacts facts(context_.model);
  bool shared = false;
  const auto operand = memory.layout(base, foreign_.loc);
  const auto result = memory.layout(*to, foreign_.loc);
  if (operand.ok() && result.ok()) {
    shared = returns_view(*view_, node_, *operand, *result, facts);
  } else {
    facts.give_up();
  }
  if (shared && facts.decided()) {
    if (context_.plan.liveness.written(name)) QC_TRY(memory.require(facts, foreign_.loc));
    return view_of(base, at, value, to);
  }
  const CellId cell = memory.allocate(value, to);
  memory.keep_apart(cell, base, facts, foreign_.loc);
  return cell;
}

Result<CellId> Sharing::view_of(CellId base, size_t at, Value* value, const TensorMeta* meta) {
  ViewRecipe recipe{view_, nullptr, foreign_, self_, at, at, start_};
  if (view_->write_back != WriteBack::identity) {
    recipe.row = import_table().find("aten", foreign_.op, 0);
  }
  if (view_->write_back == WriteBack::parts) {
    Import import(context_.graph, foreign_);
    QC_ASSIGN(int64_t axis, import.i("dim", 0));
    QC_ASSIGN(axis, resolve_axis(axis, value->rank(), foreign_.loc));
    start_ = start_ + value->shape()[axis];
  }
  return context_.memory.view(base, std::move(recipe), value, meta);
}

Result<Ok> hand_over_storage(Context& context, const ExportedNode& node, ForeignNode& foreign) {
  const StrideOp* found = nullptr;
  for (const StrideOp& row : kStrideOps) {
    if (foreign.domain == "aten" && foreign.op == row.op) found = &row;
  }
  auto cell = context.cells.find(std::string(first_tensor(node)));
  if (found == nullptr || cell == context.cells.end()) return Ok{};
  QC_ASSIGN(Layout own, context.memory.layout(cell->second, foreign.loc));
  Import import(context.graph, foreign);
  Layout at;
  QC_ASSIGN(at.sizes, import.dims("size"));
  QC_ASSIGN(at.strides, import.dims("stride"));
  QC_ASSIGN(at.offset, import.dim("storage_offset", own.offset));
  if (at.sizes.size() != at.strides.size()) {
    return error(Code::attribute, foreign.loc, "{} sizes and {} strides", at.sizes.size(),
                 at.strides.size());
  }
  if (at == own && !found->unchanged.empty()) {
    foreign.op = found->unchanged;
    return Ok{};
  }
  QC_ASSIGN(Memory::Storage whole, context.memory.storage(cell->second, foreign.loc));
  at.offset = at.offset - whole.first;
  QC_TRY(check_inside(at, product(whole.elements->shape()), foreign.loc));
  std::erase_if(foreign.args, [](const auto& arg) { return arg.first == "storage_offset"; });
  for (auto& [name, arg] : foreign.args) {
    if (name == "self") arg = whole.elements;
  }
  foreign.args.emplace_back("storage_offset", at.offset);
  return Ok{};
}

Result<Ok> take_back_storage(Context& context, const ExportedNode& node, const ForeignNode& foreign,
                             Values& values) {
  if (foreign.domain != "aten" || foreign.op != "as_strided_scatter.default") return Ok{};
  const CellId cell = context.cells.at(std::string(first_tensor(node)));
  if (context.memory.owns_storage(cell)) {
    QC_ASSIGN(values[0], context.memory.owner_of(values[0], cell, foreign.loc));
    return Ok{};
  }
  QC_ASSIGN(Layout own, context.memory.layout(cell, foreign.loc));
  if (!never_overlaps(own, context.model)) {
    return error(Code::unsupported, foreign.loc, "as_strided_scatter of overlapping elements");
  }
  QC_ASSIGN(Memory::Storage whole, context.memory.storage(cell, foreign.loc));
  QC_ASSIGN(values[0], call_aten(context.graph, "as_strided.default",
                                 {{"self", values[0]},
                                  {"size", own.sizes},
                                  {"stride", own.strides},
                                  {"storage_offset", own.offset - whole.first}},
                                 foreign.loc));
  return Ok{};
}

Result<CellId> window(Context& context, CellId owner, const TensorMeta& meta, const Loc& loc) {
  QC_ASSIGN(Layout at, context.memory.layout(meta, loc));
  QC_ASSIGN(Memory::Storage whole, context.memory.storage(owner, loc));
  at.offset = at.offset - whole.first;
  QC_TRY(check_inside(at, product(whole.elements->shape()), loc));
  constexpr std::string_view kOp = "as_strided.default";
  ForeignNode node;
  node.domain = "aten";
  node.op = kOp;
  node.args = {{"self", whole.elements},
               {"size", at.sizes},
               {"stride", at.strides},
               {"storage_offset", at.offset}};
  node.loc = loc;
  QC_ASSIGN(Value * value, call_aten(context.graph, kOp, node.args, loc));
  ViewRecipe recipe{find_view(kOp), import_table().find("aten", kOp, 0), node, 0, 0, 0, Dim(0)};
  return context.memory.view(owner, std::move(recipe), value, &meta);
}

}  // namespace qc::pt2
