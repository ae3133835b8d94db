"""The answers in cases of op folders are those that NumPy, PyTorch and ONNX Runtime give today."""
import re

import numpy as np
import pytest

from tests.ops import outside


@pytest.mark.parametrize("key", outside.ANSWERS, ids=lambda key: f"{key[0]}-{key[1]}")
def test_answers_are_computed_alike(key, root):
    folder, case = key
    body = (root / "src" / "ops" / folder / "cases.ir").read_text().partition(f'case "{case}"\n')[2].partition("\ncase ")[0]
    stored = re.findall(r'^out (?:\[(.*)\]|"(.*)")', body, flags=re.M)
    computed = outside.answers(key)
    assert len(stored) == len(computed)
    for (elements, file), array in zip(stored, computed):
        retained = np.load(root / "src" / "ops" / folder / file) if file else np.array(elements.split(", "), np.float64)
        np.testing.assert_allclose(retained.ravel(), array.ravel(), rtol=2e-5 if outside.ANSWERS[key][2] else 0, atol=1e-5)


def test_every_case_has_an_answer(root):
    """The reader of cases says the same, when it runs them; here all are listed at once."""
    bare = []
    for path in sorted((root / "src" / "ops").glob("*/cases.ir")):
        for case in re.split(r"^(?=case \")", path.read_text(), flags=re.M)[1:]:
            if not re.search(r"^(out|error\[|unanswered) ?", case, flags=re.M):
                bare.append(f"{path.parent.name}: {case.splitlines()[0]}")
    assert bare == []
