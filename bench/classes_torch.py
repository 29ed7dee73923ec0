#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One training of bench/classes in PyTorch: images (CIFAR-10's binary files, or train/CLASS and
test/CLASS), scaling, augmentation, loss, optimizer, schedule and metric of `unet-train train`. One
thread."""
import argparse
import json
import os
import sys
import time

import numpy as np
import torch
from PIL import Image

from results_torch import fit, rate

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "t"))
from torch_references import network  # pylint: disable=wrong-import-position


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "model", "size", "augment", "out"):
        p.add_argument("--" + name, required=True)
    for name, value in (("batch-size", 16), ("epochs", 10), ("seed", 1), ("channels", 3)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--lr", type=float, default=0.001)
    a = p.parse_args()
    a.shape = tuple(int(v) for v in a.size.split("x"))
    return a


def read_cifar(folder, names):
    rows = np.concatenate([np.fromfile(os.path.join(folder, n), np.uint8) for n in names])
    rows = rows.reshape(-1, 3073)
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
    return images, torch.from_numpy(rows[:, 0].astype(np.int64))


def read_folders(a, folder):
    images, labels = [], []
    for label, name in enumerate(sorted(os.listdir(folder))):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            pixels = np.asarray(Image.open(os.path.join(folder, name, file)).convert("RGB"), np.float32) / 255
            images.append(fit(torch.from_numpy(pixels).permute(2, 0, 1), *a.shape, "bilinear", 0))
            labels.append(label)
    return torch.stack(images), torch.tensor(labels)


def read(a):
    """Returns (images, labels) for training, and the same for testing."""
    binary = os.path.join(a.data, "cifar-10-batches-bin")
    if os.path.isdir(binary):
        names = sorted(n for n in os.listdir(binary) if n.startswith("data_batch"))
        return read_cifar(binary, names), read_cifar(binary, ["test_batch.bin"])
    return tuple(read_folders(a, os.path.join(a.data, part)) for part in ("train", "test"))


def augment(names, x):
    """Changes each image by itself; a shift repeats the edge."""
    for name, axis in (("hflip", 3), ("vflip", 2)):
        if name in names:
            x = torch.where(torch.rand(len(x))[:, None, None, None] < 0.5, x.flip(axis), x)
    shift = [int(n.split("=")[1]) for n in names if n.startswith("shift=")]
    if shift:
        height, width, s = x.shape[2], x.shape[3], shift[0]
        wide = torch.nn.functional.pad(x, (s, s, s, s), mode="replicate")
        x = torch.stack([image[:, top:top + height, left:left + width] for image, (top, left) in
                         zip(wide, torch.randint(0, 2 * s + 1, (len(x), 2)).tolist())])
    return x


def accuracy(net, images, labels):
    net.eval()
    with torch.no_grad():
        right = sum(int((net(x).flatten(1).argmax(1) == y).sum())
                    for x, y in zip(images.split(100), labels.split(100)))
    return right / len(labels)


def main():
    a = parse()
    began = time.process_time()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    (images, labels), test = read(a)
    classes = int(labels.max()) + 1
    net = network(a.model, 0, a.channels, classes, a.shape)
    penalty = getattr(net, "penalty", lambda: 0)
    optimizer = torch.optim.Adam(net.parameters(), a.lr)
    losses, accuracies = [], []
    for epoch in range(a.epochs):
        optimizer.param_groups[0]["lr"] = rate(a, epoch)
        net.train()
        total = 0.0
        for chosen in torch.randperm(len(images)).split(a.batch_size):
            logits = net(augment(a.augment.split(","), images[chosen])).flatten(1)
            loss = torch.nn.functional.cross_entropy(logits, labels[chosen])
            optimizer.zero_grad()
            (loss + penalty()).backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        losses.append(total / len(images))
        accuracies.append(accuracy(net, *test))
    with open(a.out, "w", encoding="utf-8") as file:
        json.dump({"loss": losses, "accuracy": accuracies, "cpu_s": time.process_time() - began,
                   "torch": torch.__version__}, file)


if __name__ == "__main__":
    main()
