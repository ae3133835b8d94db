"""Mutated files of every kind, each with a command that reads it. The same seed gives the same files and commands."""
import random
import re
from pathlib import Path

import onnx

from tests.fuzz import mutate_npz, mutate_onnx, mutate_pt2, mutate_text

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
MODELS = ROOT / "tests" / "models"
DIGITS, GRU = str(MODELS / "digits.onnx"), str(MODELS / "gru.onnx")
EXAMPLE = ROOT / "examples" / "digits"  # a rule file with its arrays
NETWORKS = ["gru", "lstm", "unetlet", "micro_kws_m_qdq", "micro_kws_m_qoperator"]
RULES = ["[[rule]]\nop = 'add'\nscale = 0.1\noffset = 3\ninput_scale = [0.1, 0.2]\ndtype = 'uint8'\n",
         "[default]\nkind = 'dynamic'\nper_token = true\nskip_unsupported = true\n[[rule]]\npattern = '.*'\nweight_dtype = 'int4'\ngroup = 32\n",
         "[[rule]]\npattern = '.*(Conv|linear).*|fc[0-9]+'\nexclude = 'x'\nkind = 'weight_only'\nweight_dtype = 'int8'\nper_channel = true\n",
         "[[rule]]\nop = 'conv'\nscale = 0.05\noffset = -3\ninput_scale = 0.01\ninput_offset = -128\ndtype = 'int8'\nper_channel = true\n"]
CONFIGS = ["name = 'm'\nlevel = 2\nweights = 'file'\nspecialise = 'size'\nstate = 'io'\nbudget = 2\n[dims]\nbatch = 2\nn = '1..4'\n",
           "disabled_passes = ['fuse_epilogues']\nverify = true\nrules = 'r.toml'\narithmetic = 'exact'\nio_dtype = 'quantized'\n"]
# What a model is put through; SELF, OUT and RULES are replaced, SIZES and RANGES by a size or a
# range for each free dimension.
RULED = ["--rules", "RULES", "--allow-unused-rules"]
COMMANDS = [["inspect", "SELF"], ["inspect", "SELF", "--ir"], ["inspect", "SELF", "--imported", "--ir"],
            ["inspect", "SELF", "--program"], ["inspect", "SELF", "--names"], ["inspect", "SELF", "--dot"],
            ["explain", "SELF"], ["explain", "SELF", "--json", *RULED],
            ["run", "SELF", "--random", "1", "-o", "OUT/y.npz"], ["run", "SELF", "--random", "1", "SIZES", "-o", "OUT/y.npz"],
            ["run", "SELF", "--random", "1", *RULED, "-o", "OUT/y.npz"],
            ["compile", "SELF", "-o", "OUT/c", "SIZES"],
            ["compile", "SELF", "-o", "OUT/c", "RANGES", "--weights", "file"],
            ["compile", "SELF", "-o", "OUT/c", "-O", "0", "--verify", "SIZES", *RULED],
            ["compile", "SELF", "-o", "OUT/c", "--io-dtype", "quantized", "RANGES", *RULED]]
# What a network is put through besides, with DATA, arrays that fit the network it was.
WITH_DATA = [["run", "SELF", "-i", "DATA", "-o", "OUT/y.npz"], ["calibrate", "SELF", "--data", "DATA", "-o", "OUT/r.toml"],
             ["calibrate", "SELF", "--data", "DATA", "-o", "OUT/r.toml", "--method", "mse", "--per-channel", "--equalise"],
             ["compile", "SELF", "-o", "OUT/c", "--vectors", "DATA"]]


