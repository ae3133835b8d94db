"""Earlier names keep working for one release, with a warning that says the new one."""
import pytest


@pytest.mark.parametrize("was,now", [("fuse_openings", "fuse_prologues"), ("merge_parts", "merge_slices"), ("place_buffers", "assign_offsets")])
def test_passes(quantc, models, tmp_path, was, now):
    old, new = (quantc("compile", models / "digits.onnx", "-o", tmp_path / name, "--stop-after", name, "--print-ir-after", name) for name in (was, now))
    assert f"the pass '{was}' is named '{now}' now" in old.stderr and "is named" not in new.stderr
    assert [line for line in old.stderr.split("\n") if "is named" not in line] == new.stderr.split("\n")


def test_the_cache_of_a_graph(models):
    quantc = pytest.importorskip("quantc")
    graph = quantc.load(models / "digits.onnx")
    with pytest.warns(DeprecationWarning, match="Graph.program_cache"):
        old = graph.forms
    assert repr(old) == repr(graph.program_cache)
