#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The same weights and images through our network and PyTorch: loss, gradients, running statistics,
# three Adam steps and inference agree to 1e-4 in fp32, gradients at the kink of a ReLU or of a
# pooling with those of one of its sides (torch_kinks.py). Every optimizer takes the steps that
# PyTorch's takes.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import torch, numpy' 2>/dev/null; then
        python=$p
        break
    fi
done
[ -n "$python" ] || skip_all "no python3 with torch and numpy (Debian: python3-torch)"
dump=$builddir/trainer/network/test/dump
trace=$builddir/trainer/optim/test/trace
for p in "$dump" "$trace"; do [ -x "$p" ] || skip_all "$p is not built"; done

compare() { # BACKEND BASE DEPTH|resnetN CHANNELS HEIGHT WIDTH BATCH BATCH_NORM
    local dir=$TMP/$*
    dir=${dir// /-}
    mkdir -p "$dir"
    if ! "$dump" "$@" 3 "$dir" 2>"$ERR"; then
        cat "$ERR"
        return 1
    fi
    shift
    OMP_NUM_THREADS=1 "$python" "$srcdir/t/torch_unet.py" "$dir" "$@"
}

for backend in ref simd; do
    for shape in "8 4 1 32 48 2 local 1 ce" "8 4 1 32 48 2 none 1 ce" "4 2 3 20 28 3 local 1 ce" \
        "4 2 3 20 28 3 none 5 ce" "4 2 1 20 28 3 local 5 weighted" \
        "4 2 1 20 28 3 local 1 weighted" \
        "4 2 1 20 28 3 local 4 dice" "4 2 1 20 28 3 local 1 ce+dice" \
        "4 resnet20 3 16 13 12 local 5 ce" "4 resnet20-projection 3 16 12 12 local 5 weighted" \
        "4 resnet20 1 14 12 12 none 3 ce"; do
        text="$backend, base depth channels height width batch norm classes loss = $shape"
        # shellcheck disable=SC2086 # a list of words
        compare $backend $shape >"$OUT"
        report $? "$text: $(tr '\n' ' ' <"$OUT")"
    done
done

for o in "sgd 0 0 0 0 0" "sgd 0.9 0 0 0 0" "sgd 0.9 1 0 0.01 0" "sgd 0.9 0 1 0 0" \
    "sgd 0.9 0 0 0.01 1.5" \
    "adam 0 0 0 0 0" "adam 0 0 0 0.1 1" "adamw 0 0 0 0.1 0" "lars 0.9 0 0 0.01 0" \
    "lamb 0 0 0 0.01 0"; do
    # shellcheck disable=SC2086 # lists of words
    "$trace" $o 2>"$ERR" | OMP_NUM_THREADS=1 "$python" "$srcdir/t/torch_optim.py" $o >"$OUT" \
        2>>"$ERR"
    report $? "optimizer momentum nesterov uncorrected decay clip = $o: $(cat "$OUT")" ||
        diag <"$ERR"
done
done_testing
