#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Data-parallel training: N replicas with batch b are one with batch N*b, as ranks that unet-train
# forks and as MPI ranks; what must not start does not; a lost rank ends the others.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
[ -x "$differ" ] || skip_all "the unit tests are not built (make check-build)"
mpi=
if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then mpi=yes; fi

train=(unet-train train --data data --size 32x32 --set model.base=4 --set model.depth=2 \
    --threads 1 --set train.lr_scaling=none
    --set data.split=split.json --set train.timeout_s=20)
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }
mpirun_() { timeout 120 mpirun -np "$@"; }
no_result() { [ ! -e "$1/DONE" ] && [ -e "$1/FAILED" ]; }

# The weights of a tensor differ by at most this (root mean square). Sums of floats in another order
# differ in the last digits; Adam divides each gradient by its size, so where a gradient is nearly
# zero, its rounding error weighs more: single weights may differ by some 1e-4. 9 steps with rate
# 0.001 move a weight by up to 9e-3, and so would a wrong gradient, all of them.
tolerance=1e-4

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json

# 32 images in 3 steps of at most 12: steps of 10 and 11, so ranks have unequal shares.
for norm in sync none; do
    step=("${train[@]}" --epochs 3 --set model.batch_norm="$norm")
    ok "$norm: 1 replica, batch 12" "${step[@]}" --batch-size 12 --out "$norm-1"
    for n in 2 3 4; do
        ok "$norm: $n forked ranks, batch $((12 / n))" "${step[@]}" --gpus $n --batch-size $((12 / n)) \
            --out "$norm-t$n"
        ok "$norm: $n forked ranks give the same weights" close "$norm-1" "$norm-t$n"
    done
    for n in 2 3; do
        [ -n "$mpi" ] || { skip "no MPI" "$norm: $n MPI ranks"; continue; }
        ok "$norm: $n MPI ranks" mpirun_ $n "${step[@]}" --batch-size $((12 / n)) --out "$norm-m$n"
        ok "$norm: $n MPI ranks give the same weights" close "$norm-1" "$norm-m$n"
        is "$(field "$norm-m$n/DONE" weights_sha256)" "$(field "$norm-t$n/DONE" weights_sha256)" \
            "$norm: $n MPI ranks give the same bits as $n forked ones"
    done
done
# Plain gradient descent divides by no gradient: the weights and the running statistics are those of
# one process and the whole batch to 1e-5.
exact=("${train[@]}" --epochs 2 --set model.batch_norm=sync --set train.optimizer=sgd --lr 0.05)
ok "sgd: 1 replica, batch 12" "${exact[@]}" --batch-size 12 --out exact-1
tolerance=1e-5
for n in 2 3; do
    ok "sgd: $n forked ranks" "${exact[@]}" --gpus $n --batch-size $((12 / n)) --out exact-t$n
    ok "sgd: $n forked ranks give the same to 1e-5" close exact-1 exact-t$n
    [ -n "$mpi" ] || { skip "no MPI" "sgd: $n MPI ranks"; continue; }
    ok "sgd: $n MPI ranks" mpirun_ $n "${exact[@]}" --batch-size $((12 / n)) --out exact-m$n
    ok "sgd: $n MPI ranks give the same to 1e-5" close exact-1 exact-m$n
done
tolerance=1e-4

# A constant global batch: 10 images are shares of 2 and 3, and the rate does not grow with the
# GPUs.
whole=("${train[@]}" --epochs 3 --set model.batch_norm=sync --set train.global_batch=10 \
    --set train.lr_scaling=linear)
ok "global batch 10: 1 replica" "${whole[@]}" --out whole-1
ok "4 ranks" "${whole[@]}" --gpus 4 --out whole-t4
ok "4 ranks give the same weights" close whole-1 whole-t4
is "$(field whole-t4/record.jsonl global_batch) $(field whole-t4/record.jsonl batch_per_gpu)" \
    "10 3" \
    "the record has the global batch and the batch of a replica"

ok "local batch norm" "${train[@]}" --epochs 3 --set model.batch_norm=local --gpus 3 \
    --batch-size 4 --out local-t3
ok "local batch norm gives other weights" eval '! close sync-1 local-t3'
is "$(field sync-t3/record.jsonl world_size) $(field sync-t3/record.jsonl devices) $(field sync-t3/record.jsonl comm)" \
    "1 3 node" "a run on three devices of one task has the communicator node"

