#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The times that bench/gpu/predict.py predicts: their arithmetic by hand, and the table of
# calibration in doc/PERFORMANCE.md; and the spills that t/ptx/check.py finds. No GPU is needed, nor
# CUDA.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

command -v python3 >/dev/null || skip_all "there is no python3"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/bench/gpu

exits 0 "the calibration" python3 "$srcdir/bench/gpu/predict.py" --calibration
is "$(grep -c '^|.*(fitted)' "$OUT") $(grep -c '^|.* %.* %' "$OUT")" "5 13" \
    "rows that were fitted and held out"
is "$(grep '^|' "$OUT" | grep -vxFf "$srcdir/doc/PERFORMANCE.md")" "" \
    "doc/PERFORMANCE.md has its table"
like "$srcdir/doc/PERFORMANCE.md" "$(sed -n 's/^\(eff.*FP32\),.*/\1/p' "$OUT")" "its constants"
like "$srcdir/doc/PERFORMANCE.md" "$(sed -n 's/^held out: .*, \(median.*\)/\1/p' "$OUT")" \
    "and its errors"

# Steps as lists of ops.
exits 0 "no bound exceeds its prediction" python3 - <<'PY'
from predict import *
c = fit([row for row in ROWS if row.fit])
steps = [step for _, step, _ in cases(ROWS)]
steps += [unet(8, dtype, base, 256, 256) for dtype in ("half", "fp32") for base in (8, 64)]
for gpu in GPUS.values():
    for step in steps:
        assert 0 < least(step, gpu) < expected(step, gpu, c), (gpu, step.dtype)
        assert len(step.ops) * c.launch < expected(step, gpu, c)
PY
exits 0 "bytes of a step add up" python3 - <<'PY'
from predict import *
s = Step(2, "half")
y = s.activate(s.convolve((4, 6, 8), 16, first=True), norm=True)
assert y == (4, 6, 16)
x, y, w = 2 * 4 * 6 * 8 * 2, 2 * 4 * 6 * 16 * 2, 3 * 3 * 8 * 16 * 2
assert [op.nbytes for op in s.ops] == [x + y + w] * 2 + [3 * y, 5 * y, 2 * y, 3 * y], s.ops
assert s.ops[0].flop == 2 * 2 * 4 * 6 * 3 * 3 * 8 * 16
assert s.ops[0].padded == s.ops[0].flop * (64 / 16) * (32 / 8)
PY
flop=$(python3 -c 'from predict import *
print("%.3f" % (sum(op.flop for op in unet(2, "fp32", 8, 64, 64).ops) * 1e-9))')
exits 0 "the same network here" env UNET_CUDNN=only UNET_CUDA_KERNELS=untried \
    "$builddir/trainer/backends/cuda/test/unet-train" bench --backend cuda --base 8 --size 64x64 \
    --batch-size 2 --threads 1 --steps 3 --warmup 0
like "$OUT" "^plan  $flop GFLOP" "has the same number of operations"
like "$OUT" '^step +([0-9.]+) s \(median\), \1 s \(least\)' "steps that a GPU queues have their mean"

# Two steps of two kernels, with one image and with two: sums over each kernel's launches.
for batch in 1 2; do
    for step in 1 2; do
        for kernel in add adam; do
            blocks=7
            [ $kernel = add ] && blocks=$((132 * batch))
            printf 'launch\t%s\t%d\t256\t0\t8\t%d\t0\t0\t0\t0\t%d\t%d\n' $kernel $blocks \
                $((step * 1000000 * batch)) $((step * 400000 * batch)) $((step * 300000 * batch))
        done
    done >counts$batch
done
exits 0 "launches of a step" python3 - <<'PY'
from predict import *
one, two = read_step("counts1"), read_step("counts2")
assert [x.kernel for x in one] == ["add", "adam"] and one[0].warp == 1000000, one
add, adam = scale(one, two, 8)
assert (add.blocks, add.warp, add.footprint) == (8 * 132, 8000000, 2400000), add
assert adam.blocks == 7 * 4, adam  # grows with its work
c = Constants(1, 1, 1, 0.5, 1)
limit, bound, late = launch_seconds(add, GPUS["H100"], c)
assert limit == "memory" and math.isclose(bound, 2400000 * 32 / 3352e9), (limit, bound)
assert math.isclose(late, 2 * bound + IN_GRAPH), late
limit, bound, late = launch_seconds(adam._replace(footprint=0), GPUS["H100"], c)
assert limit == "issue" and math.isclose(bound, 8000000 / 4 / (132 * 1.98e9)), (limit, bound)
assert math.isclose(late, bound / ON_CHIP * 132 / 28 + IN_GRAPH), late
PY

# What ptxas reports of registers.
mkdir -p ptx/80
ptxas() { printf 'ptxas info    : Function properties for %s\n    0 bytes stack frame, %s bytes spill %s' \
    "$1" "$2" "stores, $3 bytes spill loads"; }
{ ptxas _ZL9dice_grad9dice_args 24 20 && echo && ptxas _Z8mma_conv8mma_args 0 0; } >ptx/80/a.log
spills() { builddir=. PYTHONPATH=$srcdir/t/ptx python3 -c 'import check
print(check.check_spills([80]))'; }
is "$(spills)" "sm_80 dice_grad: 44 bytes of registers are spilled
True" "spills are listed"
ptxas _Z8mma_conv8mma_args 0 4 >ptx/80/b.log
is "$(spills | tail -n 2)" "sm_80 mma_conv: 4 bytes of registers are spilled
False" "those of a kernel for tensor cores are an error"
done_testing
