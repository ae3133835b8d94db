#include "kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "kernels/added.h"
#include "kernels/common/processor.h"

#define QK_FOLDER(folder)                           \
  extern "C" const qk_kernel qk_kernels_##folder[]; \
  extern "C" const size_t qk_kernel_count_##folder; \
  extern "C" const qk_body qk_bodies_##folder[];    \
  extern "C" const size_t qk_body_count_##folder;
#include "kernels/folders.inc"
#undef QK_FOLDER
#define QK_ISA_BUILD(build, folder, features)              \
  extern "C" const qk_body qk_bodies_##folder##_##build[]; \
  extern "C" const size_t qk_body_count_##folder##_##build;
#include "kernels/builds.inc"
#undef QK_ISA_BUILD

#define QK_DOTS(folder)                                    \
  extern "C" const qk_body qk_bodies_##folder##_mul_add[]; \
  extern "C" const size_t qk_body_count_##folder##_mul_add;
#include "kernels/dots.inc"
#undef QK_DOTS

#define QK_RUNNABLE(folder, machine, features)                \
  extern "C" const qk_thunk qk_thunks_##folder##_##machine[]; \
  extern "C" const size_t qk_thunk_count_##folder##_##machine;
#include "kernels/runnable.inc"
#undef QK_RUNNABLE

namespace qc {
namespace {

/// A fragment of the kernels' sources; it needs the parts kNeeds[first] to kNeeds[last - 1].
struct Part {
  std::string_view text;
  int first, last;
};
/// A file that stands before all parts.
struct Header {
  std::string_view path, text;
};
/// A part that defines a body; one of several where conditions choose.
struct Definition {
  std::string_view symbol;
  int subrange;
};
using namespace std::string_view_literals;
#include "kernels/sources.inc"

std::vector<std::string> split(std::string_view list, char mark = ',') {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(mark), list.size());
    out.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

std::vector<OperandSpec> operands(std::string_view list) {
  std::vector<OperandSpec> out;
  for (std::string& name : split(list)) {
    const bool optional = name.back() == '?';
    if (optional) name.pop_back();
    out.push_back({std::move(name), optional});
  }
  return out;
}

/// "name=value" in two.
std::pair<std::string, std::string> halves(const std::string& pair) {
  const size_t equals = pair.find('=');
  return {pair.substr(0, equals), pair.substr(equals + 1)};
}

Condition condition(const std::string& text) {
  auto [name, values] = halves(text);
  return {std::move(name), split(values)};
}

Fusion fusion_of(const qk_fusion& f) {
  Fusion out;
  out.kernel = f.kernel;
  out.joins = f.joins != 0;
  out.count = f.count;
  for (const std::string& text : split(f.conditions, ' '))
    out.conditions.push_back(condition(text));
  for (const std::string& text : split(f.members, ' ')) {
    auto [name, values] = halves(text);
    const std::vector<std::string> each = split(values, '|');
    out.members.push_back({std::move(name), each.front(), each.back()});
  }
  return out;
}

std::optional<Meaning> meaning_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::vector<std::string> words = split(text, ' ');
  Meaning out;
  out.kind = words[0] == "copy"   ? Meaning::Kind::copy
             : words[0] == "list" ? Meaning::Kind::list
             : words[0] == "test" ? Meaning::Kind::test
                                  : Meaning::Kind::check;
  for (const std::string& word : std::span(words).subspan(1)) {
    if (word.find('=') == std::string::npos)
      out.members.push_back(word);
    else
      out.conditions.push_back(condition(word));
  }
  return out;
}

Signature signature_of(const qk_kernel& k) {
  Signature s;
  s.name = k.name;
  s.folder = k.folder;
  s.params = k.params;
  s.selectors = split(k.selectors);
  s.in = operands(k.operands);
  s.out = operands(k.results);
  s.params_size = k.params_size;
  s.epilogue = split(k.epilogue);
  s.unit = k.unit;
  s.meaning = meaning_of(k.means);
  for (const qk_fusion& f : std::span(k.fusions, static_cast<size_t>(k.fusion_count)))
    s.fusions.push_back(fusion_of(f));
  for (const std::string& text : split(k.fields)) {
    Field f;
    f.type = text[0] == 'l'   ? Field::Type::i64
             : text[0] == 'f' ? Field::Type::f32
                              : Field::Type::i32;
    f.name = text.substr(2);
    if (const size_t bracket = f.name.find('['); bracket != std::string::npos) {
      f.count = std::atoi(f.name.c_str() + bracket + 1);
      f.array = true;
      f.name.resize(bracket);
    }
    f.at = s.numbers;
    f.offset = k.offsets[s.fields.size()];
    s.numbers += static_cast<size_t>(f.count);
    s.fields.push_back(std::move(f));
  }
  for (const std::string& text : split(k.groups)) {
    const size_t space = text.find(' ');
    Group g{text.substr(0, space), text.substr(space + 1), s.numbers, 0};
    for (const Field& f : s.fields) {
      if (!f.name.starts_with(g.name + '.')) continue;
      g.at = std::min(g.at, f.at);
      g.numbers += static_cast<size_t>(f.count);
    }
    s.groups.push_back(std::move(g));
  }
  return s;
}

template <class T, class Name>
const T* find_in(std::span<const T> sorted, std::string_view wanted, Name&& name) {
  auto it = std::lower_bound(sorted.begin(), sorted.end(), wanted,
                             [&](const T& t, std::string_view n) { return name(t) < n; });
  return it != sorted.end() && name(*it) == wanted ? &*it : nullptr;
}

Body body_of(const qk_body& b) {
  return {b.symbol,        find_kernel(b.kernel),
          split(b.select), b.file,
          b.machine,       b.stack,
          b.run,           b.split,
          b.units,         b.subrange,
          b.vector_width};
}

/// Whether a body is one of the build's, not an added one.
bool is_built_in(const Body& body) {
  const std::span<const Body> all = all_bodies();
  return !std::less<>()(&body, all.data()) && std::less<>()(&body, all.data() + all.size());
}

/// Whether the processor that this runs on has all features of a list.
[[maybe_unused]] bool processor_has(std::string_view features) {
  const std::vector<std::string> wanted = split(features);
  return std::all_of(wanted.begin(), wanted.end(), [](const std::string& f) {
#define QK_HAS(feature, has) \
  if (f == feature) return static_cast<bool>(has);
#include "kernels/isa.inc"
#undef QK_HAS
    return false;
  });
}

}  // namespace

