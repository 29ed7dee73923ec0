#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The same weights and images through our network and PyTorch: gradients, running statistics, three
# Adam steps and inference agree to 1e-4 in fp32, losses to 1e-6, gradients at the kink of a ReLU or
# of a pooling with those of one of its sides (torch_kinks.py). Every optimizer takes the steps that
# PyTorch's takes. Each loss by itself agrees to 1e-6, with its gradients.
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

cases=() texts=()
add_case() { # TEXT WORD ... : its description, and its line of input for the comparing program
    texts+=("$1")
    shift
    cases+=("$*")
}
compare_cases() { # PROGRAM: compares all that were added; PyTorch starts only once, as that is slow
    local i=0 status seen
    printf '%s\n' "${cases[@]}" | OMP_NUM_THREADS=1 "$python" "$srcdir/t/$1" >"$OUT" 2>"$ERR"
    while read -r status seen; do
        report "$status" "${texts[i++]}: $seen"
    done <"$OUT"
    is "$i" ${#cases[@]} "$1 compared every case" || diag <"$ERR"
    cases=() texts=()
}

for backend in ref simd; do
    for shape in "8 4 1 32 48 2 local 1 ce" "8 4 1 32 48 2 none 1 ce" "4 2 3 20 28 3 local 1 ce" \
        "4 2 3 20 28 3 none 5 ce" "4 2 1 20 28 3 local 5 weighted-ce" \
        "4 2 1 20 28 3 local 1 weighted-ce" \
        "4 2 1 20 28 3 local 4 dice" "4 2 1 20 28 3 local 1 ce+dice" \
        "4 2 1 20 28 3 local 4 weighted-dice" "4 2 1 20 28 3 local 3 weighted-ce+dice" \
        "4 2 3 20 28 3 local 4 weighted-focal" "4 2 1 20 28 3 local 1 weighted-focal+tversky" \
        "4 2 1 20 28 3 none 4 weighted-tversky" "4 2 1 20 28 3 local 3 focal+dice" \
        "4 resnet20 3 16 13 12 local 5 ce" "4 resnet20-projection 3 16 12 12 local 5 weighted-ce" \
        "4 resnet20 1 14 12 12 none 3 ce" "8 resnet18 3 40 54 6 local 4 ce" \
        "4 nnunet 2 64 96 3 none 2 ce+dice"; do
        dir=$TMP/${#cases[@]}
        mkdir -p "$dir"
        # shellcheck disable=SC2086 # a list of words
        "$dump" "$backend" $shape 3 "$dir" 2>"$ERR" || diag <"$ERR"
        add_case "$backend, base depth channels height width batch norm classes loss = $shape" \
            "$dir $shape"
    done
done
compare_cases torch_unet.py

# With class weights and without, and with pixels that do not count.
for program in ops:ref backends/cuda:cuda; do
    "$builddir/trainer/${program%:*}/test/opcheck.t" --losses "${program#*:}" \
        >"$TMP/${program#*:}" 2>"$ERR" || diag <"$ERR"
    add_case "losses of ${program#*:}" "$TMP/${program#*:}"
done
compare_cases torch_losses.py

for o in "sgd 0 0 0 0 0" "sgd 0.9 0 0 0 0" "sgd 0.9 1 0 0.01 0" "sgd 0.9 0 1 0 0" \
    "sgd 0.9 0 0 0.01 1.5" \
    "adam 0 0 0 0 0" "adam 0 0 0 0.1 1" "adamw 0 0 0 0.1 0" "lars 0.9 0 0 0.01 0" \
    "lamb 0 0 0 0.01 0"; do
    # shellcheck disable=SC2086 # a list of words
    "$trace" $o >"$TMP/trace-${#cases[@]}" 2>"$ERR" || diag <"$ERR"
    add_case "optimizer momentum nesterov uncorrected decay clip = $o" "$TMP/trace-${#cases[@]} $o"
done
compare_cases torch_optim.py
done_testing
