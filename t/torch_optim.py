#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Repeat with PyTorch in float64 what trainer/optim/test/trace did, and compare.

usage: torch_optim.py, with cases on standard input, each a line:
       FILE KIND MOMENTUM NESTEROV UNCORRECTED WEIGHT_DECAY CLIP

FILE has what trace printed. SGD, Adam and AdamW are torch.optim's; LARS and LAMB, which PyTorch
does not have, are the formulas of their papers, for the matrix only. Prints one line per case: 0,
or 1 if a difference is above 1e-6, and the largest difference.
"""
import math
import sys

import torch

TRUST, LAMB_EPS = 0.001, 1e-6


class Lars(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g, decay = p.grad, group["weight_decay"] if p.dim() > 1 else 0
                g = g + decay * p
                if p.dim() > 1:
                    g = g * TRUST * p.norm() / (p.grad.norm() + decay * p.norm())
                state = self.state[p]
                state["v"] = group["momentum"] * state.get("v", 0) + g
                p -= group["lr"] * state["v"]


class Lamb(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                t = state["t"] = state.get("t", 0) + 1
                state["m"] = 0.9 * state.get("m", 0) + 0.1 * p.grad
                state["v"] = 0.999 * state.get("v", 0) + 0.001 * p.grad ** 2
                u = state["m"] / (1 - 0.9 ** t)
                u = u / ((state["v"] / (1 - 0.999 ** t)).sqrt() + LAMB_EPS)
                if p.dim() > 1:
                    u = u + group["weight_decay"] * p
                    u = u * p.norm() / u.norm()
                p -= group["lr"] * u


class AbsorbedSgd(torch.optim.Optimizer):
    """Velocity with the rate in it, left alone when the rate changes."""
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["u"] = group["momentum"] * state.get("u", 0) + group["lr"] * p.grad
                p -= state["u"]


def make(kind, params, momentum, nesterov, uncorrected, decay):
    if kind == "sgd" and uncorrected:
        return AbsorbedSgd(params, {"lr": 0, "momentum": momentum})
    if kind == "sgd":
        return torch.optim.SGD(params, 0.1, momentum=momentum, nesterov=nesterov, weight_decay=decay)
    if kind == "adam":
        return torch.optim.Adam(params, 0.1, weight_decay=decay)
    if kind == "adamw":
        return torch.optim.AdamW(params, 0.1, weight_decay=decay)
    settings = {"lr": 0, "momentum": momentum, "weight_decay": decay}
    return (Lars if kind == "lars" else Lamb)(params, settings)


def compare_case(steps, kind, momentum, nesterov, uncorrected, decay, clip):
    """(whether all are within the bound, what was seen); steps: our weights, a line per step"""
    start = torch.tensor([math.cos(k) for k in range(16)], dtype=torch.float64)
    start = start.float().double()  # as they are stored
    matrix = start[:12].reshape(3, 4).clone().requires_grad_()
    vector = start[12:].clone().requires_grad_()
    optimizer = make(kind, [matrix, vector], momentum, bool(nesterov), bool(uncorrected), decay)
    worst = 0.0
    for t, line in enumerate(steps, 1):
        flat = torch.cat([matrix.detach().reshape(-1), vector.detach()])
        grad = torch.tensor([math.sin(t * (k + 1)) for k in range(16)]).double() + 0.1 * flat
        matrix.grad, vector.grad = grad[:12].reshape(3, 4).clone(), grad[12:].clone()
        if clip > 0:
            torch.nn.utils.clip_grad_norm_([matrix, vector], clip)
        for group in optimizer.param_groups:
            group["lr"] = 0.02 if t <= 3 else 0.01
        optimizer.step()
        ours = torch.tensor([float(v) for v in line.split()], dtype=torch.float64)
        flat = torch.cat([matrix.detach().reshape(-1), vector.detach()])
        worst = max(worst, float((ours - flat).abs().max()))
    return len(steps) == 6 and worst < 1e-6, f"{len(steps)} steps, largest difference {worst:.1e}"


def main():
    for line in sys.stdin:
        path, kind, *numbers = line.split()
        with open(path, encoding="ascii") as f:
            within, seen = compare_case(f.readlines(), kind, *map(float, numbers))
        print(int(not within), seen, flush=True)


if __name__ == "__main__":
    main()
