"""The examples of docs/rules.md do what their text says."""
import json
import re

import numpy as np

from tests.support.onnx_models import node, save, value, weight


def documented_network(path):
    """A network with a node for every pattern of docs/rules.md."""
    rng = np.random.default_rng(3)
    sizes = {"stem": (4, 3, 3, 3), "layer1.conv": (4, 4, 3, 3), "backbone.conv": (4, 4, 3, 3), "backbone.last": (2, 4, 3, 3),
             "head.fc": (64, 32), "blocks.0.mlp.fc": (64, 64), "lm_head": (10, 64)}
    nodes, x = [], "x"
    for name, shape in sizes.items():
        if len(shape) == 4:
            nodes.append(node("Conv", [x, name + ".w"], [name], name=name, pads=[1, 1, 1, 1]))
        else:
            nodes.append(node("Gemm", [x, name + ".w"], [name], name=name, transB=1))
        x = name
        if name == "backbone.last":
            nodes.append(node("Flatten", [x], ["flat"], name="backbone.flat"))
            x = "flat"
        if name == "blocks.0.mlp.fc":
            nodes.append(node("Softmax", [x], ["soft"], name="blocks.0.softmax"))
            x = "soft"
    weights = [weight(name + ".w", rng.normal(size=s).astype(np.float32) / 4) for name, s in sizes.items()]
    return save(path, nodes, [value("x", [1, 3, 4, 4])], [value("lm_head", [1, 10])], weights)


def test_every_example_of_the_documentation_runs(quantc, root, tmp_path):
    model = documented_network(tmp_path / "net.onnx")
    np.savez(tmp_path / "scales.npz", layer1_out=np.float32(0.1), layer1_weight=np.float32(0.02))
    np.savez(tmp_path / "in.npz", in_0=np.random.default_rng(4).normal(size=(1, 3, 4, 4)).astype(np.float32))
    examples = re.findall(r"```toml\n(.*?)```", (root / "docs" / "rules.md").read_text(), re.S)
    assert len(examples) == 6
    seen = []
    for text in examples:
        (tmp_path / "r.toml").write_text(text)
        rules = ["--rules", tmp_path / "r.toml"]
        quantc("run", model, "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz", *rules)
        reports = json.loads(quantc("explain", model, *rules, "--json").stdout)["nodes"]
        seen.append({r["names"][0]: r for r in reports if r["names"] and "quantize" not in r["op"]})
    intro, first_last_float, dynamic, groups, files, mixed = seen
    assert intro["head.fc"]["op"] == "linear" and intro["blocks.0.mlp.fc"]["op"] == "qlinear"
    assert intro["blocks.0.softmax"]["computes"] == "float"
    assert first_last_float["stem"]["op"] == "conv" and first_last_float["head.fc"]["op"] == "linear"
    assert first_last_float["layer1.conv"]["op"] == first_last_float["backbone.last"]["op"] == "qconv"
    assert dynamic["head.fc"]["op"] == dynamic["blocks.0.mlp.fc"]["op"] == "qlinear" and dynamic["lm_head"]["op"] == "linear"
    assert groups["blocks.0.mlp.fc"]["op"] == "qlinear" and groups["head.fc"]["op"] == "linear"
    assert files["layer1.conv"]["op"] == "qconv"
    assert mixed["head.fc"]["inputs"] == ["i8 0.04"] and mixed["head.fc"]["result"] == "i16 0.0002"
