#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One training of bench/results in PyTorch: the network of t/torch_unet.py, or with
--model one of t/torch_references.py, the images, masks, split, augmentation, loss, optimizer,
schedule and metric of `unet-train train`. One thread."""
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
    for name in ("data", "split", "size", "augment", "out"):
        p.add_argument("--" + name, required=True)
    for name, value in (("batch-size", 4), ("epochs", 10), ("seed", 1), ("base", 8), ("depth", 4),
                        ("channels", 1), ("classes", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--lr", type=float, default=0.001)
    p.add_argument("--ignore", type=int, default=-1)
    p.add_argument("--class-file", default="")
    p.add_argument("--model", default="unet")
    return p.parse_args()


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


def read_pair(a, item, classes):
    height, width = (int(v) for v in a.size.split("x"))
    mode = "L" if a.channels == 1 else "RGB"
    picture = Image.open(os.path.join(a.data, item["image"])).convert(mode)
    pixels = np.asarray(picture, np.float32) / 255
    pixels = pixels.reshape(picture.height, picture.width, a.channels)
    image = fit(torch.from_numpy(pixels).permute(2, 0, 1), height, width, "bilinear", 0)
    mask = torch.from_numpy(np.array(Image.open(os.path.join(a.data, item["mask"]))))[None]
    if a.classes == 1:
        return image, fit(mask.float() / 255, height, width, "bilinear", 0)
    labels = torch.full(mask.shape, float(IGNORE))
    for value, label in classes.items():
        labels[mask == value] = label
    return image, fit(labels, height, width, "nearest-exact", IGNORE)


def read_classes(a):
    """Returns the class of each mask value."""
    if not a.class_file:
        return {c: c for c in range(a.classes)}
    with open(a.class_file, encoding="utf-8") as file:
        return {int(line.split()[0]): c for c, line in enumerate(file)}


def augment(names, rng, image, mask):
    both = torch.cat([image, mask])
    if "rot90" in names:
        square = both.shape[1] == both.shape[2]
        turns = int(rng.integers(4)) if square else 2 * int(rng.integers(2))
        both = torch.rot90(both, turns, (1, 2))
    if "hflip" in names and rng.integers(2):
        both = both.flip(2)
    if "vflip" in names and rng.integers(2):
        both = both.flip(1)
    return both[:-1], both[-1:]


def rate(a, epoch):
    share = epoch / a.epochs
    return a.lr * (1 if share < 0.4 else 0.5 if share < 0.6 else 0.25 if share < 0.75 else 0.125)


def loss_of(a, logits, target):
    if a.classes == 1:
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, target)
    return torch.nn.functional.cross_entropy(logits, target[:, 0].long(), ignore_index=IGNORE)


def score(a, model, pairs):
    """Returns the mean of (I + 1) / (U + 1) over the classes that occur or are predicted, and the accuracy."""
    n = 1 if a.classes == 1 else a.classes
    both, either = np.zeros(n, np.int64), np.zeros(n, np.int64)
    right = counted = 0
    model.eval()
    with torch.no_grad():
        for image, mask in pairs:
            logits, truth = model(image[None])[0], mask[0]
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
    return float(((both + 1) / (either + 1))[there].mean()), right / counted


def main():
    a = parse()
    began = time.process_time()
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    rng = np.random.default_rng(a.seed)
    with open(a.split, encoding="utf-8") as file:
        split = json.load(file)
    classes = read_classes(a)
    train = [read_pair(a, item, classes) for item in split["train"]]
    val = [read_pair(a, item, classes) for item in split["val"]]
    if a.model == "unet":
        model = UNet(a.base, a.depth, a.channels, True, a.classes)
    else:
        model = network(a.model, 0, a.channels, a.classes, None)
    optimizer = torch.optim.Adam(model.parameters(), lr=a.lr)
    steps = -(-len(train) // a.batch_size)
    for epoch in range(a.epochs):
        optimizer.param_groups[0]["lr"] = rate(a, epoch)
        order = rng.permutation(len(train))
        for step in range(steps):
            part = order[step * len(train) // steps:(step + 1) * len(train) // steps]
            batch = [augment(a.augment, rng, *train[i]) for i in part]
            optimizer.zero_grad()
            logits = model(torch.stack([image for image, _ in batch]))
            loss_of(a, logits, torch.stack([mask for _, mask in batch])).backward()
            optimizer.step()
    iou, accuracy = score(a, model, val)
    with open(a.out, "w", encoding="utf-8") as file:
        json.dump({"iou": iou, "accuracy": accuracy, "epochs": a.epochs,
                   "cpu_s": time.process_time() - began, "torch": torch.__version__}, file)


if __name__ == "__main__":
    main()
