# SPDX-License-Identifier: BSD-3-Clause
"""The runs of a report in experiment trackers, through their own packages."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple

from .study import need

if TYPE_CHECKING:
    from .study import Study

DONE = "done"
PARAMS = ("engine", "gpus", "nodes", "seed", "attempt", "device", "hosts", "versions", "started")


class Tracked(NamedTuple):
    """A run as trackers know it: params are facts, metrics are numbers of the whole run."""
    name: str
    state: str
    params: dict[str, str]
    metrics: dict[str, float]
    epochs: list[tuple[int, dict[str, float]]]  # metrics of each, with epoch/ before their names
    files: list[Path]


def _runs(study: Study) -> Iterator[Tracked]:
    epochs = dict(list(study.epochs.groupby("run", observed=True)))
    for run in study.report["runs"]:
        params = {k: str(run[k]) for k in PARAMS if run.get(k) is not None}
        params.update((k, str(v)) for k, v in (run["settings"] or {}).items())
        metrics = {k: v for k, v in run.items() if isinstance(v, float)}
        points = []
        if run["run"] in epochs:
            table = epochs[run["run"]].drop(columns=["run", "gpus", "seed"]).set_index("epoch")
            points = [(int(e), {f"epoch/{k}": v for k, v in row.dropna().items()})
                      for e, row in table.iterrows()]
        attempt = study.folder.parent / "runs" / run["run"] / f"attempt-{run['attempt']}"
        paths = [attempt.parent / "run.json", attempt / "record.jsonl",
                 study.folder.parent / "logs" / (run["log"] or "-")]
        yield Tracked(run["run"], run["state"], params, metrics, points,
                      [p for p in paths if p.is_file()])


def to_mlflow(study: Study, uri: str | None, experiment: str | None) -> str:
    """Writes each run that MLflow does not have with this attempt, and one with the report."""
    mlflow = need("mlflow")
    from mlflow.entities import Metric, Param
    client = mlflow.MlflowClient(uri)
    name = experiment or study.name
    found = client.get_experiment_by_name(name)
    place = found.experiment_id if found else client.create_experiment(name)
    known = {(r.info.run_name, r.data.params.get("attempt"))
             for r in client.search_runs([place], max_results=50000)}
    for run in _runs(study):
        if (run.name, run.params.get("attempt")) in known:
            continue
        made = client.create_run(place, run_name=run.name, tags={"unetctl.state": run.state})
        at, number = made.info.start_time, made.info.run_id
        metrics = [Metric(k, v, at, 0) for k, v in run.metrics.items()]
        metrics += [Metric(k, v, at, e) for e, row in run.epochs for k, v in row.items()]
        client.log_batch(number, params=[Param(k, v[:6000]) for k, v in run.params.items()])
        for i in range(0, len(metrics), 1000):
            client.log_batch(number, metrics=metrics[i:i + 1000])
        for path in run.files:
            client.log_artifact(number, str(path))
        client.set_terminated(number, "FINISHED" if run.state == DONE else "FAILED")
    made = client.create_run(place, run_name="report")
    client.log_artifacts(made.info.run_id, str(study.folder))
    client.set_terminated(made.info.run_id)
    return place


def to_wandb(study: Study, folder: str, offline: bool, project: str | None) -> None:
    """Writes each run; online, a run that is there already is written again."""
    wandb = need("wandb")
    for run in _runs(study):
        with wandb.init(dir=folder, project=project or study.name, name=run.name,
                        id=f"{study.name}-{run.name}-{run.params.get('attempt')}",
                        mode="offline" if offline else "online", config=run.params,
                        settings=wandb.Settings(silent=True)) as made:
            for epoch, values in run.epochs:
                made.log(values, step=epoch)
            made.summary.update({"state": run.state, **run.metrics})
            for path in run.files:
                made.save(str(path), base_path=str(path.parent), policy="now")
