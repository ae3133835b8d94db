// What golden tests share: golden [--bless] FOLDER ... checks every NAME.ir of each folder, whose
// name is the pass.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace qc::testing {

inline std::string read_text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Calls `check(pass, file, bless)`, which says what is wrong; the status of the program.
template <class Check>
int run_goldens(int argc, char** argv, Check&& check) {
  namespace fs = std::filesystem;
  bool bless = false;
  int ran = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--bless") == 0) {
      bless = true;
      continue;
    }
    const fs::path folder = fs::path(argv[i]).lexically_normal();
    const std::string pass =
        (folder.has_filename() ? folder : folder.parent_path()).filename().string();
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".ir") && !name.ends_with(".expected.ir")) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      ++ran;
      const std::string wrong = check(pass, file, bless);
      if (wrong.empty()) continue;
      ++failed;
      std::printf("%s: %s\n", file.string().c_str(), wrong.c_str());
    }
  }
  std::printf("%d goldens, %d failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace qc::testing
