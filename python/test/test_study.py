# SPDX-License-Identifier: BSD-3-Clause
"""The frames of a study have the numbers of its report, and bad input gives one line."""
import csv
import doctest
import importlib
import json
import resource
import shutil
import subprocess
import sys

import pandas
import pytest
import unetctl


def read_json(folder):
    return json.loads((folder / "report/report.json").read_text())


def same(got, want):
    """Whether a cell of a frame is a value of report.json."""
    return pandas.isna(got) if want is None else got == want


def test_series_are_those_of_the_report(study):
    frame, points = unetctl.load(study).series, []
    for series in read_json(study)["engines"]:
        points += [(series["label"], p) for p in series["points"]]
    assert len(frame) == len(points) > 2
    compared = 0
    for (label, point), (_, row) in zip(points, frame.iterrows()):
        assert row["series"] == label
        for key, value in point.items():
            if not isinstance(value, dict):
                assert same(row[key], value)
            elif "median" in value:
                assert same(row[key], value["median"]) and row[f"{key}_runs"] == value["runs"]
                compared += value["interval"] is not None
                for end in ("low", "high") if value["interval"] else ():
                    assert row[f"{key}_{end}"] == value["interval"][end]
            else:
                for name, ratio in value.items():
                    assert same(row[f"{key}_{name}"], ratio["value"])
    assert compared or len(frame) < 6


def test_verdicts_are_those_of_the_report(study):
    frame = unetctl.load(study).verdict
    for series, (_, row) in zip(read_json(study)["engines"], frame.iterrows()):
        verdict = series["verdict"]
        assert row["headline"] == verdict["headline"]
        assert row["words"].splitlines() == verdict["words"]
        for key in ("worth_gpus", "decided", "margin", "base_gpus", "next_gpus"):
            assert same(row.get(key), verdict.get(key))
        assert same(row.get("speedup"), verdict.get("speedup", {}).get("value"))


