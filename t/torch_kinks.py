# SPDX-License-Identifier: BSD-3-Clause
"""ReLU and 2x2 max pooling that know where rounding decides.

A gradient jumps where the source of a ReLU is 0 and where the two largest values of a window are
equal. Within rounding of such a place float32 and float64 may be on different sides; each gradient
is right for its side, and they differ by much more than rounding. take_sides finds these places,
computes for each the change of all gradients that the other side brings, and adds those changes
that explain what we have. What is left must be rounding. Nowhere else is anything allowed.
"""
import torch
from torch import nn

NEAR = 3e-5  # of the root mean square of the tensor
MOST = 100   # places that are looked at, of the nearest


class Kinks:
    """What relu and max_pool2d saw since clear(); keeps nothing before the first one."""

    def __init__(self):
        self.seen = None

    def clear(self):
        self.seen = []

    def note(self, source, result, find):
        if self.seen is not None and result.requires_grad:
            result.retain_grad()
            self.seen.append((source, result, find))
        return result

    def places(self):
        """(distance, source, {index: value}) of each place near a kink, nearest first: the other
        side adds these values to the gradient of source."""
        # autograd.grad changes what retain_grad retained
        near = [p for source, result, find in self.seen for p in find(source, result.grad.clone())]
        return sorted(near, key=lambda p: p[0])[:MOST]

    def take_sides(self, params, grads, scale):
        """By name: parameters, with .grad after backward(retain_graph=True); our gradients; what
        their differences are measured by. Changes .grad. Returns the number of places that changed
        side and that of all."""
        def flat(tensors):
            return torch.cat([(tensors[n] / scale[n]).reshape(-1) for n in params])

        rest = flat({n: torch.from_numpy(grads[n]) - params[n].grad.reshape(-1) for n in params})
        changes = []
        for _, source, values in self.places():
            seed = torch.zeros_like(source)
            for index, value in values.items():
                seed[index] = value
            change = torch.autograd.grad(source, list(params.values()), seed, retain_graph=True,
                                         allow_unused=True)
            changes.append({n: torch.zeros_like(params[n]) if c is None else c
                            for n, c in zip(params, change)})
        taken = nearest(rest, torch.stack([flat(c) for c in changes])) if changes else []
        for i in taken:
            for n, p in params.items():
                p.grad += changes[i][n]
        return len(taken), len(changes)


def nearest(rest, vectors):
    """Which vectors make rest small when they are taken off it: the one that helps most is added or
    left out, until none helps."""
    products, against = vectors @ vectors.T, vectors @ rest
    chosen = torch.zeros(len(vectors), dtype=torch.bool)
    while True:
        sign = 1 - 2 * chosen.double()
        gain = 2 * sign * against - products.diagonal()
        best = int(gain.argmax())
        if gain[best] <= 0:
            return chosen.nonzero().flatten().tolist()
        against = against - sign[best] * products[best]
        chosen[best] = ~chosen[best]


kinks = Kinks()


def near_zero(source, grad):
    bound = NEAR * float(source.detach().square().mean().sqrt())
    for at in (source.detach().abs() < bound).nonzero().tolist():
        at = tuple(at)
        seed = grad[at] if source[at] <= 0 else -grad[at]
        yield abs(float(source[at])) / bound, source, {at: seed}


def near_tie(source, grad):
    x = source.detach()
    n, c, h, w = x.shape
    windows = x.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 2, 4, 3, 5).flatten(4)
    (first, second), (one, other) = (t.unbind(-1) for t in windows.topk(2))
    bound = NEAR * float(x.square().mean().sqrt())
    for at in ((first - second < bound) & (first != second)).nonzero().tolist():
        i, k, y, z = at = tuple(at)

        def index(place):
            return i, k, 2 * y + place // 2, 2 * z + place % 2

        yield (float(first[at] - second[at]) / bound, source,
               {index(int(one[at])): -grad[at], index(int(other[at])): grad[at]})


def relu(x):
    return kinks.note(x, torch.relu(x), near_zero)


def max_pool2d(x):
    return kinks.note(x, nn.functional.max_pool2d(x, 2), near_tie)
