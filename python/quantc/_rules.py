"""Quantization rules. docs/rules.md explains every key; here they are keyword arguments of the same names."""
from __future__ import annotations

import re
from os import PathLike
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _core
from ._core import Node
from ._errors import UserError

Path = Union[str, "PathLike[str]"]

_LISTS = {"scale", "offset", "input_scale", "input_offset", "weight_scale", "weight_offset", "output_multiplier",
          "input_multiplier", "bias_correction", "min", "max", "input_min", "input_max"}
_KEYS = {name for name in dir(_core.RuleSpec) if not name.startswith("_")}


def _spec(keys: Mapping[str, Any]) -> _core.RuleSpec:
    spec = _core.RuleSpec()
    for key, value in keys.items():
        if key not in _KEYS:
            raise UserError(f"unknown key '{key}' of a rule (known: {', '.join(sorted(_KEYS))})", "rule")
        if value is None:
            continue
        if key in _LISTS and not isinstance(value, (list, tuple)):
            value = value.tolist() if hasattr(value, "tolist") else value
            value = value if isinstance(value, list) else [value]
        try:
            setattr(spec, key, list(value) if key in _LISTS else value)
        except TypeError as error:
            raise UserError(f"key '{key}' of a rule cannot be {value!r}", "rule") from error
    return spec


def _keys(spec: _core.RuleSpec) -> Dict[str, Any]:
    """The keys that are not at their defaults."""
    default = _core.RuleSpec()
    return {k: getattr(spec, k) for k in sorted(_KEYS) if getattr(spec, k) != getattr(default, k)}


class QuantRule:
    """Base of quantization rules.

    Subclass it and write ``matches(node)`` and ``scheme(node)``. The first rule of a list whose ``matches`` is true decides
    about a node; ``scheme`` returns another rule (StaticQuantRule, ...) or a dict of keys, of which only the numbers count.
    A rule with a ``pattern`` need not have a ``matches``: it is for nodes of which a name matches, anchored at its start. A
    class that has ``get_quant_params()``, as those of pytorch_to_c do, need not have a ``scheme``: it is ``dtype`` and what
    that returns, where ``{'dynamic': True}`` means codes for weights alone; ``create_quant_node`` is not called. Exceptions
    come out as they were raised, with a note (``__notes__``) that names the node.
    """

    pattern: str = ""
    dtype: str = ""

    def __init__(self, pattern: str = "", dtype: str = ""):
        self.pattern, self.dtype = pattern, dtype

    def matches(self, node: Node) -> bool:
        """Whether this rule decides about the node."""
        if not self.pattern:
            raise NotImplementedError(f"{type(self).__name__} has no matches(node)")
        return any(re.match(self.pattern, name) for name in node.names)

    def scheme(self, node: Node) -> Union["QuantRule", Mapping[str, Any]]:
        """How the node is quantized."""
        params = getattr(self, "get_quant_params", None)
        if params is None:
            raise NotImplementedError(f"{type(self).__name__} has no scheme(node)")
        keys = dict(params())
        if keys.pop("dynamic", False):  # of pytorch_to_c: codes for weights, floats for activations
            return {"kind": "weight_only", "weight_dtype": self.dtype, **keys}
        return {"dtype": self.dtype, **keys}


