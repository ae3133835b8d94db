#include <fmt/format.h>

#include "backends/common/build_files.h"
#include "backends/cuda/text.h"

namespace qc::cuda {
namespace {

/// Products are not fused, quotients are rounded, small numbers are kept: the bits are the host's.
constexpr std::string_view kBits = "-fmad=false -prec-div=true -ftz=false";
/// What code that chooses when it runs is built for; the last also for GPUs to come.
constexpr int kAll[] = {75, 80, 86, 89, 90, 100};

/// For which GPUs nvcc compiles.
std::string architectures(const Project& project) {
  const auto& programs = project.module.programs;
  if (programs.size() == 1) {
    const std::string own = nvcc_flag(programs.front().target);
    return own.empty() ? "" : " " + own;
  }
  std::string out = " -t0";  // several at once
  for (const int sm : kAll) out += fmt::format(" -gencode arch=compute_{0},code=sm_{0}", sm);
  return out +
         fmt::format(" -gencode arch=compute_{0},code=compute_{0}", kAll[std::size(kAll) - 1]);
}

std::string cmake_architectures(const Project& project) {
  const auto& programs = project.module.programs;
  std::string list;
  if (programs.size() == 1 && !programs.front().target.architecture.empty())
    list = programs.front().target.architecture.substr(3);
  for (const int sm : kAll) {
    if (programs.size() > 1) list += fmt::format("{}{}", list.empty() ? "" : ";", sm);
  }
  if (list.empty()) return "";
  return fmt::format(
      "if(NOT CMAKE_CUDA_ARCHITECTURES)\n  set(CMAKE_CUDA_ARCHITECTURES \"{}\")\nendif()\n", list);
}

std::string weights_rule(const ProjectOptions& options) {
  const std::string_view ext = weight_source(options);
  if (ext == "c")
    return fmt::format(
        "$(O)/{0}_weights.o: {0}_weights.c | $(O)\n\t$(CC) -std=c11 -O0 -fPIC -c $< -o $@\n",
        options.name);
  if (ext == "S")
    return fmt::format(
        "$(O)/{0}_weights.o: {0}_weights.S {0}_weights.bin | $(O)\n\t$(CC) -fPIC -Wa,-I,. -c $< -o "
        "$@\n",
        options.name);
  return "";
}

}  // namespace

std::string makefile_text(const Project& project) {
  const ProjectOptions& options = project.options;
  const std::string gpus = architectures(project);
  const std::string objects =
      "$(O)/" + options.name + ".o" +
      (weight_source(options).empty() ? "" : " $(O)/" + options.name + "_weights.o");
  return fmt::format(
      "# Builds lib{0}.a, lib{0}.so and the test program with nvcc; `make HOST=1` builds the same\n"
      "# without CUDA: the threads of a kernel run on the host, one after another.\n"
      "NVCC ?= nvcc\nCXX ?= c++\nCC ?= cc\nCFLAGS ?= -O2\n"
      "{2}NVCCFLAGS ?= -O2{3}\n\n"
      "ifdef HOST\n"
      "O = host\n"
      "COMPILE = $(CXX) -x c++ -std=c++20 -DQK_CUDA_ON_HOST -ffp-contract=off $(CFLAGS) -fPIC\n"
      "LINK = $(CXX) $(CFLAGS)\n"
      "else\n"
      "O = device\n"
      "# Products are not fused, quotients are rounded, small numbers are kept: the bits are the "
      "host's.\n"
      "COMPILE = $(NVCC) -std=c++20 $(NVCCFLAGS) {4} -Xcompiler -fPIC\n"
      "LINK = $(NVCC) $(NVCCFLAGS)\n"
      "endif\n\n"
      "all: lib{0}.a lib{0}.so {0}_test\n\n"
      "# Each way of building has its own objects, and .built says whose the libraries are now.\n"
      "$(O):\n\tmkdir -p $@\n"
      ".built: always\n\t@echo $(O) | cmp -s - $@ || echo $(O) >$@\n"
      "$(O)/{0}.o: {0}.cu {0}.h {0}_kernels.h | $(O)\n\t$(COMPILE) -c {0}.cu -o $@\n"
      "{1}"
      "$(O)/{0}_test.o: {0}_test.c {0}.h | $(O)\n\t$(CC) -std=c11 $(CFLAGS) -c $< -o $@\n"
      "lib{0}.a: {5} .built\n\trm -f $@\n\t$(AR) rcs $@ {5}\n"
      "lib{0}.so: {5} .built\n\t$(LINK) -shared -o $@ {5}\n"
      "{0}_test: $(O)/{0}_test.o lib{0}.a .built\n\t$(LINK) -o $@ $(O)/{0}_test.o lib{0}.a\n\n"
      "test: {0}_test\n\t./{0}_test\n"
      "clean:\n\trm -rf host device .built lib{0}.a lib{0}.so {0}_test\n"
      ".PHONY: all test clean always\n",
      options.name, weights_rule(options),
      project.module.programs.size() > 1
          ? "# For your GPU alone, which is compiled sooner: NVCCFLAGS='-O2 -arch=sm_90'.\n"
          : "",
      gpus, kBits, objects);
}

std::string cmake_text(const Project& project) {
  const ProjectOptions& options = project.options;
  const std::string_view ext = weight_source(options);
  const std::string weights = ext.empty() ? "" : fmt::format(" {}_weights.{}", options.name, ext);
  return fmt::format(
      "# With nvcc; -D{5}_HOST=ON builds the same without CUDA: the threads of a kernel run on "
      "the\n"
      "# host, one after another.\n"
      "cmake_minimum_required(VERSION 3.18)\n"
      "option({5}_HOST \"Build without CUDA\" OFF)\n"
      "{3}"
      "project({0} LANGUAGES C CXX{1})\n"
      "if(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\n"
      "set(CMAKE_C_STANDARD 11)\nset(CMAKE_C_EXTENSIONS OFF)\n"
      "set(CMAKE_POSITION_INDEPENDENT_CODE ON)\n"
      "{4}"
      "if({5}_HOST)\n"
      "  set_source_files_properties({0}.cu PROPERTIES LANGUAGE CXX COMPILE_OPTIONS\n"
      "                              \"-xc++;-std=c++20;-DQK_CUDA_ON_HOST;-ffp-contract=off\")\n"
      "else()\n"
      "  enable_language(CUDA)\n"
      "  # The bits are the host's: products are not fused, quotients are rounded, small numbers "
      "kept.\n"
      "  set_source_files_properties({0}.cu PROPERTIES COMPILE_OPTIONS\n"
      "                              \"-std=c++20;-fmad=false;-prec-div=true;-ftz=false\")\n"
      "endif()\n"
      "foreach(kind STATIC SHARED)\n"
      "  string(TOLOWER {0}_${{kind}} library)\n"
      "  add_library(${{library}} ${{kind}} {0}.cu{2})\n"
      "  target_include_directories(${{library}} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
      "  set_target_properties(${{library}} PROPERTIES OUTPUT_NAME {0})\n"
      "endforeach()\n"
      "add_library({0} ALIAS {0}_static)\n"
      "{6}",
      options.name, ext == "S" ? " ASM" : "", weights, cmake_architectures(project),
      cmake_weights_text(options), c_upper(options.name), cmake_test_text(options));
}

}  // namespace qc::cuda
