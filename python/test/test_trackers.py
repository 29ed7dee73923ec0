# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the real trackers: parameters, metrics by epoch, artifacts; and MLflow's page."""
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
import unetctl


@pytest.fixture(scope="module")
def tracked(real):
    mlflow = pytest.importorskip("mlflow")
    uri = f"sqlite:///{real.parent}/mlflow.db"
    os.chdir(real.parent)
    place = unetctl.load(real).to_mlflow(uri)
    return mlflow.MlflowClient(uri), place, uri


def test_runs_in_mlflow(real, tracked):
    client, place, uri = tracked
    study = unetctl.load(real)
    found = {r.info.run_name: r for r in client.search_runs([place])}
    assert set(found) == {"report", *study.runs["run"]} and len(found) == 10
    for run in study.report["runs"]:
        tracked_run = found[run["run"]]
        assert tracked_run.info.status == "FINISHED"
        params, metrics = tracked_run.data.params, tracked_run.data.metrics
        assert (params["gpus"], params["seed"]) == (str(run["gpus"]), str(run["seed"]))
        assert metrics["median_epoch_s"] == run["median_epoch_s"]
        epochs = study.epochs[study.epochs["run"] == run["run"]]
        history = client.get_metric_history(tracked_run.info.run_id, "epoch/loss")
        assert [(m.step, m.value) for m in history] == list(zip(epochs["epoch"], epochs["loss"]))
        files = [a.path for a in client.list_artifacts(tracked_run.info.run_id)]
        assert files == ["log_%s" % run["log"].partition("_")[2], "run.json"]
    path = client.download_artifacts(found["report"].info.run_id, "report.json", str(real.parent))
    assert json.load(open(path)) == study.report
    study.to_mlflow(uri)
    again = [r.info.run_name for r in client.search_runs([place])]
    assert len(again) == len(found) + 1 and again.count("report") == 2


def test_the_page_of_mlflow(tracked):
    _, place, uri = tracked
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--port", str(port),
             "--workers", "1"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as server:
        try:
            body = json.dumps({"experiment_ids": [place]}).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/api/2.0/mlflow/runs/search", body,
                {"Content-Type": "application/json"})
            for _ in range(600):
                try:
                    with urllib.request.urlopen(request, timeout=10) as answer:
                        runs = json.load(answer)["runs"]
                    break
                except OSError:
                    assert server.poll() is None
                    time.sleep(0.2)
            assert "pytorch-g03-s3" in {r["info"]["run_name"] for r in runs}
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
                assert b"<html" in answer.read()
        finally:
            os.killpg(server.pid, 15)


def test_runs_in_wandb(real, tmp_path):
    pytest.importorskip("wandb")
    study = unetctl.load(real)
    study.to_wandb(str(tmp_path))
    kept = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert len(kept) == 9
    data = next(p for p in kept if "g02-s1" in p.name).read_bytes()
    losses = study.epochs[study.epochs["run"] == "pytorch-g02-s1"]["loss"]
    for text in ["epoch/loss", "median_epoch_s", "pytorch-g02-s1", *map(repr, losses.tolist())]:
        assert text.encode() in data