class KeyRule(QuantRule):
    """A rule that is nothing but keys, as in a rule file: quantc itself looks for the nodes that the pattern means.

    ``pattern`` and ``exclude`` are regular expressions (RE2) on the model's own names, anchored at their start.
    """

    def __init__(self, pattern: str = "", **keys: Any):
        self.keys: Dict[str, Any] = {"pattern": pattern, **keys}  # pattern and dtype are read from these
        self._spec = _spec(self.keys)  # mistakes come out where the rule is written

    @property
    def pattern(self) -> str:  # type: ignore[override]
        """The names of nodes that the rule is for, as a regular expression."""
        return str(self.keys["pattern"])

    @property
    def dtype(self) -> str:  # type: ignore[override]
        """Codes of the result; '' where the rule gives none."""
        return str(self.keys.get("dtype", ""))

    @property
    def scale(self) -> Any:
        """Of the result, as it was given; None where the rule gives none."""
        return self.keys.get("scale")

    @property
    def offset(self) -> Any:
        """The code of zero of the result, as it was given; None where the rule gives none."""
        return self.keys.get("offset")

    @property
    def per_channel(self) -> bool:
        """Whether weights have a scale for each output channel, where the rule says so."""
        return bool(self.keys.get("per_channel"))

    def matches(self, node: Node) -> bool:
        exclude, op = self.keys.get("exclude"), self.keys.get("op")
        meant = [n for n in node.names if re.match(self.pattern, n)]
        left_out = exclude and any(re.match(exclude, n) for n in node.names)
        return (bool(meant) or not self.pattern) and not left_out and op in (None, "", node.op)

    def scheme(self, node: Node) -> "KeyRule":
        return self

    def get_quant_params(self) -> Dict[str, Any]:
        """The keys of the rule but its pattern."""
        return {k: v for k, v in self.keys.items() if k != "pattern"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.keys.items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.keys == getattr(other, "keys", None)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> Dict[str, Any]:
        return self.keys

    def __setstate__(self, keys: Dict[str, Any]) -> None:
        self.keys = keys
        self._spec = _spec(keys)


class StaticQuantRule(KeyRule):
    """Static quantization: scale and offset (zero point) of the result are given, weights become codes when compiling.

    With ``per_channel`` weights have a scale for each output channel. Further keys (``input_scale``, ``weight_dtype``,
    ``qmin``, ...) are those of docs/rules.md.
    """

    def __init__(self, pattern: str, dtype: str, scale: Union[float, Sequence[float]], offset: int = 0,
                 per_channel: Optional[bool] = None, **keys: Any):
        super().__init__(pattern, dtype=dtype, scale=scale, offset=offset, per_channel=per_channel, **keys)


class DynamicQuantRulePerTensor(KeyRule):
    """Scales that nobody has to give. There are two kinds, and ``activations`` says which is meant:

    ``'dynamic'`` (the default): activations become codes whose scale is found at run time, one for the whole tensor, and
    the layer computes in integers. ``'float'``: only weights are codes, which saves memory; activations and arithmetic
    stay in floating point (the rule of this name in pytorch_to_c).
    """

    def __init__(self, pattern: str, dtype: str = "int8", activations: str = "dynamic", **keys: Any):
        if activations not in ("dynamic", "float"):
            raise UserError(f"activations is '{activations}': use 'dynamic' or 'float'", "rule")
        if activations == "dynamic":
            super().__init__(pattern, kind="dynamic", dtype=dtype, **keys)
        else:
            super().__init__(pattern, kind="weight_only", weight_dtype=dtype, **keys)

    @property
    def activations(self) -> str:
        """'dynamic' or 'float'."""
        return "dynamic" if self.keys["kind"] == "dynamic" else "float"


class FloatRule(KeyRule):
    """Nodes that stay in floating point whatever later rules say."""

    def __init__(self, pattern: str, **keys: Any):
        super().__init__(pattern, kind="float", **keys)


RuleLike = Union[QuantRule, _core.RuleSpec]


def spec_of(rule: Any) -> _core.RuleSpec:
    """The keys of what ``scheme`` returned."""
    if isinstance(rule, _core.RuleSpec):
        return rule
    if isinstance(rule, KeyRule):
        return rule._spec
    if isinstance(rule, Mapping):
        return _spec(rule)
    raise UserError(f"scheme returned a {type(rule).__name__}: it must be a rule of keys or a dict", "rule")


def _plain(rule: KeyRule) -> bool:
    """Whether quantc itself may match the rule: nobody wrote another way."""
    return type(rule).matches is KeyRule.matches and type(rule).scheme is KeyRule.scheme


def listed(rules: Union[Path, RuleLike, Iterable[RuleLike]], partial: bool = False,
           may_be_empty: bool = True) -> List[Any]:
    """Rules as the library takes them: keys for those that are only keys, the others as they are; those of a file where
    that is given. Partial ones may leave scales open."""
    if isinstance(rules, (str, PathLike)):
        found = _core.read_rules(str(rules), partial)
        if not found and not may_be_empty:
            raise UserError(f"{rules}: the file has no rule, so it quantizes nothing; allow_unused_rules=True lets it pass", "rule")
        return list(found)
    items = [rules] if isinstance(rules, (QuantRule, _core.RuleSpec)) else list(rules)
    for rule in items:
        if not isinstance(rule, (QuantRule, _core.RuleSpec)):
            raise UserError(f"a {type(rule).__name__} is no rule: derive it from quantc.QuantRule", "rule")
    return [rule._spec if isinstance(rule, KeyRule) and _plain(rule) else rule for rule in items]


class RuleList(List[KeyRule]):
    """Rules with where they came from; ``save`` writes them as a rule file."""

    def __init__(self, specs: Iterable[_core.RuleSpec] = (), calibration: Optional[_core.Calibration] = None):
        super().__init__()
        for spec in specs:
            rule = KeyRule.__new__(KeyRule)
            rule.__setstate__({"pattern": "", **_keys(spec)})
            self.append(rule)
        self._calibration = calibration
        self._as_found = list(self)

    def save(self, path: str, force: bool = False) -> str:
        """Writes a rule file (TOML) and, where lists are long, an archive beside it. Returns the path."""
        if self._calibration is not None and self == self._as_found:
            return self._calibration.save(str(path), force)
        return _core.save_rules([r._spec for r in self], str(path), force)

    def __reduce__(self) -> Any:
        return _rebuilt, ([r.keys for r in self],)


def _rebuilt(keys: List[Dict[str, Any]]) -> RuleList:
    return RuleList(_spec(k) for k in keys)


def read_rules(path: str) -> RuleList:
    """The rules of a file (docs/rules.md)."""
    return RuleList(_core.read_rules(str(path), False))


def save_rules(rules: Iterable[KeyRule], path: str, force: bool = False) -> str:
    """Writes rules as a rule file. Rules with code of their own have no such form."""
    specs = listed(rules)
    for rule in specs:
        if not isinstance(rule, _core.RuleSpec):
            raise UserError(f"{type(rule).__name__} decides by code of its own: a rule file cannot say that", "rule")
    return _core.save_rules(specs, str(path), force)
