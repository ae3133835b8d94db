#!/usr/bin/env python3
"""Writes .pt2 archives whose JSON has values changed: mutate_pt2.py OUT COUNT SEED MODEL...

The archives and the JSON stay well formed, so that they reach the schema, the import rows and what follows. The same
arguments give the same files.
"""
import copy
import json
import random
import sys
import zipfile
from pathlib import Path

NUMBERS = [0, 1, -1, 2, 3, 4, 7, 8, 64, 1000, 2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63]
STAMP = (2024, 1, 1, 0, 0, 0)


def positions(value, found=None, holder=None, key=None):
    """Every (container, key) of a JSON value."""
    found = [] if found is None else found
    if holder is not None:
        found.append((holder, key))
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for k, v in items:
        positions(v, found, value, k)
    return found


class Mutator:
    def __init__(self, seed: int, paths: list[str]) -> None:
        self.random = random.Random(seed)
        self.models = []  # members of the archive, name of the JSON among them, the JSON
        self.texts: dict[str, list] = {}  # strings by key
        for path in paths:
            with zipfile.ZipFile(path) as archive:
                members = {n: archive.read(n) for n in archive.namelist()}
            name = next(n for n in members if n.endswith(("models/model.json", "serialized_exported_program.json")))
            document = json.loads(members[name])
            self.models.append((members, name, document))
            for holder, key in positions(document):
                if isinstance(holder[key], str):
                    self.texts.setdefault(str(key), []).append(holder[key])

    def change(self, document) -> None:
        """Mostly another value of the same type; now and then another structure."""
        r = self.random
        part = document["graph_module"] if r.random() < 0.9 else document
        found = positions(part)
        if r.random() < 0.7:
            found = [(h, k) for h, k in found if isinstance(h[k], (bool, int, float, str)) and k != "metadata"]
        holder, key = r.choice(found)
        old = holder[key]
        if isinstance(old, bool):
            holder[key] = not old
        elif isinstance(old, int):
            holder[key] = r.choice(NUMBERS + [old + 1, old - 1, old * 2, -old] * 5)
        elif isinstance(old, float):
            holder[key] = r.choice([0.0, -1.0, 1e300, 1e-300, 0.5, old * 2])
        elif isinstance(old, str):
            holder[key] = r.choice(self.texts.get(str(key), [old])) if r.random() < 0.95 else ""
        else:
            self.restructure(document, holder, key)

    def restructure(self, document, holder, key) -> None:
        r, action = self.random, self.random.random()
        if action < 0.1:
            del holder[key]
        elif action < 0.35 and isinstance(holder, list):
            holder.insert(r.randrange(len(holder) + 1), copy.deepcopy(r.choice(holder)))
        elif action < 0.45 and isinstance(holder, list):
            r.shuffle(holder)
        elif action < 0.9:  # another part of the document, of the same name where there is one
            others = [(h, k) for h, k in positions(document) if k == key and type(h[k]) is type(holder[key])]
            other, at = r.choice(others)
            holder[key] = copy.deepcopy(other[at])
        else:
            holder[key] = r.choice([None, [], {}, 1, "x"])

    def write(self, path: Path) -> None:
        members, name, document = self.random.choice(self.models)
        document = copy.deepcopy(document)
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            self.change(document)
        ranges = document.get("range_constraints")
        self.symbols = sorted(ranges) if isinstance(ranges, dict) else []
        with zipfile.ZipFile(path, "w") as archive:
            for member, data in members.items():
                archive.writestr(zipfile.ZipInfo(member, STAMP), json.dumps(document) if member == name else data)


def main() -> None:
    out, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    mutator = Mutator(seed, sys.argv[4:])
    for i in range(count):
        mutator.write(out / f"{i:06}.pt2")


if __name__ == "__main__":
    main()
