# SPDX-License-Identifier: BSD-3-Clause
"""A crate has what the study's files say; where it cannot be written, the old one stays as it is."""
import hashlib
import json
import shutil
import subprocess
import sys

import pytest
import unetctl
from unetctl.crate import FILE

CITATION = """license: MIT
authors:
  - {family-names: Lovelace, given-names: Ada, orcid: "https://orcid.org/0000-0002-1825-0097"}
  - name: The group
"""


@pytest.fixture
def folder(study, tmp_path):
    shutil.copytree(study, tmp_path / "study")
    (tmp_path / "study/CITATION.cff").write_text(CITATION)
    return tmp_path / "study"


def read(folder):
    graph = json.loads((folder / FILE).read_text())["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    assert len(entities) == len(graph)
    return entities


def references(value):
    values = value if isinstance(value, list) else [value]
    return [v["@id"] for v in values if isinstance(v, dict)]


def change_report(folder, change):
    path = folder / "report/report.json"
    report = json.loads(path.read_text())
    for run in report["runs"]:
        change(run)
    path.write_text(json.dumps(report))


def test_runs_inputs_programs_and_people(folder):
    runs = unetctl.load(folder).report["runs"]
    assert unetctl.load(folder).write_crate() == [
        f"{run['run']} is {run['state']}: {run['note']}" for run in runs if run["state"] != "done"]
    entities = read(folder)
    for entity in entities.values():
        for key, value in entity.items():
            assert key == "conformsTo" or set(references(value)) <= set(entities)
        if "contentSize" in entity:
            assert int(entity["contentSize"]) == (folder / entity["@id"]).stat().st_size
    root = entities["./"]
    assert references(root["license"]) == ["https://spdx.org/licenses/MIT"]
    assert [(entities[a]["@type"], entities[a]["name"]) for a in references(root["author"])] == [
        ("Person", "Ada Lovelace"), ("Organization", "The group")]
    assert references(root["author"])[0] == "https://orcid.org/0000-0002-1825-0097"
    runs = [run for run in runs if run["state"] == "done"]
    assert references(root["mentions"]) == [f"#run-{run['run']}" for run in runs]
    for run in runs:
        action = entities[f"#run-{run['run']}"]
        program = entities[references(action["instrument"])[0]]
        plan = json.loads((folder / f"runs/{run['run']}/run.json").read_text())
        script = plan["program"]["script"] if run["engine"] != "embedded" else "unet-train"
        assert program["name"] == script
        assert program.get("softwareRequirements") == (run["versions"] or None)
        assert action["actionStatus"].endswith("/CompletedActionStatus")
        assert action.get("startTime") == run["started"]
        has_user = '"user":' in (folder / ".unetctl/ledger.jsonl").read_text()  # older ones have none
        assert [entities[a]["@type"] for a in references(action.get("agent"))] == ["Person"] * has_user
        result = entities[references(action["result"])[0]]
        assert result["@id"] + "DONE" in references(result["hasPart"])
        objects = [entities[o] for o in references(action["object"])]
        assert {"run.json", "run_file.sh", "submit_file.sh"} < {o["name"] for o in objects}
        sources = [o for o in objects if "/source-" in o["@id"]]
        assert len(sources) == ((folder / "train.py").exists())
        for source in sources:
            text = (folder / source["@id"]).read_bytes()
            assert source["sha256"] == hashlib.sha256(text).hexdigest()
        if (folder / "split.json").exists():
            split = json.loads((folder / "split.json").read_text())
            inputs = entities[f"file://{split['data']}/"]
            assert inputs in objects
            got = [entities[i]["sha256"] for i in references(inputs["hasPart"])]
            items = split["train"] + split["val"]
            assert sorted(got) == sorted(i[k] for i in items for k in ("image_sha256", "mask_sha256"))


def test_the_author_is_of_git(folder):
    if subprocess.run(["git", "config", "--global", "user.name", "Grace Hopper"], check=False).returncode:
        pytest.skip("git is not installed")
    (folder / "CITATION.cff").unlink()
    unetctl.load(folder).write_crate()
    assert read(folder)["#author-Grace%20Hopper"]["name"] == "Grace Hopper"


@pytest.mark.parametrize("name, text, reason", [
    ("CITATION.cff", "authors: [", "CITATION.cff: this is not YAML"),
    ("CITATION.cff", "license: MIT", "CITATION.cff: there is no list of 'authors'"),
    ("split.json", '{"schema":1,', "split.json: "),
    ("split.json", '[]', "split.json: "),
    (FILE, "{}", f"{FILE}: another program wrote this file")])
def test_files_that_are_damaged(golden, tmp_path, name, text, reason):
    folder = tmp_path / "study"
    shutil.copytree(golden, folder)
    unetctl.load(folder).write_crate()
    (folder / name).write_text(text)
    before = (folder / FILE).read_bytes()
    done = subprocess.run([sys.executable, "-m", "unetctl.crate", folder], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("unetctl.crate: error: ")
    assert reason in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert (folder / FILE).read_bytes() == before


def test_a_folder_that_cannot_be_written(folder):
    (folder / FILE).with_suffix(".tmp").mkdir()
    with pytest.raises(unetctl.StudyError, match=f"{FILE}: Is a directory"):
        unetctl.load(folder).write_crate()


def test_runs_that_have_not_ended(folder):
    first, second = [run["run"] for run in unetctl.load(folder).report["runs"]][:2]
    change_report(folder, lambda run: run["run"] == first and run.update(state="killed", note="by me"))
    shutil.rmtree(folder / f"runs/{second}")
    left_out = unetctl.load(folder).write_crate()
    assert left_out[0] == f"{first} is killed: by me" and f"{second} has no folder" in left_out[1]
    assert not {f"#run-{first}", f"#run-{second}"} & set(read(folder))
    change_report(folder, lambda run: run.update(state="failed", note="why"))
    with pytest.raises(unetctl.StudyError, match="no run has a result"):
        unetctl.load(folder).write_crate()


def test_a_run_that_failed(folder):
    last = unetctl.load(folder).report["runs"][-1]["run"]
    change_report(folder, lambda run: run["run"] == last and run.update(state="failed", note="why"))
    unetctl.load(folder).write_crate()
    action = read(folder)[f"#run-{last}"]
    assert action["actionStatus"].endswith("/FailedActionStatus") and action["error"] == "why"


def test_a_report_without_a_study(golden, tmp_path):
    shutil.copytree(golden / "report", tmp_path / "report")
    with pytest.raises(unetctl.StudyError, match="give that folder"):
        unetctl.load(tmp_path / "report").write_crate()
