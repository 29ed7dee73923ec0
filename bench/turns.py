# SPDX-License-Identifier: BSD-3-Clause
"""Trainings that take turns: each leaves one JSON file and is not repeated when that is there."""
import json
import os
import resource
import subprocess


def cpu_time(command):
    """Its CPU seconds, with those of its children. Niced: other work goes first."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(19))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def save(path, result):
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(path + ".tmp", path)


def load(path):
    """None: it is not there yet."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def settings(options):
    """Pairs of option and value as `unet-train train` has them."""
    keys = {"--classes": "data.classes", "--ignore": "data.ignore", "--class-file": "data.class_file",
            "--base": "model.base", "--depth": "model.depth"}
    words = []
    for option, value in zip(options[::2], options[1::2]):
        if option == "--augment":
            for change in value.split(","):
                words += ["--set", f"augment.{change}" + ("" if "=" in change else "=true")]
        else:
            words += ["--set", f"{keys[option]}={value}"] if option in keys else [option, value]
    return words
