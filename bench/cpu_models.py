#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time the reference systems' networks in PyTorch on the CPU: the peer of bench/cpu for them.

A step is zero_grad, forward, cross entropy (chips: and its L2 term), backward, Adam, on synthetic
images in memory. With --world 2 each process has --batch images (DistributedDataParallel, gloo). Prints one
JSON object: img_per_s and processor time over all processes, peak memory of one.
"""
import argparse
import json
import os
import resource
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "t"))


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", default="resnet44")
    for name, value in (("base", 0), ("channels", 3), ("classes", 10), ("batch", 128), ("threads", 2), ("world", 1), ("steps", 3),
                        ("warmup", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--size", default="32x32")
    p.add_argument("--mode", choices=["train", "infer"], default="train")
    p.add_argument("--channels-last", action="store_true")
    return p.parse_args()


def work(rank, a, queue):
    os.environ["OMP_NUM_THREADS"] = str(a.threads)
    import torch  # after the number of threads is set
    from torch_references import network

    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    layout = torch.channels_last if a.channels_last else torch.contiguous_format
    height, width = (int(v) for v in a.size.split("x"))
    net = model = network(a.model, a.base, a.channels, a.classes, (height, width)).to(memory_format=layout)
    penalty = getattr(model, "penalty", lambda: 0)
    if a.world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29534")
        torch.distributed.init_process_group("gloo", rank=rank, world_size=a.world)
        net = torch.nn.parallel.DistributedDataParallel(model)
    images = torch.rand(a.batch, a.channels, height, width).to(memory_format=layout)
    with torch.no_grad():
        shape = model(images[:1]).shape[2:]
    labels = torch.randint(a.classes, (a.batch, *shape))
    optimizer = torch.optim.Adam(model.parameters())

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(net(images), labels) + penalty()
        loss.backward()
        optimizer.step()

    def infer():
        with torch.inference_mode():
            model(images)

    model.train(a.mode == "train")
    seconds, cpu = [], []
    for i in range(a.warmup + a.steps):
        began, began_cpu = time.perf_counter(), time.process_time()
        (train if a.mode == "train" else infer)()
        if i >= a.warmup:
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
    queue.put((torch.__version__, a.batch / statistics.median(seconds), statistics.median(cpu),
               resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def main():
    import multiprocessing

    a = parse()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    ranks = [context.Process(target=work, args=(i, a, queue)) for i in range(a.world)]
    for rank in ranks:
        rank.start()
    rows = [queue.get() for _ in ranks]
    for rank in ranks:
        rank.join()
    print(json.dumps({"torch": rows[0][0], "img_per_s": sum(r[1] for r in rows),
                      "step_cpu_s_median": statistics.mean(r[2] for r in rows),
                      "peak_rss_mib": max(r[3] for r in rows)}))


if __name__ == "__main__":
    main()
