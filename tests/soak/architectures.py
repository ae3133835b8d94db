"""Tiny networks of many transformers architectures with seeded weights, exported as .pt2.

`python architectures.py OUT [NAME ...]` writes them as cases for tests/conformance/runner.cpp: OUT/NAME/model_0.pt2,
OUT/NAME/set_0.npz (in_0, ..., out_0, ...) and OUT/cases.tsv, where an architecture that PyTorch itself cannot export has
its reason.
"""
import multiprocessing
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
import transformers
from architecture_table import KINDS, OWN, TINY

SECONDS = 600  # for one export


def build(name: str) -> torch.nn.Module:
    kind = transformers.CONFIG_MAPPING[name]
    fields = set(kind().to_dict())
    sizes = {k: v for k, v in TINY.items() if k in fields and v is not None}
    config = kind(**(sizes | OWN.get(name, {})))
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config).eval()
    # Freshly made norms are the identity: give them something to show.
    with torch.no_grad():
        for key, buffer in model.named_buffers():
            if key.endswith("running_mean"):
                buffer.normal_(std=0.1)
            elif key.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
    return model


def inputs(name: str, kind: str, model: torch.nn.Module) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    config = model.config
    tokens = lambda n: torch.randint(3, 90, (1, n), generator=generator)
    if name == "lxmert":
        return {"input_ids": tokens(12), "visual_feats": torch.rand(1, 4, config.visual_feat_dim, generator=generator),
                "visual_pos": torch.rand(1, 4, 4, generator=generator)}
    if kind == "text":
        return {"input_ids": tokens(16)}
    if kind == "seq2seq":
        return {"input_ids": tokens(12), "decoder_input_ids": tokens(8)}
    if kind == "vision":
        size = getattr(config, "image_size", 32)
        size = size[0] if isinstance(size, (list, tuple)) else size
        size = size if isinstance(size, int) and size <= 64 else 64
        shape = (1, 2, 3, size, size) if name == "timesformer" else (1, 3, size, size)
        return {"pixel_values": torch.rand(shape, generator=generator)}
    if name == "whisper":
        return {"input_features": torch.rand(1, 16, 40, generator=generator), "decoder_input_ids": tokens(6)}
    if name == "audio-spectrogram-transformer":
        return {"input_values": torch.rand(1, 64, 16, generator=generator)}
    return {"input_values": torch.randn(1, 400, generator=generator)}


class Plain(torch.nn.Module):
    """The model with its float tensor outputs as a flat tuple, caches left out."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args):
        result = self.model(**dict(zip(self.names, args)), return_dict=True)
        return tuple(v for k, v in result.items() if isinstance(v, torch.Tensor) and v.is_floating_point())


def export(name: str, kind: str, out: Path) -> None:
    model = build(name)
    given = inputs(name, kind, model)
    module = Plain(model, list(given)).eval()
    args = tuple(given.values())
    with torch.no_grad():
        expected = module(*args)
        program = torch.export.export(module, args)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    (out / name).mkdir(parents=True, exist_ok=True)
    torch.export.save(program, out / name / "model_0.pt2")
    arrays = {f"in_{i}": a.numpy() for i, a in enumerate(args)} | {f"out_{i}": a.numpy() for i, a in enumerate(expected)}
    np.savez(out / name / "set_0.npz", **arrays)


def case_line(name: str, kind: str, out: Path, reason: str) -> str:
    """The case's line for the runner: within 1e-4 of the largest output magnitude."""
    atol, variants = 0.0, ""
    if not reason:
        arrays = np.load(out / name / "set_0.npz")
        atol = 1e-4 * max(float(np.abs(arrays[k]).max(initial=0)) for k in arrays if k.startswith("out_"))
        variants = "0:" + ",".join(k.removeprefix("in_") for k in arrays if k.startswith("in_"))
    return "\t".join([name, kind, "0.0", repr(atol), "1", variants, reason])


def reason_of(name: str, kind: str, out: Path, tell) -> None:
    """Exports, and tells why it cannot be done, "" if it can."""
    try:
        export(name, kind, out)
        tell.send("")
    except Exception as why:  # PyTorch or transformers cannot: recorded, not ours to judge
        text = str(why).strip().splitlines()
        tell.send(f"PyTorch: {type(why).__name__}: {text[0][:160] if text else ''}")


def export_apart(name: str, kind: str, out: Path) -> str:
    """Exports in a process of its own, so that one that hangs or crashes costs no other."""
    context = multiprocessing.get_context("fork")
    listen, tell = context.Pipe(duplex=False)
    process = context.Process(target=reason_of, args=(name, kind, out, tell))
    process.start()
    tell.close()
    try:
        reason = listen.recv() if listen.poll(SECONDS) else f"PyTorch: no export in {SECONDS} s"
    except EOFError:
        reason = "PyTorch: the export ends its process"
    process.kill()
    process.join()
    return reason


def export_all(out: Path, wanted: list[str]) -> None:
    lines = []
    for kind, names in KINDS.items():
        for name in names:
            if wanted and name not in wanted:
                continue
            known = (out / name / "set_0.npz").exists()
            lines.append(case_line(name, kind, out, "" if known else export_apart(name, kind, out)))
    (out / "cases.tsv").write_text("".join(line + "\n" for line in lines))


def main() -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    export_all(out, sys.argv[2:])


if __name__ == "__main__":
    main()
