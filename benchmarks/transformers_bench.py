"""Quantized transformers in generated code for this machine, one core, all interleaved in one run: MiniLM-L6 beside an earlier quantc,
where QUANTC_BEFORE names one, and a block of Llama beside its own float code. All is code of quantc, on one thread: it is measured in
the processor's time, which does not count others' work on a busy machine."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

# At least this many times as fast: MiniLM as before attention was one op on codes, Llama as in float.
BEFORE_BAR, FLOAT_BAR = 1.3, 2.0
ROUNDS = 8
RULE = "[[rule]]\npattern = '.*'\nkind = 'dynamic'\nskip_unsupported = true\n"
RULES = {"dynamic": RULE, "dynamic per token": RULE + "per_token = true\nsymmetric = true\n"}
BLOCK = dict(vocab_size=64, hidden_size=2048, intermediate_size=5632, num_hidden_layers=1, num_attention_heads=32,
             num_key_value_heads=8, max_position_embeddings=128)
LLAMA = """
import sys, torch, transformers as hf
class Block(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x):
        return self.net(inputs_embeds=x, use_cache=False).last_hidden_state
torch.manual_seed(0)
net = Block(hf.LlamaModel(hf.LlamaConfig(**eval(sys.argv[2])))).eval()
torch.export.save(torch.export.export(net, (torch.randn(1, 64, 2048),), strict=False), sys.argv[1])
"""


class Transformers:
    def __init__(self, bench, run) -> None:
        self.bench, self.run = bench, run

    def rules(self, name: str, program: Path, model: Path, shape: tuple) -> Path:
        path = self.bench.work / f"transformers_{name.replace(' ', '_')}_{program.parent.parent.parent.name}.toml"
        path.unlink(missing_ok=True)
        if name in RULES:
            path.write_text(RULES[name])
        else:
            data = path.with_name("transformers_samples.npz")
            np.savez(data, x=np.random.default_rng(0).standard_normal(shape, dtype=np.float32))
            self.run(program, "calibrate", model, "--data", data, "-o", path, "--force")
        return path

    def built(self, name: str, program: Path, model: Path, size: dict, *flags) -> Path:
        """The program that times what `program` makes of the model."""
        mine, self.bench.quantc = self.bench.quantc, program
        try:
            self.bench.time_quantc(name, model, size, *flags, "--weights", "incbin", "--target", "native", cflags="-O2",
                                   clock="CLOCK_PROCESS_CPUTIME_ID")
        finally:
            self.bench.quantc = mine
        return self.bench.work / f"{name}_quantc_time"

    def best(self, programs: dict) -> dict:
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(ROUNDS):
            for what, program in programs.items():
                best[what] = min(best[what], float(self.run(program).stdout.split()[0]))
        return best

    def minilm(self, model: Path) -> None:
        now, before = Path(self.bench.quantc), os.environ.get("QUANTC_BEFORE")
        size = dict(inputs=128 * 384, outputs=128 * 384)
        for name in ("static", *RULES):
            programs = {}
            for what, program in (("now", now), *((("before", Path(before)),) if before else ())):
                rules = self.rules(name, program, model, (4, 128, 384))
                programs[what] = self.built(f"minilm_{name.replace(' ', '_')}_{what}", program, model, size, "--rules", rules)
            best = self.best(programs)
            print(f"  MiniLM-L6, 128 tokens, int8 {name}: " + ", ".join(f"{w} {s * 1e3:.2f} ms" for w, s in best.items()))
            self.bench.results[f"MiniLM-L6 {name} ms"] = {w: s * 1e3 for w, s in best.items()}
            if before:
                self.bench.bar(f"MiniLM-L6 {name} against before", best["before"] / best["now"], BEFORE_BAR, "times as fast", True)

    def llama(self) -> None:
        model = self.bench.work / "llama_block.pt2"
        if not model.exists():
            subprocess.run([sys.executable, "-c", LLAMA, str(model), repr(BLOCK)], check=True, capture_output=True)
        size, now = dict(inputs=64 * 2048, outputs=64 * 2048), Path(self.bench.quantc)
        programs = {"float": self.built("llama_float", now, model, size)}
        for name in RULES:
            rules = self.rules(name, now, model, ())
            programs[name] = self.built(f"llama_{name.replace(' ', '_')}", now, model, size, "--rules", rules)
        best = self.best(programs)
        print("  Llama block of 2048, 64 tokens: " + ", ".join(f"{w} {s * 1e3:.1f} ms" for w, s in best.items()))
        self.bench.results["Llama block ms"] = {w: s * 1e3 for w, s in best.items()}
        for name in RULES:
            self.bench.bar(f"Llama block, int8 {name}", best["float"] / best[name], FLOAT_BAR, "times as fast as float", True)
