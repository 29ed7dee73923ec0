#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A run that goes on with another number of replicas: the batch over all of them kept, it goes on
# as it would have, up to rounding; else batch and rate follow the number. The record and the report
# say what happened.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
[ -x "$differ" ] || skip_all "the unit tests are not built (make check-build)"
mpi=
if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then mpi=yes; fi

ok "synthetic data" unet-train data synth --out data --count 40 --size 32x32 --seed 2
ok "its split" unet-train data split --data data --out split.json
# 32 images in steps of at most 12: 3 of 10 and 11.
train=(unet-train train --data data --set data.split=split.json --size 96x96 --set model.base=8 \
    --set model.depth=2 --threads 1
    --set model.batch_norm=none --set train.optimizer=sgd --lr 0.02 \
        --set train.lr_schedule=constant --epochs 6 --batch-size 6 --set train.timeout_s=60)
kept=(--set train.global_batch=12 --set train.rate_gpus=2) # what two had
often=(--set train.checkpoint_s=0.000001)
newest() { find "$1/checkpoint" -name 'state-*.safetensors' 2>/dev/null | sort | tail -n 1; }
begun() { [ -n "$(newest "$1")" ]; }
marked() { [ -e "$1/DONE" ] || [ -e "$1/FAILED" ]; }
# Start COMMAND and end it by a signal when it has written a checkpoint; it must not be done.
cut_off() { # SIGNAL OUT COMMAND...
    local signal=$1 out=$2 i t pid victim
    shift 2
    for ((i = 0; i < 5; i++)); do
        rm -rf "$out"
        "$@" "${often[@]}" --out "$out" >"$OUT" 2>"$ERR" &
        pid=$!
        for ((t = 0; t < 6000; t++)); do # it is over in half a second
            begun "$out" && break
            sleep 0.01
        done
        if [ "$signal" = KILL ]; then # a rank, as mpirun's other ones are taken down
            victim=$(pgrep -f -- "--out $out\$" | tail -n 1)
            if [ -n "$victim" ]; then kill -KILL "$victim"; fi
        else
            kill -s "$signal" "$pid"
        fi
        wait "$pid"
        if [ ! -e "$out/DONE" ]; then
            rm -f "$out/FAILED"
            return 0
        fi
    done
    return 1
}
losses() { cut -d, -f3 "$1/log.csv" | tail -n +2; }
rates() { cut -d, -f4 "$1/log.csv" | tail -n +2 | sort -u | tr '\n' ' '; }
same_curve() { # A B: losses agree to a millionth, weights to 1e-5 (root mean square)
    paste -d' ' <(losses "$1") <(losses "$2") |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print NR, most; exit !(NR == 6 && most <= 2e-6) }' &&
        "$differ" "$1/checkpoint/weights.safetensors" "$2/checkpoint/weights.safetensors" |
        awk '{ print; exit !($1 <= 1e-5) }'
}
all_images() { [ "$(grep -c '"kind":"epoch".*"images":32,' "$1/record.jsonl")" = 6 ]; }

ok "a run of two replicas that is not interrupted" "${train[@]}" --gpus 2 --out calm
ok "a run of two replicas is stopped" cut_off USR1 left "${train[@]}" --gpus 2
for n in 1 3 4; do
    ok "$n resume with the same global batch" "${train[@]}" --gpus $n "${kept[@]}" --resume left \
        --out "same-$n"
    ok "$n: the curve is that of two replicas" same_curve calm "same-$n"
    is "$(rates "same-$n")" "$(rates calm)" "$n: the same rate"
    ok "$n: every image in every epoch" all_images "same-$n"
    like "same-$n/record.jsonl" \
        "\"worlds\":\\[\\{\"epoch\":0,\"images\":0,\"gpus\":2,\"global_batch\":12\\},\\{\"epoch\":[0-9]+,\"images\":[0-9]+,\"gpus\":$n,\"global_batch\":12\\}\\]" \
        "$n: the record has both numbers of GPUs"
done
ok "three resume with their own batch" "${train[@]}" --gpus 3 --resume left --out scaled
is "$(tail -n 1 scaled/log.csv | cut -d, -f4)" 0.060000 "their rate is that of three"
ok "every image is used in every epoch" all_images scaled
like scaled/record.jsonl '"gpus":3,"global_batch":18\}\]' "the record has the new batch"
ok "the curve differs, which this comparison detects" eval '! same_curve calm scaled'

# Two, then one that is cut off in its turn, then three.
ok "one replica resumes and is stopped" \
    cut_off USR1 chain "${train[@]}" --gpus 1 "${kept[@]}" --resume left
