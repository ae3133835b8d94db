"""The digits classifier as generated CUDA, for tools/gpu_check: all 450 test images must give the bits of the generated C."""
import ctypes
import pathlib
import shutil
import subprocess
import time

from gpu_machine import nvcc_flag

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIXELS, SCORES = 64, 10


def prepare(quantc, folder):
    model, rules = ROOT / "tests/models/digits.onnx", ROOT / "examples/digits/rules.toml"
    for target, name in (("cuda", "cuda"), ("portable", "c")):
        subprocess.run([quantc, "compile", model, "--rules", rules, "--target", target, "-o", folder / name, "--name", "digits",
                        "--vectors", ROOT / "tests/models/digits.npz"], check=True, capture_output=True)
    for path in ("examples/digits/test.bin", "tests/emitted/cuda_faults.cpp", "tests/emitted/cuda_api.cpp"):
        shutil.copy(ROOT / path, folder)


def images(folder):
    """Pixels of each test image, and the right answer."""
    data = (folder / "test.bin").read_bytes()
    for at in range(0, len(data), PIXELS + 1):
        record = data[at:at + PIXELS + 1]
        yield (ctypes.c_float * PIXELS)(*(p / 16 for p in record[:PIXELS])), record[PIXELS]


def built(check, folder, *flags):
    done = subprocess.run(["make", "-C", folder, *flags], capture_output=True, text=True)
    check(f"{folder.name} builds", done.returncode == 0, "" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-3000:])
    return ctypes.CDLL(str(folder / "libdigits.so")) if done.returncode == 0 else None


class Config(ctypes.Structure):
    _fields_ = [("device", ctypes.c_int), ("check", ctypes.c_int), ("deployment", ctypes.c_int),
                ("arena", ctypes.c_void_p), ("weights", ctypes.c_void_p), ("cache_entries", ctypes.c_int64), ("cache_bytes", ctypes.c_int64),
                ("host_weights", ctypes.c_void_p)]


class Analysis(ctypes.Structure):
    _fields_ = [("launches", ctypes.c_int), ("host_us_per_launch", ctypes.c_double), ("device_us", ctypes.c_double),
                ("device_us_graph", ctypes.c_double), ("host_us", ctypes.c_double), ("host_us_graph", ctypes.c_double),
                ("weight_bytes", ctypes.c_int64), ("arena_bytes", ctypes.c_int64), ("deployment", ctypes.c_int),
                ("reason", ctypes.c_char_p)]


DEPLOYMENTS = {"balanced": 0, "conservative": 1, "aggressive": 2, "auto": 3}


class Model:
    """A handle of the generated CUDA."""
    def __init__(self, library, config=None):
        self.library, self.handle = library, ctypes.c_void_p()
        library.digits_error_text.restype = ctypes.c_char_p
        self.code = library.digits_create(ctypes.byref(config) if config else None, ctypes.byref(self.handle))

    def run(self, image):
        scores = (ctypes.c_float * SCORES)()
        inputs = (ctypes.c_void_p * 1)(ctypes.addressof(image) if image is not None else None)
        outputs = (ctypes.c_void_p * 1)(ctypes.addressof(scores))
        self.code = self.library.digits_run_host(self.handle, inputs, outputs)
        return bytes(scores)

    def text(self):
        return self.library.digits_error_text(self.handle).decode()

    def close(self):
        self.library.digits_destroy(self.handle)


def from_c(library, image):
    scores = (ctypes.c_float * SCORES)()
    arena = ctypes.create_string_buffer(1 << 20)
    aligned = (ctypes.addressof(arena) + 63) // 64 * 64
    inputs = (ctypes.c_void_p * 1)(ctypes.addressof(image))
    outputs = (ctypes.c_void_p * 1)(ctypes.addressof(scores))
    code = library.digits_invoke(inputs, outputs, ctypes.c_void_p(aligned))
    return bytes(scores) if code == 0 else b""


def answer(scores):
    values = list((ctypes.c_float * SCORES).from_buffer_copy(scores))
    return values.index(max(values))


