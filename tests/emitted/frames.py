"""How deep calls go on the stack: sizes of frames as compilers report them, calls as the object file has them."""
import re
import subprocess


def measure(compiler, options, source, folder, include=()):
    """Bytes of stack each function of a C file takes, alone and with all it calls; C's library counts as nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-std=c11", "-fstack-usage", *(f"-I{i}" for i in include), *options.split(), "-c", source]
    subprocess.run([*command, "-o", folder / "k.o"], check=True)
    frames = {}
    for line in (folder / "k.su").read_text().splitlines():
        place, size, kind = line.split("\t")
        assert kind in ("static", "dynamic,bounded"), f"{place}: {kind}"
        name = place.rsplit(":", 1)[1].split(".")[0]  # copies of a function, made by the compiler, count as one
        frames[name] = max(frames.get(name, 0), int(size))
    calls, here = {}, None
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", folder / "k.o"], check=True, capture_output=True, text=True)
    lines = listing.stdout.splitlines()
    for line, after in zip(lines, [*lines[1:], ""]):
        if start := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
            here = start[1]
            calls[here] = set()
        elif target := re.search(r"\s(?:call|jmp|bl?)\s.*<([^>]+)>", line):
            linked = re.search(r": R_\S+\s+([^-+\s]+)", after)  # the linker fills in what is called
            calls[here].add(linked[1] if linked else target[1])
    deep = {}

    def depth(name, above):
        assert name not in above, f"{name} calls itself"
        if name not in deep:
            below = [depth(c, above | {name}) for c in calls.get(name, set()) - {name}]
            deep[name] = frames.get(name.split(".")[0], 0) + max(below, default=0)
        return deep[name]

    return frames, {name: depth(name, frozenset()) for name in calls}
