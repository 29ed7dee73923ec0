# SPDX-License-Identifier: BSD-3-Clause
"""What the phases of bench/gpu/visit have in common: cases, programs, commands."""

import collections
import ctypes
import glob
import os
import re
import shutil
import sys

from runner import Command, first_error

Case = collections.namedtuple("Case", "base height width batch steps")
CASES = (Case(8, 768, 1024, 16, 30), Case(8, 256, 256, 16,
                                          200), Case(16, 256, 256, 16,
                                                     200), Case(64, 256, 256, 16, 30))
# Where a program lies in a build tree, after the folder of carried programs and bench/gpu/plain's.
BUILT = {
    "unet-train": "unet-train",
    "opcheck": "trainer/ops/test/opcheck.t",
    "network": "trainer/backends/cuda/test/gpu.t",
    "comm_nccl": "trainer/comm/test/nccl_gpu.t",
    "cudnn_real": "trainer/backends/cuda/test/cudnn_real.t"}
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Missing(Exception):
    """A program or library that a phase needs is not there."""


def words(env):
    return " ".join(f"{key}={value}" for key, value in env.items())


def name_case(mode, case):
    return f"{mode}, base {case.base}, {case.height}x{case.width}, batch {case.batch}"


def under(tool, command):
    """The command, run by a profiler or sanitizer. Our libraries are not for the tool itself, which
    has others of the same names."""
    env = dict(command.env)
    path = "LD_LIBRARY_PATH=" + env.pop("LD_LIBRARY_PATH", "")
    return command._replace(argv=[*tool, shutil.which("env") or "env", path, *command.argv],
                            env=env)


class Tools:
    def __init__(self, programs, scratch, runner, results, small):
        self.programs, self.scratch, self.small = programs, scratch, small
        self.first = []  # lines of the first call
        self.runner, self.results = runner, results
        self.python = os.environ.get("PYTHON", sys.executable)
        self.ours = {"HOME": scratch, "XDG_CACHE_HOME": scratch + "/cache"}
        self.gpus, self.no_ours, self.no_torch, self.has_torch = 1, "", "", False
        self.torch_seen = {}  # lines of each command of PyTorch
        runner.env = {"TMPDIR": scratch, "TORCHINDUCTOR_CACHE_DIR": scratch + "/inductor",
                      "TORCHINDUCTOR_COMPILE_THREADS": "4", "TRITON_CACHE_DIR": scratch + "/triton"}
        self.libraries = self.find_libraries()

    def find_libraries(self):
        """Folders of Python's NVIDIA libraries, which our programs find by LD_LIBRARY_PATH, too."""
        done = self.runner.run("Python's libraries", [self.python, HERE + "/libraries.py"], 5)
        folders = [folder for folder in done.out.strip().split(":") if folder]
        carried = [self.programs + "/lib"]
        try:
            ctypes.CDLL("libstdc++.so.6")
        except OSError:
            carried.append(self.programs + "/lib/cxx")
        carried = [folder for folder in carried if os.path.isdir(folder)]
        before = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
        self.ours["LD_LIBRARY_PATH"] = ":".join(carried + before + folders)
        return folders

    # ---- programs

    def program(self, name):
        if self.no_ours:
            raise Missing(self.no_ours)
        for path in (f"bin/{name}", name, BUILT.get(name, name)):
            path = f"{self.programs}/{path}"
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise Missing(f"{self.programs} has no {name}: make gpu-visit packs it")

    def tool(self, name):
        cuda = os.environ.get("CUDA", "/usr/local/cuda")
        for path in (shutil.which(name), f"{cuda}/bin/{name}",
                     *sorted(glob.glob(f"/opt/nvidia/nsight-compute/*/{name}"))):
            if path and os.access(path, os.X_OK):
                return path
        raise Missing(f"there is no {name} in PATH nor in {cuda}/bin")

    def command(self, what, name, *words, limit=None, **env):
        quick = {"UNET_CUDA_KERNELS": "untried"} if self.small and name == "unet-train" else {}
        return Command(what, [self.program(name), *map(str, words)],
                       {**self.ours, **quick, **env}, limit)

    def do(self, *args, **more):
        return self.runner.one(self.command(*args, **more))

    # ---- what TAP programs print

    def tap(self, done):
        """Records what a test program found."""
        checks = len(re.findall(r"^ok ", done.out, re.M))
        skipped = re.search(r"^1\.\.0 # skip (.*)", done.out, re.M)
        if skipped:
            self.results.failure(done.what, "skipped: " + skipped[1])
        elif done.cut or done.code:
            self.results.failure(done.what, first_error(done), checks=checks, cut=done.cut,
                                 wrong=len(re.findall(r"^not ok", done.out, re.M)))
        else:
            self.results.add("checks", what=done.what, checks=checks,
                             seconds=round(done.seconds, 2))

    def has(self, name):
        try:
            return bool(self.program(name))
        except Missing:
            return False

    # ---- commands

    def bench(self, what, case, dtype, mode="train", steps=None, limit=None, **env):
        warmup = 0 if steps else 1 if self.small else 5
        text = (f"bench --backend cuda --json --dtype {dtype} --mode {mode} --base {case.base} "
                f"--size {case.height}x{case.width} --batch-size {case.batch} --warmup {warmup} "
                f"--steps {steps or case.steps}")
        return self.command(what, "unet-train", *text.split(), limit=limit, **env)

    def cases(self):
        """The cases; with --small ones that the emulation computes in seconds."""
        if not self.small:
            return CASES
        return [Case(c.base // 4 if c.base < 64 else 8, c.height // 16, c.width // 16, 2, 2)
                for c in CASES]

    def train(self, what, out, *words_, **more):
        side, base, threads = (32, 4, 1) if self.small else (128, 8, 6)
        text = (f"--size {side}x{side} --seed 3 --set model.base={base} "
                f"--set train.lr_scaling=none --set train.threads={threads}")
        return self.command(what, "unet-train", "train", "--data", self.data(), "--set",
                            f"data.split={self.scratch}/split.json", "--out",
                            f"{self.scratch}/{out}", *text.split(), *words_, **more)

    def data(self):
        """A folder of synthetic images and their split."""
        folder = self.scratch + "/data"
        if not os.path.exists(self.scratch + "/split.json"):
            split = self.scratch + "/split.json"
            size, count = ("32x32", 20) if self.small else ("128x128", 160)
            synth = f"data synth --count {count} --size {size} --seed 2 --out".split()
            for done in (self.do("synthetic images", "unet-train", *synth, folder),
                         self.do("their split", "unet-train", "data", "split", "--data", folder,
                                 "--out", split)):
                if done.code or done.cut:
                    raise Missing(f"{done.what}: {first_error(done)}")
        return folder
