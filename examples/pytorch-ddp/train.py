#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits a small network to a function, data parallel, as one writes it for torchrun."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--samples", type=int, default=12288)
parser.add_argument("--batch", type=int, default=96, help="over all ranks")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

cuda = torch.cuda.is_available()
dist.init_process_group("nccl" if cuda else "gloo")
rank, size = dist.get_rank(), dist.get_world_size()
device = torch.device("cuda", rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
torch.set_num_threads(1)
torch.manual_seed(args.seed)


def make_data(samples, seed):
    x = 4 * torch.rand(samples, 2, generator=torch.Generator().manual_seed(seed)) - 2
    return TensorDataset(x, torch.sin(2 * x[:, :1]) * torch.cos(x[:, 1:]))


train_set, val_set = make_data(args.samples, 1), make_data(1024, 2)
sampler = DistributedSampler(train_set, seed=args.seed)
loader = DataLoader(train_set, batch_size=args.batch // size, sampler=sampler)
net = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
model = DistributedDataParallel(net.to(device), device_ids=[device] if cuda else None)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, args.epochs + 1):
    begin, total = time.time(), 0.0
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    seconds = time.time() - begin
    with torch.no_grad():
        x, y = (part.to(device) for part in val_set.tensors)
        val_loss = nn.functional.mse_loss(net(x), y).item()
    if rank == 0:
        print(f"epoch {epoch}: loss {total:.6f} val_loss {val_loss:.6f} in {seconds:.4f} s", flush=True)
dist.destroy_process_group()
