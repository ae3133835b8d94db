"""validate as a judge: which bar was missed, what is judged without one, top-1 and perplexity of logits."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.json_schema import problems

QUICK = ("--cflags", "-O0")
VOCABULARY, TOKENS = 11, np.random.default_rng(5).integers(0, 11, (2, 6))


@pytest.fixture(scope="module")
def quantized(quantc, models, root, tmp_path_factory):
    """What digits.onnx answers in float, and the flags that quantize it."""
    folder = tmp_path_factory.mktemp("judging")
    with np.load(models / "digits.npz") as arrays:
        np.savez(folder / "x.npz", image=arrays[arrays.files[0]])
    quantc("run", models / "digits.onnx", "-i", folder / "x.npz", "-o", folder / "y.npz")
    return ("validate", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "-i", folder / "x.npz", "-e", folder / "y.npz", *QUICK)


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """logits[b, t] = table[ids[b, t]], and the logits by NumPy."""
    folder = tmp_path_factory.mktemp("lm")
    table = np.random.default_rng(1).standard_normal((VOCABULARY, VOCABULARY)).astype(np.float32)
    values = [helper.make_tensor_value_info("ids", TensorProto.INT64, [2, 6]), helper.make_tensor_value_info("logits", TensorProto.FLOAT, [2, 6, VOCABULARY])]
    graph = helper.make_graph([helper.make_node("Gather", ["table", "ids"], ["logits"])], "g", values[:1], values[1:], [numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    np.savez(folder / "ids.npz", ids=TOKENS)
    logits = table[TOKENS].astype(np.float64)
    return folder, logits, perplexity(logits, TOKENS)


def perplexity(logits, tokens):
    rows, following = logits[:, :-1].reshape(-1, VOCABULARY), tokens[:, 1:].ravel()
    likelihood = rows[np.arange(len(following)), following] - np.log(np.exp(rows).sum(1))
    return np.exp(-likelihood.mean())


def verdicts(table, against):
    return {line.split()[-1] for line in table.splitlines() if f" {against} " in line and "FAIL:" not in line and "bits" not in line[:30]}


def test_rules_without_a_bar_are_reported_and_pass(quantc, quantized):
    said = quantc(*quantized).stdout
    assert verdicts(said, "expected") == {"-"} and "no bar was given" in said and "--min-sqnr" in said
    assert "max rel" not in said and "top-1 %" in said
    report = json.loads(quantc(*quantized, "--json").stdout)
    assert report["ok"] and not any(c["judged"] for c in report["comparisons"] if c["against"] == "expected")
    # A float model has a bar, whatever is given.
    float_model = [a for a in quantized if a != "--rules" and not str(a).endswith("rules.toml")]
    assert verdicts(quantc(*float_model).stdout, "expected") == {"ok"}


@pytest.mark.parametrize("flags, why", [(("--min-sqnr", 90), "dB, the bar is 90 dB"), (("--min-top1", 100.5), "top-1 is 100.00 %, the bar is 100.5 %"),
                                        (("--atol", 1e-9), "elements differ by more than 1e-09; max abs is"),
                                        (("--atol", 1e-9, "--rtol", 1e-9), "differ by more than 1e-09 + 1e-09 of the expected magnitude")])
def test_the_bar_that_failed_is_named(quantc, quantized, root, flags, why):
    failed = quantc(*quantized, *flags, status=1)
    assert why in " ".join(failed.stdout.split()) and why in " ".join(failed.stderr.split()), failed.stdout + failed.stderr
    assert "results differ by more than allowed: interpreter against expected, output 'scores': " in failed.stderr
    report = json.loads(quantc(*quantized, *flags, "--json", status=1).stdout)
    assert not problems(report, json.loads((root / "docs/schema/validate.json").read_text()))
    assert all(bool(c["failed"]) == (not c["ok"]) == (c["against"] == "expected") for c in report["comparisons"])


def test_the_default_bar_is_said_where_it_is_missed(quantc, models, tmp_path):
    with np.load(models / "digits.npz") as arrays:
        np.savez(tmp_path / "x.npz", in_0=arrays[arrays.files[0]])
    np.savez(tmp_path / "y.npz", out_0=np.full((1, 10), 2.0, np.float32))
    failed = quantc("validate", models / "digits.onnx", "-i", tmp_path / "x.npz", "-e", tmp_path / "y.npz", *QUICK, status=1)
    assert "differ by more than 0.0002, 1e-4 of the largest expected magnitude" in failed.stderr


def test_logits_of_rank_3_have_a_top1_and_a_perplexity(quantc, root, language_model):
    folder, logits, wanted = language_model
    np.savez(folder / "e.npz", logits=logits.astype(np.float32))
    call = ("validate", folder / "m.onnx", "-i", folder / "ids.npz", "-e", folder / "e.npz", *QUICK)
    assert " 100.00 " in quantc(*call, "--min-top1", 99).stdout
    report = json.loads(quantc(*call, "--perplexity", "ids", "--json").stdout)
    assert not problems(report, json.loads((root / "docs/schema/validate.json").read_text()))
    for c in report["comparisons"]:
        assert c["top1"] == {"same": 12, "rows": 12} and c["perplexity"]["tokens"] == 10
        assert c["perplexity"]["got"] == pytest.approx(wanted, rel=1e-6) == c["perplexity"]["want"]
    assert f"perplexity of 'logits' over 10 tokens: {wanted:.4f} (interpreter), {wanted:.4f} (expected)" in quantc(*call, "--perplexity", "ids").stdout
    quantc(*call, "--perplexity", "ids", "--max-perplexity", wanted + 0.01)
    failed = quantc(*call, "--perplexity", "ids", "--max-perplexity", wanted - 0.01, status=1)
    assert f"perplexity is {wanted:.4g}, the bar is" in failed.stderr


def test_perplexity_needs_tokens(quantc, language_model):
    folder, logits, _ = language_model
    call = ("validate", folder / "m.onnx", "-i", folder / "ids.npz", *QUICK)
    assert "no input of integers is named 'logits'" in quantc(*call, "--perplexity", "logits", status=1).stderr
    assert "needs the input that holds the tokens (--perplexity)" in quantc(*call, "--max-perplexity", 9, status=1).stderr
