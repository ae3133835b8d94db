"""Graph: a loaded network, and CompiledModule: its generated C, loaded into this process."""
from __future__ import annotations

import sys
import warnings as _warnings
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _core
from ._errors import QuantcWarning, UserError
from ._passes import Pass
from ._rules import Path, RuleLike, RuleList, listed
from ._text import shown

T = TypeVar("T")


def _is_range(sizes: Any) -> bool:
    return isinstance(sizes, (tuple, list, range, dict))


def _range(sizes: Any) -> Tuple[int, int, int, List[int], bool]:
    """Least, greatest and step, the buckets that runs are padded to, and whether what cannot be padded takes the run's own size."""
    if isinstance(sizes, range):
        return sizes[0], sizes[-1], sizes.step, [], False
    if not isinstance(sizes, dict):
        least, greatest = sizes
        return int(least), int(greatest), 1, [], False
    unknown = sizes.keys() - {"min", "max", "step", "buckets", "own_size"}
    if unknown or not {"min", "max"} <= sizes.keys():
        raise UserError(f"sizes {sizes!r}: give min and max, maybe step, buckets and own_size")
    return (int(sizes["min"]), int(sizes["max"]), int(sizes.get("step", 1)), [int(b) for b in sizes.get("buckets", [])],
            bool(sizes.get("own_size", False)))


def options_of(base: Optional[_core.Options], keys: Mapping[str, Any]) -> _core.Options:
    """Options with these keys changed. ``dims`` has a number, a (least, greatest) pair, a range or a dict of ``min``,
    ``max``, ``step``, ``buckets`` and ``own_size`` for each symbol."""
    out = _core.Options() if base is None else _core.Options(base)
    for key, value in keys.items():
        if key == "dims":
            out.dims = {k: int(v) for k, v in value.items() if not _is_range(v)}
            out.ranges = {k: _range(v) for k, v in value.items() if _is_range(v)}
            continue
        if key.startswith("_") or not hasattr(out, key):
            known = ", ".join(k for k in dir(out) if not k.startswith("_"))
            raise UserError(f"unknown option '{key}' (known: {known})")
        try:
            setattr(out, key, value)
        except TypeError as error:
            raise UserError(f"option '{key}' cannot be {value!r}") from error
    return out


def _arguments(inputs: Sequence[Any], named: Mapping[str, Any]) -> Tuple[List[Any], List[str]]:
    """Arrays and their names; one dict stands for named arrays."""
    if len(inputs) == 1 and isinstance(inputs[0], Mapping) and not named:
        named, inputs = inputs[0], []
    if not named:
        return list(inputs), []
    return [*inputs, *named.values()], [""] * len(inputs) + [str(n) for n in named]