ok "3 ranks again" "${train[@]}" --epochs 3 --set model.batch_norm=sync --gpus 3 --batch-size 4 \
    --out sync-t3b
is "$(field sync-t3b/DONE weights_sha256)" "$(field sync-t3/DONE weights_sha256)" \
    "a second run gives the same bits"
ok "eval with one process" eval \
    'unet-train eval --checkpoint sync-t3/checkpoint --split split.json --threads 1 --json >eval.json'
# Those of the images' own sizes follow.
whole() { grep -o "\"$2\":[0-9.]*" "$1" | head -n 1 | cut -d: -f2; }
is "$(whole eval.json iou) $(whole eval.json intersection)" \
    "$(whole sync-t3/DONE iou) $(whole sync-t3/DONE intersection)" \
    "eval counts the same pixels as the three replicas"

# Two training images for three replicas: one has none.
ok "a tiny set" unet-train data synth --out tiny --count 3 --size 64x64 --seed 3
ok "its split" unet-train data split --data tiny --out tiny.json
few=(unet-train train --data tiny --set data.split=tiny.json --size 32x32 --set model.base=4 \
    --set model.depth=2 --threads 1
    --set train.lr_scaling=none --epochs 4)
ok "1 replica on 2 images" "${few[@]}" --set model.batch_norm=none --batch-size 3 --out few-1
ok "3 replicas on 2 images" "${few[@]}" --set model.batch_norm=none --batch-size 1 --gpus 3 \
    --out few-3
ok "give the same weights" close few-1 few-3
ok "1 replica, synchronised batch norm" "${few[@]}" --set model.batch_norm=sync --batch-size 3 \
    --out few-s1
for n in 3 5; do
    ok "$n replicas on 2 images, synchronised batch norm" \
        "${few[@]}" --set model.batch_norm=sync --set train.global_batch=$n --gpus $n --out few-s$n
    ok "give the same weights and running statistics" close few-s1 few-s$n
done
[ -n "$mpi" ] || skip "no MPI" "5 MPI ranks"
[ -z "$mpi" ] || ok "5 MPI ranks" mpirun_ 5 --oversubscribe "${few[@]}" \
    --set model.batch_norm=sync --set train.global_batch=5 --out few-m5
[ -z "$mpi" ] || is "$(field few-m5/DONE weights_sha256)" "$(field few-s5/DONE weights_sha256)" \
    "the same bits"

# A replica that finds a broken image takes the others with it.
cp -r data broken
ok "a set" unet-train data split --data broken --out broken.json
mapfile -t images < <(grep -o '"image":"[^"]*"' broken.json | sed 's/.*:"//; s/"$//')
ok "an image changed since the split" cp "broken/${images[1]}" "broken/${images[0]}"
bad=("${train[@]}" --data broken --set data.split=broken.json --epochs 3 --batch-size 4)
exits 7 "forked: a rank's error is the run's" timeout 60 "${bad[@]}" --gpus 3 --out bad-t
is "$(grep -c 'error:' "$ERR")" 1 "one line reports it"
ok "the failed run has a marker and no result" no_result bad-t
like bad-t/FAILED "\"exit_code\":7,\"error\":\"rank [0-2] on $(uname -n): .*${images[0]}" \
    "the marker has the exit code, the rank and the reason"
[ -n "$mpi" ] || { skip "no MPI" "disagreements between ranks"; done_testing; }

exits 7 "MPI: a rank's error is the run's" mpirun_ 3 "${bad[@]}" --out bad-m
ok "rank 0 writes the marker of the failed run" no_result bad-m
like bad-m/FAILED "\"exit_code\":7,\"error\":\"rank [0-2] on $(uname -n): .*${images[0]}" \
    "the marker has the exit code, the rank and the reason"

# --- what must not start ---
write_run run.json 2 0.001 20
host=$(uname -n)
port=$((20000 + $$ % 10000))
# Runs with TF_CONFIG as a rank's own: $WORKERS and $INDEX may use the rank as $r.
cat >rank.sh <<'END'
r=$OMPI_COMM_WORLD_RANK
if [ -n "${WORKERS:-}" ]; then
    export TF_CONFIG="{\"cluster\":{\"worker\":[$WORKERS]},\"task\":{\"type\":\"worker\",\"index\":$((INDEX))}}"
