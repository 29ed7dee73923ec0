# SPDX-License-Identifier: BSD-3-Clause
"""What a training script writes and where it resumes."""
import json
import os
import signal

import pytest
import unetctl


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    for name, value in {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "UNETCTL_TASK_GPUS": 1,
                        "UNETCTL_GPUS": 2, "UNETCTL_SEED": 3, "UNETCTL_STEPS": 50,
                        "UNETCTL_RESUME_DIR": tmp_path / "attempt-1",
                        "UNETCTL_ATTEMPT_DIR": tmp_path / "attempt-2"}.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "attempt-1/checkpoint").mkdir(parents=True)
    (tmp_path / "attempt-2").mkdir()
    return tmp_path


def test_where_it_resumes(attempt):
    job = unetctl.Job()
    assert (job.rank, job.world_size, job.gpus, job.seed, job.limit_steps) == (0, 2, 2, 3, 50)
    assert job.resume is None
    (attempt / "attempt-1/checkpoint/state").write_text("1")
    assert job.resume == attempt / "attempt-1/checkpoint"
    (job.checkpoint / "state").write_text("2")
    assert job.resume == attempt / "attempt-2/checkpoint"


def test_rows_before_the_checkpoint_are_kept(attempt):
    lines = [json.dumps({"epoch": i, "loss": i / 2}) + "\n" for i in range(5)]
    (attempt / "attempt-1/log.jsonl").write_text("".join(lines) + '{"epoch": 5, "lo')
    unetctl.Job().open_log(3).row(epoch=3, loss=9.0)
    path = attempt / "attempt-2/log.jsonl"
    assert path.read_text() == "".join(lines[:3]) + '{"epoch": 3, "loss": 9.0}\n'
    unetctl.Job().open_log(1).row(epoch=1, loss=8.0)
    assert path.read_text() == lines[0] + '{"epoch": 1, "loss": 8.0}\n'
    unetctl.Job().open_log()
    assert path.read_text() == ""


def test_only_rank_0_writes(attempt, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    unetctl.Job().open_log().row(epoch=0, loss=1.0)
    assert not (attempt / "attempt-2/log.jsonl").exists()


def test_a_loss_that_is_not_a_number(attempt):
    with pytest.raises(SystemExit, match="loss is nan in the row"):
        unetctl.Job().open_log().row(epoch=0, loss=float("nan"))


def test_signals_and_a_later_start(attempt, monkeypatch):
    before = {n: signal.getsignal(n) for n in (signal.SIGUSR1, signal.SIGTERM)}
    try:
        job = unetctl.Job(resumes=True)
        assert not job.stopping
        os.kill(os.getpid(), signal.SIGUSR1)
        assert job.stopping
        with pytest.raises(SystemExit) as left:
            job.leave()
        assert left.value.code == 75
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    monkeypatch.setenv("UNETCTL_START", str(attempt / "running-1"))
    with pytest.raises(SystemExit, match="a later start"):
        job.open_log()


def test_outside_of_a_job(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(SystemExit, match="RANK is not set: this script runs in a job"):
        unetctl.Job()
