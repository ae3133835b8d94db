"""Networks at other opsets, made by onnx's version converter where it can: the answers stay. The converter has hardly any
way down, so beside the networks of this folder there is one of opset 7 that goes up all the way."""
import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper, version_converter  # noqa: E402

OPSETS = [7, 9, 11, 13, 17, 21]
# Opsets that the converter reaches with each network.
REACHED = {
    "cnn_mnist_pytorch": OPSETS,
    "classic": OPSETS,
    "digits": [17, 21],
    "micro_kws_m_fp32": [17, 21],
    "timm_test_resnet": [17, 21],
    "tv_mobilenet_v2_025": [17, 21],
    "unetlet": [17, 21],
    "timm_test_vit": [21],
    "hf_llama": [17, 21],
    "lstm": [17, 21],
    "gru": [17, 21],
}


def classic():
    """A network of opset 7 whose ops changed their form since: attributes became operands, axes their meaning."""
    rng = np.random.default_rng(0)
    initializers, nodes = [], []

    def weight(name, *shape, low=-0.5):
        initializers.append(numpy_helper.from_array(rng.uniform(low, 0.5, shape).astype("float32"), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], **attributes))

    node("Conv", ["x", weight("w0", 8, 3, 3, 3), weight("b0", 8)], "c0", pads=[1, 1, 1, 1])
    node("BatchNormalization", ["c0", weight("s", 8), weight("o", 8), weight("m", 8), weight("v", 8, low=0.1)], "n0")
    node("Clip", ["n0"], "r0", min=0.0, max=6.0)
    node("MaxPool", ["r0"], "p0", kernel_shape=[2, 2], strides=[2, 2])
    node("Conv", ["p0", weight("w1", 8, 1, 3, 3)], "c1", group=8, pads=[1, 1, 1, 1])
    node("Add", ["c1", "p0"], "a1")
    node("LeakyRelu", ["a1"], "r1", alpha=0.1)
    node("Dropout", ["r1"], "d1", ratio=0.5)
    node("AveragePool", ["d1"], "p1", kernel_shape=[2, 2], strides=[2, 2])
    node("Concat", ["p1", "p1"], "k1", axis=1)
    node("Squeeze", ["k1"], "q1", axes=[0])
    node("Unsqueeze", ["q1"], "u1", axes=[0])
    node("Transpose", ["u1"], "t1", perm=[0, 2, 3, 1])
    node("ReduceSum", ["t1"], "e1", axes=[1], keepdims=0)
    node("Flatten", ["e1"], "f1")
    node("Gemm", ["f1", weight("w2", 10, 64), weight("b2", 10)], "g1", transB=1)
    node("Split", ["g1"], "h1", axis=1, split=[10])
    node("Sigmoid", ["h1"], "i1")
    node("Mul", ["h1", "i1"], "j1")
    node("Softmax", ["j1"], "y", axis=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])
    graph = helper.make_graph(nodes, "classic", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=7)


@pytest.fixture(scope="module")
def network(models, tmp_path_factory):
    """name -> the model, the file of its inputs and the outputs it must give."""
    def load(name):
        if name != "classic":
            arrays = np.load(models / f"{name}.npz")
            return onnx.load(models / f"{name}.onnx"), models / f"{name}.npz", [arrays[k] for k in arrays.files if k.startswith("out_")]
        runtime = pytest.importorskip("onnxruntime")
        model, x = classic(), np.random.default_rng(1).normal(size=(1, 3, 16, 16)).astype("float32")
        path = tmp_path_factory.mktemp("classic") / "in.npz"
        np.savez(path, in_0=x)
        return model, path, runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    return load


def converted(model, opset):
    """The model at that opset, None when the converter cannot."""
    try:
        other = version_converter.convert_version(model, opset)
        del other.graph.value_info[:]  # the converter leaves wrong types of values it adds
        return other
    except RuntimeError as failure:
        assert "No Adapter" in str(failure) or "No Previous Version" in str(failure), failure
        return None


@pytest.mark.parametrize("name", REACHED)
def test_converted(name, network, quantc, tmp_path):
    model, inputs, wanted = network(name)
    reached = []
    for opset in OPSETS:
        other = converted(model, opset)
        if other is None:
            continue
        onnx.save(other, tmp_path / "m.onnx")
        quantc("run", tmp_path / "m.onnx", "-i", inputs, "-o", tmp_path / "out.npz")
        got = np.load(tmp_path / "out.npz")
        assert len(got.files) == len(wanted)
        for want, key in zip(wanted, got.files):
            np.testing.assert_allclose(got[key], want, rtol=0, atol=1e-4 * float(np.max(np.abs(want))), err_msg=f"opset {opset}, {key}")
        reached.append(opset)
    assert reached == REACHED[name]
