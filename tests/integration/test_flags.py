"""Flags as users give them: in any order, misspelt, with wrong choices. Every command and flag is walked."""
import re
import subprocess
import zipfile

import pytest
import torch

from tests.conftest import QUANTC

# A value that parses for each kind that help names; flags of choices take their first.
VALUES = {"FILE": "x.npz", "DIR": "out", "NAME=SIZE": "batch=1", "NAME": "net", "TARGET": "portable", "N": "1", "X": "1", "SEED": "1",
          "PASS": "assign_layouts", "LAYER=VARIANT": "a=b", "OP,...": "conv", "PROGRAM": "cc", "FLAGS": "-O2", "COMMAND": "run",
          "INPUT=SHAPE": "x=1,2", "INPUT=VALUE": "x=1", "DB": "10", "PERCENT": "90", "SHELL": "bash", "PEER,...": "torch"}


def say(*args):
    done = subprocess.run([QUANTC, *map(str, args)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def commands():
    return re.findall(r"^  (\w+)  ", say("--help")[1].split("Subcommands:")[1].split("Examples")[0], re.M)


def flags(command):
    """name -> (its other names, value or '', what help says)"""
    text = say(command, "--help")[1]
    entries = re.findall(r"^  (-.*(?:\n {30}.*)*)", text, re.M)
    out = {}
    for entry in entries:
        first = re.match(r"((?:-\w|--[\w-]+)(?:, (?:-\w|--[\w-]+))*)(?: (?! )(\S+))?", entry)
        names = first[1].split(", ")
        out[names[-1] if len(names) == 2 and len(names[0]) == 2 else names[0]] = (names, first[2] or "", " ".join(entry.split()))
    return out


WALK = [(c, f, v) for c in commands() for f, (_, v, _) in flags(c).items()]


def test_the_walk_sees_all():
    assert {"compile", "run", "validate", "inspect", "explain", "calibrate", "targets", "passes", "ops", "help"} <= set(commands())
    assert len(WALK) > 100 and {("compile", "--weights", "literal|incbin|file"), ("run", "--threads", "N")} <= set(WALK)


def test_help_fits_100_columns_and_names_choices_and_defaults():
    for command in commands():
        page = say(command, "--help")[1]
        assert max(map(len, page.splitlines())) <= 100 and page == say("help", command)[1]
        for name, (_, value, text) in flags(command).items():
            if "|" in value:
                default = re.search(r"default (\w+)", text)
                assert default and default[1] in value.split("|"), f"{command} {name}: {text}"
            elif value:
                assert value in VALUES, f"{command} {name} {value}"
    assert say("--help")[1] == say("help")[1]


def misspelt(flag):
    yield flag[:-1] if len(flag) > 5 else flag + flag[-1]
    yield flag[:4] + flag[5] + flag[4] + flag[6:] if len(flag) > 7 and flag[4] != flag[5] else flag + "x"


@pytest.mark.parametrize("command", commands())
def test_every_misspelt_flag_gets_a_suggestion_and_the_right_help(command):
    known = flags(command)
    for flag in (f for f in known if len(f) > 4):
        for wrong in misspelt(flag):
            if any(wrong in names for names, _, _ in known.values()):
                continue
            status, _, said = say(command, "m.onnx", wrong)
            meant = re.search(r"did you mean '(--[\w-]+)'\? \(see quantc (\w+) --help\)", said)
            assert status == 1 and meant and meant[2] == command and any(meant[1] in names for names, _, _ in [*known.values(), (["--verbose"], "", ""), (["--version"], "", "")]), said
            if wrong[:-1] != flag and flag[:-1] != wrong:
                assert meant[1] == flag, said


@pytest.mark.parametrize("command, flag, value", [(c, f, v) for c, f, v in WALK if "|" in v or v == "TARGET"])
def test_every_wrong_choice_gets_a_suggestion_and_the_right_help(command, flag, value, models, tmp_path):
    needed = {"compile": ["-o", tmp_path / "o"], "calibrate": ["-o", tmp_path / "r.toml", "--data", models / "digits.npz"], "analyze": ["--data", models / "digits.npz"],
              "run": ["--random", 1], "validate": ["--random", 1]}.get(command, [])
    model = [] if command in ("completion",) else [models / "digits.onnx"]
    right = "x86-avx2" if value == "TARGET" else value.split("|")[0]
    if right.isdigit():
        status, _, said = say(command, *model, *needed, flag, "7")
        assert status == 1 and "use 0 to 2" in said and f"quantc {command} --help" in said
        return
    status, _, said = say(command, *model, *needed, flag, right + "x")
    assert status == 1 and f"did you mean '{right}'?" in said and f"quantc {command} --help" in said, said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("part, whole", [("avx2", "x86-avx2"), ("avx512", "x86-avx512vnni"), ("dotprod", "aarch64-dotprod"), ("aarch", "aarch64")])
def test_a_part_of_a_target_gets_a_suggestion(part, whole, models, tmp_path):
    status, _, said = say("compile", models / "digits.onnx", "-o", tmp_path / "o", "--target", part)
    assert status == 1 and f"did you mean '{whole}'?" in said, said


def test_every_misspelt_command_gets_a_suggestion():
    for command in commands():
        for wrong in (command + "e", command[0] + command[2] + command[1] + command[3:]):
            if wrong in commands() or wrong == command:
                continue
            for args in ([wrong, "m.onnx", "--rules", "r.toml"], ["-v", wrong], ["help", wrong]):
                status, _, said = say(*args)
                assert status == 1 and f"there is no command '{wrong}'" in said and f"did you mean '{command}'?" in said, said
    assert "lists its flags" not in say("help", "comple")[2], "the page of help would not help"
    assert "use one of compile, run," in say()[2] and "use one of compile, run," in say("frobnicate")[2]


@pytest.mark.parametrize("command, flag, value", [(c, f, v) for c, f, v in WALK if c in ("compile", "run", "validate", "inspect", "explain", "calibrate")])
def test_flags_and_model_in_any_order(command, flag, value):
    """A model that is not there is what is missed, never MODEL or a flag: before, between and after."""
    if flag == "--help":
        return
    given = [flag] if not value else [flag, VALUES.get(value, value.split("|")[0])]
    required = {"compile": {"--output": "/nowhere/o"}, "calibrate": {"--output": "/nowhere/r.toml", "--data": "nowhere.npz"}}.get(command, {})
    needed = [word for name, text in required.items() if name != flag for word in (name, text)]
    seen = {say(command, *order)[2] for order in ([*given, "nowhere.onnx", *needed], ["nowhere.onnx", *needed, *given], [*needed, *given, "nowhere.onnx"])}
    assert len(seen) == 1, seen
    said = seen.pop()
    assert "nowhere.onnx: error[file]" in said or "x.npz: error[file]" in said or "is not LAYER" in said or "a=b" in said, said


def test_one_value_for_each_flag(quantc, models, tmp_path):
    torch.onnx.export(torch.nn.ReLU(), (torch.zeros(1, 2),), tmp_path / "m.onnx", dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    quantc("compile", "--dim", "batch=1", tmp_path / "m.onnx", "-o", tmp_path / "o")
    said = quantc("run", models / "digits.onnx", "-i", "a.npy", "b.npy", status=1).stderr
    assert "'b.npy' is one argument too many" in said and "-i a.npy -i b.npy" in said and "quantc run --help" in said
    assert "run has no flag --rtol: it is one of validate" in quantc("run", models / "digits.onnx", "--rtol", "1", status=1).stderr


@pytest.mark.parametrize("name, content, words", [
    ("m.tflite", b"\x1c\0\0\0TFL3" + bytes(40), ("TensorFlow Lite", "tf2onnx")),
    ("m.bin", b"\x1c\0\0\0TFL3" + bytes(40), ("TensorFlow Lite",)),
    ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(40), ("Keras", "tf2onnx")),
    ("m.safetensors", (16).to_bytes(8, "little") + b'{"a":{}}' + bytes(8), ("weights but no graph",)),
    ("m.gguf", b"GGUF" + bytes(40), ("weights but no graph",)),
    ("m.py", b"import torch\n", ("Python program", "torch.export.save")),
    ("m.pth", b"\x80\x02}q\x00.", ("torch.save", "torch.export.save"))])
def test_files_of_others_are_answered_with_what_to_do(quantc, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    said = quantc("inspect", tmp_path / name, status=2).stderr
    assert all(word in said for word in words), said


def test_torchscript_and_keras_archives(quantc, tmp_path):
    torch.jit.script(torch.nn.ReLU()).save(tmp_path / "m.pt")
    said = quantc("compile", tmp_path / "m.pt", "-o", tmp_path / "o", status=2).stderr
    assert "TorchScript" in said and "torch.export.save(torch.export.export(" in said
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", "x")
    assert "Keras" in quantc("inspect", tmp_path / "m.keras", status=2).stderr


def test_tensor_subclasses_of_torchao_are_named(quantc, tmp_path):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_
    model = torch.nn.Sequential(torch.nn.Linear(64, 64)).eval()
    quantize_(model, Int8WeightOnlyConfig())
    exported = torch.export.export(model, (torch.zeros(1, 64),))
    torch.export.save(exported, tmp_path / "m.pt2")
    said = quantc("inspect", tmp_path / "m.pt2", status=2).stderr
    assert "subclass (torchao)" in said and "run_decompositions()" in said
    torch.export.save(exported.run_decompositions(), tmp_path / "d.pt2")
    assert "qlinear" in quantc("inspect", tmp_path / "d.pt2").stdout


def test_words_of_files_get_suggestions(quantc, models, tmp_path):
    (tmp_path / "c.toml").write_text("wieghts = 'file'\n")
    assert "did you mean 'weights'?" in quantc("inspect", models / "digits.onnx", "--config", tmp_path / "c.toml", status=1).stderr
    (tmp_path / "r.toml").write_text("[[rule]]\npattern = '.*'\ndtyp = 'int8'\n")
    assert "did you mean 'dtype'?" in quantc("inspect", models / "digits.onnx", "--rules", tmp_path / "r.toml", status=1).stderr
    said = quantc("compile", models / "digits.onnx", "-o", tmp_path / "o", "--stop-after", "fuse_clmp", status=1).stderr
    assert "did you mean 'fuse_clamp'?" in said
