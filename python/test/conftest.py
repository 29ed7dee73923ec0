# SPDX-License-Identifier: BSD-3-Clause
"""Studies that the tests read: the golden one of version 0.1.0, and one that is run here."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("agg")
SOURCE = Path(os.environ["srcdir"])

# A program of six epochs by unetctl.Job. Where STOP_AT is set it stops there as on a signal.
SCRIPT = '''
import os, random, signal, unetctl
job = unetctl.Job(resumes=True)
first = int((job.resume / "epoch").read_text()) if job.resume else 0
log = job.open_log(first)
random.seed(job.seed * 100 + job.gpus)
for epoch in range(first, 6):
    log.row(epoch=epoch, epoch_time=(2 if epoch else 4) / job.gpus + random.random() / 50,
            loss=1 / (epoch + 1) + random.random() / 100, val_loss=1 / (epoch + 2), images=100)
    if epoch == 3 and not job.resume and job.gpus == 1 and job.seed == 1:
        os.kill(os.getpid(), signal.SIGTERM)
    if job.stopping:
        (job.checkpoint / "epoch").write_text(str(epoch + 1))
        job.leave()
'''


def unetctl(*words, code=0):
    done = subprocess.run(["unetctl", *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """Nothing of the user counts, and nothing of theirs is written to."""
    for name in [n for n in os.environ if n.startswith(("UNETCTL_", "SLURM", "XDG_"))
                 and n != "UNETCTL_PYTHONS"]:
        del os.environ[name]
    folder = tmp_path_factory.mktemp("home")
    os.environ.update(HOME=str(folder), UNET_GPUS="fake", GIT_PYTHON_REFRESH="quiet",
                      PATH=os.environ["builddir"] + os.pathsep + os.environ["PATH"])
    os.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden") / "study"
    shutil.copytree(SOURCE / "t/golden/study-0.1.0", folder)
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    unetctl("report", "-C", folder)
    return folder


@pytest.fixture(scope="session")
def real(tmp_path_factory):
    """1 to 3 GPUs with 3 seeds each; one run stops as on a signal, and its job starts again."""
    folder = tmp_path_factory.mktemp("real") / "study"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    (folder / "study.yaml").write_text(f"""name: real
engine: pytorch
site: local
gpus: 1..3
seeds: 3
pytorch: {{script: ./train.py, python: {sys.executable}, resumes: true}}
quality: {{name: val_loss, better: lower}}
""")
    unetctl("submit", "-C", folder, "--wait", "--timeout", 120)
    unetctl("report", "-C", folder)
    return folder


@pytest.fixture(params=["golden", "real"])
def study(request):
    return request.getfixturevalue(request.param)
