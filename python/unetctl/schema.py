# SPDX-License-Identifier: BSD-3-Clause
"""Whether a file has the keys and types of its JSON Schema (schemas/, which is logs/ of unetctl).

Keys that a schema does not have are accepted, as a later version of unetctl may write more, and
so is what is only in anyOf or oneOf.
"""
from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Optional

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "integer": (int,),
    "number": (int, float), "null": (type(None),)}
Rule = Callable[[Any], Optional[str]]


def find_misfit(name: str, document: Any) -> str | None:
    """Returns where a document does not fit NAME.schema.json, and what is expected; None: it does.

    >>> find_misfit("split", {"schema": 1, "data": 7, "seed": 1, "val_fraction": 0.1,
    ...                       "mask_max": 255, "train": [], "val": []})
    'data is 7, not string'
    """
    wrong = _find_rule(f"{name}.schema.json", "")(document)
    return wrong and (f"it{wrong}" if wrong.startswith(" ") else wrong.lstrip("."))


@lru_cache(maxsize=None)
def _find_rule(file: str, place: str) -> Rule:
    schema = json.loads((Path(__file__).parent / "schemas" / file).read_text(encoding="utf-8"))
    for key in place.split("/")[1:]:
        schema = schema[key]
    return _make_rule(file, schema)


def _make_rule(file: str, schema: dict[str, Any]) -> Rule:
    """Returns what checks a value: it returns None, or the value's place and what is wrong."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    types = {t for kind in kinds for t in TYPES[kind]}
    words = schema.get("enum", [schema["const"]] if "const" in schema else None)
    parts = [_make_rule(file, part) for part in schema.get("allOf", ())]
    if "$ref" in schema:
        other, _, place = schema["$ref"].partition("#")
        parts.append(_find_rule(other or file, place))
    members = {k: _make_rule(file, s) for k, s in schema.get("properties", {}).items()}
    patterns = [(re.compile(k), _make_rule(file, s))
                for k, s in schema.get("patternProperties", {}).items()]
    rest = schema.get("additionalProperties")
    other_members = _make_rule(file, rest) if isinstance(rest, dict) else None
    items = _make_rule(file, schema["items"]) if "items" in schema else None

    def check(value: Any) -> str | None:
        kind = type(value)
        if types and kind not in types:
            return f" is {value!r:.60}, not {' or '.join(kinds)}"
        if words is not None and value not in words:
            return f" is {value!r:.60}, not {' or '.join(map(repr, words))}"
        for part in parts:
            wrong = part(value)
            if wrong:
                return wrong
        if kind is dict:
            for key in schema.get("required", ()):
                if key not in value:
                    return f" has no {key!r}"
            for key, item in value.items():
                if key not in members:
                    members[key] = next((r for p, r in patterns if p.search(key)), other_members)
                rule = members[key]
                wrong = rule and rule(item)
                if wrong:
                    return f".{key}{wrong}"
        elif kind is list and items:
            for i, item in enumerate(value):
                wrong = items(item)
                if wrong:
                    return f"[{i}]{wrong}"
        return None

    return check
