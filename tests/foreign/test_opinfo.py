"""PyTorch's databases of operations and modules against PyTorch: nothing differs that differences.txt does not explain. `make test`
takes the samples of opinfo_sample.txt, `make soak` the first samples of every operation in every element type and dialect."""
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
from tests.foreign import opinfo  # noqa: E402
from tests.foreign.full import Log, run_database  # noqa: E402
from tests.foreign.suite import HERE, VERDICTS, differences, run_samples, unexplained  # noqa: E402

SAMPLE = HERE / "opinfo_sample.txt"
MOST = {"exported": 8, "decomposed": 4, "dynamic": 4, "in place": 4}  # samples of an operation
C_SHARE = 6  # one batch of samples in so many is also compiled as C


def chosen():
    """{(dtype, dialect): [(operation, index)]} of the file."""
    found = {}
    for line in SAMPLE.read_text().splitlines():
        if line and not line.startswith("#"):
            dtype, dialect, *positions = line.split("\t")
            found[dtype, dialect] = [(op, int(index)) for op, index in (position.rsplit("#", 1) for position in positions)]
    return found


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype, dialect", chosen())
def test_sample(dtype, dialect, build):
    positions = chosen()[dtype, dialect]
    samples = [next(s for s in opinfo.samples(op, dtype, dialect, index + 1) if s.index == index) for op, index in positions]
    results = run_samples(samples, dialect, build, compiled=True, together=len(samples))
    assert len(results) == len(samples)
    assert not unexplained("opinfo", results)
    assert not [r.name for r in results if r.refused], "once it was done"


@pytest.fixture(scope="module")
def log(build):
    """What this run has seen: operations that are always refused are tried only once or twice."""
    path = build / "foreign" / "opinfo.log"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    return Log(path)


@pytest.mark.soak
@pytest.mark.parametrize("dialect", opinfo.DIALECTS)
@pytest.mark.parametrize("dtype", opinfo.DTYPES)
def test_database(dtype, dialect, build, log):
    before = len(log.results)
    run_database(build, log, dtype, dialect, MOST[dialect], C_SHARE)
    results = log.results[before:]
    print(dtype, dialect, Counter("refused" if r.refused else "not exported" if r.absent else r.stage for r in results))
    assert not unexplained("opinfo", results)


def test_list():
    """The list of differences is well formed and says of none that it is ours."""
    listed = differences()
    assert {d.verdict for d in listed} <= set(VERDICTS)
    assert not [d for d in listed if d.verdict == "ours" or not d.why]
