#include "program/lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/relations.h"
#include "kernels/copy/calls.h"
#include "program/bind.h"
#include "program/params.h"
#include "support/budget.h"
#include "support/located.h"

namespace qc {

Dims physical_dims(const Type& type) {
  Dims dims = type.shape;
  if (type.layout == Layout::channels_last && dims.size() > 2)
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

int64_t physical_axis(const Type& type, int64_t axis) {
  if (type.layout != Layout::channels_last || type.rank() <= 2 || axis == 0) return axis;
  return axis == 1 ? type.rank() - 1 : axis - 1;
}

namespace {
Dim byte_size(const Type& type) {
  return Dim(static_cast<int64_t>(bytes(type.dtype))) * product(type.shape);
}

/// A whole buffer that holds a value of this type.
View typed(int buffer, const Type& type) {
  View view;
  view.buffer = buffer;
  view.dtype = type.dtype;
  view.dims = physical_dims(type);
  return view;
}

/// Kernels count elements and bytes of what they read and write in 32 bits.
Result<Ok> check_size(const Type& type, const SymbolBounds& free, const Loc& loc) {
  std::set<std::string> symbols;
  for (const Dim& d : type.shape) d.collect_symbols(symbols);
  std::vector<int64_t> largest;
  for (const Dim& d : type.shape) {
    const Bounds range = d.bounds(free);
    if (range.min < 0 && range.max < INT64_MAX && d.bounds_by_cases(free).min < 0) {
      return error(Code::dim, loc, "shape {} is negative for some sizes: give narrower ranges",
                   str(type.shape));
    }
    for (const std::string& symbol : symbols) {
      if (range.max < INT64_MAX || free.contains(symbol)) continue;
      return error(Code::dim, loc, "shape {} has no bounds; give --dim {}=SIZE or a range",
                   str(type.shape), symbol);
    }
    largest.push_back(range.max);
  }
  const auto size = checked_bytes(type.dtype, largest);
  if (size.ok() && *size <= INT32_MAX) return Ok{};
  const auto [at, advice] = largest_sizes(symbols, free);
  return error(size.ok() || !advice.empty() ? Code::unsupported : Code::limit, loc,
               "a value of {} bytes{}: compiled code takes up to {}{}",
               size.ok() ? std::to_string(*size) : "more than 2^40", at, INT32_MAX, advice);
}
}  // namespace

Result<Ok> Lowering::need_numbers() const {
  const auto check = [&](const Value* v) -> Result<Ok> {
    if (!v || all_static(v->shape())) return Ok{};
    std::set<std::string> symbols;
    for (const Dim& d : v->shape()) d.collect_symbols(symbols);
    return error(Code::unsupported, loc(),
                 "'{}' needs numbers for its sizes, and {} has shape {}: give --dim {}=SIZE",
                 node_->op(), v->name(), str(v->shape()), fmt::join(symbols, "=SIZE --dim "));
  };
  for (size_t i = 0; i < node_->input_count(); ++i) QC_TRY(check(node_->input(i)));
  for (size_t i = 0; i < node_->output_count(); ++i) QC_TRY(check(node_->output(i)));
  return Ok{};
}

int Lowering::new_buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size() - 1);
}

View& Lowering::slot(const Value* value) {
  if (graph_ != value->graph()) {
    graph_ = value->graph();
    std::vector<View>& views = views_[graph_];
    views.resize(graph_->value_bound());
    graph_views_ = views.data();
  }
  return graph_views_[value->number()];
}

View Lowering::view(const Value* value) {
  if (const View known = slot(value); known.buffer >= 0) return known;
  Buffer buffer;
  buffer.name = value->name();
  buffer.bytes = byte_size(value->type());
  if (value->is_constant()) {
    const View shared =
        derived(value->constant(), "", value->dtype(), program_.pool->shape(value->constant()), {});
    return slot(value) = shared;
  }
  return slot(value) = typed(new_buffer(std::move(buffer)), value->type());
}

