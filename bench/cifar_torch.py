#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A residual network on CIFAR-10 in PyTorch, as bench/cifar runs `unet-train train`: the network of
t/torch_resnet.py, images 0..1, left and right mirrored at random, Adam, a constant rate. A line per
epoch: epoch, seconds, loss, test accuracy. One thread."""
import argparse
import os
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "t"))
from torch_resnet import ResNet  # pylint: disable=wrong-import-position


def read(folder, names):
    rows = np.concatenate([np.fromfile(os.path.join(folder, n), np.uint8) for n in names])
    rows = rows.reshape(-1, 3073)
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
    return images, torch.from_numpy(rows[:, 0].astype(np.int64))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("data")
    p.add_argument("--model", default="resnet44")
    for name, value in (("base", 16), ("batch-size", 50), ("epochs", 3), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--lr", type=float, default=0.001)
    a = p.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    folder = a.data
    if os.path.isdir(os.path.join(a.data, "cifar-10-batches-bin")):
        folder = os.path.join(a.data, "cifar-10-batches-bin")
    images, labels = read(folder, sorted(n for n in os.listdir(folder) if n.startswith("data_batch")))
    test, truth = read(folder, ["test_batch.bin"])
    net = ResNet(a.model, a.base, 3, True, 10)
    optimizer = torch.optim.Adam(net.parameters(), a.lr)
    for epoch in range(a.epochs):
        began, sums = time.monotonic(), 0.0
        net.train()
        order = torch.randperm(len(images))
        for chosen in order.split(a.batch_size):
            x, flip = images[chosen], torch.rand(len(chosen)) < 0.5
            x = torch.where(flip[:, None, None, None], x.flip(3), x)
            loss = torch.nn.functional.cross_entropy(net(x).flatten(1), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += loss.item() * len(chosen)
        seconds = time.monotonic() - began
        net.eval()
        with torch.no_grad():
            right = sum(int((net(x).flatten(1).argmax(1) == y).sum())
                        for x, y in zip(test.split(100), truth.split(100)))
        print(epoch + 1, f"{seconds:.1f} {sums / len(images):.4f} {right / len(test):.4f}", flush=True)


if __name__ == "__main__":
    main()