fi
[ "$r" != 1 ] || set -- "$@" ${EXTRA:-}
exec "$@"
END
spec_run() { # NP OUT
    mpirun_ "$1" bash rank.sh unet-train train --run run.json --out "$2"
}
export INDEX=r
two="\"$host:$port\",\"$host:$((port + 1))\""
WORKERS=$two exits 0 "a spec that agrees" spec_run 2 spec-good
ok "the run has a result" test -e spec-good/DONE
is "$(field spec-good/record.jsonl world_size)" 2 "the run has two ranks"
WORKERS="" exits 5 "no spec" spec_run 2 spec-none
like "$ERR" 'TF_CONFIG, .* is not set' "the error says that TF_CONFIG is missing"
WORKERS="$two,\"$host:$((port + 2))\"" exits 5 "a spec of three workers for two tasks" spec_run 2 \
    spec-three
like "$ERR" 'has 2 tasks \(layout.tasks\), but TF_CONFIG lists 3 workers' \
    "the error has the expected and the listed number of tasks"
WORKERS=$two exits 5 "three ranks for two tasks" spec_run 3 spec-np3
like "$ERR" 'has 2 tasks .* but 3 were started \(OMPI_COMM_WORLD_SIZE\)' \
    "the error has the number of ranks that were started"
WORKERS=$two INDEX=1-r exits 5 "indices swapped" spec_run 2 spec-swapped
like "$ERR" 'this task is [01] \(OMPI_COMM_WORLD_RANK\), but TF_CONFIG says worker [01]' \
    "the error has the index of the launcher and that of TF_CONFIG"
WORKERS="\"$host:$port\",\"elsewhere:$((port + 1))\"" exits 5 "a worker on another host" spec_run \
    2 spec-host
like "$ERR" "worker 1 runs on elsewhere, but this host is $host" "the error names both hosts"
WORKERS="\"localhost:$port\",\"elsewhere:$((port + 1))\"" exits 5 "localhost among others" \
    spec_run 2 spec-local
WORKERS="\"localhost:$port\",\"localhost:$((port + 1))\"" exits 0 "localhost alone" spec_run 2 \
    spec-local2
WORKERS=$two exits 5 "a broken spec" env INDEX=7 bash \
    -c 'exec timeout 120 mpirun -np 2 bash rank.sh unet-train train --run run.json --out spec-index'
for r in none three np3 swapped host local index; do [ ! -e spec-$r/DONE ] ||
    echo "$r"; done >results
is "$(cat results)" "" "none of them is a result"

exits 5 "ranks with different options" env EXTRA="--lr 0.5" timeout 120 \
    mpirun -np 3 bash rank.sh "${train[@]}" --epochs 2 --batch-size 4 --out differ
like "$ERR" "rank 1 on $host has another run.json or other options than rank 0" \
    "the error names the rank that differs"
is "$(grep -c 'error: rank 1' "$ERR")" 1 "the error is printed once"
ok "the failed run has a marker and no result" no_result differ

# --- a rank that dies ---
timeout 120 mpirun -np 3 "${train[@]}" --epochs 100000 --batch-size 4 --out lost >"$OUT" 2>"$ERR" &
launcher=$!
ok "three ranks are under way" wait_until 60 grep -q '"kind":"epoch"' lost/record.jsonl
victim=$(for p in /proc/[0-9]*; do
    tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "OMPI_COMM_WORLD_RANK=2" &&
        tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "HOME=$HOME" && echo "${p#/proc/}"
done)
ok "rank 2 is found" test -n "$victim"
kill -KILL "$victim"
wait $launcher
code=$?
ok "the others end, with exit code $code" test $code != 0 -a $code != 124
like lost/FAILED "rank 2 on $host is gone" "rank 0 marks it, and names the rank"

# --- a launcher that is told to stop ---
# (Without timeout(1), which signals mpirun twice: the second one makes it kill the ranks at once.)
mpirun -np 2 "${train[@]}" --epochs 100000 --batch-size 4 --out stopped >"$OUT" 2>"$ERR" &
launcher=$!
ok "two ranks are under way" wait_until 60 grep -q '"kind":"epoch"' stopped/record.jsonl
kill -TERM $launcher
wait $launcher
code=$?
ok "SIGTERM ends the run, with exit code $code" test $code != 0
ok "the stopped run has no marker, so that it can continue" \
    test ! -e stopped/DONE -a ! -e stopped/FAILED
done_testing
