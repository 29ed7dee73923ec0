#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits a small network to a function with JAX, one process for each GPU or part of a CPU, and writes
JSON lines."""
import argparse
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=240)
parser.add_argument("--batch", type=int, default=1536, help="over all processes")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--log", default="log.jsonl")
args = parser.parse_args()

jax.config.update("jax_cpu_collectives_implementation", "gloo")  # between CPUs
jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], int(os.environ["WORLD_SIZE"]),
                           int(os.environ["RANK"]))
rank, size = jax.process_index(), jax.process_count()
mesh = Mesh(np.array(jax.devices()), ("data",))
split, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())


def make_batch(rng, n):
    x = rng.uniform(-2, 2, (n, 2)).astype(np.float32)
    return x, np.sin(2 * x[:, :1]) * np.cos(x[:, 1:])


def loss_of(weights, x, y):
    for i, (w, b) in enumerate(weights):
        x = jnp.tanh(x @ w + b) if i + 1 < len(weights) else x @ w + b
    return jnp.mean((x - y) ** 2)


@jax.jit
def train(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree_util.tree_map(lambda w, g: w - 0.05 * g, weights, gradients), loss


def spread(array, sharding):
    return jax.make_array_from_process_local_data(sharding, np.asarray(array))


keys = jax.random.split(jax.random.PRNGKey(args.seed), 3)
weights = [(spread(jax.random.normal(k, (a, b)) / a**0.5, whole), spread(jnp.zeros(b), whole))
           for k, a, b in zip(keys, (2, 128, 128), (128, 128, 1))]
rng = np.random.default_rng(args.seed * 1000 + rank)
val = make_batch(np.random.default_rng(0), 1024)
log = open(args.log, "w", encoding="utf-8") if rank == 0 else None
begin = time.time()
for step in range(1, args.steps + 1):
    x, y = (spread(a, split) for a in make_batch(rng, args.batch // size))
    weights, loss = train(weights, x, y)
    if step % max(args.steps // 12, 1) == 0:
        elapsed = loss.block_until_ready() and time.time() - begin
        val_loss = float(loss_of(jax.tree_util.tree_map(lambda w: w.addressable_data(0), weights), *val))
        if log:
            print(json.dumps({"step": step, "elapsed": elapsed, "loss": float(loss), "val_loss": val_loss}),
                  file=log, flush=True)
multihost_utils.sync_global_devices("end")
