#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Losses as PyTorch, torchvision and MONAI define them, in float64, and a comparison with ours.

usage: torch_losses.py, with files on standard input, a name per line: what `opcheck.t --losses`
       has written

Prints one line per file: 0, or 1 if a difference is above 1e-6; the number of losses; the largest
relative difference of a loss, and of gradients relative to the largest gradient.
"""
import sys

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, nll_loss

BOUND = 1e-6


def cross_entropies(logits, target, weights, gamma):
    """(Sum over the pixels of the cross entropy times (1 - p_t)^gamma, sum of the weights), with
    the weight of the pixel's class: torch.nn.CrossEntropyLoss and MONAI's FocalLoss for classes,
    torchvision.ops.sigmoid_focal_loss for one logit."""
    counts = (target >= 0).double()
    if logits.shape[1] > 1:
        log_p = torch.log_softmax(logits, 1)
        own = log_p.gather(1, target.clamp(min=0).long())
        q = -torch.expm1(own) if gamma else own
        focused = q.pow(gamma) * log_p if gamma else log_p
        loss = nll_loss(focused, target[:, 0].long(), weights, ignore_index=-1, reduction="sum")
        weight = 1 if weights is None else weights[target.clamp(min=0).long()]
    else:
        truth = target.clamp(min=0)
        weight = 1 if weights is None else weights[0] + (weights[1] - weights[0]) * truth
        loss = binary_cross_entropy_with_logits(logits, truth, reduction="none")
        if gamma:
            p, other = torch.sigmoid(logits), logsigmoid(-logits).exp()
            loss = loss * (p * (1 - truth) + other * truth).pow(gamma)
        loss = (loss * weight * counts).sum()
    return loss, (weight * counts).sum()


def tversky_losses(logits, target, weights, alpha, beta):
    """For each image MONAI's TverskyLoss with smooth_nr and smooth_dr 0.5, which for 0.5 and 0.5
    is DiceLoss with 1; the mean over classes by their weights."""
    counts = (target >= 0).double()
    if logits.shape[1] > 1:
        p = torch.softmax(logits, 1)
        truth = torch.stack([(target[:, 0] == c).double() for c in range(logits.shape[1])], 1)
    else:
        p, truth = torch.sigmoid(logits), target
    tp = (counts * p * truth).sum((2, 3))
    fp = (counts * p * (1 - truth)).sum((2, 3))
    fn = (counts * (1 - p) * truth).sum((2, 3))
    score = (tp + 0.5) / (tp + alpha * fp + beta * fn + 0.5)
    if weights is None or logits.shape[1] == 1:
        return 1 - score.mean(1)
    return 1 - score @ weights / weights.sum()


def read_array(file, n, height, width, channels):
    numbers = np.fromfile(file, np.float32, n * height * width * channels).astype(np.float64)
    return torch.from_numpy(numbers.reshape(n, height, width, channels)).permute(0, 3, 1, 2)


def compare_case(line, file):
    """(relative difference of the loss, that of its gradients)"""
    words = line.decode("ascii").split()
    op, shape, numbers = words[0], [int(w) for w in words[1:5]], [float(w) for w in words[5:]]
    gamma, alpha, beta, ours = numbers[:4]
    weights = torch.tensor(numbers[4:]).double() if numbers[4:] else None
    logits = read_array(file, *shape).requires_grad_()
    target, gradients = read_array(file, *shape[:3], 1), read_array(file, *shape)
    loss = (tversky_losses(logits, target, weights, alpha, beta).sum() if op == "dice" else
            cross_entropies(logits, target, weights, gamma)[0])
    loss.backward()
    slope = (gradients - logits.grad).abs().max() / logits.grad.abs().max()
    return abs(ours / float(loss) - 1), float(slope)


def main():
    torch.set_num_threads(1)
    for name in sys.stdin:
        with open(name.strip(), "rb") as file:
            seen = [(*compare_case(line, file), line.decode("ascii").strip())
                    for line in iter(file.readline, b"")]
        above = [case for value, slope, case in seen if not max(value, slope) <= BOUND]
        print(int(not seen or bool(above)), f"{len(seen)}: loss {max(s[0] for s in seen):.1e}, "
              f"gradients {max(s[1] for s in seen):.1e} {'; '.join(above)}", flush=True)


if __name__ == "__main__":
    main()