void Lowering::record(std::string_view kernel, std::vector<Param> params,
                      const std::vector<std::string_view>& select, std::vector<View> in,
                      std::vector<View> out, CallInfo info) {
  Call call;
  call.kernel = find_kernel(kernel);
  QC_CHECK(call.kernel != nullptr, "call of an unknown kernel");
  QC_CHECK(call.kernel->numbers == params.size(), "parameters of another kernel");
  call.select.assign(select.begin(), select.end());
  call.params = std::move(params);
  call.in = std::move(in);
  call.out = std::move(out);
  call.in_place = std::move(info.in_place);
  call.macs = info.macs;
  call.facts = std::move(info.facts);
  call.epilogue = std::move(info.epilogue);
  steps_->push_back({node_ ? node_->loc() : Loc{}, std::move(call)});
}

void Lowering::alias(size_t i, View storage) {
  const Value* value = node_->output(i);
  QC_CHECK(slot(value).buffer < 0, "alias of a value that already has a buffer");
  Buffer buffer;
  buffer.name = value->name();
  buffer.bytes = byte_size(value->type());
  buffer.alias_of = storage.buffer;
  buffer.alias_offset = storage.offset;
  slot(value) = typed(new_buffer(std::move(buffer)), value->type());
}

void Lowering::alias_strided(size_t i, View storage, Dims strides) {
  alias(i, std::move(storage));
  View& view = slot(node_->output(i));
  view.strides = std::move(strides);
  program_.buffers[static_cast<size_t>(view.buffer)].bytes = extent(view);
}

View Lowering::scratch(DType dtype, Dims dims, std::string_view purpose) {
  View view;
  view.dtype = dtype;
  view.dims = std::move(dims);
  Buffer buffer;
  buffer.name = purpose;
  buffer.bytes = extent(view);
  view.buffer = new_buffer(std::move(buffer));
  return view;
}

View Lowering::derived(ConstId source, std::string_view purpose, DType dtype, Ints shape,
                       std::function<Result<Tensor>(const Tensor&)> make) {
  auto [it, fresh] = derived_.try_emplace({source, std::string(purpose)});
  if (!fresh) return it->second;
  ConstId id = source;
  std::string name = program_.pool->name(source);
  if (make) {
    name += (name.empty() ? "" : ".") + std::string(purpose);
    ConstantPool* pool = program_.pool.get();  // owns the entry: sharing it would be a cycle
    auto [known, first] = constants_.try_emplace({source, std::string(purpose)});
    // The same purpose with another shape depends on sizes and is another constant.
    if (first || pool->shape(known->second) != shape) {
      known->second =
          pool->add_lazy(dtype, std::move(shape), name, [pool, source, make]() -> Result<Tensor> {
            QC_ASSIGN(Tensor t, pool->get(source));
            return make(t);
          });
    }
    id = known->second;
  }
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.kind = BufferKind::constant;
  buffer.bytes = program_.pool->byte_size(id);
  buffer.constant = id;
  View view;
  view.buffer = new_buffer(std::move(buffer));
  view.dtype = program_.pool->dtype(id);
  view.dims = to_dims(program_.pool->shape(id));
  return it->second = view;
}

View Lowering::constant(Tensor tensor, std::string_view purpose) {
  return derived(program_.pool->add(std::move(tensor), std::string(purpose)), "", DType::f32, {},
                 {});
}

std::optional<ConstId> Lowering::constant_in(size_t i) const {
  const Value* v = node_->input(i);
  if (!v || !v->is_constant()) return std::nullopt;
  return v->constant();
}

void Lowering::copy(View from, View to, const Dim& bytes) {
  kernel::Copy c;
  c.bytes = bytes;
  c.x = from;
  c.y = to;
  emit(c);
}

Result<std::vector<View>> Lowering::region(const Graph& region, const std::vector<View>& inputs,
                                           Steps& steps) {
  const Node* node = node_;
  Steps* outer = steps_;
  steps_ = &steps;
  for (size_t i = 0; i < inputs.size(); ++i) slot(region.inputs()[i]) = inputs[i];
  Result<Ok> done = lower_nodes(region);
  node_ = node;
  steps_ = outer;
  if (!done.ok()) return std::move(done).diag();
  std::vector<View> out;
  for (const Output& o : region.outputs()) out.push_back(view(o.value));
  return out;
}

