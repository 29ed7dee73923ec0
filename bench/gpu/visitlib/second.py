# SPDX-License-Identifier: BSD-3-Clause
"""The phases of the second call of bench/gpu/visit."""

import json
import signal
import socket
import time

from first import First
from reading import read_bytes, read_log, read_text
from runner import first_error, signal_one
from tools import under


def is_doubtful(line):
    """Whether PyTorch's steps differed; ours have only a mean."""
    return line.get("step_s_max", 0) > 1.1 * line.get("step_s_min", line["step_s"])


def key_of(word):
    way, mode, base, size, batch, _ = word.split(":")
    height, width = map(int, size.split("x"))
    return "torch " + way, mode, (int(base), height, width, int(batch))


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)


class Visit(First):
    def ranks(self):
        """Two processes with NCCL, on one GPU where there is only one."""
        for ranks in sorted({1, min(self.gpus, 4)}):
            self.tap(self.do(f"NCCL, ranks: {ranks}", "comm_nccl", ranks, limit=15))
        self.tap(self.do("NCCL, two ranks on one GPU", "comm_nccl", 2, "shared", limit=30))
        batch = 4 if self.small else 16  # few steps: the ranks take turns on one GPU
        for norm in ("none", "sync"):
            one = ("--epochs 2 --lr 0.01 --backend cuda --dtype f32 "
                   f"--set model.batch_norm={norm}").split()
            alone = self.train(f"{norm} norm, one rank", f"ranks-{norm}-1", *one,
                               "--batch-size", 2 * batch)
            if not self.results.failures_of([self.runner.one(alone)]):
                continue
            for record in ("on", "off"):
                what, out = (f"{norm} norm, two ranks, UNET_CAPTURE={record}",
                             f"ranks-{norm}-{record}")
                both = self.two(what, out, *one, "--batch-size", batch, UNET_CAPTURE=record)
                if self.results.failures_of(list(self.runner.each(both, 2))):
                    self.same_losses(what, f"ranks-{norm}-1", out)
        self.lose_rank(batch)

    def two(self, what, out, *words_, **env):
        """The commands of both ranks. Those of one GPU count as two hosts, or NCCL refuses them."""
        with socket.create_server(("127.0.0.1", 0)) as a, \
                socket.create_server(("127.0.0.1", 0)) as b:
            hosts = [f"127.0.0.1:{s.getsockname()[1]}" for s in (a, b)]
        env = {"PMI_SIZE": "2", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", **env}
        both = []
        for rank in range(2):
            spec = {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": rank}}
            own = {**env, "PMI_RANK": str(rank), "LOCAL_RANK": str(rank % self.gpus),
                   "TF_CONFIG": json.dumps(spec)}
            if self.gpus < 2:
                own.update({"UNET_SHARE_GPU": "1", "NCCL_HOSTID": f"visit-{rank}"})
            both.append(self.train(f"{what}, rank {rank}", out, "--set", "train.timeout_s=15",
                                   *words_, limit=25, **own))
        return both

    def same_losses(self, what, one, two):
        a, b = read_log(f"{self.scratch}/{one}"), read_log(f"{self.scratch}/{two}")
        worst = max(abs(x["loss"] - y["loss"]) for x, y in zip(a, b))
        if len(a) == len(b) and worst <= 0.002:
            self.results.add("checks", what=what + " as one", checks=len(a), worst=worst)
        else:
            self.results.failure(what, f"losses differ from those of one rank by up to {worst:.4g}")

    def lose_rank(self, batch):
        """Rank 1 is killed in training; rank 0 must end with exit code 5 and name it."""
        both = self.two("a killed rank", "ranks-lost", "--epochs", 100000, "--lr", "0.01",
                        "--backend", "cuda", "--batch-size", batch)
        running = [self.runner.start(c) for c in both]
        record = f"{self.scratch}/ranks-lost/record.jsonl"
        try:
            wait_for(lambda: '"kind":"epoch"' in read_text(record), min(20, self.runner.left()))
            signal_one(-running[1].process.pid, signal.SIGKILL)
            wait_for(running[0].ended, min(25, self.runner.left()))
            late = not running[0].ended()
        finally:
            done = [self.runner.finish(one, True) for one in running]
        if late or done[0].code != 5 or "rank 1" not in done[0].err:
            self.results.failure("a killed rank",
                                 f"rank 0: exit code {done[0].code}: {first_error(done[0])}")
        else:
            self.results.add("checks", what="a killed rank is named by the other", checks=1)

    def training(self):
        """A whole small training: the GPU's IoU beside the CPU's."""
        epochs = 2 if self.small else 30
        how = ["--epochs", epochs, "--batch-size", 4 if self.small else 16, "--lr", "0.003"]
        runs = {"cpu": ["--backend", "cpu"], "bf16": ["--backend", "cuda", "--dtype", "bf16"],
                "f32": ["--backend", "cuda", "--dtype", "f32"]}
        commands = [self.train(f"training, {name}", "whole-" + name, *how, *more)
                    for name, more in runs.items()]
        done = {d.what: d for d in self.runner.each(commands, 3)}
        for name in runs:
            one = done[f"training, {name}"]
            if self.results.failures_of([one]):
                last = read_log(f"{self.scratch}/whole-{name}")[-1]
                self.results.add("training", who=name, epochs=epochs, iou=last["iou"],
                                 loss=last["loss"], seconds=round(one.seconds, 1))

    def resume(self):
        """A run that is stopped and resumed has the weights of one that was not."""
        how = (f"--epochs {8 if self.small else 40} --batch-size 4 --backend cuda --dtype f32 "
               "--set train.deterministic=true").split()
        running = self.runner.start(self.train("the run that is stopped", "left", *how))
        record = f"{self.scratch}/left/record.jsonl"
        wait_for(lambda: '"kind":"epoch","epoch":2' in read_text(record), self.runner.left() / 3)
        signal_one(running.process.pid, signal.SIGUSR1)
        wait_for(running.ended, self.runner.left() / 3)
        done = self.runner.finish(running, not running.ended())
        if done.code != 75:
            self.results.failure(done.what, f"exit code {done.code}, not 75: {first_error(done)}")
            return
        both = [self.train("the run that is resumed", "left", *how),
                self.train("a run in one piece", "whole", *how)]
        if not self.results.failures_of(list(self.runner.each(both, 2))):
            return
        resumed, whole = (read_bytes(f"{self.scratch}/{run}/checkpoint/weights.safetensors")
                          for run in ("left", "whole"))
        if whole and resumed == whole:
            self.results.add("checks", what="stopped and resumed: the same weights", checks=1)
        else:
            self.results.failure("stopped and resumed",
                                 "the weights differ from those of a run in one piece")

    def sanitizer(self):
        """Own kernels only: what libraries do is not ours."""
        tool, path = self.tool("compute-sanitizer"), self.program("network")
        listed = self.runner.run("parts of network", [path, "--list"], 10, self.ours)
        parts = listed.out.split() or [""]
        parts = parts[1:] + parts[:1]  # the first tries the kernels of many networks
        commands = []
        for part in parts:
            for check in ("memcheck", "racecheck"):
                how = [tool, "--tool", check, "--error-exitcode", "9", "--target-processes", "all"]
                command = self.command(f"{check}, whole networks, part {part}", "network",
                                       *part.split(), UNET_CUDNN="off")
                commands.append(under(how, command))
        for done in self.runner.each(commands[:4] if self.small else commands, 8):
            self.tap(done)

    def again(self):
        """Measures what the first call has not, or only doubtfully, and a longer autotuning."""
        lines = [line for line in self.first if line["kind"] == "time"]
        good = {(line["who"], line["mode"], tuple(line["case"]))
                for line in lines if not is_doubtful(line)}
        self.measure_ours([(mode, dtype, case) for mode, dtype, case in self.measurements_of_ours()
                           if ("ours " + dtype, mode, case[:4]) not in good])
        ways = "eager", "graph", "compile-graphs", "tf32", "compile"
        missing = [word for word in self.torch_words(ways) if key_of(word) not in good]
        longer = self.torch_words(["compile-max"], ["train"])[:2]
        self.measure_torch("PyTorch again", missing + longer)
