// Runs files of cases (see cases.h) and reports each failure: run_cases FILE...
#include <cstdio>
#include <fstream>
#include <iterator>

#include "ops/common/registration.h"
#include "tests/ops/cases.h"

int main(int argc, char** argv) {
  qc::register_all_ops();
  int ran = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto cases = qc::testing::read_cases(text, argv[i]);
    if (!cases.ok()) {
      std::printf("%s\n", qc::render(cases.diag()).c_str());
      return 1;
    }
    for (const auto& c : *cases) {
      ++ran;
      const std::string wrong = qc::testing::check(c);
      if (wrong.empty()) continue;
      ++failed;
      std::printf("%s:%zu: case \"%s\": %s\n", argv[i], c.line, c.name.c_str(), wrong.c_str());
    }
  }
  std::printf("%d cases, %d failed\n", ran, failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}
