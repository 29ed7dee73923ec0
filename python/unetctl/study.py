# SPDX-License-Identifier: BSD-3-Clause
"""The report of a study (doc/FORMATS.md, "The report folder") as pandas data frames.

Nothing is computed here: each number stands in report.json, results.csv or epochs.csv.
"""
from __future__ import annotations

import csv
import importlib
import json
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .schema import find_misfit

if TYPE_CHECKING:
    import pandas

    from .plot import Plots

SCHEMA = 1  # of report.json

# What results.csv holds, beside real numbers. Those of UNKNOWN are not known where they are 0.
KINDS = {name: kind for kind, names in {
    "Int64": "gpus nodes seed attempt epochs batch_per_gpu global_batch val_images parameters "
             "kernels_checked",
    "boolean": "oversubscribed fake_gpus lower limited stepped",
    "category": "engine state host metric device unit",
    "string": "run note log images_log settings kernels_refused hosts versions",
    "datetime": "started",
}.items() for name in names.split()}
UNKNOWN = ("nodes", "batch_per_gpu", "global_batch", "val_images", "parameters")

# The unit of a column by its name; the first pattern that is found counts.
UNITS = (
    (r"_(runs|outliers|level|spread)$|speedup|efficienc|ratio|needed", "1"),
    (r"^images_per_s", "{unit}/s"), (r"^images(_[a-z]+)?$|^units$", "{unit}"),
    (r"^joules_per_unit", "J/{unit}"), (r"joules|energy_j", "J"), (r"_kwh", "kWh"),
    (r"_mib", "MiB"), (r"gpu_hours", "h"), (r"watts", "W"), (r"_s(_|$)|_time(_|$)|^seconds$", "s"),
)
COUNTS = re.compile(r"(^|_)(gpus|nodes|runs|seeds|needed|outliers|family|n)$")


class StudyError(Exception):
    """What is wrong with which file of a study, why, and what to type."""


def need(module: str, project: str = "") -> Any:
    """Imports a module that only some functions use; project: its name on PyPI, if another."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as e:
        if (e.name or package).partition(".")[0] != package:
            raise
        raise StudyError(f"{project or package} is not installed, and this needs it: type "
                         f"'pip install {project or package}'") from None


def load(folder: str | os.PathLike = ".") -> Study:
    """Opens the report of a study's folder, or a folder that `unetctl report` wrote."""
    return Study(folder)


