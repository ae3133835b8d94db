"""The part of JSON Schema that docs/schema uses: type, enum, properties, required, additionalProperties, items."""

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "title", "description", "type", "enum", "properties", "required", "additionalProperties", "items"}


def is_kind(value, kind: str) -> bool:
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else (int, float))
    return isinstance(value, KINDS[kind])


def problems(value, schema: dict, position: str = "$") -> list:
    """What is wrong with the value, each with its place; a word of schemas not known here is an error."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_kind(value, kind) for kind in kinds):
        return [f"{position}: {value!r} is no {' or '.join(kinds)}"]
    out = [f"{position}: {value!r} is not one of {schema['enum']}"] if "enum" in schema and value not in schema["enum"] else []
    if isinstance(value, dict):
        known = schema.get("properties", {})
        out += [f"{position}: '{name}' is missing" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            rest = schema.get("additionalProperties", {})
            if name in known:
                out += problems(item, known[name], f"{position}.{name}")
            elif rest is False:
                out.append(f"{position}: '{name}' is not known")
            else:
                out += problems(item, rest, f"{position}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            out += problems(item, schema.get("items", {}), f"{position}[{i}]")
    return out
