#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What ends a run on two GPUs that NCCL connects, in its first step, in its third, the first that is
# replayed as a graph, and in its 20th: every rank ends within seconds, with the reason and a
# documented exit code. GPUs and NCCL are emulated, whose abort returns only when no graph with sums
# exists (trainer/comm/test/nccl_emulated.c). Ranks are processes that nobody else ends.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

emulated=$builddir/trainer/backends/cuda/test/unet-train
[ -x "$emulated" ] || skip_all "the unit tests are not built (make check-build)"
train=("$emulated" train --data data --size 16x16 --set model.base=2 --set model.depth=1
    --threads 1 --set data.split=split.json --backend cuda --batch-size 4 --epochs 100000
    --set model.batch_norm=sync --set "train.class_weights=1,3")
export UNET_CUDNN=only # no engine is timed
host=$(uname -n)
port=$((20000 + $$ % 12000))

ok "synthetic data" unet-train data synth --out data --count 20 --size 32x32 --seed 2
ok "its split" unet-train data split --data data --out split.json


# Runs two ranks, of which rank 1 has the variable. Leaves their exit codes in NAME.code0 and
# NAME.code1, and the time when rank 0 has ended in NAME.ended.
run() { # NAME VARIABLE OPTIONS...
    local name=$1 variable=$2 r spec pids=()
    shift 2
    spec="{\"cluster\":{\"worker\":[\"$host:$port\",\"$host:$((port + 1))\"]},\"task\":{\"type\":\"worker\",\"index\":"
    for r in 0 1; do
        [ $r = 0 ] || export "${variable?}"
        PMI_SIZE=2 PMI_RANK=$r LOCAL_RANK=$r \
            TF_CONFIG="$spec$r}}" "${train[@]}" --out "$name" "$@" >"$name.out$r" 2>"$name.err$r" &
        pids+=($!)
        echo $! >"$name.pid$r"
    done
    wait "${pids[0]}"
    echo $? >"$name.code0"
    date +%s.%N >"$name.ended"
    wait "${pids[1]}"
    echo $? >"$name.code1"
}
start() { # NAME VARIABLE OPTIONS...
    port=$((port + 2))
    run "$@" &
}
code() { wait_until 60 test -s "$1.code$2" && cat "$1.code$2"; } # NAME RANK
# Rank 0 has ended with the code, soon after it has noticed why, which it or RANK reports.
ends() { # NAME CODE TEXT [RANK]
    is "$(code "$1" 0)" "$2" "$1: rank 0 ends with exit code $2"
    like "$1.err${4-0}" "^unet-train: error: $3" "rank ${4-0} reports the reason"
    is "$(cat "$1.err0" "$1.err1" | grep -c 'error:')" 1 "one line does"
    like "$1/FAILED" "\"exit_code\":[0-9]+,\"error\":\"$3" "the marker has the reason"
    ok "it ends within 5 s of the marker" awk -v a="$(stat -c %.Y "$1/FAILED")" \
        -v b="$(cat "$1.ended")" 'BEGIN { exit !(b - a < 5) }'
}

# The update of each step is one kernel; the first launch of a graph is that of step 2.
for step in 1 3 20; do
    start kill-$step "EMULATE_SIGNAL=optimize $step 9" --set train.timeout_s=60
    start stop-$step "EMULATE_SIGNAL=optimize $step 19" --set train.timeout_s=20
    start stuck-$step "EMULATE_SIGNAL=optimize $step 0" --set train.timeout_s=20
    start term-$step "EMULATE_SIGNAL=optimize $step 15" --set train.timeout_s=60
done
start memory-1 "EMULATE_FAULT=cudaMalloc 19" --set train.timeout_s=60
start memory-3 "EMULATE_FAULT=cudaGraphLaunch 2" --set train.timeout_s=60
start memory-20 "EMULATE_FAULT=cudaGraphLaunch 19" --set train.timeout_s=60

for step in 1 3 20; do
    ends kill-$step 5 "rank 1 on $host is gone"
    is "$(code kill-$step 1)" 137 "rank 1 was killed"
    for r in 0 1; do is "$(code term-$step $r)" 75 "SIGTERM in step $step: rank $r leaves"; done
    ok "after a checkpoint" grep -q '"kind":"checkpoint"' term-$step/record.jsonl
    ends memory-$step 3 "rank 1 on $host: GPU 1: .*memory" 1
    is "$(code memory-$step 1)" 3 "so does rank 1"
done
for step in 1 3 20; do
    ends stop-$step 5 "rank 1 on $host: no answer for [0-9]+ s: stopped"
    kill -KILL "$(cat stop-$step.pid1)"
    is "$(code stop-$step 1)" 137 "the stopped rank was killed"
    ends stuck-$step 5 "rank [01] .*(alive, but slow or stuck|gone or stuck)"
done
for _ in 1 2; do
    for step in 1 3 20; do
        kill -TERM "$(cat stuck-$step.pid1)"
    done
    sleep 2.5 # a second signal that comes sooner is taken for the first
done
for step in 1 3 20; do
    is "$(code stuck-$step 1)" 75 "a second SIGTERM ends a rank that waits for its GPU for ever"
    like stuck-$step.err1 'error: stopped by a second SIGTERM .*continues' "it reports that"
done
is "$(pgrep -f -- "--out .*$TMP/" | wc -l)" 0 "no process is left"
done_testing
