# SPDX-License-Identifier: BSD-3-Clause
"""Times the U-Net step of bench/gpu/plain/step.c in PyTorch and prints the same kind of JSON line:
    step_torch.py WAY train|infer BASE HEIGHTxWIDTH BATCH STEPS
WAY: fp32 (eager, TF32 off), amp (eager, bf16 autocast, channels_last), compile (amp by torch.compile)."""
import json
import sys
import time

import torch
from torch import nn

WARMUP = 5


def double(cin, cout):
    layers = []
    for c in (cin, cout):
        layers += [nn.Conv2d(c, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, base, depth=4):
        super().__init__()
        width = [base << i for i in range(depth + 1)]
        self.down = nn.ModuleList(double(1 if i == 0 else width[i - 1], width[i]) for i in range(depth))
        self.bridge = double(width[depth - 1], width[depth])
        self.up = nn.ModuleList(nn.ConvTranspose2d(width[i + 1], width[i], 2, 2) for i in reversed(range(depth)))
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


def main():
    way, mode, base, size, batch, steps = sys.argv[1:]
    height, width = map(int, size.split("x"))
    base, batch, steps = int(base), int(batch), int(steps)
    if not torch.cuda.is_available():
        sys.exit("step_torch.py: PyTorch sees no GPU")
    torch.manual_seed(1244)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    half = way != "fp32"
    layout = torch.channels_last if half else torch.contiguous_format
    net = UNet(base).cuda().to(memory_format=layout)
    run = torch.compile(net) if way == "compile" else net
    loss_of = nn.BCEWithLogitsLoss()
    # Pinned, as ours are, because the copy to the GPU is part of a step.
    images = torch.rand(batch, 1, height, width).contiguous(memory_format=layout).pin_memory()
    targets = (torch.rand(batch, 1, height, width) < 0.5).float().contiguous(memory_format=layout).pin_memory()
    optim = torch.optim.Adam(net.parameters(), lr=0.001, fused=True)

    def train():
        x, y = images.cuda(non_blocking=True), targets.cuda(non_blocking=True)
        optim.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            loss = loss_of(run(x).float(), y)
        loss.backward()
        optim.step()
        return loss

    @torch.no_grad()
    def infer():
        x = images.cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            return run(x).float().cpu()

    net.train(mode == "train")
    step = train if mode == "train" else infer
    for _ in range(WARMUP):
        step()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    each = (time.perf_counter() - began) / steps
    print(json.dumps({"backend": "torch-" + way, "mode": mode, "base": base, "height": height, "width": width,
                      "batch": batch, "step_s": each, "img_per_s": batch / each,
                      "version": torch.__version__}))


main()
