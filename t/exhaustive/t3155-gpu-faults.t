#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each call of the CUDA runtime, cuDNN and NCCL that a training makes fails once, at several places
# of the run (EMULATE_FAULT in cuda/runtime/test/emulate.h): the run either gives the same
# result without the call, or ends by a documented exit code with one error line, in time.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

places=${GPU_FAULT_PLACES:-4}
emulated=$builddir/trainer/backends/cuda/test/unet-train
train=("$emulated" train --backend cuda --data data --size 32x32 --set model.base=2
    --set model.depth=1 --threads 1 --epochs 2 --batch-size 2 --lr 0.01
    --set train.lr_scaling=none --set train.timeout_s=30)
export UNET_CUDNN=only
ok "synthetic data" unet-train data synth --out data --count 12 --size 32x32 --seed 1

scores() { cut -d, -f3,7 "$1/log.csv" | sed 1d; }
is_close() { # RUN RUN
    paste -d, <(scores "$1") <(scores "$2") | awk -F, '
        function differ(a, b) { return a - b > 0.002 || b - a > 0.002 }
        differ($1, $3) || differ($2, $4) { bad = 1 }
        END { exit bad || NR < 2 }'
}

# What is wrong with the run "out", which ended with code $2 after fault $1; empty: nothing.
complaint() {
    local nerrors
    nerrors=$(grep -c '^unet-train: error: ' err)
    case $2 in
    0)
        [ "$nerrors" = 0 ] || echo "$1: exit code 0 with an error"
        is_close one out || echo "$1: exit code 0 with another result: $(scores out | tr '\n' ' ')"
        ;;
    1 | 3 | 5)
        [ "$nerrors" = 1 ] || echo "$1: $nerrors error lines"
        ;;
    *) echo "$1: exit code $2: $(tail -n 1 err)" ;;
    esac
}

# One fault at a time, at $places places of the calls of each function.
sweep() { # COMMAND...
    local name count i at last code
    while read -r name count; do
        last=0
        for ((i = 0; i < places; i++)); do
            at=$((1 + (count - 1) * i / (places - 1)))
            [ $at -gt $last ] || continue
            last=$at
            rm -rf out
            code=0
            EMULATE_FAULT="$name $at" timeout -k 5 60 "$@" --out out >/dev/null 2>err || code=$?
            complaint "$name $at of $count" $code
            nfaults=$((nfaults + 1))
        done
    done <calls
}

# Rank 1 of two processes, which record sums; rank 0 has no fault, and ends well if rank 1 does.
pair() { # OPTIONS...
    local host port rank code=0 other=0 started
    host=$(uname -n)
    port=$(cat port)
    echo $((port + 2)) >port
    for rank in 0 1; do
        export PMI_SIZE=2 PMI_RANK=$rank LOCAL_RANK=$rank \
            TF_CONFIG="{\"cluster\":{\"worker\":[\"$host:$port\",\"$host:$((port + 1))\"]},\"task\":{\"type\":\"worker\",\"index\":$rank}}"
        [ "$rank" = 1 ] && break
        env -u EMULATE_FAULT -u EMULATE_CALLS "$@" >/dev/null 2>&1 &
        started=$!
    done
    "$@" || code=$?
    wait "$started" || other=$?
    [ "$code" != 0 ] || [ "$other" = 0 ] || code=99
    return "$code"
}
export -f pair
echo $((20000 + $$ % 12000)) >port

for ngpus in 1 2; do
    rm -rf one
    nfaults=0
    exits 0 "a run on $ngpus GPUs" env EMULATE_CALLS=calls "${train[@]}" --gpus $ngpus --out one
    ok "calls more than 30 functions" test "$(wc -l <calls)" -gt 30
    sweep "${train[@]}" --gpus $ngpus >complaints 2>&1
    is "$(cat complaints)" "" "no fault on $ngpus GPUs is missed, unexplained or a crash"
    echo "# $nfaults faults"
done
rm -rf one
nfaults=0
processes=(bash -c 'pair "$@"' pair "${train[@]}")
exits 0 "a run of two processes" env EMULATE_CALLS=calls "${processes[@]}" --out one
sweep "${processes[@]}" >complaints 2>&1
is "$(cat complaints)" "" "no fault of one of two processes is missed, unexplained or a crash"
echo "# $nfaults faults"
done_testing
