# SPDX-License-Identifier: BSD-3-Clause
"""What any script that `unetctl` starts needs of its run (doc/FORMATS.md, "Engines").

    job = unetctl.Job(resumes=True)
    state = torch.load(job.resume / "state.pt") if job.resume else begin()
    log = job.open_log(state.epoch)
    for epoch in range(state.epoch, epochs):
        ...
        log.row(epoch=epoch, epoch_time=seconds, loss=loss, val_loss=val_loss)
        if job.stopping:
            torch.save(state, job.checkpoint / "state.pt")
            job.leave()
"""
from __future__ import annotations

import json
import math
import os
import signal
import sys
from pathlib import Path

STOPPED = 75  # the exit code of a run that has stopped at a checkpoint


def read_variable(name: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise SystemExit(
            f"{name} is not set: this script runs in a job of `unetctl submit`") from None


class Job:
    """Who this process is in its run, and where its files go.

    >>> import tempfile
    >>> os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", UNETCTL_TASK_GPUS="1",
    ...                   UNETCTL_GPUS="1", UNETCTL_SEED="7",
    ...                   UNETCTL_ATTEMPT_DIR=tempfile.mkdtemp())
    >>> job = Job()
    >>> job.seed, job.limit_steps, job.resume
    (7, None, None)
    >>> job.open_log().row(epoch=0, epoch_time=1.5, loss=0.25)
    >>> print(open(os.path.join(job.dir, "log.jsonl")).read(), end="")
    {"epoch": 0, "epoch_time": 1.5, "loss": 0.25}
    """

    def __init__(self, resumes: bool = False) -> None:
        """With resumes, as in study.yaml, USR1 and TERM no longer end the process."""
        self.rank = int(read_variable("RANK"))
        self.world_size = int(read_variable("WORLD_SIZE"))
        self.local_rank = int(read_variable("LOCAL_RANK"))
        self.task_gpus = int(read_variable("UNETCTL_TASK_GPUS"))
        self.gpus = int(read_variable("UNETCTL_GPUS"))
        self.seed = int(read_variable("UNETCTL_SEED"))
        self.dir = read_variable("UNETCTL_ATTEMPT_DIR")
        # Where the run ends before its last epoch; None: it does not.
        self.limit_steps = int(os.environ.get("UNETCTL_STEPS") or 0) or None
        self.limit_minutes = float(os.environ.get("UNETCTL_MINUTES") or 0) or None
        self.stopping = False
        for number in (signal.SIGUSR1, signal.SIGTERM) if resumes else ():
            signal.signal(number, self._stop)

    def _stop(self, *_) -> None:
        self.stopping = True

    @property
    def checkpoint(self) -> Path:
        """The folder that the checkpoint of this attempt is written to."""
        folder = Path(self.dir, "checkpoint")
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def resume(self) -> Path | None:
        """The folder of the checkpoint to continue from, or None where the run begins."""
        for attempt in self._attempts():
            folder = attempt / "checkpoint"
            if folder.is_dir() and any(folder.iterdir()):
                return folder
        return None

    def _attempts(self) -> list[Path]:
        return [Path(d) for d in (self.dir, os.environ.get("UNETCTL_RESUME_DIR")) if d]

    def leave(self) -> None:
        """Ends the process after its checkpoint; `unetctl resume` or Slurm continues the run."""
        sys.exit(STOPPED)

    def check_start(self) -> None:
        """Ends the process where a later start of its job has taken the attempt over."""
        start = os.environ.get("UNETCTL_START")
        if start and not os.path.exists(start):
            raise SystemExit(f"{self.dir}: a later start of this job has taken it over")

    def open_log(self, epoch: int = 0, key: str = "epoch") -> Log:
        """Opens log.jsonl before the given epoch, or the step that key names."""
        return Log(self, epoch, key)


class Log:
    """The rows of a training, log.jsonl, which `unetctl collect` reads ("Logs of other programs").

    A run that continues keeps the rows of the epochs before it, also those of the attempt that it
    resumes. Only rank 0 writes.
    """

    def __init__(self, job: Job, first: int = 0, key: str = "epoch") -> None:
        self.job, self.path = job, Path(job.dir, "log.jsonl")
        if job.rank != 0:
            return
        kept = [row for row in self._read() if row.get(key, first) < first] if first else []
        job.check_start()
        part = self.path.with_suffix(".tmp")
        part.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
        os.replace(part, self.path)

    def _read(self) -> list[dict]:
        """Returns the rows of the newest attempt that has any, but no half-written last one."""
        for attempt in self.job._attempts():
            path = attempt / self.path.name
            if path.exists():
                lines = path.read_text(encoding="utf-8").split("\n")[:-1]
                return [json.loads(line) for line in lines]
        return []

    def row(self, **values: object) -> None:
        """Appends a row: epoch or step, a time, and any of loss, val_loss, accuracy and so on."""
        for name, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise SystemExit(f"{name} is {value} in the row {values}")
        if self.job.rank == 0:
            self.job.check_start()
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")
