#include "kernels/added.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace qc {
namespace {

/// By name and by symbol.
struct AddedKernels {
  std::shared_mutex mutex;
  std::map<std::string, std::unique_ptr<const AddedKernel>, std::less<>> by_name;
  std::map<std::string, const AddedKernel*, std::less<>> by_symbol;
};

/// Never destroyed: bodies may belong to what ends before static objects do.
AddedKernels& added() {
  static auto* const kernels = new AddedKernels;
  return *kernels;
}

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

const AddedKernel& add_kernel(AddedKernel kernel) {
  auto own = std::make_unique<AddedKernel>(std::move(kernel));
  own->body.kernel = &own->signature;
  const AddedKernel& out = *own;
  const std::unique_lock lock(added().mutex);
  added().by_symbol.emplace(out.body.symbol, &out);
  added().by_name.emplace(out.signature.name, std::move(own));
  return out;
}

const AddedKernel* find_added_kernel(std::string_view name) {
  const std::shared_lock lock(added().mutex);
  const auto it = added().by_name.find(name);
  return it == added().by_name.end() ? nullptr : it->second.get();
}

const AddedKernel* find_added_body(std::string_view symbol) {
  const std::shared_lock lock(added().mutex);
  const auto it = added().by_symbol.find(symbol);
  return it == added().by_symbol.end() ? nullptr : it->second;
}

std::set<std::string, std::less<>> numerics_in(std::string_view text) {
  std::set<std::string, std::less<>> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    if (text.substr(at, 3) == "qn_") out.emplace(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return out;
}

std::string numerics_source(std::string_view text) {
  const std::set<std::string, std::less<>> names = numerics_in(text);
  return kernel_source(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace qc
