#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeat in PyTorch what trainer/network/test/dump did, and compare.

usage: torch_unet.py, with cases on standard input, each a line:
       DIR BASE DEPTH|MODEL CHANNELS HEIGHT WIDTH BATCH none|local CLASSES LOSS

The same weights, images and masks go through the same network with PyTorch's own layers, loss and
Adam in float64, so that all of the difference is ours. Prints one line per case: 0, or 1 if a
difference is above its bound, and for each kind of number the largest difference relative to the
largest value in its tensor.

Before each step PyTorch takes over our weights; Adam's moments are its own. An Adam step has the
size of the learning rate whatever the gradient is, and where that is within rounding of zero the
sign of the step is chance. Steps are therefore compared, relative to the learning rate, where all
gradients so far stand out from the rounding. Gradients at a kink may be those of either side
(torch_kinks.py).
"""
import sys

import numpy as np
import torch
from torch import nn

from torch_kinks import kinks, max_pool2d, relu
from torch_losses import cross_entropies, tversky_losses
from torch_resnet import ResNet

LEARNING_RATE = 1e-3
BOUND = 1e-4
BOUND_OF_LOSS = 1e-6
GRAD_FLOOR = 0.1  # of the largest gradient in its tensor; below, the step is not compared


class Block(nn.Module):
    def __init__(self, ci, co, batch_norm):
        super().__init__()
        self.conv1 = nn.Conv2d(ci, co, 3, padding=1)
        self.conv2 = nn.Conv2d(co, co, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(co) if batch_norm else nn.Identity()
        self.bn2 = nn.BatchNorm2d(co) if batch_norm else nn.Identity()

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)))
        return relu(self.bn2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self, base, depth, channels, batch_norm, classes):
        super().__init__()
        self.depth = depth
        width = [channels] + [base << i for i in range(depth + 1)]
        for i in range(1, depth + 1):
            self.add_module(f"enc{i}", Block(width[i - 1], width[i], batch_norm))
            self.add_module(f"up{i}", nn.ConvTranspose2d(width[i + 1], width[i], 2, stride=2))
            self.add_module(f"dec{i}", Block(2 * width[i], width[i], batch_norm))
        self.bridge = Block(width[depth], width[depth + 1], batch_norm)
        self.head = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        skips = []
        for i in range(1, self.depth + 1):
            skips.append(getattr(self, f"enc{i}")(x))
            x = max_pool2d(skips[-1])
        x = self.bridge(x)
        for i in range(self.depth, 0, -1):
            x = torch.cat([getattr(self, f"up{i}")(x), skips.pop()], 1)
            x = getattr(self, f"dec{i}")(x)
        return self.head(x)


class Normed(nn.Module):
    def __init__(self, ci, co, stride):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 3, stride, 1)
        self.norm = nn.InstanceNorm2d(co, affine=True)

    def forward(self, x):
        x = self.norm(self.conv(x))
        return 0.99 * relu(x) + 0.01 * x  # a leaky ReLU


class NNUNet(nn.Module):
    """templates/models/nnunet.yaml"""

    def __init__(self, base, channels, classes):
        super().__init__()
        width = [channels] + [base << min(s, 4) for s in range(6)]
        for s in range(1, 7):
            self.add_module(f"enc{s}", self.stage(width[s - 1], width[s], 2 if s > 1 else 1))
        for s in range(1, 6):
            self.add_module(f"up{s}", nn.ConvTranspose2d(width[s + 1], width[s], 2, stride=2))
            self.add_module(f"dec{s}", self.stage(2 * width[s], width[s], 1))
        self.head = nn.Conv2d(base, classes, 1)

    @staticmethod
    def stage(ci, co, stride):
        stage = nn.Sequential()
        stage.add_module("1", Normed(ci, co, stride))
        stage.add_module("2", Normed(co, co, 1))
        return stage

    def forward(self, x):
        skips = []
        for s in range(1, 7):
            skips.append(x := getattr(self, f"enc{s}")(x))
        for s in range(5, 0, -1):
            x = torch.cat([getattr(self, f"up{s}")(x), skips[s - 1]], 1)
            x = getattr(self, f"dec{s}")(x)
        return self.head(x)


def read_dump(directory):
    """{kind: {step: {name: flat array}}}"""
    data = np.fromfile(f"{directory}/data.bin", dtype=np.float32)
    dump, at = {}, 0
    with open(f"{directory}/index.txt", encoding="ascii") as index:
        for line in index:
            kind, step, name, count = line.split()
            piece = data[at:at + int(count)].astype(np.float64)
            dump.setdefault(kind, {}).setdefault(int(step), {})[name] = piece
            at += int(count)
    if at != len(data):
        raise ValueError("data.bin does not fit index.txt")
    return dump


class Worst:
    """Largest relative difference of each kind, beyond the rounding of the number itself."""

    def __init__(self):
        self.seen = {}

    def compare(self, kind, name, got, want, mask=None, scale=None):
        want = want.detach().double().numpy().ravel()
        difference = np.maximum(np.abs(got - want) - 2.0**-24 * np.abs(want), 0)
        if mask is not None:
            difference = difference[mask]
        scale = np.abs(want).max() if scale is None else scale
        value = difference.max(initial=0) / max(scale, 1e-12)
        if not value <= self.seen.get(kind, (-1, ""))[0]:
            self.seen[kind] = (value, name)

    def report(self):
        """(whether all are within the bound, what was seen)"""
        within = all(value <= (BOUND_OF_LOSS if kind == "loss" else BOUND)
                     for kind, (value, _) in self.seen.items())
        return within, "; ".join(f"{k}: {v:.2e} ({name})" for k, (v, name) in self.seen.items())


def take_over(model, weights):
    own = model.state_dict()
    for name, tensor in own.items():
        if not name.endswith("num_batches_tracked"):
            own[name] = torch.from_numpy(weights[name].reshape(tensor.shape))
    model.load_state_dict(own)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d) and not module.running_mean.any() and \
                (module.running_var == 1).all():
            module.momentum = 1.0  # the first batch sets the running statistics
            module.register_forward_hook(lambda m, *_: setattr(m, "momentum", 0.1))


def loss_of(kind, logits, target):
    """The mean cross entropy over the pixels that count, by the weights of their classes, and the
    mean Dice or Tversky loss over the images; or their sum."""
    weights, loss = None, 0
    if kind.startswith("weighted-"):
        weights = torch.tensor([0.5, 2, 1, 0.25, 3]).double()[:max(2, logits.shape[1])]
    for word in kind.replace("weighted-", "").split("+"):
        if word in ("ce", "focal"):
            total, weight = cross_entropies(logits, target, weights, 2 if word == "focal" else 0)
            loss = loss + total / weight
        else:
            alpha, beta = (0.3, 0.7) if word == "tversky" else (0.5, 0.5)
            loss = loss + tversky_losses(logits, target, weights, alpha, beta).mean()
    return loss


def image(flat, batch, height, width, channels):
    return torch.from_numpy(flat.reshape(batch, height, width, channels)).permute(0, 3, 1, 2)


def compare_case(directory, base, depth, channels, height, width, batch, norm, classes, loss_kind):
    """(whether all are within the bound, what was seen)"""
    batch_norm = norm != "none"
    dump, worst = read_dump(directory), Worst()
    model = (UNet(base, depth, channels, batch_norm, classes) if isinstance(depth, int) else
             NNUNet(base, channels, classes) if depth == "nnunet" else
             ResNet(depth, base, channels, batch_norm, classes)).double()
    target_size = (1, 1) if str(depth).startswith("resnet") else (height, width)
    names = {n for n in model.state_dict() if not n.endswith("num_batches_tracked")}
    if names != set(dump["weight"][0]):
        raise ValueError(f"the names differ: {sorted(names ^ set(dump['weight'][0]))}")
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    nsteps, clear, sides = max(dump["loss"]), {}, [0, 0]
    # Convolution biases in front of a norm have no effect: their gradients are rounding, to
    # be measured against those of the weights beside them.
    normed = batch_norm or depth == "nnunet"
    void = [n for n in names if normed and ".conv" in n and n.endswith(".bias")]
    for step in range(1, nsteps + 1):
        take_over(model, dump["weight"][step - 1])
        optimizer.zero_grad()
        kinks.clear()
        logits = model(image(dump["input"][step]["-"], batch, height, width, channels))
        target = image(dump["target"][step]["-"], batch, *target_size, 1)
        loss = loss_of(loss_kind, logits, target)
        loss.backward(retain_graph=True)
        params, ours = dict(model.named_parameters()), dump["grad"][step]
        beside = {n: n.replace(".bias", ".weight") if n in void else n for n in params}
        scale = {n: max(float(params[beside[n]].grad.abs().max()), 1e-12) for n in params}
        sides = [a + b for a, b in zip(sides, kinks.take_sides(params, ours, scale))]
        worst.compare("loss", f"step {step}", dump["loss"][step]["-"], loss)
        grads = {n: p.grad for n, p in params.items()}
        for name, grad in grads.items():
            worst.compare("gradients", f"step {step} {name}", ours[name], grad, scale=scale[name])
        optimizer.step()
        for name, tensor in model.state_dict().items():
            if name.endswith("num_batches_tracked") or name in void:
                continue
            place, got = f"step {step} {name}", dump["weight"][step][name]
            if name not in grads:
                worst.compare("running statistics", place, got, tensor)
                continue
            grad = grads[name].numpy().ravel()
            clear[name] = clear.get(name, True) & (np.abs(grad) >= GRAD_FLOOR * np.abs(grad).max())
            worst.compare("Adam steps", place, got, tensor, clear[name], scale=LEARNING_RATE)
    take_over(model, dump["weight"][nsteps])
    model.eval()
    logits = model(image(dump["input"][nsteps + 1]["-"], batch, height, width, channels))
    worst.compare("inference", "logits", dump["logits"][nsteps + 1]["-"],
                  logits.permute(0, 2, 3, 1))
    within, seen = worst.report()
    return within, f"at kinks: {sides[1]} places, on our side: {sides[0]}; {seen}"


def main():
    torch.set_num_threads(1)
    for line in sys.stdin:
        try:
            within, seen = compare_case(*[int(w) if w.isdigit() else w for w in line.split()])
        except (OSError, KeyError, ValueError, RuntimeError) as error:
            within, seen = False, repr(error)
        print(int(not within), seen, flush=True)


if __name__ == "__main__":
    main()
