# SPDX-License-Identifier: BSD-3-Clause
"""Predicts the time of a training step on GPUs, for networks in PyTorch or TensorFlow and for ours.

usage: predict.py --calibration
       predict.py [--gpus H100,...] [--steps BASE:HEIGHTxWIDTH:BATCH,...] [--dtypes f32,bf16]
                  [--kernels N | --json]

Nothing is measured here, and no GPU is needed. A step is a list of ops, each of which reads its
inputs and writes its results once. An op takes the longer of its products at the GPU's dense rate
and its bytes at the rate of the GPU's memory, each times an efficiency, and a constant per launch.
Five constants in all are fitted to published throughputs; --calibration prints those, the fit, and
rows that were held out of it.

Our step runs in the interpreter of PTX (t/ptx) with two small batches and is scaled to the wanted
one; cuDNN's convolutions in it are ops as above (bench/gpu/traffic). It needs nvcc, and the
programs that `make predict` builds; srcdir and builddir are in the environment. --kernels also
prints the N kernels that take longest; --json prints our steps' times for bench/gpu/visit."""
import argparse
import collections
import json
import math
import os
import subprocess
import sys

# Multiprocessors, boost clock, TFLOP/s (FP32; tensor cores with 16 bits and with TF32, dense) and
# memory, from NVIDIA's "Tesla V100 GPU Architecture", "A100 Tensor Core GPU Architecture" and "H100
# Tensor Core GPU Architecture", and the data sheets of A100 80GB and H200 (the H100's processors).
Gpu = collections.namedtuple("Gpu", "processors ghz fp32 half tf32 gb_per_s")
GPUS = {
    "V100": Gpu(80, 1.53, 15.7, 125, 15.7, 900),
    "A100": Gpu(108, 1.41, 19.5, 312, 156, 1555),
    "A100 80GB": Gpu(108, 1.41, 19.5, 312, 156, 2039),
    "H100": Gpu(132, 1.98, 66.9, 989.4, 494.7, 3352),
    "H200": Gpu(132, 1.98, 66.9, 989.4, 494.7, 4800),
}
NBYTES = {"half": 2, "tf32": 4, "fp32": 4}
# Least tiles of cuDNN's implicit GEMM: results per block, and products per step of its loop.
TILE = {"half": (64, 32), "tf32": (64, 16), "fp32": (32, 8)}
WINOGRAD = 4  # cuDNN's transform with the fewest products, F(4x4, 3x3); bounds in FP32 count it

Op = collections.namedtuple("Op", "what flop padded nbytes")