ok "three resume from it" "${train[@]}" --gpus 3 "${kept[@]}" --resume chain --out chained
ok "the curve is that of two replicas" same_curve calm chained
like chained/record.jsonl '"gpus":2,.*"gpus":1,.*"gpus":3,.*\]\}$' \
    "the record has all three numbers of GPUs"

if [ -n "$mpi" ]; then
    ok "one of two ranks is killed" cut_off KILL killed mpirun -np 2 "${train[@]}"
    ok "one rank resumes" "${train[@]}" "${kept[@]}" --resume killed --out ranks-1
    ok "the curve is that of two ranks" same_curve calm ranks-1
    ok "three ranks resume" mpirun -np 3 "${train[@]}" "${kept[@]}" --resume killed --out ranks-3
    ok "the curve is that of two ranks" same_curve calm ranks-3
    like ranks-3/record.jsonl '"world_size":3' "there are three ranks"
else
    skip "no MPI" "ranks"
fi

# --- a study
ok "a study" unetctl init study --data data --name demo --site local --set data.height=32 \
    --set data.width=32 --set model.base=4 --set model.depth=2 --set model.batch_norm=none \
    --set train.epochs=800 --set train.batch_per_gpu=6 --set train.threads=1 \
    --set train.checkpoint_s=0.2 \
    --set train.optimizer=sgd
run=study/runs/unet-g02-s1
# An attempt is stopped at its first checkpoint, so that it cannot end before it is cancelled.
hold() { begun "$run/$1" && signal_run STOP "$run"; } # ATTEMPT
cancel() { unetctl cancel --yes -C study && signal_run CONT "$run"; }
exits 0 "a run on two GPUs is submitted" unetctl submit -C study --gpus 2
ok "it begins" wait_until 60 hold attempt-1
exits 0 "it is cancelled" cancel
cancelled() { all_states study CANCELLED; }
ok "it ends" wait_until 60 cancelled
exits 2 "resume --gpus without a run" unetctl resume -C study --gpus 1
like "$ERR" 'name the runs' "the error says what is missing"
exits 2 "resume --scale-batch without --gpus" unetctl resume -C study --scale-batch unet-g02-s1
exits 0 "the run is resumed on one GPU" unetctl resume -C study --gpus 1 unet-g02-s1
like "$ERR" 'attempt 2 continues from the checkpoint of attempt 1, with another number of GPUs' \
    "the new number of GPUs is reported"
is "$(field $run/attempt-2/run.json 'd["layout"]["gpus"], d["train"]["global_batch"], d["train"]["rate_gpus"]')" "(1, 12, 2)" \
    "its run.json has the new number of GPUs, the old batch and the old rate"
is "$(field $run/run.json 'd["layout"]["gpus"], d["train"]["global_batch"]')" "(2, 0)" \
    "the planned run.json is unchanged"
ok "it begins" wait_until 60 hold attempt-2
is "$(unetctl status -C study | awk '$1 == "unet-g02-s1" { print $4 }')" 1 "status shows one GPU"
exits 0 "it is cancelled" cancel
ok "it ends" wait_until 60 cancelled
exits 0 "the run is resumed on three GPUs with their own batch" unetctl resume -C study --gpus 3 \
    --scale-batch unet-g02-s1
is "$(field $run/attempt-3/run.json 'd["layout"]["gpus"], d["train"]["global_batch"]')" "(3, 0)" \
    "its run.json has the number of GPUs and the batch of that number"
ok "it begins" wait_until 60 hold attempt-3
exits 0 "it is cancelled" cancel
ok "it ends" wait_until 60 cancelled
exits 0 \
    "the run is completed on the planned number of GPUs" unetctl resume -C study unet-g02-s1 --wait
like $run/attempt-4/record.jsonl \
    '"gpus":2,"global_batch":12\},.*"gpus":1,.*"gpus":3,"global_batch":18\},.*"gpus":2,"global_batch":12\}\]' \
    "the record has all numbers of GPUs and batches"
exits 7 "collect refuses it as a measurement" unetctl collect -C study
like study/logs/results.csv \
    'unet-g02-s1,embedded,2,1,1,4,elastic,.*2 GPUs, 1 from .*, 3 from .*, 2 from .*no measurement of 2 GPUs' \
    "results.csv says why the run is no measurement"
is "$(left=$(pgrep -f -- "$TMP/" | wc -l); echo "$left")" 0 "no process is left"
done_testing
