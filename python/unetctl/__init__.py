# SPDX-License-Identifier: BSD-3-Clause
"""Studies of `unetctl` in Python: what a training script needs of its run, and what a report found.

    study = unetctl.load("demo")      runs, epochs, series and verdict as pandas data frames
    study.plot.speedup()              the figures of the report in matplotlib
    study.write_crate()               the study as RO-Crate, to deposit it
    study.to_mlflow()                 the runs in MLflow; to_wandb() in Weights & Biases
    job = unetctl.Job()               in a training script: its rank, its log, its checkpoint
    run = unetctl.Run()               the same with the images and settings of the study

Importing it needs nothing but Python. NumPy, Pillow, pandas and matplotlib are imported when used.
"""
from .job import Job, Log
from .run import Run
from .study import Study, StudyError, load

__all__ = ["Job", "Log", "Run", "Study", "StudyError", "load"]