class Study:
    """A report: `report` is report.json as it is, and the rest are data frames of its numbers.

    The attribute `attrs["units"]` of each frame says the unit of its columns of numbers.
    """

    def __init__(self, folder: str | os.PathLike = ".") -> None:
        path = Path(folder)
        self.folder = path if (path / "report.json").exists() else path / "report"
        study = path.absolute().parent if self.folder == path else path
        known = (study / "study.yaml").exists()
        self.again = ("write it again by 'unetctl report'" if not known else
                      f"type 'unetctl report{'' if study == Path('.') else f' -C {study}'}'")
        if not (self.folder / "report.json").exists():
            raise StudyError(f"{path}: this study has no report: {self.again}" if known else
                             f"{path}: this is not the folder of a study or of a report: neither "
                             "study.yaml nor report.json is there; give one that has them")
        self.report: dict[str, Any] = self._read_report()
        self.name: str = self.report["study"]

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.report['runs'])} runs)"

    def _read_report(self) -> dict[str, Any]:
        path = self.folder / "report.json"
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            schema = report["schema"]
        except (ValueError, KeyError, TypeError) as e:
            raise StudyError(f"{path}: this is not a whole report ({e}): {self.again}") from None
        if schema != SCHEMA:
            raise StudyError(f"{path}: its schema is {schema}, and this version reads {SCHEMA}: "
                             "type 'pip install --upgrade unetctl'")
        wrong = find_misfit("report", report)
        if wrong:
            raise StudyError(f"{path}: {wrong}: {self.again}")
        return report

    def read_path(self, name: str) -> Path:
        """Returns the path of a file of the report that is there and whole."""
        path = self.folder / name
        if not path.exists():
            raise StudyError(f"{path}: the report has no such file, as it is of an earlier version "
                             f"or has no such numbers: {self.again}")
        with open(path, "rb") as file:
            file.seek(-1 if path.stat().st_size else 0, os.SEEK_END)
            if file.read() != b"\n":
                raise StudyError(f"{path}: its last line is cut off: {self.again}")
        return path

    def read_rows(self, name: str) -> list[dict[str, str]]:
        """Returns the rows of a table of the report as texts."""
        with open(self.read_path(name), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _read_tables(self, name: str, **how: Any) -> pandas.DataFrame:
        """Returns NAME.csv and, of a report on several folders, NAME_2.csv and so on below it."""
        pd = need("pandas")
        names = [f"{name}.csv"] + sorted(p.name for p in self.folder.glob(f"{name}_*.csv"))
        try:
            frames = [pd.read_csv(self.read_path(n), keep_default_na=False, na_values=[""], **how)
                      for n in names]
        except ValueError as e:
            raise StudyError(f"{self.folder / name}.csv: {e}: {self.again}") from None
        for number, frame in enumerate(frames, 1):
            if len(frames) > 1:
                frame.insert(0, "source", number)
        return pd.concat(frames, ignore_index=True)

    def _with_units(self, frame: pandas.DataFrame) -> pandas.DataFrame:
        unit = {series.get("unit", "images") for series in self.report["engines"]}
        words = {"unit": unit.pop() if len(unit) == 1 else "units"}
        numbers = frame.select_dtypes("number").columns
        frame.attrs["units"] = {
            name: next((u for pattern, u in UNITS if re.search(pattern, name)), "1").format(**words)
            for name in numbers}
        return frame

    @cached_property
    def runs(self) -> pandas.DataFrame:
        """One row per run, with the columns of results.csv (logs/SCHEMA.md)."""
        pd = need("pandas")
        frame = self._read_tables("results", dtype=str)
        for name, texts in frame.items():
            kind = KINDS.get(name, "float64")
            if kind in ("category", "string", "datetime"):
                texts = texts.str.replace(r"^'", "", regex=True)
            if kind in ("Int64", "float64"):
                texts = pd.to_numeric(texts, errors="coerce")
            if name in UNKNOWN:
                texts = texts.replace(0, float("nan"))
            if kind == "boolean":
                texts = texts.map({"yes": True, "no": False})
            frame[name] = (pd.to_datetime(texts, utc=True) if kind == "datetime" else
                           texts.astype(kind))
        return self._with_units(frame)

    @cached_property
    def epochs(self) -> pandas.DataFrame:
        """One row per epoch of each run that is done, or per interval of its log."""
        with open(self.read_path("epochs.csv"), encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split(",")
        kinds = {name: "category" if name == "run" else
                 "int64" if name in ("gpus", "seed", "epoch") else "float64" for name in names}
        frame = self._read_tables("epochs", dtype=kinds)
        kinds.update(run="category", gpus="Int64", seed="Int64", epoch="Int64")
        return self._with_units(frame.astype(kinds))

    @cached_property
    def series(self) -> pandas.DataFrame:
        """One row per series and count of GPUs: medians, intervals, speed-up, efficiency, and the
        change of the quality from the smallest count (change_...)."""
        rows = []
        for series in self.report["engines"]:
            verdict = series["verdict"]
            changes = verdict.get("iou") or verdict.get("accuracy") or verdict.get("quality") or []
            for i, point in enumerate(series["points"]):
                row = {"series": series["label"], "engine": series["engine"]}
                _flatten("", point, row)
                _flatten("change", changes[i] if i < len(changes) else {}, row)
                rows.append(row)
        return self._make_frame(rows)

    @cached_property
    def verdict(self) -> pandas.DataFrame:
        """One row per series: how many GPUs are worth their cost, and why."""
        rows = []
        for series in self.report["engines"]:
            row = {"series": series["label"], "engine": series["engine"]}
            _flatten("", {k: v for k, v in series["verdict"].items()
                          if k not in ("iou", "accuracy", "quality")}, row)
            rows.append(row)
        return self._make_frame(rows)

    def _make_frame(self, rows: list[dict[str, Any]]) -> pandas.DataFrame:
        pd = need("pandas")
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {}
        for name in names:
            values = [row.get(name) for row in rows]
            columns[name] = pd.Series(values, dtype=_kind_of(name, values))
        return self._with_units(pd.DataFrame(columns))

    @property
    def plot(self) -> Plots:
        """The figures of the report, for matplotlib."""
        from .plot import Plots
        return Plots(self)

    def write_crate(self) -> list[str]:
        """Describes the study as RO-Crate in its folder. Returns which runs are left out, and why."""
        from .crate import write_crate
        return write_crate(self)

    def to_mlflow(self, uri: str | None = None, experiment: str | None = None) -> str:
        """Writes all runs into an MLflow experiment, the study's by default. Returns its id."""
        from .trackers import to_mlflow
        return to_mlflow(self, uri, experiment)

    def to_wandb(self, folder: str = ".", offline: bool = True, project: str | None = None) -> None:
        """Writes all runs for Weights & Biases into folder; `wandb sync` uploads offline ones."""
        from .trackers import to_wandb
        to_wandb(self, folder, offline, project)


def _flatten(prefix: str, value: Any, row: dict[str, Any]) -> None:
    """Sets the members of value in row: a summary's or ratio's value has its own name.

    >>> row = {}
    >>> _flatten("", {"loss": {"median": 2.0, "interval": {"low": 1.0, "high": 3.0}}}, row)
    >>> row
    {'loss': 2.0, 'loss_low': 1.0, 'loss_high': 3.0}
    """
    if isinstance(value, dict):
        for key, member in value.items():
            own = key in ("median", "value", "interval")
            if not (key == "interval" and member is None):
                _flatten(prefix if own else f"{prefix}_{key}" if prefix else key, member, row)
    else:
        row[prefix] = "\n".join(map(str, value)) if isinstance(value, list) else value


def _kind_of(name: str, values: list[Any]) -> str:
    kinds = {type(v) for v in values if v is not None}
    if name in ("series", "engine"):
        return "category"
    if kinds == {int} or (not kinds and COUNTS.search(name)):
        return "Int64"
    return "boolean" if kinds == {bool} else "string" if str in kinds else "float64"