int Signature::operand(std::string_view wanted) const {
  auto it =
      std::find_if(in.begin(), in.end(), [&](const OperandSpec& o) { return o.name == wanted; });
  return it == in.end() ? -1 : static_cast<int>(it - in.begin());
}

int Signature::result(std::string_view wanted) const {
  auto it =
      std::find_if(out.begin(), out.end(), [&](const OperandSpec& o) { return o.name == wanted; });
  return it == out.end() ? -1 : static_cast<int>(it - out.begin());
}

const Field* Signature::field(std::string_view wanted) const {
  auto it =
      std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == wanted; });
  return it == fields.end() ? nullptr : &*it;
}

const Group* Signature::group(std::string_view type) const {
  auto it =
      std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.type == type; });
  return it == groups.end() ? nullptr : &*it;
}

namespace {
/// Sorted by name.
std::vector<Signature> signatures(bool stages) {
  std::vector<Signature> all;
  const auto add = [&](const qk_kernel* table, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if ((table[i].is_stage != 0) == stages) all.push_back(signature_of(table[i]));
    }
  };
#define QK_FOLDER(folder) add(qk_kernels_##folder, qk_kernel_count_##folder);
#include "kernels/folders.inc"
#undef QK_FOLDER
  std::sort(all.begin(), all.end(),
            [](const Signature& a, const Signature& b) { return a.name < b.name; });
  return all;
}
}  // namespace

std::span<const Signature> all_kernels() {
  static const std::vector<Signature> kernels = signatures(false);
  return kernels;
}

