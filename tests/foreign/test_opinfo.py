"""PyTorch's databases of operations and modules against PyTorch: nothing differs that differences.txt does not explain. `make test`
takes the samples of opinfo_sample.txt, `make soak` the first samples of every operation in every element type and dialect."""
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
from tests.foreign import opinfo  # noqa: E402
from tests.foreign.suite import HERE, VERDICTS, differences, run_samples, unexplained  # noqa: E402

SAMPLE = HERE / "opinfo_sample.txt"
MOST = 4  # samples of an operation


def chosen():
    """{(dtype, dialect): [(operation, index)]} of the file."""
    found = {}
    for line in SAMPLE.read_text().splitlines():
        if line and not line.startswith("#"):
            dtype, dialect, *places = line.split("\t")
            found[dtype, dialect] = [(op, int(index)) for op, index in (place.rsplit("#", 1) for place in places)]
    return found


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype, dialect", chosen())
def test_sample(dtype, dialect, build):
    places = chosen()[dtype, dialect]
    samples = [next(s for s in opinfo.samples(op, dtype, dialect, index + 1) if s.index == index) for op, index in places]
    results = run_samples(samples, dialect, build, compiled=True, together=len(samples))
    assert len(results) == len(samples)
    assert not unexplained("opinfo", results)
    assert not [r.name for r in results if r.refused], "once it was done"


refused = set()  # operations that were refused wherever they were tried: one sample of them is enough


@pytest.mark.soak
@pytest.mark.parametrize("dtype, dialect", [(dtype, dialect) for dialect in opinfo.DIALECTS for dtype in opinfo.DTYPES])
def test_database(dtype, dialect, build):
    samples = {op: opinfo.samples(op, dtype, dialect, 1 if op in refused else MOST) for op in opinfo.INFOS}
    hopeful = [s for op, mine in samples.items() for s in mine if op not in refused]
    results = run_samples(hopeful, dialect, build, compiled=True)
    results += run_samples([s for op in sorted(refused) for s in samples[op]], dialect, build, together=(1,))
    for op in opinfo.INFOS:
        mine = [r for r in results if r.op == op]
        if mine:
            (refused.add if all(r.refused for r in mine) else refused.discard)(op)
    print(dtype, dialect, Counter("refused" if r.refused else r.stage for r in results))
    assert not unexplained("opinfo", results)


def test_list():
    """The list of differences is well formed and says of none that it is ours."""
    listed = differences()
    assert {d.verdict for d in listed} <= set(VERDICTS)
    assert not [d for d in listed if d.verdict == "ours" or not d.why]
