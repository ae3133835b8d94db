#include "program/program.h"

#include <algorithm>
#include <cstdlib>

namespace qc {

View part(const View& view, const Dim& offset, Dims dims) {
  View out = view;
  out.offset = view.offset + offset;
  out.dims = std::move(dims);
  out.strides.clear();
  return out;
}

Dim extent(const View& view) {
  const auto bits_of = static_cast<int64_t>(bits(view.dtype));
  const auto whole_bytes = [&](const Dim& elements) {
    return bits_of % 8 == 0 ? elements * Dim(bits_of / 8)
                            : ceildiv(elements * Dim(bits_of), Dim(8));
  };
  if (view.strides.empty()) return whole_bytes(product(view.dims));
  Dim last = 1;  // elements from the first to the last, both counted
  for (size_t i = 0; i < view.dims.size(); ++i) {
    if (view.dims[i] == Dim(0)) return 0;
    last = last + (view.dims[i] - Dim(1)) * view.strides[i];
  }
  return whole_bytes(last);
}

bool Call::proved(std::string_view fact) const {
  return std::find(facts.begin(), facts.end(), fact) != facts.end();
}

const View& Call::operand(std::string_view name) const {
  const int i = kernel->operand(name), o = kernel->result(name);
  QC_CHECK(i >= 0 || o >= 0, "a kernel has no such operand");
  return i >= 0 ? in[static_cast<size_t>(i)] : out[static_cast<size_t>(o)];
}

const Dim& Call::size(std::string_view name, int at) const {
  const Field* f = kernel->field(name);
  QC_CHECK(f && f->type != Field::Type::f32 && at < f->count, "a kernel has no such integer");
  return std::get<Dim>(params[f->at + static_cast<size_t>(at)]);
}

float Call::real(std::string_view name, int at) const {
  const Field* f = kernel->field(name);
  QC_CHECK(f && f->type == Field::Type::f32 && at < f->count, "a kernel has no such float");
  return std::get<float>(params[f->at + static_cast<size_t>(at)]);
}

namespace {
/// Whether the text stands for a number of a signature.
bool is_number(const Param& param, const std::string& text) {
  if (const float* real = std::get_if<float>(&param))
    return *real == std::strtof(text.c_str(), nullptr);
  return std::get<Dim>(param) == Dim(std::strtoll(text.c_str(), nullptr, 10));
}
}  // namespace

bool Call::meets(std::span<const Condition> conditions, const Stage* before) const {
  constexpr std::string_view kBefore = "before.";
  return std::ranges::all_of(conditions, [&](const Condition& c) {
    const auto has = [&](const Signature& k, const std::vector<Param>& own, std::string_view name) {
      const Field* f = k.field(name);
      return f && std::ranges::any_of(
                      c.values, [&](const std::string& v) { return is_number(own[f->at], v); });
    };
    if (c.name.starts_with(kBefore)) {
      return before && has(*before->kind, before->params, c.name.substr(kBefore.size()));
    }
    const auto selector = std::ranges::find(kernel->selectors, c.name);
    if (selector == kernel->selectors.end()) return has(*kernel, params, c.name);
    const std::string& value = select[static_cast<size_t>(selector - kernel->selectors.begin())];
    return std::ranges::find(c.values, value) != c.values.end();
  });
}

const Meaning* Call::means(Meaning::Kind kind) const {
  const std::optional<Meaning>& own = kernel->meaning;
  return own && own->kind == kind && meets(own->conditions) ? &*own : nullptr;
}

const Call* Step::call() const {
  if (const ParallelStep* parallel = std::get_if<ParallelStep>(&op)) return &parallel->call;
  return std::get_if<Call>(&op);
}

Call* Step::call() { return const_cast<Call*>(std::as_const(*this).call()); }

int Program::owner(int b) const {
  QC_CHECK(b >= 0, "what is absent has no buffer");
  while (buffer(b).alias_of >= 0) b = buffer(b).alias_of;
  return b;
}

SymbolBounds Program::symbol_bounds() const {
  SymbolBounds out;
  for (const FreeDim& d : dims) out[d.name] = {d.min, d.max};
  for (const Scalar& s : scalars) out[s.symbol] = {s.min, s.max};
  for (const ArenaSymbol& p : arena_symbols) out[p.symbol] = p.value.bounds(out);
  return out;
}

Bindings Program::with_arena_symbols(Bindings sizes) const {
  for (const ArenaSymbol& p : arena_symbols) sizes[p.symbol] = p.value.substitute(sizes).value();
  return sizes;
}

std::vector<int64_t> Program::largest_sizes() const {
  const SymbolBounds symbols = symbol_bounds();
  std::vector<int64_t> out;
  out.reserve(buffers.size());
  for (const Buffer& b : buffers)
    out.push_back(b.bytes.is_static() ? b.bytes.value() : b.bytes.bounds(symbols).max);
  return out;
}

BufferOffset Program::resolve(BufferOffset position) const {
  while (buffer(position.buffer).alias_of >= 0) {
    const Buffer& b = buffer(position.buffer);
    position = {b.alias_of, position.offset + b.alias_offset};
  }
  return position;
}

}  // namespace qc
