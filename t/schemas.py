#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""schemas.py [--mutate] SCHEMA FILE... [-- [--mutate] SCHEMA FILE...]...: is each file, or each line of one that has
several documents, as logs/SCHEMA.schema.json says? With --mutate the first document must also be refused with a value
of another type, a further key in an object, or without a required key. `--kept FOLDER` checks what tests have kept
there (t/lib.sh): the name of a file without its end is the schema's. Exits with 77 if jsonschema is missing."""
import collections
import copy
import json
import os
import sys
import warnings

try:
    import jsonschema
    import jsonschema.exceptions
except ImportError:
    sys.exit(77)
warnings.simplefilter("ignore", DeprecationWarning)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "logs")
LIKE = 100  # the most documents of a shape that are checked
OTHER = [[]]  # no document has this anywhere


def read_schemas():
    names = [name for name in os.listdir(FOLDER) if name.endswith(".schema.json")]
    schemas = {}
    for name in names:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
            schemas[name] = decode(f.read())
    return schemas


def unique(pairs):
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise ValueError(f"an object has a key twice: {[key for key, _ in pairs]}")
    return keys


def refuse(text):
    raise ValueError(f"{text} is not JSON")


def decode(text):
    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


def create_validator(schemas, name):
    kind = jsonschema.Draft202012Validator
    kind.check_schema(schemas[name])
    try:
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012
    except ImportError:  # jsonschema before 4.18
        return kind(schemas[name], resolver=jsonschema.RefResolver(name, schemas[name], store=schemas))
    resources = [(n, DRAFT202012.create_resource(s)) for n, s in schemas.items()]
    return kind({"$ref": name}, registry=Registry().with_resources(resources))


def read_documents(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not text.strip():
        raise ValueError("there is nothing in it")
    try:
        return [decode(text)]
    except json.JSONDecodeError:
        return [decode(line) for line in text.splitlines()]


def shorten(value):
    """A copy with the first and the last item of each list."""
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    return [shorten(v) for v in value[:1] + value[1:][-1:]] if isinstance(value, list) else value


def list_places(value, place=()):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield place + (key,)
        yield from list_places(item, place + (key,))


def change(document, place, what):
    """A copy where the value at the place is another one, has a further key, or is missing."""
    result = copy.deepcopy(document)
    at = result
    for key in place[:-1]:
        at = at[key]
    if what == "another type":
        at[place[-1]] = OTHER
    elif what == "missing":
        del at[place[-1]]
    elif place:
        at[place[-1]]["undocumented"] = OTHER
    else:
        result["undocumented"] = OTHER
    return result


def mutate(document, required):
    if isinstance(document, dict):
        yield (), "a further key"
        yield from (((key,), "missing") for key in required)
    done = set()
    for place in list_places(document):
        kind = [key for key in place if isinstance(key, str)][-2:] + [isinstance(place[-1], int)]
        if tuple(kind) in done:  # one of each, such as the medians of all quantities of a point
            continue
        done.add(tuple(kind))
        yield place, "another type"
        at = document
        for key in place:
            at = at[key]
        if isinstance(at, dict):
            yield place, "a further key"


def check(schemas, mutating, name, paths):
    """Prints what is wrong, and returns whether anything is."""
    validator = create_validator(schemas, name)
    bad = False
    for path in paths:
        try:
            documents = read_documents(path)
        except (OSError, ValueError) as e:
            print(f"{path}: {e}")
            return True
        for i, document in enumerate(documents):
            error = jsonschema.exceptions.best_match(validator.iter_errors(document))
            if error:
                print(f"{path}, document {i}, against {name}: {error.json_path}: {error.message[:600]}")
                bad = True
        sample = shorten(documents[0])
        for place, what in mutate(sample, schemas[name].get("required", ())) if mutating and not bad else ():
            if validator.is_valid(change(sample, place, what)):
                print(f"{name} accepts: {'.'.join(map(str, place)) or 'the document'}, {what}")
                bad = True
    return bad


def shape(value):
    """What a document has of keys and types; a list has what its items have."""
    if isinstance(value, dict):
        return tuple((key, shape(item)) for key, item in sorted(value.items()))
    return frozenset(map(shape, value)) if isinstance(value, list) else type(value)


def check_kept(schemas, folder):
    """Checks LIKE documents of each kind and shape, prints what is wrong, and returns whether anything is."""
    validators, numbers, bad = {}, collections.Counter(), 0
    seen = collections.Counter()
    for place, _, names in sorted(os.walk(folder)):
        for name, path in sorted((name, os.path.join(place, name)) for name in names):
            kind = name.partition(".")[0].partition("-0")[0].lower()
            kind = "rank" if kind.startswith("rank-") else kind
            if kind not in validators:
                validators[kind] = create_validator(schemas, kind + ".schema.json")
            try:
                documents = read_documents(path)
            except (OSError, ValueError) as e:
                print(f"{os.path.relpath(path, folder)}: {e}")
                bad += 1
                continue
            for i, document in enumerate(documents):
                seen[kind, shape(document)] += 1
                if seen[kind, shape(document)] > LIKE:
                    continue
                numbers[kind] += 1
                error = jsonschema.exceptions.best_match(validators[kind].iter_errors(document))
                if error:
                    print(f"{os.path.relpath(path, folder)}, document {i}: {error.json_path}: {error.message[:300]}")
                    bad += 1
    print(f"schemas: {sum(numbers.values())} documents of {len(numbers)} kinds, {bad} are not as their schemas say")
    return bad > 0


def main(words):
    schemas = read_schemas()
    if words[0] == "--kept":
        return check_kept(schemas, words[1])
    bad = False
    while words:
        end = words.index("--") if "--" in words else len(words)
        mutating = words[0] == "--mutate"
        bad |= check(schemas, mutating, words[mutating] + ".schema.json", words[mutating + 1:end])
        words = words[end + 1:]
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
