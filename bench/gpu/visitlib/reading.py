# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the programs of bench/gpu/visit print and write."""

import collections
import csv
import io
import json
import re

from predict import read_step


def parse_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def last_json(text):
    lines = text.strip().splitlines()
    return parse_json(lines[-1]) if lines else None


def read_bytes(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def read_text(path):
    return read_bytes(path).decode(errors="replace")


def number(text):
    try:
        float(text)
        return True
    except (TypeError, ValueError):
        return False


def read_log(run):
    """The rows of log.csv, as numbers."""
    rows = []
    for row in csv.DictReader(io.StringIO(read_text(run + "/log.csv"))):
        rows.append({key.strip(): float(value) for key, value in row.items() if number(value)})
    return rows


def own_launches(path):
    """Launches of own kernels before the last step, and those of the last step."""
    step = read_step(path)
    return len(read_text(path).splitlines()) - len(step), step


def read_ncu(text):
    """{kernel: sums over its launches} of ncu's CSV, with a column or a row for each metric."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows, launches = collections.OrderedDict(), set()
    for row in csv.DictReader(lines):
        if not (row.get("ID") or "").isdigit():
            continue  # the row of units
        name = re.split(r"[(<]", row["Kernel Name"])[0].split()[-1]
        sums = rows.setdefault(name, collections.Counter())
        sums["launches"] += row["ID"] not in launches
        launches.add(row["ID"])
        metrics = {row["Metric Name"]: row["Metric Value"]} if "Metric Name" in row else row
        for metric, value in metrics.items():
            value = (value or "").replace(",", "")
            if "__" in metric and number(value):
                sums[metric] += float(value)
    return rows