class Source:
    """Kinds of files, their mutators and the commands that read them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.ops = mutate_onnx.Mutator(seed, [onnx.load(p) for p in sorted((CORPUS / "onnx").glob("*.onnx"))])
        self.networks = mutate_onnx.Mutator(seed, [onnx.load(MODELS / f"{n}.onnx") for n in NETWORKS])
        archives = sorted((ROOT / "tests/data/pt2").glob("t*.pt2")) + [MODELS / f"{n}.pt2" for n in ("gru", "unetlet")]
        self.pt2 = mutate_pt2.Mutator(seed, [str(p) for p in archives])
        self.text = mutate_text.Mutator(seed, [p.read_text() for p in sorted((CORPUS / "text").glob("*.ir"))])
        self.rules = mutate_text.Mutator(seed, [*RULES, (EXAMPLE / "rules.toml").read_text()])
        self.configs = mutate_text.Mutator(seed, CONFIGS)
        self.arrays = mutate_npz.Mutator(seed, [MODELS / "digits.npz", MODELS / "gru.npz"])
        self.scales = mutate_npz.Mutator(seed, [EXAMPLE / "rules.npz"])
        self.kinds = [(40, self.op), (16, self.network), (16, self.archive), (12, self.graph), (6, self.rule_file),
                      (3, self.configuration), (5, self.samples), (2, self.scale_file)]

    def next(self, path: Path) -> tuple[list[Path], list[str]]:
        """Writes files and says which command to run on them; the first is the one that was changed."""
        kind = self.random.choices([k for _, k in self.kinds], [w for w, _ in self.kinds])[0]
        return kind(path)

    def filled(self, command: list[str], symbols=(), **words: str) -> list[str]:
        words.setdefault("RULES", str(CORPUS / "rules.toml"))
        out = []
        for word in command:
            if word in ("SIZES", "RANGES"):
                sizes = [str(self.random.choice([1, 2, 3, 16])) for _ in symbols]
                if word == "RANGES":
                    sizes[:1] = ["1..5"]  # one may have a range
                out += [part for s, size in zip(symbols, sizes) for part in ("--dim", f"{s}={size}")]
            else:
                out.append(words.get(word, word))
        return out

    def op(self, path: Path):
        path = path.with_suffix(".onnx")
        path.write_bytes(self.ops.model())
        return [path], self.filled(self.random.choice(COMMANDS), self.ops.symbols, SELF=str(path))

    def network(self, path: Path):
        path = path.with_suffix(".onnx")
        path.write_bytes(self.networks.model())
        data = str(MODELS / f"{NETWORKS[self.networks.chosen]}.npz")
        command = self.random.choice(WITH_DATA if self.random.random() < 0.5 else COMMANDS)
        return [path], self.filled(command, self.networks.symbols, SELF=str(path), DATA=data)

    def archive(self, path: Path):
        path = path.with_suffix(".pt2")
        self.pt2.write(path)
        return [path], self.filled(self.random.choice(COMMANDS), self.pt2.symbols, SELF=str(path))

    def graph(self, path: Path):
        path = path.with_suffix(".ir")
        text = self.text.text()
        path.write_text(text)
        symbols = sorted(set(re.findall(r"[^\w.%@]([nm])(?!\w)", text)))
        return [path], self.filled(self.random.choice(COMMANDS), symbols, SELF=str(path))

    def rule_file(self, path: Path):
        path = path.with_suffix(".toml")
        path.write_text(self.rules.text())
        return [path], self.filled(self.random.choice([
            ["compile", DIGITS, "-o", "OUT/c", "--rules", "SELF", "--allow-unused-rules"],
            ["explain", DIGITS, "--json", "--rules", "SELF", "--allow-unused-rules"],
            ["run", DIGITS, "--random", "1", "--rules", "SELF", "--allow-unused-rules", "-o", "OUT/y.npz"]]), SELF=str(path))

    def configuration(self, path: Path):
        path = path.with_suffix(".toml")
        path.write_text(self.configs.text())
        return [path], self.filled(["compile", GRU, "-o", "OUT/c", "--config", "SELF"], SELF=str(path))

    def samples(self, path: Path):
        path = path.with_suffix(".npz")
        path.write_bytes(self.arrays.bytes())
        return [path], self.filled(self.random.choice([
            ["run", DIGITS, "-i", "SELF", "-o", "OUT/y.npz"], ["run", GRU, "-i", "SELF", "-o", "OUT/y.npz"],
            ["calibrate", DIGITS, "--data", "SELF", "-o", "OUT/r.toml"], ["calibrate", GRU, "--data", "SELF", "-o", "OUT/r.toml"],
            ["compile", DIGITS, "-o", "OUT/c", "--vectors", "SELF"],
            ["validate", GRU, "-i", "SELF", "-e", "SELF", "--cflags=-O0"]]), SELF=str(path))

    def scale_file(self, path: Path):
        rules, path = path.with_name("rules.toml"), path.with_name("rules.npz")
        rules.write_bytes((EXAMPLE / "rules.toml").read_bytes())
        path.write_bytes(self.scales.bytes())
        return [path, rules], self.filled(["compile", DIGITS, "-o", "OUT/c", "--rules", "SELF"], SELF=str(rules))
