#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reference U-Net in PyTorch, data parallel with DistributedDataParallel: what `engine: pytorch`
runs where study.yaml names no script of its own. NCCL with GPUs, gloo without."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import unetctl


class Block(nn.Sequential):
    def __init__(self, ci, co, batch_norm):
        layers = []
        for inputs in (ci, co):
            layers += [nn.Conv2d(inputs, co, 3, padding=1)]
            layers += [nn.BatchNorm2d(co)] if batch_norm else []
            layers += [nn.ReLU()]
        super().__init__(*layers)


class UNet(nn.Module):
    def __init__(self, channels, base, depth, batch_norm):
        super().__init__()
        width = [base << level for level in range(depth + 1)]
        self.encoders = nn.ModuleList(
            Block(ci, co, batch_norm) for ci, co in zip([channels, *width], width[:-1]))
        self.bridge = Block(width[-2] if depth else channels, width[-1], batch_norm)
        self.ups = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in width[-2::-1])
        self.decoders = nn.ModuleList(Block(2 * w, w, batch_norm) for w in width[-2::-1])
        self.head = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        skips = []
        for encoder in self.encoders:
            skips.append(encoder(x))
            x = nn.functional.max_pool2d(skips[-1], 2)
        x = self.bridge(x)
        for up, decoder in zip(self.ups, self.decoders):
            x = decoder(torch.cat([up(x), skips.pop()], 1))
        return self.head(x)


def tensors(run, items, device):
    images, masks = (torch.from_numpy(a).permute(0, 3, 1, 2).contiguous().to(device) for a in run.batch(items))
    return images, masks


def all_sum(values, device, dtype):
    total = torch.tensor(values, device=device, dtype=dtype)
    dist.all_reduce(total)
    return total.tolist()


def train_epoch(run, epoch, model, optimizer, device):
    loss_sum = images_sum = steps = 0
    for group in optimizer.param_groups:
        group["lr"] = run.lr(epoch)
    model.train()
    for ((items, weight),), count in run.steps(epoch):
        images, masks = tensors(run, items, device)
        logits = model(images)
        run.note_first_step()
        each = nn.functional.binary_cross_entropy_with_logits(logits, masks, reduction="none")
        loss = each.mean((1, 2, 3)).sum() * weight
        optimizer.zero_grad()
        # DDP divides the sum of all ranks by their number; the mean over the step's images is meant.
        (loss * run.world_size / count).backward()
        optimizer.step()
        loss_sum += loss.item()
        images_sum += len(items) * weight
        steps += 1
    return (*all_sum([loss_sum, images_sum], device, torch.float64), steps)


@torch.no_grad()
def evaluate(run, model, device):
    """Pixels of intersection, prediction and truth over the validation images of all ranks."""
    sums = [0, 0, 0]
    model.eval()
    for item in run.val[run.rank :: run.world_size]:
        images, masks = tensors(run, [item], device)
        pred, truth = model(images) > 0, masks > 0.5
        for i, pixels in enumerate((pred & truth, pred, truth)):
            sums[i] += int(pixels.sum())
    return all_sum(sums, device, torch.int64)


def main():
    run = unetctl.Run()
    run.need("unet", mask=True)
    cuda = torch.cuda.is_available()
    # Slurm may show this rank its own GPU only, or all of the node.
    device = torch.device("cuda", run.local_rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
    torch.manual_seed(run.seed)
    dist.init_process_group("nccl" if cuda else "gloo")
    net = UNet(run.data["channels"], run.model["base"], run.model["depth"],
               run.model["batch_norm"] != "none").to(device)
    model = DistributedDataParallel(net, device_ids=[device] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(run.epochs):
        begin = time.monotonic()
        loss, images, steps = train_epoch(run, epoch, model, optimizer, device)
        run.note_epoch(time.monotonic() - begin, loss / images, int(images), steps)
    begin = time.monotonic()
    for buffer in net.buffers():  # of batch norm, local until here: all ranks score the same network
        dist.broadcast(buffer, 0)
    intersection, pred, truth = evaluate(run, net, device)
    run.finish(intersection, pred, truth, time.monotonic() - begin)
    dist.barrier()
    # Gloo's destructor waits for a thread that may wait for Python's lock, held meanwhile: seen to hang
    # for good with PyTorch 1.13. All is written.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
