#include "frontends/onnx/scope.h"

namespace qc::onnx {
namespace {
// Copies of unaligned weights this large are made when needed instead of being kept.
constexpr int64_t kLazyBytes = int64_t{1} << 20;
}  // namespace

const AttributeProto* Env::resolve(const AttributeProto& attribute) const {
  if (attribute.ref_attr_name.empty()) return &attribute;
  auto found = attributes.find(attribute.ref_attr_name);
  return found == attributes.end() ? nullptr : found->second;
}

const AttributeProto* Env::find(const NodeProto& node, std::string_view name) const {
  for (const AttributeProto& a : node.attributes) {
    if (a.name == name) return resolve(a);
  }
  return nullptr;
}

void Scope::define(std::string_view name, Value* value) {
  const uint32_t i = names_.add(name);
  if (i == values_.size()) values_.push_back(nullptr);
  values_[i] = value;
}

Result<Ok> Scope::add_initializers(const GraphProto& graph, const Loc& loc) {
  for (const TensorProto& t : graph.initializers) {
    if (!dense_.emplace(t.name, &t).second) {
      return error(Code::graph, loc, "initializer '{}' is defined twice", t.name);
    }
  }
  for (const SparseTensorProto& t : graph.sparse_initializers) {
    if (dense_.contains(t.values.name) || !sparse_.emplace(t.values.name, &t).second) {
      return error(Code::graph, loc, "initializer '{}' is defined twice", t.values.name);
    }
  }
  return Ok{};
}

bool Scope::has_initializer(std::string_view name) const {
  return dense_.contains(name) || sparse_.contains(name);
}

bool Scope::local(std::string_view name) const {
  return names_.find(name) != Names::kNone || has_initializer(name) || sequences_.contains(name);
}

const std::vector<Value*>* Scope::sequence(std::string_view name) const {
  if (auto it = sequences_.find(name); it != sequences_.end()) return &it->second;
  return parent_ && &parent_->graph_ == &graph_ ? parent_->sequence(name) : nullptr;
}

Result<Value*> Scope::constant(const TensorProto& tensor) {
  QC_ASSIGN(const TensorReader::Storage storage, reader_->locate(tensor));
  if (storage.owner && storage.owner != file_) {
    file_ = storage.owner;
    graph_.pool().add_file(file_);
  }
  std::string name(tensor.name);
  if (!storage.borrowable && storage.size >= kLazyBytes) {
    auto make = [reader = reader_, tensor] { return reader->read(tensor); };
    return graph_.constant(graph_.pool().add_lazy(storage.dtype, tensor.dims, name, make));
  }
  QC_ASSIGN(Tensor contents, reader_->read(tensor));
  return graph_.constant(std::move(contents), name);
}

Result<Value*> Scope::find(std::string_view name) {
  if (const uint32_t i = names_.find(name); i != Names::kNone) return values_[i];
  if (auto it = dense_.find(name); it != dense_.end()) {
    QC_ASSIGN(Value * value, constant(*it->second));
    define(name, value);
    return value;
  }
  if (auto it = sparse_.find(name); it != sparse_.end()) {
    QC_ASSIGN(Tensor contents, reader_->read(*it->second));
    Value* value = graph_.constant(std::move(contents), std::string(name));
    define(name, value);
    return value;
  }
  if (sequences_.contains(name)) {
    return error(Code::unsupported, Loc{graph_.file, {}, {}}, "value '{}' is a sequence", name);
  }
  QC_CHECK(parent_ && &parent_->graph_ == &graph_, "a name was not captured");
  return parent_->find(name);
}

Result<std::vector<Value*>> operands(Scope& scope, const std::vector<std::string_view>& names) {
  std::vector<Value*> out;
  for (std::string_view name : names) {
    Value* value = nullptr;
    if (!name.empty()) {
      QC_ASSIGN(value, scope.find(name));
    }
    out.push_back(value);
  }
  return out;
}

}  // namespace qc::onnx
