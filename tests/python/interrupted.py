"""A call that would take minutes, interrupted: prints what it raised. The first argument says which call, the second a folder."""
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

import quantc

FOLDER = Path(sys.argv[2])


def model(nodes, shape, constants=(), functions=()) -> bytes:
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("m", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=opsets).SerializeToString()


def convolutions(folded: bool, side: int = 127) -> bytes:
    """A chain of large convolutions, of a constant (folded before it runs) or of the input."""
    nodes = [helper.make_node("Conv", [f"o{i - 1}" if i else "c" if folded else "x", "k"], [f"o{i}"], pads=[side // 2] * 4) for i in range(600)]
    nodes.append(helper.make_node("Add", ["o599", "x"], ["y"]))
    constants = [helper.make_tensor("c", TensorProto.FLOAT, (1, 1, 128, 128), [float(i % 7) for i in range(128 * 128)]),
                 helper.make_tensor("k", TensorProto.FLOAT, (1, 1, side, side), [1e-4] * side * side)]
    return model(nodes, (1, 1, 128, 128), constants)


def doubled() -> bytes:
    """Functions that call each other twice: half a million nodes."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("m", 1)]
    functions = []
    for i in range(18):
        inner = {"op_type": f"F{i + 1}", "domain": "m"} if i < 17 else {"op_type": "Sin"}
        calls = [helper.make_node(inputs=["a"], outputs=["t"], **inner), helper.make_node(inputs=["t"], outputs=["b"], **inner)]
        functions.append(helper.make_function("m", f"F{i}", ["a"], ["b"], calls, opsets))
    return model([helper.make_node("F0", ["x"], ["y"], domain="m")], (4,), functions=functions)


def compiler() -> str:
    (FOLDER / "cc").write_text(f"#!/bin/sh\necho $$ >'{FOLDER}/pid'\nexec sleep 600\n")
    (FOLDER / "cc").chmod(0o755)
    return str(FOLDER / "cc")


def ends(pid: int) -> bool:
    """Whether the process is over; nobody may have asked for its status yet."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def small() -> quantc.Graph:
    return quantc.load(model([helper.make_node("Relu", ["x"], ["y"])], (4,)))


def calls():
    """What is called, made by what is no part of it."""
    x = np.ones((1, 1, 128, 128), np.float32)
    many = {"budget": 1 << 40}
    rules = [quantc.DynamicQuantRulePerTensor(pattern=".*", op="conv")]

    def long(side=127):
        return quantc.load(convolutions(False, side), **many)

    def load(data=doubled()):
        return lambda: quantc.load(data, **many)

    def fold():
        graph = quantc.load(convolutions(True, 31), **many)
        return lambda: graph.compile(FOLDER / "out", build=False)

    def of(graph, call):
        return lambda: call(graph)
    return {
        "load": load,
        "fold": fold,
        "run": lambda: of(long(), lambda g: g.run(x)),
        "run_reference": lambda: of(long(31), lambda g: g.run_reference(x)),
        "calibrate": lambda: of(long(), lambda g: g.calibrate([x], progress=False)),
        "analyze": lambda: of(long().quantize(rules), lambda g: g.analyze([x])),
        "compile": lambda: of(small(), lambda g: g.compile(FOLDER / "out", compiler=compiler())),
        "benchmark": lambda: of(small().compile(FOLDER / "out"), lambda m: m.benchmark(np.ones(4, np.float32), runs=10**12)),
    }


def main(what: str) -> None:
    call = calls()[what]()
    main_thread = threading.main_thread().ident

    def interrupt() -> None:
        while what == "compile" and not (FOLDER / "pid").exists():
            time.sleep(0.01)
        time.sleep(0.3)
        signal.pthread_kill(main_thread, signal.SIGINT)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        call()
        print("done")
    except KeyboardInterrupt:
        print("KeyboardInterrupt")
    if what == "compile":
        pid = int((FOLDER / "pid").read_text())
        while not ends(pid):  # until the process has handled the signal
            time.sleep(0.01)
    x = np.arange(4, dtype=np.float32)
    assert small().run(x).tobytes() == x.tobytes()  # quantc goes on


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(sys.argv[1])
