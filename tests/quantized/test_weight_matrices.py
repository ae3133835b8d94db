"""Products by constants of several matrices, such as the experts of a mixture, under rules without static scales: they become integer, or a
message says why not."""
import numpy as np
import pytest

RNG = np.random.default_rng(4)
MATRICES = RNG.normal(size=(2, 8, 4))
LINEAR = RNG.normal(size=(8, 8))
X = RNG.normal(size=(2, 3, 8)).astype(np.float32)


def numbers(values):
    return ", ".join(repr(round(float(v), 3)) for v in values.ravel())


def write(folder, dtype, linear=False):
    first = '  %1 = linear(%0, @l)  loc("gate")\n' if linear else '  %1 = neg(%0)  loc("gate")\n'
    constant = f"@l : {dtype}[8, 8] = [{numbers(LINEAR)}]\n" if linear else ""
    (folder / "m.ir").write_text(f'''{constant}@w : {dtype}[2, 8, 4] = [{numbers(MATRICES)}]
graph (%0 "x" : {dtype}[2, 3, 8]) {{
{first}  %2 = matmul(%1, @w)  loc("experts")
  return %2
}}
''')
    return folder / "m.ir"


def rules(folder, text):
    (folder / "rules.toml").write_text("[[rule]]\n" + text)
    return folder / "rules.toml"


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("rule", ["kind = 'dynamic'", "kind = 'dynamic'\nper_token = true", "kind = 'dynamic'\nweight_dtype = 'int4'\ngroup = 4"],
                         ids=["tensor", "per_token", "groups"])
def test_dynamic_rules_quantize_them(dtype, rule, quantc, tmp_path):
    model, own = write(tmp_path, dtype), rules(tmp_path, f"op = 'matmul'\n{rule}\n")
    done = quantc("explain", model, "--rules", own)
    assert "qmatmul" in quantc("inspect", model, "--rules", own, "--ir").stdout
    assert ("one scale together" in done.stderr) == ("group" in rule) and ("one scale for the tensor" in done.stderr) == ("per_token" in rule)
    if dtype == "f32":
        np.savez(tmp_path / "in.npz", x=X)
        quantc("run", model, "--rules", own, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
        got, want = next(iter(np.load(tmp_path / "out.npz").values())), -X @ np.round(MATRICES, 3)
        assert 10 * np.log10((want ** 2).mean() / ((got - want) ** 2).mean()) > 35
        quantc("validate", model, "--rules", own, "-i", tmp_path / "in.npz", "--specialise", "size", "--cflags", "-O0 -w")


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_weight_only_rules_name_them(dtype, quantc, tmp_path):
    """Packed weights of several matrices have no kernel: the rule is refused, and skip_unsupported leaves the node as it was."""
    model = write(tmp_path, dtype, linear=True)
    done = quantc("explain", model, "--rules", rules(tmp_path, "pattern = '.*'\nkind = 'weight_only'\n"), status=1)
    assert "'experts'" in done.stderr and "skip_unsupported" in done.stderr
    quantc("explain", model, "--rules", rules(tmp_path, "pattern = '.*'\nkind = 'weight_only'\nskip_unsupported = true\n"))


def test_rules_for_other_ops_say_what_they_miss(quantc, tmp_path):
    model = write(tmp_path, "f32", linear=True)
    said = quantc("explain", model, "--rules", rules(tmp_path, "op = 'linear'\nkind = 'dynamic'\n")).stderr
    assert "experts" in said and "50 % of the weights" in said and "op = 'matmul'" in said
