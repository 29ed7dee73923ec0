# SPDX-License-Identifier: BSD-3-Clause
"""Helpers for trainings that run alternately. Each leaves one JSON file and is skipped if that exists."""
import json
import os
import resource
import subprocess


def cpu_time(command):
    """Runs command with the lowest priority and returns its CPU seconds, those of its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.nice(19))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def save(path, result):
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(path + ".tmp", path)


def load(path):
    """The result of a training, or None if it has not ended yet."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def settings(options):
    """Translates pairs of option and value to options of `unet-train train`."""
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
