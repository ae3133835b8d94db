"""Networks of real size on a GPU, for tools/gpu_check: whatever the batch, the bits are those of quantc's interpreter.

Each has a free batch of 1 to 256. All 256 rows are computed by quantc on this machine's processor, in process; the first row also by its interpreter.
"""
import time

import gpu_works
from gpu_works import LlamaBlock, Project, Work, network, resnet

BATCHES = (1, 3, 32, 256)


def works():
    image, tiny = [(3, 224, 224)], ([(3, 32, 32)], BATCHES[:2])
    yield Work("resnet50", lambda n: resnet("resnet50"), image, BATCHES, tiny)
    yield Work("resnet18", lambda n: resnet("resnet18"), image, BATCHES, tiny)
    yield Work("mobilenet_v2", lambda n: network("mobilenet_v2"), image, BATCHES, tiny)
    yield Work("minilm, 128 tokens", lambda n: network("minilm" if n == 384 else "bert_small"), [(128, 384)], BATCHES, ([(8, 128)], BATCHES[:2]))
    yield Work("llama block, 128 tokens", LlamaBlock, [(128, 512)], BATCHES, ([(8, 64)], BATCHES[:2]), token=True)


def started(pool, quantc, models, host, only=""):
    """Makes the models, one after another, and starts to build them; (work, the name of the batch, the project) of each."""
    out = []
    for work, folder, _, dimension in gpu_works.models_of(works(), pool, quantc, models, host, only):
        most = work.sizes(host)[1][-1]

        def build(work=work, folder=folder, dimension=dimension, most=most):
            return gpu_works.built(quantc, work, folder, dimension.result(), f"1..{most}", host)
        out.append((work, dimension, pool.submit(build)))
    return out


def compare(check, quantc, models, work, dimension, project, host, clock):
    shapes, batches = work.sizes(host)
    most, folder = batches[-1], work.folder(models)
    own = Project(project.result(timeout=clock.left()), host).open("balanced")
    arrays = own.arrays(shapes, most)
    plain = gpu_works.expected(quantc, work, folder, dimension.result(), [x[:1] for x in arrays], 0)
    whole = gpu_works.expected(quantc, work, folder, dimension.result(), arrays, gpu_works.threads())
    check(f"{work.name}: rows of {most} in process have the interpreter's bits", [o[:len(p)] for o, p in zip(whole, plain)] == plain)
    for batch in (*batches, *batches[:1]):
        own.clear()
        own.run(batch)
        got = own.answers(batch, most)
        check(f"{work.name}: batch {batch} has the interpreter's bits", got == [o[:len(o) // most * batch] for o in whole])
    for batch in (0, most + 1):
        code = own.library.net_run(own.handle, *own.dims(batch), *own.pointers, own.stream)
        check(f"{work.name}: a batch of {batch} is refused", code == 3, own.library.net_error_text(own.handle).decode())
    own.close()


def run(check, quantc, models, jobs, host, clock):
    for work, dimension, project in jobs:
        start = time.time()
        try:
            compare(check, quantc, models, work, dimension, project, host, clock)
            check(f"{work.name}, {', '.join(map(str, work.sizes(host)[1]))} rows", True, f"{time.time() - start:.0f} s")
        except Exception as error:  # whatever it is, the others are still compared
            check(f"{work.name}", False, f"{type(error).__name__}: {str(error)[-1500:]}")