Result<Ok> Lowering::guard(const Node& node) {
  std::vector<DimGuard> relations;
  {
    const NotedRelations noted(relations);
    QC_TRY(node.infer());
  }
  for (DimGuard& relation : relations) {
    std::set<std::string> used;
    relation.left.collect_symbols(used);
    relation.right.collect_symbols(used);
    for (const std::string& symbol : used) {
      if (!symbols_.contains(symbol)) {
        return error(Code::dim, node.loc(), "no input says how large '{}' is: give --dim {}=SIZE",
                     symbol, symbol);
      }
    }
    const auto known = proved(relation, symbols_);
    if (known == false) {
      return error(Code::dim, node.loc(), "{} takes sizes with {}, which no size in the ranges has",
                   node.op(), relation.str());
    }
    const bool retained = std::ranges::any_of(
        program_.guards, [&](const DimGuard& guard) { return guard.str() == relation.str(); });
    if (!known && !retained) program_.guards.push_back(std::move(relation));
  }
  return Ok{};
}

Result<Ok> Lowering::lower_nodes(const Graph& graph) {
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      QC_TRY(check_size(n->output(i)->type(), symbols_, n->loc()));
    }
    node_ = n;
    const Doing doing("lowering", &n->loc());
    spend(Cost::work, kNodeWork + 16 * static_cast<int64_t>(n->input_count()));
    QC_TRY(guard(*n));
    QC_TRY(located(n->lower(*this), n->loc()));
  }
  return Ok{};
}

Result<Program> lower(const Graph& graph) {
  PackedConstants constants;
  return lower(graph, constants);
}

Result<Program> lower(const Graph& graph, PackedConstants& constants) {
  Program program;
  program.name = graph.name;
  program.pool = graph.shared_pool();
  for (const std::string& symbol : graph.symbols()) {
    const auto range = graph.dim_ranges.find(symbol);
    if (range == graph.dim_ranges.end()) continue;
    program.dims.push_back({symbol, range->second.min, range->second.max, range->second.step});
  }
  program.guards = graph.guards;
  program.dot = graph.dot;
  Lowering lowering(program, constants);
  lowering.symbols_ = program.symbol_bounds();
  lowering.steps_ = &program.steps;
  program.steps.reserve(graph.node_count());
  program.buffers.reserve(graph.node_count());
  for (const Value* v : graph.inputs()) {
    QC_TRY(check_size(v->type(), lowering.symbols_, Loc{graph.file, {v->name()}, {}}));
    const View view = lowering.view(v);
    Buffer& buffer = program.buffers[static_cast<size_t>(view.buffer)];
    buffer.kind = BufferKind::input;
    buffer.slot = static_cast<int>(program.inputs.size());
    program.inputs.push_back({v->name(), v->type(), view.buffer});
  }
  for (const State& s : graph.states()) {
    QC_TRY(check_size(s.in->type(), lowering.symbols_, Loc{graph.file, {s.name}, {}}));
    const View view = lowering.view(s.in);
    Buffer& buffer = program.buffers[static_cast<size_t>(view.buffer)];
    buffer.kind = BufferKind::state;
    buffer.constant = s.initial;
    buffer.slot = static_cast<int>(program.states.size());
    program.states.push_back({s.name, s.in->type(), view.buffer});
  }
  QC_TRY(lowering.lower_nodes(graph));
  lowering.node_ = nullptr;  // copies of outputs and states belong to no node
  // An output that is an input, a constant, a view or another output needs its own bytes: copy.
  // The first output of a plain arena buffer takes that buffer over.
  for (const Output& o : graph.outputs()) {
    const View view = lowering.view(o.value);
    const Dim size = byte_size(o.value->type());
    Buffer& source = program.buffers[static_cast<size_t>(view.buffer)];
    const int slot = static_cast<int>(program.outputs.size());
    if (source.kind == BufferKind::arena && source.alias_of < 0 && source.bytes == size) {
      source.kind = BufferKind::output;
      source.slot = slot;
      program.outputs.push_back({o.name, o.value->type(), view.buffer});
      continue;
    }
    Buffer buffer;
    buffer.name = o.name;
    buffer.kind = BufferKind::output;
    buffer.bytes = size;
    buffer.slot = slot;
    const int id = lowering.new_buffer(std::move(buffer));
    program.outputs.push_back({o.name, o.value->type(), id});
    lowering.copy(view, typed(id, o.value->type()), size);
  }
  for (size_t i = 0; i < graph.states().size(); ++i) {
    const State& s = graph.states()[i];
    if (s.out == s.in) continue;
    lowering.copy(lowering.view(s.out), typed(program.states[i].buffer, s.out->type()),
                  byte_size(s.out->type()));
  }
  simplify_sizes(program);
  return program;
}

}  // namespace qc
