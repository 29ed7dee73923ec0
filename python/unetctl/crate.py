# SPDX-License-Identifier: BSD-3-Clause
"""A study as a Research Object Crate (RO-Crate 1.1, Process Run Crate 0.5), to be deposited.

    unetctl report -C demo && python3 -m unetctl.crate demo

STUDY/ro-crate-metadata.json says what the study's files are, which runs of the report made them,
from what, with which software, and whose work it is. It has only what the study's files record.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, Optional
from urllib.parse import quote

from .schema import find_misfit
from .study import Study, StudyError, load, need

FILE = "ro-crate-metadata.json"
MARK = b'"#unetctl"'  # only crates that are written here begin with it
DATE = "%Y-%m-%dT%H:%M:%SZ"
ORCID = "https://orcid.org/"
Entity = dict[str, Any]


def write_crate(study: Study) -> list[str]:
    """Writes FILE into the study's folder. Returns which runs are left out, and why."""
    crate = _Crate(study)
    done = sum(run["state"] == "done" for run in study.report["runs"])
    if not done:
        raise StudyError(f"{crate.folder}: no run has a result, so there is nothing to deposit")
    crate.add_root(done)
    crate.add_people()
    crate.add_inputs()
    left_out = []
    for run in study.report["runs"]:
        attempt = f"runs/{run['run']}/attempt-{run['attempt']}"
        if run["state"] not in ("done", "failed", "missing"):
            left_out.append(f"{run['run']} is {run['state']}: {run['note']}")
        elif run["state"] != "missing" and not (crate.folder / attempt).is_dir():
            left_out.append(f"{run['run']} has no folder {attempt}")
        elif run["state"] != "missing":
            crate.add_run(run, attempt)
    crate.write()
    return left_out


