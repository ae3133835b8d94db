// What a peer's Python runs: it says "ready WHAT", "missing PACKAGE" or "failed WHY" on a line,
// then answers each line with a number of runs by a line of their seconds.
#pragma once

namespace qc {

inline constexpr const char* kPeerScript = R"PY(
import os, site, sys, time

# Isolated Python leaves out the user's own packages, too: they stay where they were without that.
if sys.prefix == sys.base_prefix and os.path.isabs(site.getusersitepackages()):
    site.addsitedir(site.getusersitepackages())

name, model, arrays, device, threads = *sys.argv[1:5], int(sys.argv[5])
answers = sys.stdout
sys.stdout = sys.stderr  # what packages print is no answer


def say(text):
    answers.write(" ".join(str(text).split()) + "\n")
    answers.flush()


def inputs():
    import numpy
    with numpy.load(arrays) as found:
        return [found[f"in_{i}"] for i in range(len(found.files))]


def onnxruntime():
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    wanted = ["CUDAExecutionProvider"] if device == "cuda" else ["CPUExecutionProvider"]
    missing = [p for p in wanted if p not in ort.get_available_providers()]
    if missing:
        raise RuntimeError(f"this onnxruntime has no {missing[0]}")
    session = ort.InferenceSession(model, options, providers=wanted)
    feeds = {i.name: x for i, x in zip(session.get_inputs(), inputs())}
    return f"onnxruntime {ort.__version__}", lambda: session.run(None, feeds)


def openvino():
    import openvino as ov
    core = ov.Core()
    read = core.read_model(model)
    given = inputs()
    read.reshape({port: list(x.shape) for port, x in zip(read.inputs, given)})
    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(read, "GPU" if device == "cuda" else "CPU", config).create_infer_request()
    return f"openvino {ov.__version__.split('-')[0]}", lambda: request.infer(given)


def torch():
    import torch
    torch.set_num_threads(threads)
    network = torch.export.load(model).module()
    given = [torch.from_numpy(x).to(device) for x in inputs()]
    if device == "cuda":
        if not torch.cuda.is_available():
            raise RuntimeError("this torch finds no GPU")
        network = network.to(device)

    def run():
        with torch.no_grad():
            network(*given)
        if device == "cuda":
            torch.cuda.synchronize()
    return f"torch {torch.__version__}", run


try:
    what, call = {"onnxruntime": onnxruntime, "openvino": openvino, "torch": torch}[name]()
    call()
except ImportError as error:
    say(f"missing {error}")
    sys.exit()
except Exception as error:
    say(f"failed {error}")
    sys.exit()
say(f"ready {what}")
for line in sys.stdin:
    seconds = []
    for _ in range(int(line)):
        begin = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begin)
    say(" ".join(f"{s:.9f}" for s in seconds))
)PY";

}  // namespace qc
