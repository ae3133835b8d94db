"""What a call from Python costs beside the C++ or C that it calls, and what importing the package does.

The network computes next to nothing on an image of 1x3x224x224, so that the whole call is an upper bound of what Python adds. Run by
bench.py in the environment of tools/package_venv: python_calls.py prints seconds as JSON.
"""
import json
import subprocess
import sys
import time

# Microseconds that q.run may add to the C++ call and m(x) to the C call; milliseconds of an import without torch.
BARS = {"q.run": 50.0, "m(x)": 10.0, "import quantc": 100.0}


def least(call, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    code = "import time; t = time.perf_counter(); import quantc; print(time.perf_counter() - t)"
    imports = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    import numpy as np
    import onnx
    import quantc
    from onnx import TensorProto, helper, numpy_helper

    ends = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("from", [0, 0]), ("to", [1, 1]), ("axes", [2, 3]))]
    graph = helper.make_graph([helper.make_node("Slice", ["x", "from", "to", "axes"], ["y"], name="corner")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 1, 1])], ends)
    network = quantc.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    x = np.ones((1, 3, 224, 224), np.float32)
    compiled = network.compile()
    assert np.array_equal(network.run(x), compiled(x))
    print(json.dumps({"q.run": least(lambda: network.run(x), 20000), "m(x)": least(lambda: compiled(x), 20000),
                      "import quantc": min(imports)}))


if __name__ == "__main__":
    main()
