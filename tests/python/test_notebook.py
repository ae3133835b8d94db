"""The tutorial as a notebook: made from the script, and it runs."""
import json
import subprocess
import sys

import nbformat
from nbclient import NotebookClient
from package import ROOT


def test_it_is_what_the_script_says(tmp_path):
    made = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, 'tools'); import notebook; "
                           "print(notebook.notebook(open('examples/tutorial.py').read()), end='')"],
                          cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "examples" / "tutorial.ipynb").read_text(), "run python3 tools/notebook.py"


def test_it_runs(tmp_path, monkeypatch):
    # The kernel is this Python, whatever kernels the machine knows.
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                                                    "display_name": "Python 3", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    book = nbformat.read(ROOT / "examples" / "tutorial.ipynb", as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    text = "".join(o.get("text", "") for c in book.cells if c.cell_type == "code" for o in c.outputs)
    assert "the same bits: True" in text and "int8 " in text
