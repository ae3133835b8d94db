"""A sample of the long run over mutated files (`make soak` tries 200,000), and what is cheap to try in full."""
import subprocess
import sys
from pathlib import Path

import onnx

FUZZ = Path(__file__).resolve().parent
sys.path.insert(0, str(FUZZ.parent.parent))
from tests.fuzz.command_soak import Checks, Server


def test_commands_on_some_mutated_files(build, tmp_path):
    soak = [sys.executable, FUZZ / "command_soak.py", build / "bin" / "fork_server", tmp_path, "400", "2"]
    done = subprocess.run(soak, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 files of seed 2, 0 findings" in done.stdout


def without_a_part(model: onnx.ModelProto):
    """The model with one operand, result or attribute of a node left out, one after another."""
    for n, node in enumerate(model.graph.node):
        for part in ("input", "output", "attribute"):
            for i in range(len(getattr(node, part))):
                other = onnx.ModelProto()
                other.CopyFrom(model)
                if part == "attribute":
                    del other.graph.node[n].attribute[i]
                else:
                    getattr(other.graph.node[n], part)[i] = ""
                yield f"{part} {i} of {node.op_type}", other


def test_nothing_relies_on_what_may_be_left_out(build, tmp_path):
    for folder in ("out", "tmp"):
        (tmp_path / folder).mkdir()
    server = Server(str(build / "bin" / "fork_server"), tmp_path / "log", tmp_path)
    checks, found = Checks(tmp_path), []
    for path in sorted((FUZZ / "corpus" / "onnx").glob("*.onnx")):
        for what, model in without_a_part(onnx.load(path)):
            (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
            command = ["run", str(tmp_path / "m.onnx"), "--random", "1"]
            code, _, _, out, err = server.run(command)
            if wrong := checks.wrong(command, code, out, err) if code else "":
                found.append(f"{path.name} without {what}: {wrong}")
    assert not found, "\n".join(found)