def compare(check, folder, library, reference, host):
    samples = list(images(folder))
    expected = [from_c(reference, image) for image, _ in samples]
    model = Model(library)
    check("a handle is created", model.code == 0, model.text())
    got = [model.run(image) for image, _ in samples]
    equal = sum(a == b for a, b in zip(got, expected))
    right = sum(answer(scores) == label for scores, (_, label) in zip(got, samples))
    check("images with the bits of the generated C", equal == len(samples) == 450, f"{equal} of {len(samples)}, {right} right")
    other = Model(library, Config(0, 1))
    answers = [(model if i % 2 else other).run(image) for i, (image, _) in enumerate(samples)]
    check("two handles in turn, one that waits for every kernel", answers == expected)
    deploy(check, library, samples[:50], expected)
    check("1,000 runs give one answer", len({model.run(samples[0][0]) for _ in range(1000)}) == 1)
    model.run(None)
    check("a null input is refused", model.code == 1, model.text())
    check("the handle works after it", model.run(samples[0][0]) == expected[0])
    best = min(timed(model, samples[0][0]) for _ in range(200))
    print(f"       best run {1e6 * best:.1f} us, copies included")
    if not host:
        wrong = Model(library, Config(1000, 0))
        check("a device that is not there is refused", wrong.code == 6 and "cudaSetDevice" in wrong.text(), wrong.text())
        wrong.close()
        check("other handles work after it", model.run(samples[0][0]) == expected[0], model.text())
    model.close()
    other.close()


def deploy(check, library, samples, expected):
    """Every deployment gives the same bits; its figures are printed."""
    for name, number in DEPLOYMENTS.items():
        waiting = Model(library, Config(0, 1, number))
        got = [waiting.run(image) for image, _ in samples[:5]]
        check(f"deployment {name}, waiting for every kernel", waiting.code == 0 and got == expected[:5], waiting.text())
        waiting.close()
        model = Model(library, Config(0, 0, number))
        got = [model.run(image) for image, _ in samples]
        check(f"deployment {name}", model.code == 0 and got == expected[:len(got)], model.text())
        best = min(timed(model, samples[0][0]) for _ in range(200))
        figures = Analysis()
        code = library.digits_analyze(model.handle, ctypes.byref(figures))
        check(f"figures of {name}", code == 0 and figures.launches > 5, model.text())
        print(f"       {name}: best run {1e6 * best:.1f} us; it uses deployment {figures.deployment}: {figures.reason.decode()}")
        model.close()
    model = Model(library, Config(0, 0, 9))
    check("a deployment that is none is refused", model.code == 4, model.text())
    model.close()


def timed(model, image):
    start = time.perf_counter()
    model.run(image)
    return time.perf_counter() - start


def program(check, folder, host, name):
    """Runs a program of tests/emitted that includes the generated code: its lines are checks."""
    source, made = folder.parent / f"{name}.cpp", folder / name
    compiler = ["c++", "-std=c++20", "-O2", "-DQK_CUDA_ON_HOST", "-ffp-contract=off"] if host else \
        ["nvcc", "-std=c++20", "-O2", nvcc_flag(), "-fmad=false", "-x", "cu"]
    command = [*compiler, "-I", folder, source, "-o", made, *(["-x", "none"] if host else ["-Xlinker"]), folder / ("host" if host else "device") / "digits_weights.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    check(f"{name} builds", done.returncode == 0, done.stderr[-2000:])
    if done.returncode == 0:
        done = subprocess.run([made], capture_output=True, text=True)
        print(done.stdout, end="")
        check(name, done.returncode == 0, done.stderr[-500:])


def run(check, folder, host):
    """Builds FOLDER/cuda and FOLDER/c and compares them; check(what, ok, detail) is told of each result."""
    subprocess.run(["make", "-C", folder / "cuda", "clean"], check=True, capture_output=True)
    library = built(check, folder / "cuda", *(["HOST=1"] if host else []))
    reference = built(check, folder / "c", "CFLAGS=-O2")
    if library and reference:
        done = subprocess.run([folder / "cuda/digits_test"], capture_output=True, text=True)
        check("digits: the recorded vector", "bits equal" in done.stdout, done.stdout.strip())
        compare(check, folder, library, reference, host)
        program(check, folder / "cuda", host, "cuda_api")
        # Out of memory, a wrong device, a fault in a kernel, null pointers, 1,000 handles; it breaks the device's context at last.
        program(check, folder / "cuda", host, "cuda_faults")
