# SPDX-License-Identifier: BSD-3-Clause
"""The package refuses what does not fit the schemas, as jsonschema does."""
import importlib.util
import json
import sys

import pytest
import unetctl
from conftest import SOURCE
from unetctl.schema import find_misfit


def read(name, folder):
    place = {"report": "report/report.json", "run": "runs/unet-g01-s1/run.json",
             "split": "split.json"}[name]
    return json.loads((folder / place).read_text())


@pytest.mark.parametrize("name", ["report", "run", "split"])
def test_mutations(golden, name):
    """t/schemas.py makes them; t/t5090-schemas.t shows that jsonschema refuses them all."""
    pytest.importorskip("jsonschema")
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("schemas", SOURCE / "t/schemas.py")
    schemas = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schemas)
    document = schemas.shorten(read(name, golden))
    assert find_misfit(name, document) is None
    required = json.loads((SOURCE / f"logs/{name}.schema.json").read_text())["required"]
    made = 0
    for place, what in schemas.mutate(document, required):
        wrong = find_misfit(name, schemas.change(document, place, what))
        if what == "a further key":  # only a table of texts or numbers refuses [[]] there
            assert wrong is None or "undocumented is [[]]" in wrong
        else:
            assert wrong or "iou" in place, (place, what)  # no branch of anyOf is looked into
        made += 1
    assert made > 10


def test_where_and_what():
    run = {"schema": 1, "study": "s", "study_id": "0", "run": "r", "engine": "embedded", "seed": 1,
           "layout": {"gpus": 1}, "train": {"keep": 7, "loss": "x"}}
    assert find_misfit("run", run).startswith("train.keep is 7, not 'last' or ")
    del run["seed"], run["train"]
    assert find_misfit("run", run) == "it has no 'seed'"
    assert find_misfit("run", [run]).startswith("it is [{")


def test_a_report_that_does_not_fit(golden, tmp_path):
    for change, words in ((lambda r: r["runs"][1].update(gpus="two"),
                           "runs[1].gpus is 'two', not integer"),
                          (lambda r: r["engines"][0]["points"][0].pop("gpus"),
                           "engines[0].points[0] has no 'gpus'")):
        report = read("report", golden)
        change(report)
        path = tmp_path / "report/report.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(report))
        for yaml, again in ((False, "write it again by 'unetctl report'"),
                            (True, f"type 'unetctl report -C {tmp_path}'")):
            if yaml:
                (tmp_path / "study.yaml").write_text("name: x\n")
            with pytest.raises(unetctl.StudyError) as raised:
                unetctl.load(path.parent)
            assert str(raised.value) == f"{path}: {words}: {again}"
        (tmp_path / "study.yaml").unlink()


def test_a_run_that_does_not_fit(golden, tmp_path, monkeypatch):
    run = read("run", golden)
    run["layout"]["gpus"] = None
    (tmp_path / "run.json").write_text(json.dumps(run))
    monkeypatch.setenv("UNETCTL_RUN_JSON", str(tmp_path / "run.json"))
    with pytest.raises(SystemExit, match="run.json: layout.gpus is None, not integer"):
        unetctl.Run()
