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


WITH_MODEL = ("compile", "run", "validate", "inspect", "explain", "calibrate", "analyze", "bench")
WALK = [(c, f, v) for c in commands() for f, (_, v, _) in flags(c).items()]


def test_the_walk_sees_all():
    assert {*WITH_MODEL, "targets", "passes", "ops", "help", "completion"} == set(commands())
    assert all(("MODEL" in say(c, "--help")[1].split("\n\n")[0]) == (c in WITH_MODEL) for c in commands())
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


@pytest.mark.parametrize("part, whole", [("avx2", "x86-avx2"), ("avx512", "x86-avx512vnni"), ("dotprod", "aarch64-dotprod"), ("aarch", "aarch64"),
                                         ("cortex-m4", "portable"), ("arm", "portable"), ("stm32", "portable"), ("riscv32", "portable"), ("esp32", "portable"),
                                         ("c", "portable"), ("arm64", "aarch64"), ("x86_64", "x86"), ("amd64", "x86"), ("gpu", "cuda"), ("host", "native")])
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


@pytest.mark.parametrize("command, flag, value", [(c, f, v) for c, f, v in WALK if c in WITH_MODEL])
def test_flags_and_model_in_any_order(command, flag, value):
    """A model that is not there is what is missed, never MODEL or a flag: before, between and after."""
    if flag == "--help":
        return
    given = [flag] if not value else [flag, VALUES.get(value, value.split("|")[0])]
    required = {"compile": {"--output": "/nowhere/o"}, "calibrate": {"--output": "/nowhere/r.toml", "--data": "nowhere.npz"},
                "analyze": {"--data": "nowhere.npz"}}.get(command, {})
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


def test_every_command_has_examples():
    for command in commands():
        page = say(command, "--help")[1]
        examples = re.findall(r"^  (quantc .*)$", page.split("Example")[-1], re.M) if "Example" in page else []
        assert any(e.split()[1] == command for e in examples), page


@pytest.mark.parametrize("args, words", [
    (["bench", "M", "--against", "onnxrt"], ["did you mean 'onnxruntime'?"]),
    (["bench", "M", "--against", "ort"], ["did you mean 'onnxruntime'?"]),
    (["bench", "M", "--against", "pytorch"], ["did you mean 'torch'?"]),
    (["calibrate", "M", "--data", "D", "-o", "/nowhere/r.toml", "--ops", "convv"], ["--ops: no rule can be written for 'convv'", "did you mean 'conv'?"]),
    (["compile", "M", "-o", "/nowhere/o", "--kernel", "node_Conv_5=portable"], ["no layer 'node_Conv_5'", "did you mean 'node_Conv_50'?"]),
    (["compile", "M", "-o", "/nowhere/o", "--kernel", "node_Conv_50=portabel"], ["no variant 'portabel'", "did you mean 'portable'?"]),
    (["compile", "M", "-o", "/nowhere/o", "--arithmetic", "exakt"], ["did you mean 'exact'?"]),
    (["run", "M", "--random", "abc"], ["--random is 'abc': give a whole number"]),
    (["run", "M", "--random"], ["--random needs a value, SEED"]),
    (["validate", "M", "--random", "1", "--atol", "small"], ["--atol is 'small': give a number"]),
    (["compile", "M", "-o", "a", "-o", "b"], ["--output is given 2 times: it takes one value"]),
    (["compile", "M", "-o", "a", "-O", "x"], ["--level is 'x': use one of 0, 1, 2"]),
    (["run", "M", "--random", "1", "--no-float=yes!"], ["--no-float takes no value, got 'yes!'"]),
    (["inspect", "M", "--ir", "--dot"], ["give one of --ir, --dot, not several"]),
    (["compile", "M", "-o", "/nowhere/o", "--dim", "batch=1"], ["all sizes of the inputs are numbers, so leave out --dim batch"]),
    (["compile", "M", "-o", "/nowhere/o", "--dim", "batch=1..4"], ["all sizes of the inputs are numbers, so leave out --dim batch"]),
    (["model.onnx"], ["a command is missing before 'model.onnx'", "quantc inspect model.onnx", "quantc compile model.onnx -o DIR"]),
    (["M", "-o", "out"], ["a command is missing before", "quantc compile"])])
