#include "frontends/pt2/archive.h"

#include "frontends/pt2/dim_names.h"

namespace qc::pt2 {
namespace {

/// The graphs under models/, as entry names.
std::vector<std::string> models(const ZipArchive& zip, const std::string& root) {
  std::vector<std::string> out;
  for (const ZipEntry& entry : zip.entries()) {
    std::string_view name = entry.name;
    if (!name.starts_with(root + "models/") || !name.ends_with(".json")) continue;
    name.remove_prefix(root.size() + 7);
    name.remove_suffix(5);
    if (name.find('/') == name.npos) out.emplace_back(name);
  }
  return out;
}

bool has_folder(const ZipArchive& zip, const std::string& folder) {
  for (const ZipEntry& entry : zip.entries()) {
    if (entry.name.starts_with(folder)) return true;
  }
  return false;
}

}  // namespace

Result<Archive> Archive::open(std::shared_ptr<const MappedFile> file) {
  QC_ASSIGN(Archive archive, read(file->bytes(), file->path(), file));
  archive.mapping_ = std::move(file);
  return archive;
}

Result<Archive> Archive::open(const std::string& path) {
  QC_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return open(std::move(file));
}

Result<Archive> Archive::read(std::span<const std::byte> bytes, const std::string& file,
                              std::shared_ptr<const void> owner) {
  QC_ASSIGN(ZipArchive zip, ZipArchive::read(bytes, file));
  Archive archive;
  archive.file_ = file;
  archive.owner_ = std::move(owner);
  if (const ZipEntry* old = zip.find("serialized_exported_program.json")) {
    QC_TRY(archive.read_old(zip, text(*old)));
  } else {
    QC_TRY(archive.read_new(zip));
  }
  return archive;
}

Result<Ok> Archive::read_old(const ZipArchive& zip, std::string_view json) {
  QC_ASSIGN(program_, parse_program(json, Loc{file_, {}, {}}));
  QC_TRY(add_dim_names(zip, "extra_files/"));
  constexpr std::pair<const char*, bool> kParts[] = {
      {"serialized_state_dict.pt", true},
      {"serialized_state_dict.json", true},
      {"serialized_constants.pt", false},
      {"serialized_constants.json", false},
  };
  for (auto [name, state] : kParts) {
    if (const ZipEntry* entry = zip.find(name)) {
      QC_TRY((state ? weights_ : constants_).add_saved(entry->data, file_, name));
    }
  }
  return Ok{};
}

Result<Ok> Archive::add_dim_names(const ZipArchive& zip, const std::string& folder) {
  const ZipEntry* entry = zip.find(folder + kDimNamesFile);
  return entry ? name_dims(text(*entry), Loc{file_, {}, {}}, program_) : Ok{};
}

Result<Ok> Archive::read_new(const ZipArchive& zip) {
  Loc loc{file_, {}, {}};
  std::string root(zip.root());
  auto names = models(zip, root);
  if (names.empty()) {
    if (has_folder(zip, root + "data/aotinductor/")) {
      return error(
          Code::unsupported, loc,
          "this is an AOTInductor package of compiled code; save the exported program with "
          "torch.export.save instead");
    }
    if (zip.find(root + "data.pkl") != nullptr) {
      return error(
          Code::unsupported, loc,
          "this is a file of torch.save, which has weights but no graph; save the exported "
          "program with torch.export.save instead");
    }
    if (zip.find(root + "archive_format") != nullptr || has_folder(zip, root + "data/")) {
      return error(Code::format, loc,
                   "incomplete export: the archive has no models/*.json (saving it failed)");
    }
    return error(Code::format, loc, "not a torch.export archive: it has no models/*.json");
  }
  std::string model = names[0];
  if (names.size() > 1) {
    if (zip.find(root + "models/model.json") == nullptr) {
      return error(Code::unsupported, loc, "the archive holds {} programs and none named 'model'",
                   names.size());
    }
    model = "model";
  }
  QC_ASSIGN(program_, parse_program(text(*zip.find(root + "models/" + model + ".json")), loc));
  QC_TRY(add_dim_names(zip, root + "extra/"));
  for (bool constants : {false, true}) {
    TensorTable& table = constants ? constants_ : weights_;
    std::string kind = constants ? "constants" : "weights";
    std::string folder = root + "data/" + kind + "/";
    std::string config = model + "_" + kind + "_config.json";
    if (zip.find(folder + config) != nullptr) {
      QC_TRY(table.add_raw(zip, folder, config));
    } else if (const ZipEntry* saved = zip.find(folder + model + ".pt")) {
      QC_TRY(table.add_saved(saved->data, file_, std::string(saved->name)));
    }
  }
  return Ok{};
}

const StoredTensor* Archive::find(std::string_view name) const {
  const StoredTensor* stored = weights_.find(name);
  return stored != nullptr ? stored : constants_.find(name);
}

Result<Tensor> Archive::weight(std::string_view name) const {
  const StoredTensor* stored = find(name);
  Loc loc{file_, {std::string(name)}, {}};
  if (stored == nullptr) {
    return error(Code::format, loc, "the archive has no tensor of this name");
  }
  return materialise(*stored, owner_, loc);
}

Result<Tensor> Archive::storage_of(std::string_view name, int64_t first, int64_t count) const {
  const StoredTensor* stored = find(name);
  Loc loc{file_, {std::string(name)}, {}};
  if (stored == nullptr || stored->pickled) {
    return error(Code::format, loc, "the archive has no storage of this name");
  }
  StoredTensor whole = *stored;
  whole.sizes = {count};
  whole.strides = {1};
  whole.offset = first;
  return materialise(whole, owner_, loc);
}

}  // namespace qc::pt2