def _read(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the object of a JSON file, or those of its lines, without what is not whole."""
    if path.exists():
        with open(path, encoding="utf-8", errors="replace") as file:
            for text in file if path.suffix == ".jsonl" else [file.read()]:
                try:
                    yield json.loads(text)
                except ValueError:
                    pass


def _refer(entity: Entity, key: str, *others: Optional[Entity]) -> None:
    """Adds references to entities, without those that are None. Several make a list."""
    for other in filter(None, others):
        new, old = {"@id": other["@id"]}, entity.get(key)
        if isinstance(old, list):
            old.append(new)
        else:
            entity[key] = [old, new] if old else new


class _Crate:
    def __init__(self, study: Study) -> None:
        self.study, self.folder = study, study.folder.absolute().parent
        if not (self.folder / "study.yaml").exists():
            raise StudyError(f"{study.folder}: a crate describes a study, and this report is not in "
                             "the folder of one: give that folder")
        self.entities: dict[str, Entity] = {}
        self.inputs: Optional[Entity] = None
        self.users = {(line["run"], line["attempt"]): line.get("user")
                      for line in _read(self.folder / ".unetctl/ledger.jsonl")
                      if line.get("event") in ("submitting", "submitted")}

    def entity(self, kind: str, prefix: str, path: str = "", name: str = "", **more: str) -> Entity:
        """Returns the entity whose @id is prefix and path as a URI reference, made if it is new."""
        key = prefix + quote(os.fsencode(path), safe="/~")
        members = {"name": name.encode(errors="replace").decode(), **more}
        new = {"@id": key, "@type": kind, **{k: v for k, v in members.items() if v}}
        return self.entities.setdefault(key, new)

    def add_part(self, whole: Entity, path: str) -> Optional[Entity]:
        """Adds a file or folder of the study as a part of whole, unless it does not exist."""
        full, before = self.folder / path, len(self.entities)
        if not full.exists():
            return None
        part = (self.entity("Dataset", "", path + "/", full.name) if full.is_dir() else
                self.entity("File", "", path, full.name, contentSize=str(full.stat().st_size)))
        if len(self.entities) > before:
            _refer(whole, "hasPart", part)
        return part

    def add_folder(self, path: str) -> Optional[Entity]:
        """Adds a folder of the study with what is in it, but not in folders within it."""
        folder = self.add_part(self.root, path)
        for name in sorted(os.listdir(self.folder / path)) if folder else ():
            if not name.startswith("."):
                self.add_part(folder or {}, f"{path}/{name}")
        return folder

    def add_root(self, done: int) -> None:
        """Adds the metadata file, unetctl, the study as root, and its files beside the runs."""
        name = self.study.name
        file = self.entity("CreativeWork", FILE)
        unetctl = self.entity("SoftwareApplication", "#unetctl", "", "unetctl",
                              softwareVersion=self.study.report["version"])
        profile = self.entity("CreativeWork", "https://w3id.org/ro/wfrun/process/0.5", "",
                              "Process Run Crate", version="0.5")
        self.root = self.entity(
            "Dataset", "./", "", name, datePublished=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            description=f"The study {name}: {done} finished run{'s' * (done > 1)}, submitted and "
                        "collected by unetctl.")
        file["conformsTo"] = {"@id": "https://w3id.org/ro/crate/1.1"}
        _refer(file, "about", self.root)
        _refer(file, "creator", unetctl)
        _refer(self.root, "conformsTo", profile)
        self.add_part(self.root, "study.yaml")
        self.add_folder("logs")
        self.add_folder("report")

    def add_people(self) -> None:
        """Adds those of CITATION.cff and its licence; without one the author is git's user.name."""
        path = self.folder / "CITATION.cff"
        if not path.exists():
            try:
                git = subprocess.run(["git", "-C", self.folder, "config", "user.name"], timeout=10,
                                     capture_output=True, text=True, errors="replace", check=False)
            except (OSError, subprocess.TimeoutExpired):
                return
            name = git.stdout.strip()
            if name:
                _refer(self.root, "author", self.entity("Person", "#author-", name, name))
            return
        yaml = need("yaml", "pyyaml")
        try:
            citation = yaml.load(path.read_bytes(), yaml.BaseLoader)  # all scalars are texts
        except yaml.YAMLError as e:
            raise StudyError(f"{path}: this is not YAML: {' '.join(str(e).split())}") from None
        authors = citation.get("authors") if isinstance(citation, dict) else None
        if not isinstance(authors, list) or not all(isinstance(a, dict) for a in authors):
            raise StudyError(f"{path}: there is no list of 'authors': add it")
        for author in authors:
            names = (author.get("given-names"), author.get("family-names") or author.get("name"))
            name, orcid = " ".join(filter(None, names)), author.get("orcid", "")
            known = orcid.startswith(ORCID)
            if name:
                _refer(self.root, "author", self.entity(
                    "Organization" if "name" in author else "Person", ORCID if known else "#author-",
                    orcid[len(ORCID):] if known else name, name))
        terms = citation.get("license")
        if terms:
            _refer(self.root, "license",
                   self.entity("CreativeWork", "https://spdx.org/licenses/", terms, terms))

    def add_inputs(self) -> None:
        """Adds the images of split.json, if the study has one."""
        path = self.folder / "split.json"
        if not self.add_part(self.root, path.name):
            return
        split = next(_read(path), {})
        wrong = find_misfit("split", split)
        if wrong:
            raise StudyError(f"{path}: {wrong}: unetctl writes this file, and it was changed since")
        data = split["data"]
        self.inputs = self.entity("Dataset", "file://", data + "/", data)
        _refer(self.root, "hasPart", self.inputs)
        for side, key in (("train", "image"), ("train", "mask"), ("val", "image"), ("val", "mask")):
            for item in split[side]:
                if item.get(key):
                    _refer(self.inputs, "hasPart", self.entity(
                        "File", "file://", f"{data}/{item[key]}", item[key], sha256=item[f"{key}_sha256"]))

    def add_source(self, action: Entity, run: str, attempt: str) -> None:
        """Adds what source.sha256 of an attempt lists: files, of which RUN/source-HASH has copies,
        and a container."""
        path = self.folder / attempt / "source.sha256"
        text = path.read_bytes() if path.exists() else b""
        copies = f"runs/{run}/source-{hashlib.sha256(text).hexdigest()[:8]}"
        for line in os.fsdecode(text).split("\n"):
            name = line[66:]  # as sha256sum prints it
            if name:
                file = (self.add_part(self.root, f"{copies}/{name}") or
                        self.entity("SoftwareSourceCode", "#source-", name, name))
                file["sha256"] = line[:64]
                _refer(action, "object", file)

    def get_program(self, run: dict[str, Any], attempt: str) -> Entity:
        """Returns the program that ran, one for all runs with the same versions of everything."""
        record = next(_read(self.folder / attempt / "record.jsonl"), {})
        plan = next(_read(self.folder / "runs" / run["run"] / "run.json"), {})
        name = ("unet-train" if run["engine"] == "embedded" else
                plan.get("program", {}).get("script") or run["engine"])
        version, versions = record.get("version", ""), run["versions"] or ""
        key = hashlib.sha256(os.fsencode(f"{name} {version} {versions}")).hexdigest()[:8]
        return self.entity("SoftwareApplication", "#program-", key, name, softwareVersion=version,
                           softwareRequirements=versions)

    def add_run(self, run: dict[str, Any], attempt: str) -> None:
        """Adds a run as an action with its inputs and results."""
        failed, name, gpus, ended = run["state"] == "failed", run["run"], run["gpus"], ""
        marker = self.folder / attempt / ("FAILED" if failed else "DONE")
        if run["started"] and marker.exists():
            seconds = marker.stat().st_mtime
            ended = datetime.fromtimestamp(seconds, timezone.utc).strftime(DATE)
        action = self.entity(
            "CreateAction", "#run-", name, f"{name}: {gpus} GPU{'s' * (gpus > 1)}, seed {run['seed']}",
            startTime=run["started"] or "",
            endTime=ended * (ended >= (run["started"] or "")),  # the marker of a copy may be older
            actionStatus=f"http://schema.org/{'Failed' if failed else 'Completed'}ActionStatus",
            error=run["note"] * failed)
        _refer(self.root, "mentions", action)
        user = self.users.get((name, run["attempt"]))
        if user:
            _refer(action, "agent", self.entity("Person", "#user-", user, user))
        _refer(action, "instrument", self.get_program(run, attempt))
        files = [self.add_part(self.root, f"runs/{name}/{file}")
                 for file in ("run.json", "run_file.sh", "submit_file.sh")]
        _refer(action, "object", *files, self.entities.get("split.json"), self.inputs)
        self.add_source(action, name, attempt)
        _refer(action, "result", self.add_folder(attempt))

    def write(self) -> None:
        """Writes the file as a whole, unless one of another program is there."""
        path = self.folder / FILE
        part = path.with_suffix(".tmp")
        document = {"@context": ["https://w3id.org/ro/crate/1.1/context",
                                 {"sha256": "http://schema.org/sha256"}],
                    "@graph": list(self.entities.values())}
        try:
            if path.is_symlink() or (path.exists() and MARK not in path.read_bytes()[:4096]):
                raise StudyError(f"{path}: another program wrote this file: move it away")
            with open(part, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as e:
            raise StudyError(f"{path}: {e.strerror}") from None
        finally:
            if part.is_file():
                part.unlink()


def main() -> None:
    parser = argparse.ArgumentParser("python3 -m unetctl.crate", description=f"Writes {FILE}.")
    parser.add_argument("study", nargs="?", default=".", help="its folder, with a report")
    try:
        for text in load(parser.parse_args().study).write_crate():
            print(f"unetctl.crate: warning: {text} (not in {FILE})", file=sys.stderr)
    except StudyError as e:
        sys.exit(f"unetctl.crate: error: {e}")


if __name__ == "__main__":
    main()
