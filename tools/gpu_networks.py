"""Networks for tools/gpu_check: those of the tests, seeded ones, and tiny transformers where PyPI's transformers are installed."""
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nper_token = true\nsymmetric = true\nper_channel = true\nskip_unsupported = true\n"
ZERO = "[[rule]]\npattern = '.*'\ndtype = 'int8'\nscale = 0.05\noffset = 7\nskip_unsupported = true\n"
TENSOR = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nskip_unsupported = true\n"
FILES = ["tv_mobilenet_v2_025", "timm_test_resnet", "timm_test_vit", "hf_llama", "unetlet", "lstm", "gru", "micro_kws_m_qoperator"]


def seeded(folder, batches):
    """ResNet-18 and MobileNetV2 with few channels."""
    sys.path.insert(0, str(ROOT))
    from tests.quantized import networks
    for name, make, size in (("resnet18", networks.resnet18, 64), ("mobilenet_v2", networks.mobilenet_v2, 64)):
        for batch in batches:
            path = folder / f"{name}_b{batch}.onnx"
            onnx.save(make(size, batch), path)
            x = np.random.default_rng(batch).normal(size=(batch, 3, size, size)).astype(np.float32)
            np.savez(path.with_suffix(".npz"), in_0=x)
            yield path, f"{name}_int8_b{batch}", "static"
            if batch == 3:
                yield path, f"{name}_zero_point_7", "zero"
            if batch == 1:
                yield path, f"{name}_float_b1", "float"
                yield path, f"{name}_int8_without_tensor_cores", "static", ["--target", "cuda:sm_75"]


def sized(folder):
    """A batch that each run chooses: any, or padded to a few sizes."""
    sys.path.insert(0, str(ROOT / "tests/emitted"))
    from cuda_projects import batch_model
    model = batch_model(folder / "sized.onnx")
    yield model, "free_batch_int8", "static", ["--dim", "batch=1..256"]
    yield model, "buckets_int8", "static", ["--dim", "batch=1..256:buckets=8,32,256"]


def transformers(folder, names):
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "tests/models"))
    try:
        import torch
        import test_transformers
    except ImportError as error:
        print(f"no transformers: {error}")
        return
    for i, name in enumerate(names or test_transformers.ARCHITECTURES):
        torch.manual_seed(0)
        net, inputs = test_transformers.NETS[name]()
        with torch.no_grad():
            program = torch.export.export(net.eval(), inputs, strict=False)
        path = folder / f"{name}.pt2"
        torch.export.save(program, path)
        np.savez(path.with_suffix(".npz"), **{f"in_{k}": x.numpy() for k, x in enumerate(inputs)})
        for kind in ("float", "token", "static", "tensor") if name in ("llama", "bert", "vit") else ("token", "static"):
            yield path, f"{name}_{kind}", kind


def networks(folder, quick):
    """(model, name, kind, flags?) of each: float, static scales, zero points of 7, or scales per token or per tensor."""
    digits = ROOT / "tests/models/digits.onnx"
    yield digits, "digits_int8", "digits"
    yield from sized(folder)
    if quick:
        yield from seeded(folder, [3])
        return
    for name in FILES:
        yield ROOT / f"tests/models/{name}.onnx", name, "float"
    yield from seeded(folder, [1, 3, 32])
    yield from transformers(folder, None)


def compiled(quantc, folder, models, model, name, kind, more=()):
    """Writes the project with the flags `more`; returns the name and what went wrong."""
    vectors, rules = model.with_suffix(".npz"), models / f"{name}.rules.toml"
    flags = ["--rules", rules]
    done = None
    if kind == "float":
        flags = []
    elif kind == "digits":
        flags = ["--rules", ROOT / "examples/digits/rules.toml"]
    elif kind == "static":
        done = subprocess.run([quantc, "calibrate", model, "--data", vectors, "-o", rules, *(["--dim", "batch=8"] if "--dim" in more else [])],
                              capture_output=True, text=True)
    else:
        rules.write_text({"token": TOKEN, "tensor": TENSOR, "zero": ZERO}[kind])
    if done is None or done.returncode == 0:
        done = subprocess.run([quantc, "compile", model, *flags, *(more if "--target" in more else ["--target", "cuda:sm_80", *more]), "-o",
                               folder / name, "--name", "net", "--weights", "incbin", "--vectors", vectors], capture_output=True, text=True)
    return name, done.stderr if done.returncode else ""
