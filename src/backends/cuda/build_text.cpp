#include <fmt/format.h>

#include "backends/cuda/text.h"

namespace qc::cuda {

std::string makefile_text(const Target& target, const ProjectOptions& options) {
  const bool literal = options.weights == WeightForm::literal;
  return fmt::format(
      "# Builds lib{0}.a, lib{0}.so and the test program with nvcc; `make HOST=1` builds the same\n"
      "# without CUDA: the threads of a kernel run on the host, one after another.\n"
      "NVCC ?= nvcc\nCXX ?= c++\nCC ?= cc\nCFLAGS ?= -O2\n"
      "{2}\n\n"
      "ifdef HOST\n"
      "COMPILE = $(CXX) -x c++ -std=c++20 -DQK_CUDA_ON_HOST -ffp-contract=off $(CFLAGS) -fPIC\n"
      "LINK = $(CXX) $(CFLAGS)\n"
      "else\n"
      "# Products are not fused, quotients are rounded, small numbers are kept: the bits are the "
      "host's.\n"
      "COMPILE = $(NVCC) -std=c++20 $(NVCCFLAGS) -fmad=false -prec-div=true -ftz=false -Xcompiler "
      "-fPIC\n"
      "LINK = $(NVCC) $(NVCCFLAGS)\n"
      "endif\n\n"
      "all: lib{0}.a lib{0}.so {0}_test\n\n"
      "{0}.o: {0}.cu {0}.h {0}_kernels.h\n\t$(COMPILE) -c {0}.cu -o $@\n"
      "{1}"
      "{0}_test.o: {0}_test.c {0}.h\n\t$(CC) -std=c11 $(CFLAGS) -c $< -o $@\n"
      "lib{0}.a: {0}.o {0}_weights.o\n\trm -f $@\n\t$(AR) rcs $@ $^\n"
      "lib{0}.so: {0}.o {0}_weights.o\n\t$(LINK) -shared -o $@ $^\n"
      "{0}_test: {0}_test.o lib{0}.a\n\t$(LINK) -o $@ $^\n\n"
      "test: {0}_test\n\t./{0}_test\n"
      "clean:\n\trm -f *.o lib{0}.a lib{0}.so {0}_test\n"
      ".PHONY: all test clean\n",
      options.name,
      literal
          ? fmt::format("{0}_weights.o: {0}_weights.c\n\t$(CC) -std=c11 -O0 -fPIC -c $< -o $@\n",
                        options.name)
          : fmt::format("{0}_weights.o: {0}_weights.S {0}_weights.bin\n"
                        "\t$(CC) -fPIC -Wa,-I,. -c $< -o $@\n",
                        options.name),
      target.architecture.empty()
          ? "# Name your GPU for the quickest start: NVCCFLAGS='-O2 -arch=sm_90'.\nNVCCFLAGS ?= -O2"
          : "NVCCFLAGS ?= -O2 -arch=" + target.architecture);
}

}  // namespace qc::cuda