def round_up(n, unit):
    return -(-n // unit) * unit


def convolution(what, source, result, flop, nbytes, dtype):
    wide, deep = TILE[dtype]
    rows, depth = (source, result) if what.endswith("of the input") else (result, source)
    padded = flop * round_up(rows, wide) / rows * round_up(depth, deep) / depth
    return Op(what, flop, padded, nbytes)


class Step:
    """The ops of a training step. Shapes are (height, width, channels)."""

    def __init__(self, batch, dtype, fused=False, transposes=False):
        self.batch, self.dtype, self.ops, self.parameters = batch, dtype, [], 0
        self.fused = fused            # elementwise ops in a row are one op
        self.transposes = transposes  # images are NCHW, and tensor cores need NHWC

    def nbytes(self, shape):
        return self.batch * math.prod(shape) * NBYTES[self.dtype]

    def move(self, what, *shapes):
        self.ops.append(Op(what, 0, 0, sum(self.nbytes(s) for s in shapes)))

    def convolve(self, x, channels, side=3, stride=1, valid=False, up=1, first=False):
        """Returns the result's shape. up: a transposed convolution with this stride."""
        lost = side - 1 if valid else 0
        y = ((x[0] - lost) // stride * up, (x[1] - lost) // stride * up, channels)
        pixels = min(x[0] * x[1], y[0] * y[1]) if up > 1 else y[0] * y[1]
        flop = 2 * self.batch * pixels * side * side * x[2] * channels
        weights = side * side * x[2] * channels
        self.parameters += weights
        for what in ("forward", "gradient of the input", "gradient of the weights"):
            if first and what == "gradient of the input":
                continue
            nbytes = self.nbytes(x) + self.nbytes(y) + weights * NBYTES[self.dtype]
            self.ops.append(convolution(what, x[2], channels, flop, nbytes, self.dtype))
            if self.transposes and self.dtype != "fp32":
                self.move("transpose", x, x)
                self.move("transpose", y, y)
        return y

    def activate(self, y, norm=False, bias=True):
        """A norm or a bias, and a ReLU, with their gradients."""
        if norm:
            self.move("norm", y, y, y)
            self.move("norm's gradient", y, y, y, y, y)
        elif bias and not self.fused:
            self.move("bias", y, y)
            self.move("bias's gradient", y)
        self.move("ReLU", y, y)
        self.move("ReLU's gradient", y, y, y)
        return y

    def pool(self, x, index=0):
        """index: bytes that say which pixel was the largest."""
        y = (x[0] // 2, x[1] // 2, x[2])
        indices = self.batch * math.prod(y) * index
        for what in "pooling", "pooling's gradient":
            self.ops.append(Op(what, 0, 0, self.nbytes(x) + self.nbytes(y) + indices))
        return y

    def concat(self, x, skip):
        y = (x[0], x[1], x[2] + skip[2])
        for what in "concatenation", "its gradient":
            self.move(what, y, y)
        self.move("sum of gradients", skip, skip, skip)
        return y

    def finish(self, logits, passes=10):
        """Loss in floats, casts of the weights, Adam."""
        for _ in range(passes):
            self.ops.append(Op("loss", 0, 0, self.batch * math.prod(logits) * 4))
        if self.dtype == "half":
            self.ops.append(Op("casts of the weights", 0, 0, 12 * self.parameters))
        self.ops.append(Op("Adam", 0, 0, 28 * self.parameters))
        return self


# ---- networks

def unet_medical(batch, dtype):
    """DeepLearningExamples, TensorFlow2/Segmentation/UNet_Medical: 572x572, unpadded, XLA."""
    s, x, skips = Step(batch, dtype, fused=True), (572, 572, 1), []

    def double(x, channels):
        for _ in range(2):
            x = s.activate(s.convolve(x, channels, valid=True, first=x[2] == 1))
        return x
    for channels in 64, 128, 256, 512:
        skips.append(double(x, channels))
        x = s.pool(skips[-1])
    x = double(x, 1024)
    for channels in 512, 256, 128, 64:
        x = s.activate(s.convolve(x, channels, up=2))
        x = double(s.concat(x, (x[0], x[1], channels)), channels)
        skips.pop()
    return s.finish(s.convolve(x, 2, side=1))


def nnunet(batch, dtype, widest=320):
    """DeepLearningExamples, PyTorch/Segmentation/nnUNet, 2D, task 01; widest is 512 since MONAI."""
    s, x, skips = Step(batch, dtype, transposes=True), (192, 160, 4), []
    widths = [min(32 << level, widest) for level in range(6)]

    def block(x, channels, stride=1):
        for t in stride, 1:
            x = s.activate(s.convolve(x, channels, stride=t, first=x[2] == 4), norm=True)
        return x
    for level, channels in enumerate(widths):
        x = block(x, channels, 2 if level else 1)
        skips.append(x)
    skips.pop()
    for channels in reversed(widths[:-1]):
        x = block(s.concat(s.convolve(x, channels, side=2, up=2), skips.pop()), channels)
    return s.finish(s.convolve(x, 4, side=1))


def industrial(batch, dtype):
    """DeepLearningExamples, TensorFlow/Segmentation/UNet_Industrial: TinyUNet, 512x512, XLA."""
    s, x, skips = Step(batch, dtype, fused=True), (512, 512, 1), []

    def double(x, first, second):
        for channels in first, second:
            x = s.activate(s.convolve(x, channels, first=x[2] == 1))
        return x

    def enlarge(x, channels):
        """The nearest neighbour, then a convolution of 2x2."""
        y = (2 * x[0], 2 * x[1], x[2])
        s.move("enlargement", x, y)
        s.move("its gradient", x, y)
        return s.activate(s.convolve(y, channels, side=2))
    for channels in 32, 32, 64, 128:
        skips.append(double(x, channels, channels))
        x = s.pool(skips[-1])
    x = enlarge(double(x, 256, 256), 128)
    for channels in 128, 64, 32:
        x = enlarge(double(s.concat(x, skips.pop()), channels, channels // 2), channels // 2)
    return s.finish(s.convolve(double(s.concat(x, skips.pop()), 32, 32), 1, side=1))


def unet(batch, dtype, base, height, width):
    """Our network as bench/gpu/step_torch.py trains it; channels_last in 16 bits."""
    s, x, skips = Step(batch, dtype), (height, width, 1), []

    def double(x, channels):
        for _ in range(2):
            x = s.activate(s.convolve(x, channels, first=x[2] == 1), norm=True)
        return x
    for level in range(4):
        skips.append(double(x, base << level))
        x = s.pool(skips[-1], index=8)
    x = double(x, base << 4)
    for level in reversed(range(4)):
        x = s.convolve(x, base << level, side=2, up=2)
        s.move("bias", x, x)
        s.move("bias's gradient", x)
        x = double(s.concat(x, skips.pop()), base << level)
    return s.finish(s.convolve(x, 1, side=1))


# ---- the model

Constants = collections.namedtuple("Constants", "half tf32 fp32 memory launch")


def op_seconds(op, dtype, gpu, c):
    products = op.padded / (getattr(gpu, dtype) * 1e12 * getattr(c, dtype)) if op.flop else 0
    return max(products, op.nbytes / (gpu.gb_per_s * 1e9 * c.memory)) + c.launch


def expected(step, gpu, c):
    return sum(op_seconds(op, step.dtype, gpu, c) for op in step.ops)


def op_bound(op, dtype, gpu):
    """No launch, everything at its peak."""
    rate = getattr(gpu, dtype) * 1e12 * (WINOGRAD if dtype == "fp32" else 1)
    return max(op.flop / rate, op.nbytes / (gpu.gb_per_s * 1e9))


def least(step, gpu):
    return sum(op_bound(op, step.dtype, gpu) for op in step.ops)


# Images a second of one GPU in training, from the READMEs of DeepLearningExamples: 16 bits, then
# TF32 on A100 and FP32 on V100. fit: the constants are fitted to these rows.
Row = collections.namedtuple("Row", "what of network batch gpu half full fit")
MEDICAL, NN21, NN22 = "UNet_Medical, TF 2", "nnU-Net 2D, PyTorch", "nnU-Net 2D, MONAI"


def nnunet_512(batch, dtype):
    return nnunet(batch, dtype, 512)


ROWS = (
    Row(MEDICAL, "20.06", unet_medical, 8, "A100", 118.98, 46.26, True),
    Row(MEDICAL, "20.06", unet_medical, 8, "V100", 59.58, 17.91, True),
    Row(NN21, "20.12", nnunet, 128, "A100 80GB", 926.64, 600.34, True),
    Row(NN21, "20.10", nnunet, 128, "V100", 557.48, 272.68, True),
    Row(NN21, "20.12", nnunet, 32, "A100 80GB", 674.34, 489.30, True),
    Row(NN21, "20.10", nnunet, 32, "V100", 416.68, 275.99, False),
    Row(MEDICAL, "20.06", unet_medical, 1, "A100", 62.50, 29.56, False),
    Row(MEDICAL, "20.06", unet_medical, 1, "V100", 40.36, 14.65, False),
    Row(MEDICAL, "21.02", unet_medical, 8, "A100 80GB", 141.03, 63.33, False),
    Row("UNet_Industrial, TF 1", "20.06", industrial, 16, "A100", 255.26, 135.95, False),
    Row("UNet_Industrial, TF 1", "20.06", industrial, 16, "V100", 168.54, 86.95, False),
    Row(NN22, "22.11", nnunet_512, 128, "A100 80GB", 1345.29, 838.38, False),
    Row(NN22, "22.11", nnunet_512, 128, "V100", 706.92, 332.81, False),
)


def cases(rows):
    """(row, step, published) of each published number."""
    for row in rows:
        full = "fp32" if row.gpu == "V100" else "tf32"
        for dtype, published in (("half", row.half), (full, row.full)):
            yield row, row.network(row.batch, dtype), published


def fit(rows):
    """Least squares of logarithms, one constant after the other with ever smaller steps."""
    todo = list(cases(rows))
    best = [math.log(v) for v in (0.5, 0.5, 1, 0.8, 1e-5)]

    def badness(logs):
        c = Constants(*(math.exp(v) for v in logs))
        return sum(math.log(row.batch / expected(step, GPUS[row.gpu], c) / published) ** 2
                   for row, step, published in todo)
    error, stride = badness(best), 0.5
    while stride > 0.003:
        moved = False
        for i in range(len(best)):
            for sign in 1, -1:
                tried = best[:i] + [min(best[i] + sign * stride, 0 if i == 3 else 9)] + best[i + 1:]
                worse = badness(tried)
                if worse < error:
                    best, error, moved = tried, worse, True
        stride = stride if moved else stride / 2
    return Constants(*(math.exp(v) for v in best))


def print_calibration(c):
    print(f"efficiency {c.half:.2f} in 16 bits, {c.tf32:.2f} in TF32, {c.fp32:.2f} in FP32, of "
          f"memory {c.memory:.2f}; {c.launch * 1e6:.0f} us per op\n")
    print("| network, container | batch | GPU | 16 bits: predicted | published | error | "
          "32 bits: predicted | published | error |\n|---|---|---|---|---|---|---|---|---|")
    errors = {True: [], False: []}
    for row in ROWS:
        cells = []
        for _, step, published in cases([row]):
            predicted = row.batch / expected(step, GPUS[row.gpu], c)
            errors[row.fit].append(abs(math.log(predicted / published)))
            error = 100 * (predicted / published - 1)
            cells += [f"{predicted:.3g}" if predicted < 1000 else f"{predicted:.0f}",
                      f"{published:g}", f"{error:+.0f} %"]
        print(f"| {row.what}, {row.of}{' (fitted)' if row.fit else ''} | {row.batch} | {row.gpu} | "
              f"{' | '.join(cells)} |")
    for fitted, name in ((True, "fitted"), (False, "held out")):
        e = sorted(errors[fitted])
        print(f"\n{name}: {len(e)} numbers, median factor {math.exp(e[len(e) // 2]):.2f}, "
              f"largest {math.exp(e[-1]):.2f}")


# ---- our step, from the counts of its kernels

COUNTED = ("blocks", "warp", "fp32", "fp64", "flop", "wavefronts", "sectors", "footprint")
Launch = collections.namedtuple("Launch", ("kernel", *COUNTED))
SCHEDULERS, SECTORS_PER_CLOCK, SECTOR, WARP_FLOP = 4, 4, 32, 64
# Assumed, as nothing published calibrates it: share of the peak that our kernels reach on the chip.
ON_CHIP = 0.5
# Alan Gray, "Getting Started with CUDA Graphs" (NVIDIA, 2019): a short kernel lasts 2.9 us, and one
# after the other in a graph take 3.4 us each.
SHORTEST, IN_GRAPH = 2.9e-6, 0.5e-6


def read_step(path):
    """Launches of the last step; the file's counts are sums over a kernel's launches."""
    before, launches = {}, []
    for line in open(path):
        _, kernel, blocks, _, _, _, *sums = line.split("\t")
        sums = list(map(int, sums))
        last = before.get(kernel, [0] * len(sums))
        launches.append(Launch(kernel, int(blocks), *(x - y for x, y in zip(sums, last))))
        before[kernel] = sums
    ends = [i for i, launch in enumerate(launches) if launch.kernel == launches[-1].kernel]
    return launches[ends[-2] + 1:]


def scale(one, two, factor):
    """Counts of two batches, the second twice as large, for `factor` times the first."""
    if [x.kernel for x in one] != [x.kernel for x in two]:
        sys.exit("predict.py: other kernels run with twice the batch")
    scaled = []
    for x, y in zip(one, two):
        launch = Launch(x.kernel, *(v + (w - v) * (factor - 1) for v, w in zip(x[1:], y[1:])))
        if x.blocks == y.blocks:  # the least grid, or a full one: it grows with its work
            launch = launch._replace(blocks=math.ceil(y.blocks * launch.warp / y.warp))
        scaled.append(launch)
    return scaled


def limits(launch, gpu):
    """Least seconds by what a launch needs of the chip."""
    clocks = gpu.processors * gpu.ghz * 1e9
    return {"issue": launch.warp / SCHEDULERS / clocks,
            "FP32": launch.fp32 * WARP_FLOP / (gpu.fp32 * 1e12),
            "FP64": launch.fp64 * WARP_FLOP / (gpu.fp32 / 2 * 1e12),
            "tensor cores": launch.flop / (gpu.half * 1e12),
            "shared memory": (launch.wavefronts + launch.sectors / SECTORS_PER_CLOCK) / clocks,
            "memory": launch.footprint * SECTOR / (gpu.gb_per_s * 1e9)}


def launch_seconds(launch, gpu, c):
    """(what limits it, the bound, expected)"""
    chip = limits(launch, gpu)
    limit = max(chip, key=chip.get)
    bound = chip[limit]
    memory = chip.pop("memory") / c.memory
    per_processor = launch.blocks / gpu.processors
    busy = per_processor / math.ceil(per_processor)
    return limit, bound, max(max(chip.values()) / ON_CHIP / busy, memory, SHORTEST) + IN_GRAPH


def read_cudnn(lines, dtype):
    """The convolutions that bench/gpu/traffic lists."""
    for line in lines:
        what, source, result, flop, nbytes = line.split("\t")
        yield convolution("cuDNN: " + what, int(source), int(result), float(flop), float(nbytes),
                          dtype)


class Counter:
    """Runs steps in the interpreter; what was counted stays in $builddir/ptx/steps."""

    def __init__(self):
        self.src, self.build = os.environ["srcdir"], os.environ["builddir"]
        sys.path.insert(0, self.src + "/t/ptx")
        import check  # pylint: disable=import-outside-toplevel
        self.check, self.since = check, check.newest()
        os.makedirs(self.build + "/ptx/steps", exist_ok=True)

    def compile(self):
        self.check.in_parallel(self.check.compile_one, [
            (source, COUNTED_ARCH, self.since) for source in self.check.sources()])

    def run(self, case, dtype, batch):
        """The path of a file for read_step, for a step of `batch` images."""
        kept = f"{self.build}/ptx/steps/{case.base}-{case.counted}-{batch}-{dtype}"
        if os.path.exists(kept) and os.path.getmtime(kept) > self.since:
            return kept
        env = dict(os.environ, UNET_CUDA_KERNELS="untried", UNET_CUDNN="only",
                   EMULATE_CUDNN="zeros", EMULATE_CAPABILITY=str(COUNTED_ARCH),
                   EMULATE_PROCESSORS=str(GPUS[COUNTED_GPU].processors), OMP_NUM_THREADS="1",
                   OMP_WAIT_POLICY="passive", XDG_CACHE_HOME=self.build + "/ptx/steps",
                   PTX_DIR=f"{self.build}/ptx/{COUNTED_ARCH}", PTX_LAUNCHES=kept + ".part")
        # The first step also tries cuDNN's engines; the second is the one that is counted.
        subprocess.run([self.build + "/t/ptx/unet-train", "bench", "--backend", "cuda", "--dtype",
                        dtype, "--base", str(case.base), "--size", case.counted, "--batch-size",
                        str(batch), "--warmup", "0", "--steps", "2", "--threads", "1"],
                       env=env, check=True, stdout=subprocess.DEVNULL)
        os.rename(kept + ".part", kept)
        return kept

    def cudnn(self, case, dtype):
        out = subprocess.run([self.build + "/bench/gpu/traffic", str(case.base), str(case.height),
                              str(case.width), str(case.batch), dtype], check=True, text=True,
                             env=dict(os.environ, UNET_CUDNN="only"), stdout=subprocess.PIPE).stdout
        return list(read_cudnn(out.splitlines(), MODEL_TYPE[dtype]))


MODEL_TYPE = {"f32": "fp32", "bf16": "half"}
COUNTED_GPU, COUNTED_ARCH = "H100", 90  # the counts are used for all GPUs
# Images that are counted, and the smaller of two batches: with fewer than WIDE filters in the first
# level, and with WIDE or more. Sums over the deepest level's pixels should fill a block.
WIDE, COUNTED_NARROW, COUNTED_WIDE = 16, ("256x256", 1), ("64x64", 8)


class Case:
    def __init__(self, text):
        base, size, batch = text.split(":")
        self.base, self.batch = int(base), int(batch)
        self.text = f"base {base}, {size}, batch {batch}"
        self.height, self.width = map(int, size.split("x"))
        self.counted, few = COUNTED_NARROW if self.base < WIDE else COUNTED_WIDE
        self.batches = few, 2 * few

    def factor(self):
        """How many times the pixels of the smaller batch that is counted."""
        height, width = map(int, self.counted.split("x"))
        return self.batch * self.height * self.width / (self.batches[0] * height * width)


Part = collections.namedtuple("Part", "name limit bound expected")


def parts_of_ours(counter, case, dtype, name, c):
    """A Part of each launch and each of cuDNN's convolutions."""
    gpu, kind = GPUS[name], MODEL_TYPE[dtype]
    one, two = (read_step(counter.run(case, dtype, batch)) for batch in case.batches)
    for launch in scale(one, two, case.factor()):
        yield Part(f"`{launch.kernel}`", *launch_seconds(launch, gpu, c))
    for op in counter.cudnn(case, dtype):
        yield Part(op.what, "cuDNN", op_bound(op, kind, gpu),
                   op_seconds(op, kind, gpu, c._replace(launch=IN_GRAPH)))


def predict_ours(cases, dtypes, names, c):
    """{(case, dtype, GPU): the parts of our step}"""
    counter = Counter()
    runs = [(case, dtype, name) for case in cases for dtype in dtypes for name in names
            if dtype == "f32" or name != "V100"]
    counter.compile()
    # Cases with the same filters have the same counts.
    counts = {(case.base, dtype, n): (case, dtype, n) for case, dtype, _ in runs
              for n in case.batches}
    counter.check.in_parallel(counter.run, counts.values())
    return {run: list(parts_of_ours(counter, *run, c)) for run in runs}


def print_json(ours):
    print(json.dumps({"steps": [
        {"case": case.text, "dtype": dtype, "gpu": name, "launches": len(parts),
         "ours_ms": 1e3 * sum(p.expected for p in parts)}
        for (case, dtype, name), parts in ours.items()]}))


def print_steps(ours, cases, dtypes, names, c, kernels):
    print("| predicted ms (bound) |" + "".join(f" {name}: ours | PyTorch |" for name in names) +
          "\n|---|" + "---|---|" * len(names))
    for case in cases:
        for dtype in dtypes:
            kind = MODEL_TYPE[dtype]
            step, cells = unet(case.batch, kind, case.base, case.height, case.width), []
            for name in names:
                parts = ours.get((case, dtype, name))
                if not parts:
                    cells += ["-", "-"]
                    continue
                for late, bound in ((sum(p.expected for p in parts), sum(p.bound for p in parts)),
                                    (expected(step, GPUS[name], c), least(step, GPUS[name]))):
                    cells.append(f"{1e3 * late:.2f} ({1e3 * bound:.2f})")
            print(f"| {case.text}, {dtype} | {' | '.join(cells)} |")
    if kernels:
        (case, dtype, name), parts = list(ours.items())[-1]
        print_kernels(parts, kernels, f"{case.text}, {dtype}, {name}")


def print_kernels(parts, most, title):
    total = collections.defaultdict(lambda: [0, 0, 0, collections.Counter()])
    for part in parts:
        row = total[part.name]
        row[0], row[1], row[2] = row[0] + 1, row[1] + part.bound, row[2] + part.expected
        row[3][part.limit] += part.bound
    print(f"\n{title}, {len(parts)} launches:\n\n| kernel | launches | bound by | bound, us | "
          "predicted, us |\n|---|---|---|---|---|")
    for name, (n, bound, late, limit) in sorted(total.items(), key=lambda r: -r[1][2])[:most]:
        by = limit.most_common(1)[0][0]
        print(f"| {name} | {n} | {by} | {1e6 * bound:.0f} | {1e6 * late:.0f} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--calibration", action="store_true")
    parser.add_argument("--gpus", default="V100,A100,H100,H200")
    parser.add_argument("--steps", default="64:256x256:8,8:256x256:8")
    parser.add_argument("--dtypes", default=",".join(MODEL_TYPE))
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    constants = fit([row for row in ROWS if row.fit])
    if args.calibration:
        print_calibration(constants)
        return
    cases = [Case(text) for text in args.steps.split(",")]
    names, dtypes = args.gpus.split(","), args.dtypes.split(",")
    ours = predict_ours(cases, dtypes, names, constants)
    if args.json:
        print_json(ours)
    else:
        print_steps(ours, cases, dtypes, names, constants, args.kernels)


if __name__ == "__main__":
    sys.exit(main())