def test_wrong_values_are_said_in_words_of_quantc(args, words, models, root):
    named = {"M": models / "digits.onnx", "D": root / "examples/digits/calibration.npz"}
    status, _, said = say(*[named.get(a, a) for a in args])
    assert status == 1 and all(word in said for word in words), said
    assert "note: --dim" not in said and "Could not" not in said and "At Most" not in said, said


def test_a_flag_that_shares_no_letter_is_not_suggested(models):
    status, _, said = say("run", models / "digits.onnx", "-x")
    assert status == 1 and "run has no flag -x: use one of" in said and "did you mean" not in said


@pytest.mark.parametrize("key, meant", [("kind = 'dynamik'", "dynamic"), ("kind = 'weigth_only'\nweight_dtype = 'int8'", "weight_only"), ("dtype = 'int7'", "int8"),
                                        ("weight_dtype = 'int44'", "int4"), ("input_dtype = 'uint88'", "uint8"), ("attention = 'flot'", "float"), ("op = 'convv'", "conv")])
def test_wrong_words_of_rules_get_a_suggestion(quantc, models, root, tmp_path, key, meant):
    (tmp_path / "r.toml").write_text(f"[[rule]]\npattern = '.*'\nscale = 1\n{key}\n")
    for args in (["inspect"], ["calibrate", "--data", root / "examples/digits/calibration.npz", "-o", tmp_path / "o.toml"]):
        said = quantc(*args, models / "digits.onnx", "--rules", tmp_path / "r.toml", status=1).stderr
        assert f"did you mean '{meant}'?" in said and "r.toml:" in said, said


@pytest.mark.parametrize("line, words", [("target = 'portabel'", "did you mean 'portable'?"), ("weights = 'fiel'", "did you mean 'file'?"), ("stop_after = 'fuse_clmp'", "fuse_clamp"),
                                         ("arithmetic = 'exakt'", "exact"), ("disabled_passes = ['fold_qd']", "fold_qdq"), ("kernels = ['a']", "LAYER=VARIANT"), ("name = 'a b'", "cannot name a project")])
def test_wrong_values_of_a_config_file_have_file_and_line(quantc, models, tmp_path, line, words):
    (tmp_path / "c.toml").write_text(f"level = 1\n\n{line}\n")
    said = quantc("inspect", models / "digits.onnx", "--config", tmp_path / "c.toml", status=1).stderr
    assert "c.toml: error[usage]: line 3: " in said and words in said, said


def test_other_files_and_folders_are_recognised(quantc, models, tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    torch.save(module, tmp_path / "module.pth")
    torch.save(module, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    for name in ("weights.pt", "module.pth", "old.pth"):
        said = quantc("inspect", tmp_path / name, status=2).stderr
        assert "weights but no graph" in said and "torch.export.save(torch.export.export(" in said, said
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/saved_model.pb").write_bytes(b"\x08\x01\x12\x02\n\x00")
    (tmp_path / "net.mlpackage").mkdir()
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub/config.json").write_text("{}")
    (tmp_path / "hub/model.safetensors").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for name, words in {"saved": "tf2onnx", "saved/saved_model.pb": "tf2onnx", "net.mlpackage": "Core ML", "hub": "weights but no graph"}.items():
        assert words in quantc("inspect", tmp_path / name, status=2).stderr
    assert "is a folder, not a regular file: give the .onnx or .pt2 file" in quantc("inspect", tmp_path / "empty", status=1).stderr
    assert "arrays of NumPy" in quantc("inspect", models / "digits.npz", status=2).stderr


def test_the_file_beside_the_rules_is_explained(quantc, models, tmp_path):
    for name in ("gru.onnx", "gru.npz"):
        (tmp_path / name).write_bytes((models / name).read_bytes())
    said = quantc("calibrate", "gru.onnx", "--data", "gru.npz", "-o", "gru.toml", status=1, cwd=tmp_path).stderr
    assert said.startswith("gru.npz: error[file]") and "arrays of the rules in gru.toml go into gru.npz" in said


def test_without_a_target_code_without_floats_is_portable(models, root, tmp_path):
    status, said, _ = say("compile", models / "digits.onnx", "--rules", root / "examples/digits/rules.toml", "--no-float", "-o", tmp_path / "o")
    assert status == 0 and "for target portable" in said
