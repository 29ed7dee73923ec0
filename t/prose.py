# SPDX-License-Identifier: BSD-3-Clause
"""Checks how the project is written; make lint runs it.

    prose.py [MAN...]    from the source folder; MAN: files with the output of --man

In documents, manuals and the folders that t/prose.words lists: phrases that it lists, and words that
codespell knows to be misspelled. In documents also relative links that lead nowhere, dates, loads of a
machine, and cells of tables that are longer than 200 characters. Exit code 1 if there is anything.
"""
import os
import re
import shutil
import subprocess
import sys

CELL = 200
bad = 0


def complain(path, line, text):
    global bad
    bad += 1
    print("%s:%d: %s" % (path, line, text))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rules():
    """The phrases (pattern, what to write instead), the folders and the words that are right."""
    phrases, folders, words = [], [], []
    for line in read("t/prose.words").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, _, rest = line.partition(" ")
        if kind == "phrase":
            pattern, _, instead = rest.partition(" -> ")
            phrases.append((re.compile(pattern.replace(" ", r"\s+"), re.I), instead))
        elif kind == "folder":
            folders.append(rest)
        elif kind == "word":
            words.append(rest)
        else:
            sys.exit("t/prose.words: unknown kind of line: " + line)
    return phrases, folders, words


def tracked(*patterns):
    """Files that the distribution has, or git: tests and what is generated are not read."""
    found = []
    for top in patterns:
        for folder, folders, files in os.walk(top):
            folders[:] = [f for f in folders if f not in ("test", ".deps", "corpus", "golden")]
            found += [os.path.join(folder, f) for f in files if not f.startswith("prose.")]
    return sorted(found)


def is_source(path):
    if re.search(r"\.([ch]|cu|def|inc|py|sh|yaml|md)$", path):
        return True
    if "." in os.path.basename(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def check_phrases(path, phrases):
    text = read(path)
    # Sentences that go over several lines of a comment, a string or a shell script.
    joined = re.sub(r'"\s*\n\s*"|\n[ \t]*(?:\*(?!/)|#+|//)?[ \t]*', lambda m: " " * len(m.group()), text)
    for pattern, instead in phrases:
        for hit in pattern.finditer(joined):
            words = " ".join(hit.group().split())
            complain(path, text.count("\n", 0, hit.start()) + 1, "'%s': write %s" % (words, instead))


def check_document(path):
    fenced = False
    for number, line in enumerate(read(path).splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        for cell in re.split(r"(?<!\\)\|", line)[1:-1] if line.startswith("|") else []:
            if len(cell.strip()) > CELL:
                complain(path, number, "a cell of %d characters, more than %d" % (len(cell.strip()), CELL))
        if fenced or line.startswith("    "):
            continue
        for date in re.findall(r"\b20\d\d-\d\d-\d\d\b", line):
            complain(path, number, "the date %s: say what holds now" % date)
        for load in re.findall(r"\bload (?:of |below |average )?\d[\d.]*|\bloads of (?:a|one) day", line):
            complain(path, number, "'%s': a number that needs a quiet machine is measured on one" % load)
        for link in re.findall(r"\]\(([^)\s]+)\)", line):
            check_link(path, number, link)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def check_link(path, number, link):
    if re.match(r"[a-z]+:", link):
        return
    target, _, name = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
    if not os.path.exists(target):
        complain(path, number, "the link to %s leads nowhere" % link)
    elif name and name not in [anchor(h) for h in re.findall(r"^#+ (.*)", read(target), re.M)]:
        complain(path, number, "%s has no heading #%s" % (target, name))


def check_spelling(paths, words):
    if not shutil.which("codespell"):
        print("lint: skipped: codespell is not installed")
        return
    found = subprocess.run(["codespell", "--ignore-words-list=" + ",".join(words), *paths],
                           stdout=subprocess.PIPE, text=True).stdout
    for line in found.splitlines():
        path, number, text = line.split(":", 2)
        complain(path, int(number), "misspelled:" + text)


def main():
    phrases, folders, words = rules()
    documents = [p for p in ("README.md", "NEWS.md", "CONTRIBUTING.md", "SECURITY.md",
                             *tracked("doc", "logs", "packaging", "python", "templates"))
                 if p.endswith(".md") and os.path.exists(p)]
    texts = documents + sys.argv[1:] + [p for p in tracked(*folders) if is_source(p)]
    for path in documents:
        check_document(path)
    for path in texts:
        check_phrases(path, phrases)
    check_spelling(texts, words)
    sys.exit(1 if bad else 0)


main()