def _results(arrays: List[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _port(port: _core.Port) -> str:
    return shown(f"{port.name}: {port.type}[{', '.join(port.shape)}]")


class Table:
    """Text in columns that is a table in notebooks too."""

    def __init__(self, text: str, columns: Sequence[str], rows: Sequence[Sequence[str]], foot: str = ""):
        self._text, self.columns, self.rows, self._foot = text, list(columns), [list(r) for r in rows], foot

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        import html

        def line(tag: str, cells: Sequence[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(shown(c))}</{tag}>" for c in cells) + "</tr>"
        return ("<table>" + line("th", self.columns) + "".join(line("td", r) for r in self.rows) + "</table>"
                + (f"<p>{html.escape(shown(self._foot))}</p>" if self._foot else ""))


class Explanation(Table):
    """How every node is quantized: prints as a table; ``nodes`` has the same as values."""

    def __init__(self, core: _core.Explanation):
        self.nodes = core.nodes
        self.remarks, self.warnings, self.totals, self.json = core.remarks, core.warnings, core.totals, core.json
        width = 0
        if sys.stdout.isatty():
            import shutil
            width = shutil.get_terminal_size((0, 0)).columns
        rows = [["+".join(n.names), n.op, n.computes, n.rule, "; ".join(n.inputs), n.weight, n.output, n.why]
                for n in core.nodes]
        super().__init__(core.table(width).rstrip("\n"),
                         ["node", "op", "computes", "rule", "input", "weight", "output", "why"], rows, core.totals)


class Validation(Table):
    """Interpreter, generated code and expected outputs compared; ``ok`` is the verdict, ``failed`` the bars that were missed.

    With ``per_layer``, ``layers`` has each layer beside the float network and beside expected arrays of its name, and
    ``first_bad`` the first below 20 dB of each.
    """

    def __init__(self, core: _core.Validation):
        self.ok, self.comparisons, self.layers, self.first_bad = core.ok, core.comparisons, core.layers, core.first_bad
        self.failed = [f"{c.run} against {c.against}, output '{c.output}': {why}" for c in core.comparisons for why in c.failed]
        rows = [[c.run, c.against, c.output, f"{c.max_abs:.3g}", f"{c.sqnr_db:.1f}", "-" if c.top1 is None else f"{c.top1:.2f}",
                 "yes" if c.bits_equal else "no", "FAIL" if not c.ok else "ok" if c.judged else "-"] for c in core.comparisons]
        super().__init__(core.table.rstrip("\n"),
                         ["run", "against", "output", "max abs", "SQNR dB", "top-1 %", "bits equal", "verdict"], rows)

    def __bool__(self) -> bool:
        return bool(self.ok)


class Analysis(Table):
    """Which quantized layer is how far from the float network, the worst first; ``layers`` has the same as values."""

    def __init__(self, core: _core.Analysis):
        self.layers, self.runs, self.json, self.page = core.layers, core.runs, core.json, core.page
        rows = [["+".join(n.names), n.op, "" if n.alone is None else f"{n.alone.sqnr_db:.1f}", f"{n.cumulative.sqnr_db:.1f}",
                 f"{n.cumulative.cosine:.5f}", f"{n.cumulative.max_abs:.3g}", f"{n.least:.3g} to {n.greatest:.3g}",
                 f"{100 * n.saturated / max(n.elements, 1):.2f} %", n.suggestion] for n in core.layers]
        super().__init__(core.table.rstrip("\n"), ["layer", "op", "SQNR alone", "SQNR all", "cosine", "max error", "range", "clipped",
                                                   "suggestion"], rows)


class Runnable:
    """What has inputs and outputs and runs: a graph, and its compiled code."""

    _core: Any

    @property
    def inputs(self) -> List[Any]:
        """Name, element type and shape of each input; sizes that depend on a symbol are text."""
        return list(self._core.inputs)

    @property
    def outputs(self) -> List[Any]:
        """The same of the outputs."""
        return list(self._core.outputs)

    def run(self, *inputs: Any, **named: Any) -> Any:
        """Runs the network: a graph by the kernels for this machine, a compiled module by its code.

        Arrays are NumPy arrays or torch tensors in the order of the inputs, keywords of their names, or one dict; results
        are of the same kind: one, or a tuple of several. Runs of a graph begin with the initial state.
        """
        return _results(self._core.run(*_arguments(inputs, named)))

    __call__ = run


class CompiledModule(Runnable):
    """Generated C as a callable: ``m(x)`` runs it.

    A model with state keeps it from call to call; ``reset`` makes it what it was at first. ``quantc.load(folder)`` gives
    one of a folder that was compiled before; it can be pickled.
    """

    def __init__(self, core: Any, scratch: Any = None):
        self._core = core  # a _core.CompiledModel, or what loads a folder
        self._scratch = scratch

    @property
    def folder(self) -> str:
        """Where the C project is."""
        return str(self._core.folder)

    @property
    def report(self) -> Any:
        """Bytes of arena, state, stack and weights, and multiply-accumulates."""
        return self._core.report

    def benchmark(self, *inputs: Any, runs: int = 0, **named: Any) -> Any:
        """Seconds of ``runs`` calls of the generated code, or of those that fit in about a second."""
        return self._core.benchmark(*_arguments(inputs, named), runs)

    def reset(self) -> None:
        """The state is what it was at first."""
        self._core.reset()

    def __reduce__(self) -> Any:
        """The folder's files: where they are loaded, the code is built again if need be. A state begins anew."""
        from pathlib import Path as Folder
        files = {p.name: p.read_bytes() for p in sorted(Folder(self.folder).iterdir()) if p.is_file() and p.suffix != ".o"}
        return _unpickled, (files, getattr(self._core, "host", False))

    def __deepcopy__(self, memo: Any) -> "CompiledModule":
        """The same code with a state of its own, which is what this one's is now."""
        return CompiledModule(self._core.copy(), self._scratch)

    def __repr__(self) -> str:
        r = self.report
        return f"<quantc.CompiledModule {r.name}: arena {r.arena_bytes} bytes, weights {r.weight_bytes} bytes, {r.macs} MACs>"


def _unpickled(files: Dict[str, bytes], host: bool) -> CompiledModule:
    """A CompiledModule of these files, in a temporary folder."""
    import tempfile
    from pathlib import Path as Folder

    from ._project import core_of
    scratch = tempfile.TemporaryDirectory(prefix="quantc-")
    for name in sorted(files, key=lambda n: n.endswith(".so") or n == ".built"):  # libraries are younger than their sources
        (Folder(scratch.name) / Folder(name).name).write_bytes(files[name])
    return CompiledModule(core_of(Folder(scratch.name), host), scratch)


class Graph(Runnable):
    """A loaded network with its options and rules. It never changes: ``quantize`` makes another that shares the weights.

    Made by ``from_torch``, ``from_exported``, ``from_fx``, ``from_onnx``, ``from_pt2`` and ``load``. Any number of threads
    may use one; the interpreter lock is released while quantc works.
    """

    def __init__(self, core: _core.Model):
        self._core: _core.Model = core
        self._rules: Sequence[Any] = ()  # what the core has weak references to
        self._warned: Dict[str, None] = {}
        self._looked_at = 0  # of the warnings that the passes had so far
        self._nodes: Optional[List[_core.Node]] = None

    def _warn(self, lines: Iterable[str], depth: int = 3) -> None:
        for line in lines:
            if line not in self._warned:
                self._warned[line] = None
                _warnings.warn(line, QuantcWarning, stacklevel=depth)

    def _with_warnings(self, result: T) -> T:
        """The result, after the caller's caller is warned of what passes found meanwhile; mostly they did not even run."""
        if self._core.warning_count != self._looked_at:
            lines = self._core.warnings
            self._looked_at = len(lines)
            self._warn(lines, 4)
        return result

    def _made(self, core: _core.Model, rules: Optional[Sequence[Any]] = None) -> "Graph":
        out = Graph(core)
        out._rules = self._rules if rules is None else rules
        out._warned = dict(self._warned)
        return out

    @property
    def nodes(self) -> List[_core.Node]:
        """The nodes as rules see them: every spelling brought to one form, before anything is fused or quantized.

        Each knows its neighbours (``inputs``, ``users``). What became of them is in ``explain().nodes``. Bodies of branches
        and loops come last.
        """
        if self._nodes is None:
            self._nodes = self._core.nodes()
        return list(self._nodes)

    @property
    def program_cache(self) -> _core.CacheReport:
        """How the cache of compiled programs was used: hits, misses, and what it holds."""
        return self._core.program_cache

    @property
    def forms(self) -> _core.CacheReport:
        """``program_cache`` by its earlier name."""
        _warnings.warn("Graph.forms is named Graph.program_cache now", DeprecationWarning, stacklevel=2)
        return self._core.program_cache

    def __repr__(self) -> str:
        return (f"<quantc.Graph ({', '.join(map(_port, self.inputs))}) -> "
                f"({', '.join(map(_port, self.outputs))})>")

    def quantize(self, rules: Union[Path, RuleLike, Iterable[RuleLike]], **options: Any) -> "Graph":
        """The network quantized by rules: a list of them, or the path of a rule file.

        The first rule that matches a node decides about it, so exceptions stand first:
        ``[FloatRule('.*head')] + list(rules)``. Rules that match nothing, or ask for what an op cannot do, are errors
        (``allow_unused_rules=True`` lets the former pass).
        """
        core = self._core
        if options:
            core = core.with_options(options_of(core.options, options))
        all_rules = listed(rules, may_be_empty=core.options.allow_unused_rules)
        out = self._made(core.quantize(all_rules), all_rules)
        out._warn(out._core.warnings)
        return out

    def transform(self, *passes: Pass) -> "Graph":
        """The network changed by passes of your own (``quantc.Pass``), one after the other; rules and options stay.

        They see it with every spelling brought to one form, before anything is fused or quantized. The graph is checked
        after each.
        """
        core = self._core
        for one in passes:
            if not isinstance(one, Pass):
                raise UserError(f"a {type(one).__name__} is no pass: derive it from quantc.Pass")
            core = core.transform(one)
        return self._made(core)

    def with_options(self, **options: Any) -> "Graph":
        """The same network with other options."""
        return self._made(self._core.with_options(options_of(self._core.options, options)))

    def run(self, *inputs: Any, **named: Any) -> Any:
        return self._with_warnings(_results(self._core.run(*_arguments(inputs, named))))

    run.__doc__ = Runnable.run.__doc__
    __call__ = run

    def run_reference(self, *inputs: Any, **named: Any) -> Any:
        """The same in the reference interpreter; the answer is the same bits."""
        return self._with_warnings(_results(self._core.run_reference(*_arguments(inputs, named))))

    def explain(self) -> Explanation:
        """How every node is quantized, by which rule, and what is left in float; prints as a table."""
        return self._with_warnings(Explanation(self._core.explain()))

    def analyze(self, data: Iterable[Any]) -> Analysis:
        """How far each quantized layer is from the float network on samples, alone and with all layers quantized.

        ``data`` yields batches as for ``quantc.calibrate``.
        """
        from ._calibrate import samples
        names, arrays = samples(self, data)
        return self._with_warnings(Analysis(self._core.analyze(arrays, names, "")))

    def report(self, path: Path, data: Optional[Iterable[Any]] = None) -> Analysis:
        """Writes the analysis as one HTML page with plots and the picture of the graph.

        Without data the network runs on random numbers of a unit normal distribution, and the title says so.
        """
        from ._calibrate import samples
        title = "Quantized layers beside the float network"
        if data is None:
            import numpy as np
            rng = np.random.default_rng(0)
            shapes = [[int(s) if s.isdigit() else 1 for s in p.shape] for p in self.inputs]
            if any(p.type != "f32" for p in self.inputs):
                raise UserError("the network does not only take f32: pass data", "input")
            data = [tuple(rng.standard_normal(s, dtype=np.float32) for s in shapes) for _ in range(4)]
            title += " (random inputs)"
        names, arrays = samples(self, data)
        found = self._with_warnings(Analysis(self._core.analyze(arrays, names, title)))
        with open(path, "w", encoding="utf-8") as file:
            file.write(found.page)
        return found

    def validate(self, *inputs: Any, expected: Any = (), atol: Optional[float] = None, rtol: float = 0.0,
                 min_sqnr: Optional[float] = None, min_top1: Optional[float] = None, perplexity: str = "",
                 max_perplexity: Optional[float] = None, targets: Sequence[str] = (),
                 per_layer: bool = False) -> Validation:
        """Compares interpreter and generated code bit for bit, and both with expected outputs where there are some.

        Code is for the target of the graph's options (``native``, with ``no_float`` ``portable``), or for ``targets``.
        Without expected outputs a graph with rules is compared with what it computes in float. ``min_sqnr`` (dB),
        ``min_top1`` (percent of rows), ``max_perplexity``, ``atol`` and ``rtol`` are the bars of the verdict, as those of the
        command line; a graph with rules is not judged without one. ``perplexity`` names the input with the tokens that the logits predict.
        ``per_layer`` compares every layer with the float network too, and with arrays of ``expected`` (a mapping) that have
        its name; and it names the first layer where generated code and interpreter part.
        """
        arrays, names = _arguments(inputs, {})
        wanted = expected if isinstance(expected, (tuple, list, Mapping)) else (expected,)
        wanted_arrays, wanted_names = _arguments((wanted,) if isinstance(wanted, Mapping) else wanted, {})
        keys = {"atol": atol, "rtol": rtol, "min_sqnr": min_sqnr, "min_top1": min_top1, "tokens": perplexity,
                "max_perplexity": max_perplexity, "targets": list(targets), "per_layer": per_layer}
        return self._with_warnings(Validation(self._core.validate(arrays, names, wanted_arrays, wanted_names, keys)))

    def compile(self, folder: Optional[Path] = None, *, vectors: Optional[Sequence[Any]] = None, compiler: str = "",
                flags: str = "", run_threads: int = 1, build: bool = True, **options: Any) -> Any:
        """Writes standalone C into ``folder``, builds it into a shared library and returns it as a callable.

        ``options`` are those of the command line (``target='portable'``, ``name=...``, ``threads=True``, ...); ``compiler``
        and ``flags`` are CC and CFLAGS of the build. With ``build=False`` only the project is written and its sizes are
        returned; ``vectors`` are inputs for its test program then. Without a folder the project is temporary.
        """
        graph = self.with_options(**options) if options else self
        if not build:
            if folder is None:
                raise UserError("a folder is needed for what is written")
            report = graph._core.compile(str(folder), *_arguments(vectors or (), {}))
            self._warn(report.warnings)
            return report
        if vectors is not None:
            raise UserError("vectors are for projects that are only written: build=False")
        scratch = None
        if folder is None:
            import tempfile
            scratch = tempfile.TemporaryDirectory(prefix="quantc-")
            folder = scratch.name
        core = graph._core.build(str(folder), compiler, flags, run_threads)
        self._warn(core.report.warnings)
        return CompiledModule(core, scratch)

    def calibrate(self, data: Iterable[Any], **options: Any) -> RuleList:
        """As ``quantc.calibrate``."""
        from ._calibrate import calibrate
        return calibrate(self, data, **options)

    def to_module(self, folder: Optional[Path] = None, **options: Any) -> Any:
        """A torch.nn.Module around the compiled code, for validation loops."""
        from ._torch import module_of
        return module_of(self.compile(folder, **options))

    def text(self, all_constants: bool = False) -> str:
        """The graph in text form (docs/ir.md); with all constants it can be loaded again."""
        return self._core.text(all_constants)

    def save(self, path: Path) -> None:
        """Writes the graph with all constants as a file that ``quantc.load`` and the command line read."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text(all_constants=True))
