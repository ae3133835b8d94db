"""The build backend says on the terminal how far the compiler is: pip keeps what a build prints to itself."""
import subprocess
import sys

from package import ROOT

FAKE = '''
import os, sys, time, types
build = types.ModuleType("scikit_build_core.build")
build.__all__ = ["get_requires_for_build_wheel"]
build.get_requires_for_build_wheel = lambda config_settings=None: ["ninja"]
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    os.makedirs("build/python-x")
    open("build/python-x/build.ninja", "w").write("""rule cc
build a.o: cc a.c
build b.o | b.d: cc b.c || order
build sub$ dir/c.o: cc c.c
build all: phony a.o b.o
""")
    for name in ("a.o", "b.o"):
        with open("build/python-x/.ninja_log", "a") as log:
            log.write(f"# ninja log v5\\n0\\t1\\t2\\t{name}\\tabc\\n")
        time.sleep(0.3)
    print("what pip swallows")
    return f"{wheel_directory}/x.whl"
build.build_wheel = build.build_editable = build_wheel
package = types.ModuleType("scikit_build_core")
package.build = build
sys.modules.update({"scikit_build_core": package, "scikit_build_core.build": build})
import quantc_build
quantc_build._Watch.__init__.__defaults__ = (0.05,)
assert quantc_build.get_requires_for_build_wheel() == ["ninja"]
assert quantc_build.build_wheel("out", None) == "out/x.whl"
'''


def test_progress_is_on_the_terminal(tmp_path):
    (tmp_path / "fake.py").write_text(FAKE)
    command = f"cd {tmp_path} && PYTHONPATH={ROOT / 'python'} {sys.executable} fake.py >swallowed 2>&1"
    said = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + (tmp_path / "swallowed").read_text()
    assert "compiling takes about 16 minutes of processor time" in said.stdout
    assert "quantc: 1 of 3 steps" in said.stdout and "quantc: 2 of 3 steps" in said.stdout, said.stdout
    assert (tmp_path / "swallowed").read_text() == "what pip swallows\n"


def test_the_package_is_built_by_it():
    text = (ROOT / "pyproject.toml").read_text()
    assert 'build-backend = "quantc_build"' in text and 'backend-path = ["python"]' in text and '"python"' in text.split("sdist.include")[1]
    for page in ("README.md", "docs/python.md"):
        assert "16 minutes of processor time" in (ROOT / page).read_text()
