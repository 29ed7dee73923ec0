#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One training of bench/results in PyTorch: the network of t/torch_unet.py, or with --model one of
t/torch_references.py, the data, augmentation, loss, optimizer, schedule and metric of `unet-train train`: images
and masks of --split, or images with a class (CIFAR-10's binary files, or train/CLASS and test/CLASS). One thread."""
import argparse
import json
import os
import sys
import time

import numpy as np
import torch
from PIL import Image

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "t"))
from torch_references import network  # pylint: disable=wrong-import-position
from torch_unet import UNet  # pylint: disable=wrong-import-position

IGNORE = -1


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "size", "augment", "out"):
        p.add_argument("--" + name, required=True)
    for name, value in (("batch-size", 4), ("epochs", 10), ("seed", 1), ("base", 8), ("depth", 4),
                        ("channels", 1), ("classes", 1), ("ignore", -1)):
        p.add_argument("--" + name, type=int, default=value)
    for name, value in (("split", ""), ("class-file", ""), ("model", "unet")):
        p.add_argument("--" + name, default=value)
    p.add_argument("--lr", type=float, default=0.001)
    a = p.parse_args()
    a.shape = tuple(int(v) for v in a.size.split("x"))
    a.augment = a.augment.split(",")
    return a


def fit(values, height, width, mode, padding):
    """Resizes values, [C][H][W], with the aspect kept, and pads around the centred result."""
    _, h, w = values.shape
    nh, nw, top, left = height, width, 0, 0
    if h * width < w * height:
        nh, top = h * width // w, (height * w - h * width) // (2 * w)
    elif h * width > w * height:
        nw, left = w * height // h, (width * h - w * height) // (2 * h)
    values = values[None]
    if (nh, nw) != (h, w):
        how = {"align_corners": False} if mode == "bilinear" else {}
        values = torch.nn.functional.interpolate(values, (nh, nw), mode=mode, **how)
    return torch.nn.functional.pad(values, (left, width - nw - left, top, height - nh - top),
                                   value=padding)[0]


def read_image(a, path):
    picture = Image.open(os.path.join(a.data, path)).convert("L" if a.channels == 1 else "RGB")
    pixels = np.asarray(picture, np.float32) / 255
    pixels = pixels.reshape(picture.height, picture.width, a.channels)
    return fit(torch.from_numpy(pixels).permute(2, 0, 1), *a.shape, "bilinear", 0)


