"""One network through every front end: the same answers, and those of the command line bit for bit."""
import numpy as np
import pytest
import torch
from networks import Encoder, Residual, weights

import quantc

NETWORKS = {"residual": (Residual, (1, 3, 12, 12)), "encoder": (Encoder, (1, 5, 16))}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, tmp_path_factory):
    """The module, an input, and a graph of each front end with the file that the command line reads for it."""
    make, shape = NETWORKS[request.param]
    torch.manual_seed(5)
    net, x = weights(make()), torch.randn(shape)
    folder = tmp_path_factory.mktemp(request.param)
    exported, onnx = torch.export.export(net, (x,)), torch.onnx.export(net, (x,), dynamo=True, verbose=False)
    torch.export.save(exported, folder / "m.pt2")
    onnx.save(folder / "m.onnx")
    quantc.dump_fx(torch.fx.symbolic_trace(net), str(folder / "m.fx.json"), (x,))
    quantc.dump_fx(exported.module(), str(folder / "aten.fx.json"))
    np.savez(folder / "in.npz", in_0=x.numpy())
    return net, x, folder, [
        (quantc.from_torch(net, (x,)), "m.pt2"), (quantc.from_exported(exported), "m.pt2"),
        (quantc.from_fx(net, (x,)), "m.fx.json"), (quantc.from_fx(torch.fx.symbolic_trace(net), (x,)), "m.fx.json"),
        (quantc.from_fx(exported.module()), "aten.fx.json"), (quantc.from_onnx(onnx.model_proto), "m.onnx")]


def test_floats(network):
    net, x, _, graphs = network
    for graph, _ in graphs:
        torch.testing.assert_close(graph.run(x), net(x).detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("how", [dict(per_channel=True), dict(activations="int16"), dict(activations="int16", per_channel=True), None],
                         ids=["per channel", "int16", "int16 per channel", "dynamic"])
def test_rules(network, how, command, tmp_path):
    """Rules found by each front end under its own names; without a way to find them, scales are those of the run."""
    net, x, folder, graphs = network
    samples = torch.randn(8, *x.shape[1:], generator=torch.Generator().manual_seed(1))
    answers = set()
    for i, (graph, file) in enumerate(graphs):
        if how is None:
            rules = [quantc.DynamicQuantRulePerTensor(".*", op="linear")]
            quantc.save_rules(rules, str(tmp_path / f"{i}.toml"))
        else:
            rules = quantc.calibrate(graph, [samples], progress=False, **how)
            rules.save(tmp_path / f"{i}.toml")
        quantized = graph.quantize(rules)
        ops = [n.op for n in quantized.explain().nodes if n.computes == "integer"]
        assert how is None or len([o for o in ops if o in ("qconv", "qlinear")]) >= 4, ops
        answer = quantized.run(x).numpy()
        answers.add(answer.tobytes())
        command("run", folder / file, "--rules", tmp_path / f"{i}.toml", "-i", folder / "in.npz", "-o", tmp_path / f"out_{i}.npz")
        with np.load(tmp_path / f"out_{i}.npz") as arrays:
            assert arrays[arrays.files[0]].tobytes() == answer.tobytes(), file
    assert len(answers) == 1