std::span<const Body> all_bodies() {
  static const std::vector<Body> bodies = [] {
    std::vector<Body> all;
#define QK_FOLDER(folder)                               \
  for (size_t i = 0; i < qk_body_count_##folder; ++i) { \
    all.push_back(body_of(qk_bodies_##folder[i]));      \
  }
#include "kernels/folders.inc"
#undef QK_FOLDER
    std::sort(all.begin(), all.end(),
              [](const Body& a, const Body& b) { return a.symbol < b.symbol; });
    [[maybe_unused]] const auto add = [&](const qk_thunk* thunks, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        std::find_if(all.begin(), all.end(), [&](const Body& b) {
          return b.symbol == thunks[i].symbol;
        })->run = thunks[i].run;
      }
    };
#define QK_RUNNABLE(folder, machine, features) \
  if (processor_has(features))                 \
    add(qk_thunks_##folder##_##machine, qk_thunk_count_##folder##_##machine);
#include "kernels/runnable.inc"
#undef QK_RUNNABLE
    return all;
  }();
  return bodies;
}

const Signature* find_kernel(std::string_view name) {
  const Signature* built_in =
      find_in(all_kernels(), name, [](const Signature& s) -> std::string_view { return s.name; });
  if (built_in) return built_in;
  const AddedKernel* own = find_added_kernel(name);
  return own ? &own->signature : nullptr;
}

const Signature* find_stage(std::string_view name) {
  static const std::vector<Signature> stages = signatures(true);
  return find_in(std::span<const Signature>(stages), name,
                 [](const Signature& s) -> std::string_view { return s.name; });
}

const Body* find_body(std::string_view symbol) {
  const Body* built_in =
      find_in(all_bodies(), symbol, [](const Body& b) -> std::string_view { return b.symbol; });
  if (built_in) return built_in;
  const AddedKernel* own = find_added_body(symbol);
  return own ? &own->body : nullptr;
}

const Body* find_body(const Signature& kernel, std::span<const std::string> select) {
  static const std::map<std::string, const Body*> by_selection = [] {
    std::map<std::string, const Body*> map;
    for (const Body& b : all_bodies()) {
      std::string key = b.kernel->name;
      for (const std::string& value : b.select) key += ',' + value;
      map.emplace(std::move(key), &b);
    }
    return map;
  }();
  std::string key = kernel.name;
  for (const std::string& value : select) key += ',' + value;
  if (const auto it = by_selection.find(key); it != by_selection.end()) return it->second;
  const AddedKernel* own = find_added_kernel(kernel.name);
  return own ? &own->body : nullptr;
}

/// Bodies of a table compiled in another way run in place of those of their names; bodies for
/// machines, which the table does not compile, stay.
static void replace(std::vector<Body>& bodies, const qk_body* table, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Body& own = bodies[static_cast<size_t>(find_body(table[i].symbol) - all_bodies().data())];
    if (table[i].run) own.run = table[i].run;
  }
}

const Body* fast_body(const Body& body) {
  if (!is_built_in(body)) return &body;
  static const std::vector<Body> bodies = [] {
    std::vector<Body> all(all_bodies().begin(), all_bodies().end());
#define QK_ISA_BUILD(build, folder, features) \
  if (processor_has(features))                \
    replace(all, qk_bodies_##folder##_##build, qk_body_count_##folder##_##build);
#include "kernels/builds.inc"
#undef QK_ISA_BUILD
    return all;
  }();
  return &bodies[static_cast<size_t>(&body - all_bodies().data())];
}

const Body* mul_add_body(const Body& body) {
  if (!is_built_in(body)) return &body;
  static const std::vector<Body> bodies = [] {
    std::vector<Body> all(all_bodies().begin(), all_bodies().end());
#define QK_DOTS(folder) \
  replace(all, qk_bodies_##folder##_mul_add, qk_body_count_##folder##_mul_add);
#include "kernels/dots.inc"
#undef QK_DOTS
    return all;
  }();
  return &bodies[static_cast<size_t>(&body - all_bodies().data())];
}

std::string kernel_source(std::span<const std::string> symbols) {
  std::vector<bool> taken(std::size(kParts));
  std::vector<int> left;
  std::string added;
  const auto need = [&](std::string_view symbol) {
    for (const Definition& d : kDefinitions) {
      if (d.symbol == symbol) left.push_back(d.subrange);
    }
  };
  for (const std::string& symbol : symbols) {
    need(symbol);
    const AddedKernel* own = find_added_body(symbol);
    if (!own) continue;
    for (const std::string& name : numerics_in(own->text)) need(name);
    added += own->text;
  }
  while (!left.empty()) {
    const int at = left.back();
    left.pop_back();
    if (taken[at]) continue;
    taken[at] = true;
    left.insert(left.end(), kNeeds + kParts[at].first, kNeeds + kParts[at].last);
  }
  std::string out;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (taken[i]) out.append(kParts[i].text).append("\n");
  }
  return out + added;
}

std::string_view embedded_header(std::string_view path) {
  for (const Header& h : kHeaders) {
    if (h.path == path) return h.text;
  }
  return {};
}

}  // namespace qc