class Masks:
    """Images and masks; scored once, by the mean of (I + 1) / (U + 1) over the classes that occur or are
    predicted, and the accuracy."""

    def __init__(self, a):
        self.a, self.rng = a, np.random.default_rng(a.seed)
        with open(a.split, encoding="utf-8") as file:
            split = json.load(file)
        self.classes = self.read_classes()
        self.train, self.val = ([self.read_pair(item) for item in split[side]] for side in ("train", "val"))

    def read_classes(self):
        """Returns the class of each mask value."""
        if not self.a.class_file:
            return {c: c for c in range(self.a.classes)}
        with open(self.a.class_file, encoding="utf-8") as file:
            return {int(line.split()[0]): c for c, line in enumerate(file)}

    def read_pair(self, item):
        image = read_image(self.a, item["image"])
        mask = torch.from_numpy(np.array(Image.open(os.path.join(self.a.data, item["mask"]))))[None]
        if self.a.classes == 1:
            return image, fit(mask.float() / 255, *self.a.shape, "bilinear", 0)
        labels = torch.full(mask.shape, float(IGNORE))
        for value, label in self.classes.items():
            labels[mask == value] = label
        return image, fit(labels, *self.a.shape, "nearest-exact", IGNORE)

    def network(self):
        a = self.a
        if a.model == "unet":
            return UNet(a.base, a.depth, a.channels, True, a.classes)
        return network(a.model, 0, a.channels, a.classes, None)

    def augment(self, image, mask):
        both, names = torch.cat([image, mask]), self.a.augment
        if "rot90" in names:
            square = both.shape[1] == both.shape[2]
            turns = int(self.rng.integers(4)) if square else 2 * int(self.rng.integers(2))
            both = torch.rot90(both, turns, (1, 2))
        if "hflip" in names and self.rng.integers(2):
            both = both.flip(2)
        if "vflip" in names and self.rng.integers(2):
            both = both.flip(1)
        return both[:-1], both[-1:]

    def batches(self):
        n, steps = len(self.train), -(-len(self.train) // self.a.batch_size)
        order = self.rng.permutation(n)
        for step in range(steps):
            part = order[step * n // steps:(step + 1) * n // steps]
            images, masks = zip(*(self.augment(*self.train[i]) for i in part))
            yield torch.stack(images), torch.stack(masks)

    def loss(self, logits, target):
        if self.a.classes == 1:
            return torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
        return torch.nn.functional.cross_entropy(logits, target[:, 0].long(), ignore_index=IGNORE)

    def end_epoch(self, net, loss):
        pass

    def result(self, net):
        n = self.a.classes
        both, either = np.zeros(n, np.int64), np.zeros(n, np.int64)
        right = counted = 0
        net.eval()
        with torch.no_grad():
            for image, mask in self.val:
                logits, truth = net(image[None])[0], mask[0]
                found = (logits[0] > 0).long() if n == 1 else logits.argmax(0)
                truth = (truth > 0.5).long() if n == 1 else truth.long()
                counts = truth >= 0
                right += int((counts & (found == truth)).sum())
                counted += int(counts.sum())
                for c in range(n):
                    p, t = counts & (found == c + (n == 1)), truth == c + (n == 1)
                    both[c] += int((p & t).sum())
                    either[c] += int((p | t).sum())
        there = either > 0
        return {"iou": float(((both + 1) / (either + 1))[there].mean()), "accuracy": right / counted}


class Labels:
    """Images with a class each; the loss and the accuracy on the test images after each epoch."""

    def __init__(self, a):
        self.a, self.losses, self.accuracies = a, [], []
        binary = os.path.join(a.data, "cifar-10-batches-bin")
        if os.path.isdir(binary):
            names = sorted(n for n in os.listdir(binary) if n.startswith("data_batch"))
            self.train, self.test = self.read_cifar(binary, names), self.read_cifar(binary, ["test_batch.bin"])
        else:
            self.train, self.test = self.read_folders("train"), self.read_folders("test")

    @staticmethod
    def read_cifar(folder, names):
        rows = np.concatenate([np.fromfile(os.path.join(folder, n), np.uint8) for n in names])
        rows = rows.reshape(-1, 3073)
        images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
        return images, torch.from_numpy(rows[:, 0].astype(np.int64))

    def read_folders(self, part):
        images, labels, folder = [], [], os.path.join(self.a.data, part)
        for label, name in enumerate(sorted(os.listdir(folder))):
            for file in sorted(os.listdir(os.path.join(folder, name))):
                images.append(read_image(self.a, os.path.join(part, name, file)))
                labels.append(label)
        return torch.stack(images), torch.tensor(labels)

    def network(self):
        return network(self.a.model, 0, self.a.channels, int(self.train[1].max()) + 1, self.a.shape)

    def augment(self, x):
        """Changes each image by itself; a shift repeats the edge."""
        for name, axis in (("hflip", 3), ("vflip", 2)):
            if name in self.a.augment:
                x = torch.where(torch.rand(len(x))[:, None, None, None] < 0.5, x.flip(axis), x)
        shift = [int(n.split("=")[1]) for n in self.a.augment if n.startswith("shift=")]
        if shift:
            height, width, s = x.shape[2], x.shape[3], shift[0]
            wide = torch.nn.functional.pad(x, (s, s, s, s), mode="replicate")
            x = torch.stack([image[:, top:top + height, left:left + width] for image, (top, left) in
                             zip(wide, torch.randint(0, 2 * s + 1, (len(x), 2)).tolist())])
        return x

    def batches(self):
        for chosen in torch.randperm(len(self.train[0])).split(self.a.batch_size):
            yield self.augment(self.train[0][chosen]), self.train[1][chosen]

    def loss(self, logits, labels):
        return torch.nn.functional.cross_entropy(logits.flatten(1), labels)

    def end_epoch(self, net, loss):
        net.eval()
        with torch.no_grad():
            right = sum(int((net(x).flatten(1).argmax(1) == y).sum())
                        for x, y in zip(*(t.split(100) for t in self.test)))
        self.losses.append(loss / len(self.train[0]))
        self.accuracies.append(right / len(self.test[0]))

    def result(self, _):
        return {"loss": self.losses, "accuracy": self.accuracies}


def rate(a, epoch):
    share = epoch / a.epochs
    return a.lr * (1 if share < 0.4 else 0.5 if share < 0.6 else 0.25 if share < 0.75 else 0.125)


def main():
    a = parse()
    began = time.process_time()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    data = (Masks if a.split else Labels)(a)
    net = data.network()
    penalty = getattr(net, "penalty", lambda: 0)
    optimizer = torch.optim.Adam(net.parameters(), lr=a.lr)
    for epoch in range(a.epochs):
        optimizer.param_groups[0]["lr"] = rate(a, epoch)
        net.train()
        total = 0.0
        for images, targets in data.batches():
            loss = data.loss(net(images), targets)
            optimizer.zero_grad()
            (loss + penalty()).backward()
            optimizer.step()
            total += loss.item() * len(images)
        data.end_epoch(net, total)
    result = {**data.result(net), "epochs": a.epochs, "cpu_s": time.process_time() - began,
              "torch": torch.__version__}
    with open(a.out, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
