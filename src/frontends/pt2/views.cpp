#include "frontends/pt2/views.h"

#include <algorithm>
#include <numeric>

namespace qc::pt2 {
namespace {

using W = WriteBack;

constexpr ViewOp kViews[] = {
    {"detach.default", W::identity},
    {"alias.default", W::identity},
    {"conj.default", W::identity},
    {"resolve_conj.default", W::identity},
    {"resolve_neg.default", W::identity},
    {"positive.default", W::identity},
    {"requires_grad.default", W::identity},
    {"dropout.default", W::identity},
    {"feature_dropout.default", W::identity},
    {"alpha_dropout.default", W::identity},
    {"feature_alpha_dropout.default", W::identity},
    {"contiguous.default", W::identity, Shares::if_contiguous},
    {"to.dtype", W::identity, Shares::if_unchanged},
    {"to.device", W::identity, Shares::if_unchanged},
    {"to.dtype_layout", W::identity, Shares::if_unchanged},
    {"to.other", W::identity, Shares::if_unchanged},
    {"type_as.default", W::identity, Shares::if_unchanged},
    {"cartesian_prod.default", W::strided, Shares::if_alone},
    {"view.default", W::reshape},
    {"view_as.default", W::reshape},
    {"reshape.default", W::reshape, Shares::if_viewable},
    {"reshape_as.default", W::reshape, Shares::if_viewable},
    {"flatten.using_ints", W::reshape, Shares::if_viewable},
    {"ravel.default", W::reshape, Shares::if_contiguous},
    {"_unsafe_view.default", W::reshape, Shares::if_viewable},
    {"unflatten.int", W::reshape},
    {"unsqueeze.default", W::reshape},
    {"squeeze.default", W::reshape},
    {"squeeze.dim", W::reshape},
    {"squeeze.dims", W::reshape},
    {"atleast_1d.default", W::reshape},
    {"atleast_2d.default", W::reshape},
    {"atleast_3d.default", W::reshape},
    {"permute.default", W::permute},
    {"transpose.int", W::permute},
    {"swapaxes.default", W::permute},
    {"swapdims.default", W::permute},
    {"t.default", W::permute},
    {"numpy_T.default", W::permute},
    {"mT.default", W::permute},
    {"mH.default", W::permute},
    {"adjoint.default", W::permute},
    {"slice.Tensor", W::slice},
    {"narrow.default", W::slice},
    {"select.int", W::select},
    {"split.Tensor", W::parts},
    {"split.sizes", W::parts},
    {"split_with_sizes.default", W::parts},
    {"chunk.default", W::parts},
    {"tensor_split.sections", W::parts},
    {"tensor_split.indices", W::parts},
    {"unbind.int", W::unbind},
    {"diagonal.default", W::diagonal},
    {"movedim.int", W::strided},
    {"movedim.intlist", W::strided},
    {"moveaxis.int", W::strided},
    {"moveaxis.intlist", W::strided},
    {"view.dtype", W::strided},
    {"einsum.default", W::strided, Shares::if_unsummed},
    {"as_strided.default", W::strided, Shares::always, true, true},
};

const Argument* argument(const ExportedNode& node, std::string_view name) {
  for (const NamedArgument& input : node.inputs) {
    if (input.name == name) return &input.arg;
  }
  return nullptr;
}

MemoryFormat format_argument(const ExportedNode& node, MemoryFormat fallback) {
  const Argument* arg = argument(node, "memory_format");
  if (arg == nullptr || arg->kind != ArgKind::memory_format) return fallback;
  return static_cast<MemoryFormat>(arg->items[0].integer);
}

/// Whether every label of the operand is one of the result's, so that nothing is summed.
bool keeps_labels(std::string_view equation) {
  std::string in, out;
  const size_t arrow = equation.find("->");
  for (char c : equation.substr(0, arrow)) {
    if (c != ' ') in += c;
  }
  if (arrow != equation.npos) {
    out = equation.substr(arrow + 2);
    return std::all_of(in.begin(), in.end(), [&](char c) { return out.find(c) != out.npos; });
  }
  // Without an arrow the result has the labels that occur once.
  return std::all_of(in.begin(), in.end(),
                     [&](char c) { return c == '.' || std::count(in.begin(), in.end(), c) == 1; });
}

bool one_operand(const ExportedNode& node) {
  const Argument* list = argument(node, "tensors");
  return list != nullptr && list->items.size() == 1;
}

}  // namespace

const ViewOp* find_view(std::string_view op) {
  for (const ViewOp& view : kViews) {
    if (view.op == op) return &view;
  }
  static constexpr ViewOp kOther = {"", W::strided, Shares::always, false, true};
  const ImportRow* row = import_table().find("aten", op, 0);
  return row != nullptr && row->alias == Alias::view ? &kOther : nullptr;
}

std::optional<std::string> functional_name(std::string_view op) {
  size_t dot = op.find('.');
  if (dot == op.npos) return std::nullopt;
  if (op.starts_with("__i") && op.substr(0, dot).ends_with("__")) {
    return "__" + std::string(op.substr(3));
  }
  if (dot < 2 || op[dot - 1] != '_' || op[dot - 2] == '_') return std::nullopt;
  return std::string(op.substr(0, dot - 1)) + std::string(op.substr(dot));
}

bool may_share(const ViewOp& view, const ExportedNode& node) {
  switch (view.shares) {
    case Shares::if_unchanged: {
      const Argument* copy = argument(node, "copy");
      return copy == nullptr || copy->kind != ArgKind::boolean || copy->items[0].integer == 0;
    }
    case Shares::if_alone:
      return one_operand(node);
    case Shares::if_unsummed: {
      const Argument* equation = argument(node, "equation");
      return one_operand(node) && equation != nullptr && equation->kind == ArgKind::text &&
             keeps_labels(equation->items[0].text);
    }
    default:
      return true;
  }
}

bool returns_view(const ViewOp& view, const ExportedNode& node, const Layout& from,
                  const Layout& to, SizeFacts& facts) {
  if (!may_share(view, node)) return false;
  switch (view.shares) {
    case Shares::if_viewable:
      return can_view(from, to.sizes, facts);
    case Shares::if_contiguous:
      return is_contiguous(from, format_argument(node, MemoryFormat::contiguous), facts);
    case Shares::if_unchanged: {
      const MemoryFormat format = format_argument(node, MemoryFormat::preserve);
      return format == MemoryFormat::preserve || suggested_format(from, facts) == format;
    }
    default:
      return true;
  }
}

Result<Ints> permutation(std::string_view op, const Import& import, int64_t rank) {
  if (op == "permute.default") {
    QC_ASSIGN(Ints dims, import.ints("dims", {}));
    if (static_cast<int64_t>(dims.size()) != rank) {
      return import.fail(Code::shape, "permute lists {} axes, the tensor has {}", dims.size(),
                         rank);
    }
    for (int64_t& d : dims) {
      QC_ASSIGN(d, resolve_axis(d, rank, import.loc()));
    }
    return dims;
  }
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (op == "numpy_T.default") return Ints(perm.rbegin(), perm.rend());
  int64_t a = -2, b = -1;
  if (op == "transpose.int" || op == "swapdims.default") {
    QC_ASSIGN(a, import.i("dim0", a));
    QC_ASSIGN(b, import.i("dim1", b));
  } else if (op == "swapaxes.default") {
    QC_ASSIGN(a, import.i("axis0", a));
    QC_ASSIGN(b, import.i("axis1", b));
  }
  if (rank < 2) return perm;
  QC_ASSIGN(a, resolve_axis(a, rank, import.loc()));
  QC_ASSIGN(b, resolve_axis(b, rank, import.loc()));
  std::swap(perm[a], perm[b]);
  return perm;
}

}  // namespace qc::pt2
