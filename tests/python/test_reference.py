"""The API reference says what the docstrings say."""
import subprocess
import sys

from package import ROOT


def test_it_is_fresh():
    made = subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, 'tools'); import python_api; "
                           "print(python_api.page(), end='')"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs" / "python-api.md").read_text(), "run tools/python_api.py where the package is installed"
