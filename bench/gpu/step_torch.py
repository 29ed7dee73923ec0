# SPDX-License-Identifier: BSD-3-Clause
"""Times the steps of `unet-train bench` in PyTorch; prints a line of JSON for each, at once.

usage: step_torch.py [--cpu] [--fill] WAY:MODE:BASE:HEIGHTxWIDTH:BATCH:STEPS ...

WAY       eager           bf16 autocast, channels_last
          graph           the same, a whole step captured as a CUDA graph
          tf32, fp32      float32, channels_last, with TF32 and without
          compile         eager by torch.compile
          compile-graphs  the same with mode="reduce-overhead", which replays CUDA graphs
          compile-max     the same with mode="max-autotune-no-cudagraphs"
MODE      train (forward, loss, backward, Adam) or infer
--cpu     on the CPU, for rehearsals without a GPU
--fill    only compile: one step of each

A step copies the images to the GPU, as ours does. What fails is a line with "error"."""

import collections
import gc
import json
import statistics
import sys
import time

import torch
from torch import nn

WARMUP, CHUNKS = 5, 5
COMPILE_MODES = {"compile": "default", "compile-graphs": "reduce-overhead",
                 "compile-max": "max-autotune-no-cudagraphs"}
WAYS = ("eager", "graph", "tf32", "fp32", *COMPILE_MODES)

Case = collections.namedtuple("Case", "way mode base height width batch steps")


def double(cin, cout):
    layers = []
    for c in (cin, cout):
        layers += [nn.Conv2d(c, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout),
                   nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):

    def __init__(self, base, depth=4):
        super().__init__()
        width = [base << i for i in range(depth + 1)]
        self.down = nn.ModuleList(
            double(1 if i == 0 else width[i - 1], width[i]) for i in range(depth))
        self.bridge = double(width[depth - 1], width[depth])
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(width[i + 1], width[i], 2, 2) for i in reversed(range(depth)))
        self.dec = nn.ModuleList(double(2 * width[i], width[i]) for i in reversed(range(depth)))
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.bridge(x)
        for up, dec in zip(self.up, self.dec):
            x = dec(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


class Step:
    """The network, its images and optimizer, and run(), which queues a step."""

    def __init__(self, case, device):
        self.case, self.device, self.cuda = case, device, device == "cuda"
        self.half = case.way not in ("tf32", "fp32")
        torch.manual_seed(1244)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = case.way != "fp32"
        self.net = UNet(case.base).to(device).to(memory_format=torch.channels_last)
        self.net.train(case.mode == "train")
        shape = case.batch, 1, case.height, case.width
        images = torch.rand(shape).contiguous(memory_format=torch.channels_last)
        targets = (torch.rand(shape) < 0.5).float().contiguous(memory_format=torch.channels_last)
        needed = (images, targets) if case.mode == "train" else (images,)
        self.host = [t.pin_memory() if self.cuda else t for t in needed]
        self.there = [torch.empty_like(t, device=device) for t in self.host]
        self.loss_of = nn.BCEWithLogitsLoss()
        self.optim = torch.optim.Adam(self.net.parameters(), lr=0.001,
                                      capturable=case.way == "graph",
                                      **({"fused": True} if self.cuda else {}))
        self.compute = self.loss if case.mode == "train" else self.logits
        if case.way in COMPILE_MODES:
            torch._dynamo.reset()  # or a limit on recompilation makes later cases eager
            torch._dynamo.utils.counters.clear()
            self.compute = torch.compile(self.compute, mode=COMPILE_MODES[case.way],
                                         dynamic=False, fullgraph=True)
        self.run = self.capture() if case.way == "graph" else self.queue

    def logits(self, x):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
            return self.net(x).float()

    def loss(self, x, y):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
            logits = self.net(x)
        return self.loss_of(logits.float(), y)

    def copy(self):
        for there, host in zip(self.there, self.host):
            there.copy_(host, non_blocking=True)

    def body(self):
        if self.case.mode == "infer":
            with torch.no_grad():
                return self.compute(*self.there)
        loss = self.compute(*self.there)
        loss.backward()
        self.optim.step()
        return loss.detach()

    def deliver(self, result):
        return result.cpu() if self.case.mode == "infer" else result

    def queue(self):
        if self.case.way == "compile-graphs":
            torch.compiler.cudagraph_mark_step_begin()
        self.copy()
        self.optim.zero_grad(set_to_none=True)
        return self.deliver(self.body())

    def capture(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARMUP):
                self.queue()
        torch.cuda.current_stream().wait_stream(side)
        self.optim.zero_grad(set_to_none=True)  # gradients then lie in the graph's memory
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = self.body()

        def replay():
            self.copy()
            graph.replay()
            return self.deliver(result)

        return replay


def measure(case, device, fill):
    step = Step(case, device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(1 if fill else WARMUP):
        result = step.run()
    wait()
    chunks, each = [], max(1, case.steps // CHUNKS)
    for _ in range(0 if fill else CHUNKS):
        began = time.perf_counter()
        for _ in range(each):
            result = step.run()
        wait()
        chunks.append((time.perf_counter() - began) / each)
    if not torch.isfinite(result.float()).all():
        raise ArithmeticError("the result is not finite")
    line = {} if fill else {"step_s": statistics.median(chunks), "step_s_min": min(chunks),
                            "step_s_max": max(chunks)}
    if case.mode == "train":
        line["loss"] = float(result)
    if case.way in COMPILE_MODES:
        counters = torch._dynamo.utils.counters["inductor"]
        line["graphs_skipped"] = counters.get("cudagraph_skips", 0)
    if device == "cuda":
        line["memory_mib"] = torch.cuda.max_memory_allocated() >> 20
    return line


def parse(word):
    way, mode, base, size, batch, steps = word.split(":")
    if way not in WAYS or mode not in ("train", "infer"):
        sys.exit(f"step_torch.py: {word}: " + __doc__.split("\n\n")[1])
    height, width = map(int, size.split("x"))
    return Case(way, mode, int(base), height, width, int(batch), int(steps))


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    device = "cpu" if "--cpu" in sys.argv else "cuda"
    cases = [parse(word) for word in words]
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("step_torch.py: PyTorch sees no GPU")
    for case in cases:
        line = {"torch": torch.__version__, **case._asdict()}
        try:
            line.update(measure(case, device, "--fill" in sys.argv))
        except Exception as e:  # pylint: disable=broad-exception-caught
            line["error"] = (str(e).strip() or repr(e)).splitlines()[0][:300]
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
