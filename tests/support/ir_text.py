"""Reads a graph as `quantc inspect --ir --constants` prints it (docs/ir.md): one graph without regions and symbols."""
import re
from dataclasses import dataclass, field

import numpy as np

DTYPES = {"f32": "float32", "f64": "float64", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
          "i64": "int64", "bool": "bool"}
TOKEN = re.compile(r'[%@](?:"(?:[^"\\]|\\.)*"|[\w.~]+)|"(?:[^"\\]|\\.)*"|-?\d[\w.]*(?:(?<=e)[-+]\d+)?|-?inf|[\w.]+|[][(){},=:]')


@dataclass
class Format:
    """Codes from lo to hi; scale and zero are lists, one number for each index along axis, or None where they are found at run time."""
    lo: int
    hi: int
    axis: int = -1
    group: int = 0
    scale: object = None
    zero: object = None


@dataclass
class Type:
    dtype: str
    shape: list
    format: Format | None = None


@dataclass
class Node:
    op: str
    inputs: list
    attrs: dict
    outputs: list
    types: list


@dataclass
class Graph:
    constants: dict = field(default_factory=dict)  # label -> (Type, array)
    inputs: list = field(default_factory=list)  # labels
    nodes: list = field(default_factory=list)
    outputs: list = field(default_factory=list)


class Line:
    def __init__(self, text):
        self.tokens, self.at = TOKEN.findall(text), 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        assert expected is None or token == expected, (expected, token, self.tokens[:12])
        self.at += 1
        return token

    def listed(self, first, last, item):
        self.take(first)
        out = []
        while self.peek() != last:
            out.append(item())
            if self.peek() == ",":
                self.take()
        self.take(last)
        return out

    def number(self):
        token = self.take()
        return float(token) if re.search(r"[.en]", token) else int(token)

    def value(self):
        token = self.peek()
        if token == "[":
            return self.listed("[", "]", self.value)
        if token in DTYPES:
            return self.type(bare=True)
        if token in ("true", "false"):
            return self.take() == "true"
        return self.take()[1:-1] if token.startswith('"') else self.number()

    def numbers(self):
        if self.peek() == "dynamic":
            return self.take() and None
        if self.peek() == "f64":
            self.take()
        value = self.value()
        return value if isinstance(value, list) else [value]

    def type(self, bare=False):
        dtype = self.take()
        shape = [] if bare else self.listed("[", "]", self.number)
        if self.peek() != "q":
            return Type(dtype, shape)
        self.take()
        out = Format(0, 0, scale=[1.0], zero=[0])
        said = self.listed("(", ")", self.member)
        out.lo, out.hi = (v for k, v in said if not k)
        for key, value in said:
            if key:
                setattr(out, key, value)
        return Type(dtype, shape, out)

    def member(self):
        if not self.peek()[0].isalpha():
            return "", self.number()
        key = self.take()
        self.take("=")
        return key, self.numbers() if key in ("scale", "zero") else self.number()

    def attribute(self):
        key = self.take()
        self.take("=")
        return key, self.value()


def constant(line):
    label = line.take()
    line.take(":")
    kind = line.type()
    line.take("=")
    if line.peek() == "hex":
        line.take()
        array = np.frombuffer(bytes.fromhex(line.take()[1:-1]), DTYPES[kind.dtype])
    else:
        array = np.array(line.value(), DTYPES[kind.dtype])
    return label, (kind, array.reshape(kind.shape))


def node(line):
    outputs = [line.take()]
    while line.peek() == ",":
        line.take()
        outputs.append(line.take())
    line.take(":")
    types = [line.type()]
    while line.peek() == ",":
        line.take()
        types.append(line.type())
    line.take("=")
    op = line.take()
    inputs = line.listed("(", ")", line.take)
    attrs = dict(line.listed("{", "}", line.attribute)) if line.peek() == "{" else {}
    return Node(op, [None if x == "_" else x for x in inputs], attrs, outputs, types)


def parse(text):
    graph = Graph()
    for row in text.splitlines():
        line = Line(row)
        if row.startswith("@"):
            label, value = constant(line)
            graph.constants[label] = value
        elif row.startswith("graph"):
            graph.inputs = [t for t in line.tokens if t.startswith("%")]
        elif row.startswith("  return"):
            graph.outputs = [t for t in line.tokens if t.startswith("%")]
        elif row.startswith("  %"):
            graph.nodes.append(node(line))
    return graph
