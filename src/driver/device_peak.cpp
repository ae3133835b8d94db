#include "driver/device_peak.h"

#include "driver/build.h"
#include "driver/cuda_model.h"
#include "driver/tool.h"
#include "kernels/kernels.h"

namespace qc {

Result<MachinePeak> device_peak(const Target& target, bool host) {
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  QC_ASSIGN(FileSet files, FileSet::create(folder.path()));
  QC_TRY(files.write("peak.cu", std::string(embedded_header("runtime/cuda/launch.h")) +
                                    std::string(embedded_header("runtime/cuda/device_peak.h"))));
  QC_TRY(files.commit());
  const std::string source = folder.path() + "/peak.cu", library = folder.path() + "/libpeak.so";
  std::vector<std::string> command = {nvcc_program(), "-O2", "-std=c++20", "-Xcompiler", "-fPIC"};
  if (!target.architecture.empty()) command.push_back(nvcc_flag(target));
  if (target.has("wgmma")) command.push_back("-DQK_PEAK_WGMMA");
  if (host) command = {"c++", "-x", "c++", "-O2", "-std=c++20", "-fPIC", "-DQK_CUDA_ON_HOST"};
  command.insert(command.end(), {"-shared", source, "-o", library});
  QC_TRY(run_tool({command, kDeviceCompilerLimits, folder.path()}));
  QC_ASSIGN(const auto loaded, Library::open(library));
  using Measure = const char* (*)(double*, double*, double*, int*, int*);
  const auto measure = reinterpret_cast<Measure>(loaded->symbol("qk_device_peak"));
  if (!measure) return error(Code::bug, "the loops for the device's limits were not built");
  MachinePeak out;
  int tensor_cores = 0, capability = 0;
  if (const char* wrong =
          measure(&out.int8_gmacs, &out.float_gmacs, &out.gbytes, &tensor_cores, &capability)) {
    return error(Code::unsupported, "{}", wrong);
  }
  out.int8_by = host                  ? "plain C++"
                : target.has("wgmma") ? "wgmma"
                : tensor_cores        ? "mma.sync"
                                      : "dp4a";
  out.float_by = host ? "plain C++" : "fma";
  out.bytes_by = "copied, read and written";
  return out;
}

}  // namespace qc