def test_runs_are_those_of_both_files(study):
    frame, runs = unetctl.load(study).runs, read_json(study)["runs"]
    with open(study / "report/results.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(frame["run"]) == [r["run"] for r in runs] == [r["run"] for r in rows]
    for (_, got), run, row in zip(frame.iterrows(), runs, rows):
        for key, value in run.items():
            if isinstance(value, float):
                assert got[key] == pytest.approx(value, rel=1e-8, abs=1e-6)
            elif key in frame and isinstance(value, (int, str)) and key != "started":
                assert pandas.isna(got[key]) if value == "" else got[key] == value
        for key, text in row.items():
            if frame[key].dtype == "float64":
                assert pandas.isna(got[key]) if text == "" else got[key] == float(text)


def test_epochs_are_those_of_the_logs(real):
    frame = unetctl.load(real).epochs
    for run, epochs in frame.groupby("run", observed=True):
        newest = max(real.glob(f"runs/{run}/attempt-*/log.jsonl"))
        rows = [json.loads(line) for line in newest.read_text().splitlines()]
        assert list(epochs["epoch"]) == [r["epoch"] for r in rows] == list(range(6))
        assert list(epochs["loss"]) == pytest.approx([r["loss"] for r in rows])
        assert list(epochs["seconds"]) == pytest.approx([r["epoch_time"] for r in rows])
    assert frame["run"].nunique() == 9


def test_epochs_of_the_embedded_trainer(golden):
    frame = unetctl.load(golden).epochs
    record = (golden / "runs/unet-g01-s1/attempt-1/record.jsonl").read_text().splitlines()
    rows = [r for r in map(json.loads, record) if r["kind"] == "epoch"]
    got = frame[frame["run"] == "unet-g01-s1"]
    assert list(got["loss"]) == pytest.approx([r["loss"] for r in rows])
    assert list(got["units"]) == [r["images"] for r in rows]


def test_types_and_units(study):
    loaded = unetctl.load(study)
    kinds = {name: str(kind) for name, kind in loaded.runs.dtypes.items()}
    assert kinds["gpus"] == "Int64" and kinds["state"] == "category"
    assert kinds["median_epoch_s"] == "float64" and kinds["fake_gpus"] == "boolean"
    assert kinds["started"].startswith("datetime64")
    assert not {"object"} & {str(k) for f in (loaded.runs, loaded.epochs, loaded.series,
                                              loaded.verdict) for k in f.dtypes}
    units = loaded.runs.attrs["units"]
    assert units["median_epoch_s"] == units["training_time"] == "s" and units["gpus"] == "1"
    assert units["gpu_memory_mib"] == "MiB" and units["energy_j"] == "J"
    units = loaded.series.attrs["units"]
    if "images_per_s_low" in units:
        assert units["images_per_s_low"] == units["images_per_s"]
    assert units["gpu_hours"] == "h" and units["speedup_steady"] == "1"
    assert units["energy_kwh"] == "kWh" and units["median_epoch_s_runs"] == "1"
    assert loaded.epochs.attrs["units"]["seconds"] == "s"


def test_a_text_that_is_guarded_in_csv(golden, tmp_path):
    shutil.copytree(golden / "report", tmp_path / "report")
    path = tmp_path / "report/results.csv"
    path.write_text(path.read_text().replace("unet-g01-s1", "'=SUM(1)", 1))
    assert unetctl.load(tmp_path).runs["run"].str.startswith("=SUM(1)").any()


def complaint(call):
    with pytest.raises(unetctl.StudyError) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    return text


def test_folders_that_are_not_reports(golden, tmp_path):
    assert "not the folder of a study" in complaint(lambda: unetctl.load(tmp_path))
    assert "not the folder" in complaint(lambda: unetctl.load(tmp_path / "absent"))
    (tmp_path / "study.yaml").write_text("name: x\n")
    text = complaint(lambda: unetctl.load(tmp_path))
    assert "has no report" in text and f"type 'unetctl report -C {tmp_path}'" in text
    assert unetctl.load(golden / "report").name == unetctl.load(golden).name


def test_damaged_files(golden, tmp_path):
    shutil.copytree(golden / "report", tmp_path / "report")
    path = tmp_path / "report/report.json"
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    assert "report.json: this is not a whole report" in complaint(lambda: unetctl.load(tmp_path))
    path.write_text("[1]\n")
    assert "report.json: this is not a whole report" in complaint(lambda: unetctl.load(tmp_path))
    path.write_text(whole.replace('"schema": 1', '"schema": 2'))
    assert "its schema is 2, and this version reads 1" in complaint(lambda: unetctl.load(tmp_path))
    path.write_text(whole)
    loaded = unetctl.load(tmp_path)
    for name, frame in (("results", "runs"), ("epochs", "epochs")):
        table = tmp_path / f"report/{name}.csv"
        table.write_text(table.read_text()[:-20])
        assert f"{name}.csv: its last line is cut off" in complaint(lambda: getattr(loaded, frame))
    (tmp_path / "report/epochs.csv").unlink()
    assert "epochs.csv: the report has no such file" in complaint(lambda: loaded.epochs)


def test_a_half_written_record_is_no_result(golden, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(golden, folder)
    record = folder / "runs/unet-g01-s1/attempt-1/record.jsonl"
    record.write_text(record.read_text()[:-100])
    subprocess.run(["unetctl", "report", "-C", folder], check=True, capture_output=True)
    loaded = unetctl.load(folder)
    row = loaded.runs.set_index("run").loc["unet-g01-s1"]
    assert row["state"] == "corrupt" and "record.jsonl" in row["note"]
    assert "unet-g01-s1" not in set(loaded.epochs["run"])


@pytest.mark.parametrize("module, call", [("pandas", "runs"), ("matplotlib", "plot.speedup()"),
                                          ("mlflow", "to_mlflow()")])
def test_packages_that_are_missing(golden, module, call):
    code = f"import sys; sys.modules[{module!r}] = None\nimport unetctl\ntry:\n" \
           f"    unetctl.load({str(golden)!r}).{call}\n" \
           "except unetctl.StudyError as e:\n    print(e)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == (f"{module} is not installed, and this needs it: type "
                          f"'pip install {module}'\n")


LOAD = """
import resource, sys, time, unetctl
begun = time.process_time()
study = unetctl.load(sys.argv[1])
frames = study.runs, study.epochs, study.series, study.verdict
print(len(study.runs), len(study.epochs), time.process_time() - begun,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def test_a_study_of_10000_runs(golden, tmp_path):
    """Its seconds of the processor and MiB are printed by pytest -rP."""
    shutil.copytree(golden / "report", tmp_path / "report")
    report = read_json(tmp_path)
    run = report["runs"][0]
    report["runs"] = [{**run, "run": f"unet-g01-s{i}", "seed": i} for i in range(10000)]
    (tmp_path / "report/report.json").write_text(json.dumps(report, indent=1) + "\n")
    for name in ("results", "epochs"):
        path = tmp_path / f"report/{name}.csv"
        head, *rows = path.read_text().splitlines()
        rows = [r for r in rows if r.startswith(run["run"] + ",")]
        rows = (rows * 100)[: 100 if name == "epochs" else 1]
        path.write_text("\n".join([head] + [r.replace(run["run"], f"unet-g01-s{i}", 1)
                                            for i in range(10000) for r in rows]) + "\n")
    words = subprocess.run([sys.executable, "-c", LOAD, tmp_path], capture_output=True, text=True,
                           check=True).stdout.split()
    print("10,000 runs of 100 epochs: %s s, %s MiB" % tuple(words[2:]))
    assert words[:2] == ["10000", "1000000"]
    assert float(words[2]) < 5 and float(words[3]) < 500


@pytest.mark.parametrize("name", ["job", "schema", "study"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"unetctl.{name}"))
    assert result.attempted and not result.failed
