"""Running: arrays of both kinds, and everything that does not fit."""
import threading

import numpy as np
import pytest
import torch
from package import ROOT, RULES

import quantc


def test_results_are_of_the_kind_of_the_inputs(digits, image):
    y = digits.run(image)
    assert isinstance(y, np.ndarray) and y.dtype == np.float32 and y.shape == (1, 10)
    t = digits.run(torch.from_numpy(image))
    assert isinstance(t, torch.Tensor) and t.numpy().tobytes() == y.tobytes()
    assert digits.run_reference(image).tobytes() == y.tobytes()
    assert digits(image).tobytes() == y.tobytes()
    assert digits.run(image=image).tobytes() == y.tobytes()
    assert digits.run({"image": image}).tobytes() == y.tobytes()


def test_results_own_their_elements(digits, image):
    y = digits.run(image)
    before = y.copy()
    y[:] = 7
    assert (digits.run(image) == before).all() and (y == 7).all()


def test_arrays_in_any_order_of_memory(digits, image):
    y = digits.run(image)
    odd = np.zeros((1, 1, 8, 16), np.float32)[:, :, :, ::2]
    odd[:] = image
    assert not odd.flags.c_contiguous and digits.run(odd).tobytes() == y.tobytes()
    transposed = torch.from_numpy(image.transpose(0, 1, 3, 2).copy()).transpose(2, 3)
    assert not transposed.is_contiguous() and digits.run(transposed).numpy().tobytes() == y.tobytes()
    fixed = image.copy()
    fixed.flags.writeable = False
    assert digits.run(fixed).tobytes() == y.tobytes()
    graded = torch.from_numpy(image).requires_grad_()
    assert digits.run(graded).numpy().tobytes() == y.tobytes()
    negated = torch.complex(torch.zeros(image.shape), torch.from_numpy(-image)).conj().imag
    assert negated.is_neg() and digits.run(negated).numpy().tobytes() == y.tobytes()


@pytest.mark.parametrize("make, part", [
    (lambda x: [x.astype(np.float64)], "f64"), (lambda x: [x[:, :, :4]], "[1, 1, 4, 8]"), (lambda x: [x[0]], "image"),
    (lambda x: [], "takes 1 arrays, got 0"), (lambda x: [x, x], "takes 1 arrays, got 2"),
    (lambda x: [x.tolist()], "is a list"), (lambda x: ["x"], "is a str"), (lambda x: [None], "NoneType"),
    (lambda x: [x.astype(complex)], "type"), (lambda x: [torch.zeros(1, 1, 8, 8, device="meta")], "memory of the processor"),
    (lambda x: [torch.from_numpy(x).to_sparse()], "x.to_dense()"), (lambda x: [torch.quantize_per_tensor(torch.from_numpy(x), 0.1, 0, torch.qint8)], "x.dequantize()"),
    (lambda x: [x.astype(object)], "NumPy's type 'object'"),
], ids=["dtype", "shape", "rank", "none", "many", "list", "text", "None", "complex", "device", "sparse", "codes", "objects"])
def test_what_does_not_fit_is_an_exception(digits, image, make, part):
    for run in (digits.run, digits.run_reference):
        with pytest.raises(quantc.UserError) as e:
            run(*make(image))
        assert e.value.code == "input" and part in str(e.value)


def test_names_that_are_not_inputs(digits, image):
    with pytest.raises(quantc.UserError, match="picture"):
        digits.run(picture=image)


def test_threads_run_side_by_side(digits, image):
    expected, wrong = digits.run(image).tobytes(), []

    def work():
        for _ in range(20):
            if digits.run(image).tobytes() != expected:
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


class Mixed(torch.nn.Module):
    """Outputs that are the input, that share memory, that are empty, and one that is given twice."""

    def forward(self, x):
        y = torch.relu(x)
        return x, y, y.reshape(4, 2), y[:, :0], y


def test_several_first_runs_make_one_form(image):
    graph = quantc.from_onnx(ROOT / "tests" / "models" / "digits.onnx")
    barrier = threading.Barrier(4)

    def run():
        barrier.wait()
        graph.run(image)
    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (graph.program_cache.misses, graph.program_cache.hits, graph.program_cache.count) == (1, 3, 1)


def test_memory_is_used_again_without_a_trace(digits):
    """A second run, also one after a failed one and on other threads, finds nothing of the first."""
    graph = quantc.from_torch(Mixed().eval(), (torch.randn(2, 4),))
    values = [np.random.default_rng(i).standard_normal((2, 4)).astype(np.float32) for i in range(4)]
    results = []
    for x in values:
        results.append(graph.run(x))
        with pytest.raises(quantc.UserError):
            graph.run(x[:, :2])
    for x, got in zip(values, results):
        y = np.maximum(x, 0)
        assert all((g == w).all() and g.shape == w.shape for g, w in zip(got, (x, y, y.reshape(4, 2), y[:, :0], y)))
    odd = np.zeros(33, np.uint8)[1:].view(np.float32)
    odd = odd.reshape(2, 4)
    odd[:] = values[0]
    assert odd.ctypes.data % 4 and all(a.tobytes() == b.tobytes() for a, b in zip(graph.run(odd), results[0]))


def test_explain_is_a_table(digits):
    e = digits.quantize(RULES).explain()
    assert e.totals == "10 nodes: 7 integer, 0 float, 1 move elements, 2 convert"
    assert "qconv" in str(e) and e.totals in str(e)
    assert e._repr_html_().startswith("<table><tr><th>node</th>")
    assert [n.computes for n in e.nodes].count("integer") == 7


def test_validate(digits, image):
    v = digits.validate(image, expected=digits.run(image), targets=["portable"])
    assert v and v.ok and "bits equal" in str(v)
    assert not digits.validate(image, expected=digits.run(image) + 1, targets=["portable"])


def test_python_runs_on_while_quantc_works(digits, tmp_path):
    """A compiler that waits for a file, which another thread writes meanwhile: it can only while the first holds no lock."""
    slow = tmp_path / "cc"
    slow.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nfor i in $(seq 200); do\n  [ -e {tmp_path}/go ] && exec cc \"$@\"\n"
                    "  sleep 0.1\ndone\nexit 1\n")
    slow.chmod(0o755)
    done = []
    worker = threading.Thread(target=lambda: done.append(digits.compile(tmp_path / "out", compiler=str(slow))))
    worker.start()
    while worker.is_alive() and not (tmp_path / "started").exists():
        worker.join(0.01)
    (tmp_path / "go").touch()
    worker.join()
    assert done
