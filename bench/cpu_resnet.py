#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time ResNet-6n+2 in PyTorch on the CPU: the peer of bench/cpu for residual networks.

A step is zero_grad, forward, cross entropy, backward, SGD with momentum, on synthetic images in
memory. With --world 2 each process has --batch images (DistributedDataParallel, gloo). Prints one
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
    for name, value in (("base", 16), ("batch", 128), ("threads", 2), ("world", 1), ("steps", 3),
                        ("warmup", 1)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--size", default="32x32")
    p.add_argument("--mode", choices=["train", "infer"], default="train")
    p.add_argument("--channels-last", action="store_true")
    return p.parse_args()


def work(rank, a, queue):
    os.environ["OMP_NUM_THREADS"] = str(a.threads)
    import torch  # after the number of threads is set
    from torch_resnet import ResNet

    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    layout = torch.channels_last if a.channels_last else torch.contiguous_format
    net = model = ResNet(a.model, a.base, 3, True, 10).to(memory_format=layout)
    if a.world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29534")
        torch.distributed.init_process_group("gloo", rank=rank, world_size=a.world)
        net = torch.nn.parallel.DistributedDataParallel(model)
    height, width = (int(v) for v in a.size.split("x"))
    images = torch.rand(a.batch, 3, height, width).to(memory_format=layout)
    labels = torch.randint(10, (a.batch, 1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def train():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(images), labels).backward()
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
