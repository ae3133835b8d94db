"""Instruction sets by name: tests compile for them on every machine, and run what the processor can run."""
import pathlib
import platform

NEEDED = {"x86-64": set(), "haswell": {"avx2", "fma", "bmi1", "bmi2", "movbe", "f16c"}}
NEEDED["skylake-avx512"] = NEEDED["haswell"] | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
NEEDED["avx512vnni"] = NEEDED["skylake-avx512"] | {"avx512_vnni"}  # no name of a compiler's


def can_run(flags):
    """Whether this processor runs what a compiler makes with these flags; without -march= every one does."""
    names = [f.removeprefix("-march=") for f in flags.split() if f.startswith("-march=")]
    if not names:
        return True
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    return NEEDED[names[-1]] <= set(pathlib.Path("/proc/cpuinfo").read_text().split())

