// Build files of the generated project.
#include <fmt/format.h>

#include "backends/c/text.h"
#include "backends/common/build_files.h"

namespace qc {
namespace {
/// Code for targets names its instructions itself; portable code gets them from the compiler's
/// flags.
bool names_instructions(const Module& module) {
  return !module.programs.front().target.macro.empty();
}
}  // namespace

std::string makefile_text(const Module& module, const COptions& options) {
  const std::string_view ext = weight_source(options);
  std::string objects, rules;
  for (const std::string& source : c_sources(module, options)) {
    const std::string stem = source.substr(0, source.size() - 2);
    const bool kernels =
        !options.single_file && (module.programs.size() == 1 || stem != options.name);
    objects += fmt::format("{}{}.o", objects.empty() ? "" : " ", stem);
    rules += fmt::format(
        "{0}.o: {0}.c {1}.h{2}\n\t$(CC) $(CPPFLAGS) -std=c11 $(CFLAGS) $(PIC) -c $< -o $@\n", stem,
        options.name, kernels ? fmt::format(" {}_kernels.h", stem) : "");
  }
  if (!ext.empty()) objects += fmt::format(" {}_weights.o", options.name);
  if (ext == "c")
    rules += fmt::format(
        "{0}_weights.o: {0}_weights.c\n\t$(CC) $(CPPFLAGS) -std=c11 $(CFLAGS) -O0 $(PIC) -c $< -o "
        "$@\n",
        options.name);
  if (ext == "S")
    rules += fmt::format(
        "{0}_weights.o: {0}_weights.S {0}_weights.bin\n\t$(CC) $(CFLAGS) $(PIC) -Wa,-I,. -c $< -o "
        "$@\n",
        options.name);
  return fmt::format(
      "# Builds lib{0}.a, lib{0}.so and the test program; honours CC and CFLAGS. Compilers for\n"
      "# machines without an operating system (arm-none-eabi-gcc) make no lib{0}.so, so that\n"
      "# nothing is compiled for any address.\n"
      "CC ?= cc\n"
      "CFLAGS ?= {3}\n"
      "PIC ?= $(if $(filter %-eabi %-elf,$(shell $(CC) -dumpmachine)),,-fPIC)\n\n"
      "all: lib{0}.a $(if $(PIC),lib{0}.so) {0}_test\n\n"
      "{2}"
      "lib{0}.a: {1}\n\trm -f $@\n\t$(AR) rcs $@ $^\n"
      "lib{0}.so: {1}\n\t$(CC) $(CFLAGS) -shared $(LDFLAGS) -o $@ $^ -lm\n"
      "{0}_test: {0}_test.c {0}.h lib{0}.a\n"
      "\t$(CC) $(CPPFLAGS) -std=c11 $(CFLAGS) $(LDFLAGS) -o $@ {0}_test.c lib{0}.a -lm\n\n"
      "test: {0}_test\n\t./{0}_test\n"
      "clean:\n\trm -f *.o lib{0}.a lib{0}.so {0}_test\n"
      ".PHONY: all test clean\n",
      options.name, objects, rules, names_instructions(module) ? "-O2" : "-O3 -march=native");
}

std::string cmake_text(const Module& module, const COptions& options) {
  const std::string_view ext = weight_source(options);
  std::string sources = fmt::format("{}", fmt::join(c_sources(module, options), " "));
  if (!ext.empty()) sources += fmt::format(" {}_weights.{}", options.name, ext);
  // Without the processor's fused multiply-add, every one is a call of the C library.
  const std::string native =
      names_instructions(module)
          ? ""
          : fmt::format(
                "include(CheckCCompilerFlag)\ncheck_c_compiler_flag(-march=native {0}_NATIVE)\n"
                "if({0}_NATIVE AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_C_FLAGS MATCHES "
                "\"-m(arch|cpu)=\")\n"
                "  add_compile_options(-march=native)\nendif()\n",
                c_upper(options.name));
  return fmt::format(
      "cmake_minimum_required(VERSION 3.13)\n"
      "project({0} LANGUAGES C{1})\n"
      "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
      "set(CMAKE_C_STANDARD 11)\nset(CMAKE_C_EXTENSIONS OFF)\n"
      "{3}"
      "{4}"
      "add_library({0} STATIC {2})\n"
      "target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
      "target_link_libraries({0} PUBLIC -lm)\n"
      "get_property({5}_SHARED GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS)\n"
      "if({5}_SHARED)\n"
      "  set_target_properties({0} PROPERTIES POSITION_INDEPENDENT_CODE ON)\n"
      "  add_library({0}_shared SHARED {2})\n"
      "  set_target_properties({0}_shared PROPERTIES OUTPUT_NAME {0})\n"
      "  target_link_libraries({0}_shared PUBLIC -lm)\n"
      "endif()\n"
      "{6}",
      options.name, ext == "S" ? " ASM" : "", sources, cmake_weights_text(options), native,
      c_upper(options.name), cmake_test_text(options));
}

}  // namespace qc
