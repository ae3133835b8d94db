"""How deep calls go on the stack: sizes of frames as compilers report them, calls as the object file has them.

What is measured is compiled for a named instruction set and never run, so that every machine measures the same.
"""
import functools
import pathlib
import re
import subprocess

FREESTANDING = pathlib.Path(__file__).parent / "freestanding"
ZEN3_WITH_VECTORS = "-march=znver3 " + " ".join(
    f"-mavx512{name}" for name in ("f", "cd", "bw", "dq", "vl", "ifma", "vbmi", "vbmi2", "vnni", "bitalg", "vpopcntdq"))
ARM = f"-nostdlibinc -I{FREESTANDING} --target="
# Options of each set, the first that the compiler knows: Zen 4 is younger than some of them.
SETS = {"x86-64": ["-march=x86-64"], "haswell": ["-march=haswell"], "skylake-avx512": ["-march=skylake-avx512"],
        "znver4": ["-march=znver4", ZEN3_WITH_VECTORS],
        "aarch64": [ARM + "aarch64-none-elf"], "cortex-m4": [ARM + "thumbv7em-none-eabihf -mcpu=cortex-m4"]}
ARM_SETS = ("aarch64", "cortex-m4")  # compiled by clang, which needs no other installation for it
STACK_OPTIONS = ["-O2 @x86-64", "-Os @x86-64", "-O3 @haswell", "-O3 @skylake-avx512", "-O3 @znver4", "-O2 @aarch64", "-Os @cortex-m4"]


def pairwise(networks, compilers, options):
    """Every network with all options, and with each by one compiler; every compiler with all options, on one network or more."""
    return [(network, compilers[(i + j) % len(compilers)], option)
            for i, network in enumerate(networks) for j, option in enumerate(options)]


@functools.cache
def options_for(compiler, name):
    """Options for an instruction set; an assertion when the compiler has none."""
    for options in SETS[name]:
        known = subprocess.run([compiler, *options.split(), "-x", "c", "-c", "/dev/null", "-o", "/dev/null"], capture_output=True)
        if known.returncode == 0:
            return options
    raise AssertionError(f"{compiler} knows no form of {name}")


def measure(compiler, options, source, folder, include=()):
    """Bytes of stack each function of a C file takes, alone and with all it calls; C's library counts as nothing.

    `options` may hold the name of an instruction set as @name."""
    folder.mkdir(parents=True, exist_ok=True)
    named = re.search(r"@(\S+)", options)
    if named:
        options = options.replace(named[0], options_for(compiler, named[1]))
    command = [compiler, "-std=c11", "-fstack-usage", *(f"-I{i}" for i in include), *options.split(), "-c", source]
    subprocess.run([*command, "-o", folder / "k.o"], check=True)
    frames = {}
    for line in (folder / "k.su").read_text().splitlines():
        position, size, kind = line.split("\t")
        assert kind in ("static", "dynamic,bounded"), f"{position}: {kind}"
        name = position.rsplit(":", 1)[1].split(".")[0]  # copies of a function, made by the compiler, count as one
        frames[name] = max(frames.get(name, 0), int(size))
    arm = named and named[1] in ARM_SETS
    disassembler = "llvm-objdump" if arm else "objdump"
    listing = subprocess.run([disassembler, "-dr", "--no-show-raw-insn", folder / "k.o"], check=True, capture_output=True, text=True)
    calls, aligned = read_calls(listing.stdout)
    if compiler == "clang" and not arm:  # gcc counts return addresses and bytes lost to alignment, clang does not
        frames = {name: size + 8 + aligned.get(name, 0) for name, size in frames.items()}
    deep = {}

    def depth(name, above):
        assert name not in above, f"{name} calls itself"
        if name not in deep:
            below = [depth(c, above | {name}) for c in calls.get(name, set()) - {name}]
            deep[name] = frames.get(name.split(".")[0], 0) + max(below, default=0)
        return deep[name]

    return frames, {name: depth(name, frozenset()) for name in calls}


def read_calls(listing):
    """Which functions each function of a disassembly calls, and the bytes it may lose to aligning its stack."""
    calls, aligned, here = {}, {}, None
    lines = listing.splitlines()
    for line, after in zip(lines, [*lines[1:], ""]):
        if start := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
            here = start[1]
            calls[here] = set()
        elif mask := re.search(r"\sand\s+\$0x(f{8,}[0-9a-f]+),%rsp", line):
            aligned[here.split(".")[0]] = (1 << 64) - int(mask[1], 16) - 16  # the caller aligned it to 16
        elif target := re.search(r"\s(?:call|jmp|blx?|b(?:\.w)?)\s.*<([^>]+)>", line):
            linked = re.search(r":\s+R_\S+\s+([^-+\s]+)", after)  # the linker fills in what is called
            calls[here].add(linked[1] if linked else target[1])
    return calls, aligned
