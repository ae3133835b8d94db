"""Random quantized graphs as C for 64-bit Arm, run by qemu: the interpreter's bits."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

TARGETS = ["aarch64", "aarch64-dotprod"]


def has_nan(quantc, graph):
    """Whether an answer has a NaN: sign and payload of those are not promised (docs/arithmetic.md)."""
    answer = graph.with_suffix(".answer.npz")
    quantc("run", graph, "-i", graph.with_suffix(".npz"), "-o", answer)
    return any(a.dtype.kind == "f" and np.isnan(a).any() for a in np.load(answer).values())


def check(quantc, graph, target, folder):
    """The generated test program compares what it computes with what the interpreter recorded."""
    out = folder / f"{graph.stem}_{target}"
    quantc("compile", graph, "-o", out, "--name", "net", "--target", target, "--specialise", "size", "--vectors",
           graph.with_suffix(".npz"))
    program = folder / f"{graph.stem}_{target}.out"
    subprocess.run(["aarch64-linux-gnu-gcc", "-std=c11", "-O1", "-static", f"-I{out}", *sorted(out.glob("*.c")), "-lm", "-o", program],
                   check=True)
    done = subprocess.run(["qemu-aarch64", "-cpu", "max", program], capture_output=True, text=True)
    if "bits equal" in done.stdout or has_nan(quantc, graph):
        return ""
    return f"{graph.stem} for {target}: {done.stdout}{done.stderr}{graph.read_text()[:2000]}"


@pytest.mark.parametrize("first, count", [(1, 20), pytest.param(1000, 300, marks=pytest.mark.soak)])
def test_random_graphs_have_the_interpreters_bits(quantc, build, tmp_path, first, count):
    for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    subprocess.run([build / "bin" / "write_graphs", tmp_path, str(first), str(count)], check=True)
    graphs = sorted(tmp_path.glob("*.ir"))
    assert len(graphs) == count
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [w for w in pool.map(lambda job: check(quantc, *job, tmp_path), [(g, t) for g in graphs for t in TARGETS]) if w]
    assert not wrong, "\n".join(wrong[:3])
    kernels = [p.read_text() for p in tmp_path.glob("*_aarch64-dotprod/net_kernels.h")]
    assert sum("qk_qgemm_neon_dotprod" in text for text in kernels) >= count / 4
