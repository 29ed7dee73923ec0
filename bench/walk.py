#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Follows one parameter through the calls that pass it on, and counts its stays in rooms.

    bench/walk.py launcher/cmd/cmd_submit.c submit_plan s

The parameter, and each name that is assigned an expression with it, is followed into every function
of launcher/, trainer/ and src/ that is called with one of these names, in the order in which the
code is written, each function once per parameter. A stay is a maximal run of such calls into one
folder (a room); src/ and its folders count as no room, since they are open to all. Functions come
from ctags (Universal Ctags), everything else from the text: calls through pointers are not seen.
"""
import os
import re
import subprocess
import sys

WORD = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")


def read_functions():
    """Returns {name: [(file, parameters, body)]} of all functions with a body."""
    files = subprocess.run(["git", "ls-files", "launcher/*.c", "trainer/*.c", "src/*.c"],
                           capture_output=True, text=True, check=True).stdout.split()
    tags = subprocess.run(["ctags", "-x", "--c-kinds=f", "--_xformat=%N\t%n\t%{end}\t%F", "-L", "-"],
                          input="\n".join(f for f in files if "/test/" not in f and os.path.exists(f)),
                          capture_output=True, text=True, check=True).stdout
    functions, texts = {}, {}
    for tag in tags.splitlines():
        name, first, last, file = tag.split("\t")
        if file not in texts:
            with open(file, encoding="utf-8") as f:
                text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', f.read())
                texts[file] = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text,
                                     flags=re.S).split("\n")
        source = "\n".join(texts[file][int(first) - 1:int(last)])
        head, _, body = source.partition("{")
        parameters = [WORD.findall(p)[-1] if WORD.findall(p) else ""
                      for p in head[head.find("(") + 1:head.rfind(")")].split(",")]
        functions.setdefault(name, []).append((file, parameters, body))
    return functions


def arguments(text, at):
    """Returns the arguments of the call whose parenthesis is at text[at]."""
    depth, start, found = 0, at + 1, []
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return found + [text[start:i]]
        elif text[i] == "," and depth == 1:
            found.append(text[start:i])
            start = i + 1
    return found


def walk(functions, file, name, parameter, seen, rooms):
    here = [f for f in functions.get(name, []) if f[0] == file] or functions.get(name, [])
    if not here or (here[0][0], name, parameter) in seen:
        return
    file, _, body = here[0]
    seen.add((file, name, parameter))
    room = os.path.dirname(file)
    if not room.startswith("src") and (not rooms or rooms[-1] != room):
        rooms.append(room)
    names = {parameter}
    for m in re.finditer(r"(\w+) = ([^;]*);|(?<![\w.>])([a-z_]\w*)\(", body):
        if m.group(1):
            if names & set(WORD.findall(m.group(2))):
                names.add(m.group(1))
            for call in re.finditer(r"(?<![\w.>])([a-z_]\w*)\(", m.group(2)):
                follow(functions, file, body, call.group(1), m.start(2) + call.end() - 1, names,
                       seen, rooms)
        else:
            follow(functions, file, body, m.group(3), m.end() - 1, names, seen, rooms)


def follow(functions, file, body, name, at, names, seen, rooms):
    found = [f for f in functions.get(name, []) if f[0] == file] or functions.get(name, [])
    if not found:
        return
    for i, argument in enumerate(arguments(body, at)):
        if names & set(WORD.findall(argument)) and i < len(found[0][1]):
            walk(functions, found[0][0], name, found[0][1][i], seen, rooms)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    rooms = []
    sys.setrecursionlimit(10000)
    walk(read_functions(), *sys.argv[1:], set(), rooms)
    if not rooms:
        sys.exit(f"walk.py: {sys.argv[1]} has no function {sys.argv[2]}")
    print(f"{len(rooms)} stays in {len(set(rooms))} rooms: {' '.join(rooms)}")


if __name__ == "__main__":
    main()
