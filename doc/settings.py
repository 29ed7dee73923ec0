#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""settings.py [--check]: writes doc/SETTINGS.md from logs/study.schema.json, which is that of
src/settings/settings.def (launcher/study/test/settings_schema.c). With --check it only compares."""
import json
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
HEAD = """# Settings

Every key of study.yaml, with its values and, behind =, its preset. `make doc` writes this file from
src/settings/settings.def; [FORMATS.md](FORMATS.md#studyyaml) says what holds for several keys.
`unetctl config --help` and `unet-train train --help` print the same.
"""


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


def page():
    with open(os.path.join(TOP, "logs", "study.schema.json"), encoding="utf-8") as f:
        keys = json.load(f)["properties"]
    sections = {name: key["properties"] for name, key in keys.items() if "properties" in key}
    program = sections["command"].keys()
    engines = [name for name, section in sections.items() if section.keys() == program]
    lines = [HEAD, "## Outside of a section\n", *rows(keys)]
    for name, section in sections.items():
        if name not in engines:
            lines += [f"\n## {name}\n", *rows(section, name + ".")]
    lines += ["\n## " + ", ".join(engines) + "\n",
              "The section of an engine other than embedded says what it runs; script has its own "
              "meaning for each:\n",
              *(f"- `{name}.script` (text): {sections[name]['script']['description']}"
                for name in engines),
              *rows({k: v for k, v in sections["command"].items() if k != "script"}, "ENGINE.")]
    return "\n".join(lines) + "\n"


def main():
    path = os.path.join(TOP, "doc", "SETTINGS.md")
    text = page()
    if sys.argv[1:] != ["--check"]:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print("doc/SETTINGS.md is not that of the settings; `make doc` writes it", file=sys.stderr)
    return 1


sys.exit(main())
