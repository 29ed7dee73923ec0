#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits a small network to a function with Lightning; its CSVLogger writes metrics.csv."""
import os
import sys
import time

import pytorch_lightning as L
import torch
from pytorch_lightning.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def make_data(samples, seed):
    x = 4 * torch.rand(samples, 2, generator=torch.Generator().manual_seed(seed)) - 2
    return TensorDataset(x, torch.sin(2 * x[:, :1]) * torch.cos(x[:, 1:]))


class Fit(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]), sync_dist=True)

    def on_train_epoch_start(self):
        self.begin = time.time()

    def on_train_batch_end(self, *_):
        self.seconds = time.time() - self.begin

    def on_train_epoch_end(self):
        self.log("epoch_time", self.seconds)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)

    def loader(self, samples, seed):
        # Lightning's own sampler expects equally many ranks on each node.
        data = make_data(samples, seed)
        return DataLoader(data, batch_size=96 // self.trainer.world_size, sampler=DistributedSampler(data))

    def train_dataloader(self):
        return self.loader(6144, 1)

    def val_dataloader(self):
        return self.loader(1024, 2)


epochs, seed, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
L.seed_everything(seed)
torch.set_num_threads(1)
trainer = L.Trainer(max_epochs=epochs, devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp",
                    num_nodes=int(os.environ["UNETCTL_NODES"]), enable_progress_bar=False,
                    enable_checkpointing=False,
                    accelerator="gpu" if torch.cuda.is_available() else "cpu",
                    logger=CSVLogger(out, name="", version=""))
trainer.fit(Fit())
