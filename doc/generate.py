#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""generate.py [--check]: writes doc/SETTINGS.md from logs/study.schema.json and site.schema.json,
the table of doc/PROPOSAL.md from launcher/report/centres.def,
which are those of the tables of settings (launcher/study/test/settings_schema.c), and
doc/SCHEMAS.md from the other schemas. With --check it only compares."""
import json
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LOGS = os.path.join(TOP, "logs")
SETTINGS = """# Settings

Every key of study.yaml and of site files, with its values and, behind =, its preset. `make doc` writes
this file from src/settings/settings.def and launcher/study/study.c; [FORMATS.md](FORMATS.md#studyyaml)
says what holds for several keys. `unetctl config --help` and `unet-train train --help` print the same.
"""
SCHEMAS = """# Keys of JSON files

Every key of the JSON files and of each `--json`. `make doc` writes this file from the JSON Schemas
(draft 2020-12) logs/NAME.schema.json; [FORMATS.md](FORMATS.md) says which files exist, and which
programs write and read them. `a[].b` is the member b of each item of the list a, `*` any name, and ? stands
behind a key that may be absent. `schema`, the number of the format, is in every file.
"""
UNITS = ((r"(images|img)_per_s(_|$)", "1/s"), (r"bytes_per_s$", "bytes/s"), (r"_ms$", "ms"),
         (r"_s(_median|_min)?$|\b(seconds|training_time|test_time)$", "s"), (r"_mib$", "MiB"),
         (r"\b([a-z]+_)?bytes$", "bytes"), (r"_j$|joules", "J"), (r"_kwh$", "kWh"),
         (r"gpu_hours$", "GPU-hours"), (r"watts$", "W"))  # by the name of a key


def read_schema(name):
    with open(os.path.join(LOGS, name), encoding="utf-8") as f:
        return json.load(f)


# ---- doc/SETTINGS.md

def values(key):
    kind = str(key.get("type"))
    if "enum" in key:
        text = " \\| ".join(key["enum"])
    elif kind == "boolean":
        text = "true \\| false"
    elif "minimum" in key:
        text = f"{key['minimum']:.10g}..{key['maximum']:.10g}"
    else:
        text = {"array": "list", "object": "mapping", "integer": "whole number"}.get(kind, "text")
    preset = key.get("default")
    if isinstance(preset, bool):
        preset = str(preset).lower()
    unit = key.get("description", "").partition("; in ")[2]
    return (text + (f" = {preset}" if preset not in (None, "") else "") +
            (f"; {unit}" if unit else ""))


def rows(keys, prefix=""):
    for name, key in keys.items():
        if name != "schema" and not key.get("deprecated") and "properties" not in key:
            yield f"- `{prefix}{name}` ({values(key)}): {key['description'].partition('; in ')[0]}"


def settings_page():
    keys = read_schema("study.schema.json")["properties"]
    sections = {name: key["properties"] for name, key in keys.items() if "properties" in key}
    program = sections["command"].keys()
    engines = [name for name, section in sections.items() if section.keys() == program]
    lines = [SETTINGS, "## Outside of a section\n", *rows(keys)]
    for name, section in sections.items():
        if name not in engines:
            lines += [f"\n## {name}\n", *rows(section, name + ".")]
    lines += ["\n## " + ", ".join(engines) + "\n",
              "The section of an engine other than embedded says what it runs; script has its own "
              "meaning for each:\n",
              *(f"- `{name}.script` (text): {sections[name]['script']['description']}"
                for name in engines),
              *rows({k: v for k, v in sections["command"].items() if k != "script"}, "ENGINE."),
              "\n## Site files\n", *rows(read_schema("site.schema.json")["properties"])]
    return "\n".join(lines) + "\n"


# ---- doc/SCHEMAS.md

class Page:
    """The tables of one schema: the document's own, and one for each $def that it refers to."""

    def __init__(self, name, schema):
        self.name, self.schema = name, schema
        self.found = []  # names of the $defs that need a table

    def resolve(self, key):
        """The key with what its $ref says, where that is a simple value of this schema."""
        ref = key.get("$ref", "")
        if not ref.startswith("#/$defs/"):
            return key
        target = self.schema["$defs"][ref.rpartition("/")[2]]
        return target | {k: v for k, v in key.items() if k != "$ref"}

    def keys_of(self, ref):
        """Names what another schema, or a table of its own here, says."""
        if ref.startswith("#/$defs/"):
            name = ref.rpartition("/")[2]
            if name not in self.found:
                self.found.append(name)
            return f"[{name}](#{self.anchor(name)})"
        schema, _, path = ref.partition(".schema.json#/")
        name = path.replace("$defs/", "").replace("/properties/", ".")
        return f"{name} of {schema}"

    def anchor(self, name):
        return f"{self.name} {name}".replace(" ", "-").lower()

    def kind(self, key):
        key = self.resolve(key)
        if "const" in key:
            return json.dumps(key["const"])
        if "enum" in key:
            return " \\| ".join(word or '""' for word in key["enum"])
        kind = key.get("type", "object")
        words = {"array": "list", "integer": "whole number", "string": "text",
                 "boolean": "true \\| false"}
        text = " \\| ".join(words.get(k, k) for k in (kind if isinstance(kind, list) else [kind]))
        of = key.get("items", key.get("additionalProperties"))
        if isinstance(of, dict) and not isinstance(kind, list) and not self.has_keys(of):
            text += f" of {self.kind(of).removesuffix('s')}s"
        return text

    def has_keys(self, key):
        """Has the value of this key, or have its items, keys that need a line?"""
        key = self.resolve(key)
        within = key.get("items", key.get("additionalProperties"))
        return bool("properties" in key or "oneOf" in key or ".schema.json" in key.get("$ref", "")
                    or isinstance(within, dict) and self.has_keys(within))

    def rows(self, key, prefix=""):
        """Yields (key, type, unit, meaning) for each key of an object, and for those within."""
        required = set(key.get("required", ()))
        for name, member in key.get("properties", {}).items():
            if name == "schema" or (name == "kind" and "const" in member):
                continue
            yield from self.row(prefix + name, "" if name in required else "?", member)
        for name, member in key.get("patternProperties", {}).items():
            for one in name.strip("^$()").split("|"):
                yield from self.row(prefix + one, "?", member)
        if isinstance(key.get("additionalProperties"), dict) and self.has_keys(key):
            yield from self.row(prefix + "*", "", key["additionalProperties"])

    def row(self, path, optional, member):
        own, ref = member, member.get("$ref", "")
        text, _, unit = self.resolve(own).get("description", "").partition("; in ")
        if not unit:
            unit = next((unit for name, unit in UNITS if re.search(name, path)), "")
        inner, suffix = own, ""
        while "$ref" not in inner and isinstance(inner.get("items"), dict):
            inner, suffix = inner["items"], suffix + "[]"
        if "$ref" in inner and self.has_keys(inner):
            more = "keys of " + self.keys_of(inner["$ref"])
            text = f"{own['description']}; {more}" if "description" in own else more
        yield f"`{path}`{optional}", self.kind(own), unit, text
        if "properties" in inner or "$ref" not in inner and self.has_keys(inner):
            yield from self.rows(inner, path + suffix + ".")
            for choice in inner.get("oneOf", ()):
                yield from self.rows(choice, path + suffix + ".")

    def table(self, key):
        found = list(dict.fromkeys(self.rows(key)))
        if not found:
            return []
        return ["", "| key | type | unit | meaning |", "|---|---|---|---|",
                *("| " + " | ".join(row) + " |" for row in found)]

    def object(self, key):
        lines = []
        if "description" in key:
            lines += ["", sentence(key["description"])]
        key = key.get("items", key)
        others = [self.keys_of(one["$ref"]) for one in
                  [key, *key.get("allOf", ()), *key.get("anyOf", ())] if "$ref" in one]
        if others:
            lines += ["", "It has the keys of " + ", ".join(others) + "."]
        return lines + self.table(key)

    def title(self):
        command, comma, rest = self.schema["title"].partition(", ")
        return f"`{command}`{comma}{rest}"

    def lines(self):
        schema = self.schema
        lines = ["", f"## {self.name}", "", self.title()]
        if "description" in schema:
            lines += ["", sentence(schema["description"])]
        top = dict(schema.get("items", schema))
        top.pop("description", None)
        lines += self.object(top)
        for choice in schema.get("oneOf", ()):
            if "$ref" in choice:
                self.keys_of(choice["$ref"])
            else:
                lines += self.object(choice)
        done = 0
        while done < len(self.found):
            name = self.found[done]
            lines += ["", f"### {self.name} {name}", *self.object(schema["$defs"][name])]
            done += 1
        return lines


def sentence(text):
    return text[0].upper() + text[1:].rstrip(".") + "."


def only_in_run(run, study):
    """run.json's schema with what SETTINGS.md does not have, as one object."""
    keys = {}
    known = study["properties"]
    for section, group in run["$defs"].items():
        for name, key in group.get("properties", {}).items():
            path = name if section == "top" else f"{section}.{name}"
            there = known if section == "top" else known.get(section, {}).get("properties", {})
            if name not in there:
                keys[path] = key
    keys["program"] = run["properties"]["program"]
    return {"title": run["title"], "$defs": run["$defs"], "properties": keys, "required": list(keys),
            "description": "the plan of one run: the keys of [SETTINGS.md](SETTINGS.md) that a run "
                           "needs, from src/settings/settings.def, and these"}


def schemas_page():
    names = sorted((name for name in os.listdir(LOGS) if name.endswith(".schema.json")),
                   key=lambda name: name.partition(".")[0])
    lines = [SCHEMAS]
    study = read_schema("study.schema.json")
    for name in names:
        schema = read_schema(name)
        if name in ("study.schema.json", "site.schema.json"):
            continue
        if name == "run.schema.json":
            schema = only_in_run(schema, study)
        lines += Page(name.partition(".")[0], schema).lines()
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def proposal_page():
    """PROPOSAL.md as it is, with the table of what centres ask for."""
    with open(os.path.join(TOP, "launcher/report/centres.def"), encoding="utf-8") as f:
        rows = re.findall(r'^(CENTRE|ITEM)\((?:(\w+), )?"([^"]*)"(?:,\s+"([^"]*)")?', f.read(), re.M)
    table, pages, centre = ["| by | `--for` | asked for |", "|---|---|---|"], [], None
    for kind, key, text, page in rows:
        if kind == "CENTRE":
            centre = f"| [{text}] | {key} |"
            pages.append(f"[{text}]: {page}")
        else:
            table.append(f"{centre} {text} |")
            centre = "| | |"
    with open(os.path.join(TOP, "doc/PROPOSAL.md"), encoding="utf-8") as f:
        return re.sub(r"\| by \|.*?\n\n\[.*?(?=\n\n)", lambda m: "\n".join(table + [""] + pages),
                      f.read(), count=1, flags=re.S)


def main():
    checking, bad = sys.argv[1:] == ["--check"], 0
    for name, page in (("SETTINGS.md", settings_page), ("SCHEMAS.md", schemas_page),
                       ("PROPOSAL.md", proposal_page)):
        path, text = os.path.join(TOP, "doc", name), page()
        if not checking:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            continue
        with open(path, encoding="utf-8") as f:
            if f.read() != text:
                print(f"doc/{name} is not that of the schemas; `make doc` writes it", file=sys.stderr)
                bad = 1
    return bad


sys.exit(main())
