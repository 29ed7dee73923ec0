#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How a training goes: optimizers, accumulated and clipped gradients, rates, validation on the way,
# ends before the last epoch, the same bits on any number of threads.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
[ -x "$differ" ] || skip_all "the unit tests are not built (make check-build)"
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }
close() {
    local d
    d=$("$differ" "$1/checkpoint/weights.safetensors" "$2/checkpoint/weights.safetensors") ||
        return 1
    echo "$d"
    awk -v d="${d%% *}" 'BEGIN { exit !(d <= 1e-4) }'
}
less() { awk "BEGIN { exit !($1 < $2) }"; }
final_loss() { tail -n 1 "$1/log.csv" | cut -d, -f3; }
first_loss() { sed -n 2p "$1/log.csv" | cut -d, -f3; }

ok "synthetic data" unet-train data synth --out data --count 40 --size 32x32 --seed 1
ok "its split" unet-train data split --data data --out split.json
train=(unet-train train --data data --set data.split=split.json --size 32x32 --set model.base=4 \
    --set model.depth=2 --threads 1
    --set train.lr_schedule=constant)

# --- each optimizer learns ---
while read -r name options; do
    # shellcheck disable=SC2086 # a list of words
    ok "$name" "${train[@]}" --epochs 6 --batch-size 4 --set train.optimizer="${name%%-*}" \
        $options --out "$name"
    ok "$name learns ($(first_loss "$name") to $(final_loss "$name"))" \
        less "$(final_loss "$name")" "0.95 * $(first_loss "$name")"
done <<'END'
sgd-plain --lr 0.1 --set train.momentum=0
sgd-nesterov --lr 0.05 --set train.nesterov=true --set train.weight_decay=0.0001
adamw --lr 0.005 --set train.weight_decay=0.01
lars --lr 5
lamb --lr 0.01
adam-clipped --lr 0.005 --set train.clip_norm=0.1
END
like adam-clipped/record.jsonl '"clip_norm":0.1' "the record has the options"

# --- accumulation: 2 x 6 is 12 ---
big=("${train[@]}" --epochs 3 --set model.batch_norm=none --set train.class_weights="1,2")
ok "a training with a batch of 12" "${big[@]}" --batch-size 12 --out twelve
ok "a training with two batches of 6 per step" \
    "${big[@]}" --batch-size 6 --set train.accumulate=2 --out two-six
ok "the weights are the same" close twelve two-six
ok "a training with two batches of 3 on two replicas" \
    "${big[@]}" --batch-size 3 --set train.accumulate=2 --gpus 2 \
    --set train.lr_scaling=none --out two-three
ok "the weights are the same" close twelve two-three
is "$(field two-six/record.jsonl global_batch)" 12 "the record has the whole batch"

# With two images for two replicas and three batches in a step only the last batch has images. The
# others have no statistics for synchronised batch norm.
ok "a set of three" unet-train data synth --out three --count 3 --size 32x32 --seed 4
few=(unet-train train --data three --size 32x32 --set model.base=4 --set model.depth=2 --threads 1 \
    --epochs 3 --batch-size 1 --gpus 2 --set model.batch_norm=sync --set train.lr_scaling=none)
ok "one batch" "${few[@]}" --out few-one
ok "three batches, two of them empty" "${few[@]}" --set train.accumulate=3 --out few-three
is "$(field few-three/DONE weights_sha256)" "$(field few-one/DONE weights_sha256)" \
    "the weights are the same"

# Local batch norm: each batch by its own statistics, be it on another replica or the next in a
# step.
own=("${train[@]}" --epochs 3 --set model.batch_norm=local --batch-size 6 \
    --set train.lr_scaling=none --set train.optimizer=sgd --lr 0.05)
ok "two batches of 6 are trained on two replicas" "${own[@]}" --gpus 2 --out local-gpus
ok "two batches of 6 are trained one after the other" \
    "${own[@]}" --set train.accumulate=2 --out local-turns
ok "one batch of 12 is trained" "${own[@]}" --batch-size 12 --out local-whole
losses() { sed 1d "$1/log.csv" | cut -d, -f3 | tr '\n' ' '; }
nearly() { # A B: lists of numbers that agree to 1e-4
    awk -v a="$1" -v b="$2" 'BEGIN { n = split(a, x, " "); split(b, y, " ")
        for (i = 1; i <= n; i++) if (x[i] - y[i] > 1e-4 || y[i] - x[i] > 1e-4) exit 1
        exit n != 3 }'
}
ok "the losses are the same ($(losses local-gpus))" \
    nearly "$(losses local-gpus)" "$(losses local-turns)"
differ() { ! nearly "$@"; }
ok "they differ from those of one batch ($(losses local-whole))" differ "$(losses local-gpus)" \
    "$(losses local-whole)"

# --- gradient noise: two batches of 6 are two batches of 6, added up here or there ---
norms() { # OUT: of the last epoch, over the small and the large batch, and their images
    sed -n 's/.*"grad_sq_local":\([^,]*\),"grad_batch_local":\([^,]*\),"grad_sq_global":\([^,]*\),"grad_batch_global":\([^,}]*\).*/\1 \2 \3 \4/p' \
        "$1/record.jsonl" | tail -n 1
}
ok "a training on two replicas with batches of 6" \
    "${big[@]}" --batch-size 6 --gpus 2 --set train.lr_scaling=none --out six-six
ok "it has the gradient norms of two batches of 6" python3 -c '
import sys
a, b = ([float(x) for x in s.split()] for s in sys.argv[1:])
assert all(abs(x / y - 1) < 1e-3 for x, y in zip(a, b)) and len(a) == len(b) == 4, (a, b)
assert 0 < a[2] < a[0] and a[1] <= 6 and a[3] <= 12, a' "$(norms two-six)" "$(norms six-six)"
is "$(norms twelve)" "" "one batch has no norms to compare"

# --- rates ---
ok "warm-up on 2 GPUs" "${train[@]}" --epochs 4 --batch-size 8 --gpus 2 \
    --set train.warmup_epochs=2 --set train.lr_steps=3:0.5 --out warm
is "$(cut -d, -f4 warm/log.csv | sed 1d | tr '\n' ' ')" "0.001500 0.002000 0.002000 0.001000 " \
    "the rate ends its warm-up at the scaled rate and then follows the list"
why_not() { # LIST REGEX: why --set train.lr_steps=LIST is refused
    exits 2 "--set train.lr_steps=$1" "${train[@]}" --set train.lr_steps="$1" --out bad
    like "$ERR" "train.lr_steps: $2" "the error has the reason"
}
why_not 3-0.5 "'3-0.5' in '3-0.5': it is not EPOCH:FACTOR"
why_not 2:0.5,5:1e9 "'5:1e9' in '2:0.5,5:1e9': the factor must be above 0 and at most 1e6"
why_not 5:0.1,5:0.01 "'5:0.01' .* epochs must increase"
ok "a refused training makes no folder" test ! -e bad
ok "a rate at which the network learns nothing" \
    "${train[@]}" --batch-size 8 --epochs 2 --set train.optimizer=adam \
    --lr 1000 --out lost
like "$ERR" 'warning: the training loss of epoch 2 is [0-9.e+]+, above the 0.6931 of a constant prediction' \
    "a loss above that of a constant prediction is reported"
like lost/DONE '"warning":"the training loss of epoch 2' "the record has the warning"
unlike warm/DONE '"warning"' "a network that learns has no warning"

# --- validation on the way, ends before the last epoch ---
learn=("${train[@]}" --batch-size 4 --lr 0.01)
ok "validation every 2 epochs" "${learn[@]}" --epochs 5 --set train.eval_epochs=2 --out every
is "$(sed -n 's/.*"kind":"eval","epochs":\([0-9]*\).*/\1/p' every/record.jsonl | tr '\n' ' ')" \
    "2 4 5 " \
    "the network is validated after epochs 2, 4 and the last"
is "$(sed -n 's/.*"kind":"eval".*"iou":\([0-9.]*\).*/\1/p' every/record.jsonl | tail -n 1)" \
    "$(field every/DONE iou)" "the last validation is the result"
ok "each validation has a loss" less 0 \
    "$(sed -n 's/.*"kind":"eval".*"loss":\([0-9.]*\).*/\1/p' every/record.jsonl | tail -n 1)"
ok "until IoU 0.3" "${learn[@]}" --epochs 100 --set train.until="iou>=0.3" --out until
reached=$(field until/DONE reached_epochs)
ok "it ends early ($reached epochs)" test "$reached" -lt 100 \
    -a "$reached" = "$(sed 1d until/log.csv | wc -l)"
ok "the quality is reached" less 0.3 "$(field until/DONE iou) + 1e-9"
is "$(field until/DONE reached_s)" "$(field until/DONE training_time)" \
    "the marker has the time until the goal was reached"
like until/DONE '"until":"iou>=0.3".*"stopped_early":true' "DONE says why the training ended"
ok "a goal that is not reached" "${learn[@]}" --epochs 2 --set train.until="iou>=1" --out high
like high/DONE '"reached_epochs":null,.*"stopped_early":false' "DONE says so"
exits 3 "an invalid goal is refused" "${learn[@]}" --set train.until="loss<=1" --out bad
ok "patience 2 with a rate that teaches nothing" "${train[@]}" --batch-size 4 --lr 1e-9 \
    --epochs 50 --set train.patience=2 --out patient
ok "it ends early" test "$(sed 1d patient/log.csv | wc -l)" -lt 50
like patient/DONE '"best_epochs":[0-9]+,"stopped_early":true' "DONE has the best epoch"

# --- the best weights, the rate at a plateau ---
# From the ninth epoch on the rate is so high that all is lost: the last weights are not the best.
wild=("${train[@]}" --batch-size 4 --lr 0.01 --epochs 11 --set train.keep=best \
    --set train.lr_steps=8:100)
ok "the best weights are kept" "${wild[@]}" --out best
top=$(sed -n 's/.*"kind":"eval".*"iou":\([0-9.]*\).*/\1/p' best/record.jsonl | sort -g | tail -n 1)
is "$(field best/DONE iou) $(field best/DONE best_iou)" "$top $top" \
    "the result is that of the best validation ($top)"
ok "the best epoch is not the last" test "$(field best/DONE best_epochs)" -lt 11
ok "eval of the checkpoint" unet-train eval --checkpoint best --data data --split split.json \
    --threads 1 --json
is "$(field "$OUT" iou)" "$top" "it has the quality of the best weights"
exits 1 "a rate that becomes too high is an error" "${train[@]}" --batch-size 4 \
    --set model.batch_norm=none --lr 0.01 \
    --epochs 6 --set train.keep=best --set train.lr_steps=3:1e6 --out fallen
like fallen/FAILED 'diverged.*; the best weights, those after epoch [123], are in .*fallen/best"' \
    "the marker names the folder of the best weights"
kept=$(sed -n \
    's/^{"kind":"kept","epochs":[123],"iou":\([0-9.]*\),"weights_sha256":"[0-9a-f]*"}$/\1/p' \
    fallen/record.jsonl)
ok "the best weights can be evaluated" \
    unet-train eval --checkpoint fallen/best --data data --split split.json \
    --threads 1 --json
is "$(field "$OUT" iou)" "$kept" "they have the recorded quality"
ok "a plateau" "${train[@]}" --batch-size 4 --lr 0.05 --epochs 16 --set train.lr_plateau=2:0.5 \
    --out plateau
python3 - plateau >"$OUT" 2>"$ERR" <<'EOP'
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1] + "/record.jsonl")]
iou = {r["epochs"]: r["iou"] for r in rows if r["kind"] == "eval"}
best, since, rate = -1, 0, 0.05
for r in (r for r in rows if r["kind"] == "epoch"):
    assert abs(r["lr"] / rate - 1) < 1e-9, (r["epoch"], r["lr"], rate)
    n = r["epoch"] + 1
    if iou[n] > best:
        best, since = iou[n], n
    elif n - since >= 2:
        rate, since = rate / 2, n
assert rate < 0.05
EOP
report $? "the rate is halved whenever two epochs brought nothing better" || diag <"$ERR"
"${wild[@]}" --set train.checkpoint_epochs=1 --out best-cut 2>/dev/null &
pid=$!
ok "a run that keeps its best weights is training" \
    wait_until 60 grep -q '"kind":"checkpoint"' best-cut/record.jsonl
kill -KILL $pid
wait $pid 2>/dev/null
[ -e best-cut/DONE ] || ok "the killed run is continued" "${wild[@]}" --out best-cut
is "$(field best-cut/DONE weights_sha256)" "$(field best/DONE weights_sha256)" \
    "the run that was killed ends with the same best weights"
exits 3 "an invalid plateau is refused" "${train[@]}" --set train.lr_plateau=3 --out bad
exits 3 "two schedules are refused" \
    "${train[@]}" --set train.lr_plateau=3:0.5 --set train.lr_steps=3:0.5 \
    --out bad

# Cut off on the way, it ends at the same epoch. The first start has a goal it does not get to.
"${learn[@]}" --epochs 100 --set train.until="iou>=0.3" --set train.checkpoint_epochs=1 --out cut \
    2>/dev/null &
pid=$!
ok "a run with a goal is training" wait_until 60 grep -q '"kind":"checkpoint"' cut/record.jsonl
kill -KILL $pid
wait $pid 2>/dev/null
[ -e cut/DONE ] || ok "the killed run is continued" "${learn[@]}" --epochs 100 \
    --set train.until="iou>=0.3" --out cut
is "$(field cut/DONE reached_epochs) $(field cut/DONE weights_sha256)" \
    "$reached $(field until/DONE weights_sha256)" \
    "the run that was killed ends at the same epoch with the same weights"
is "$(grep -c '"kind":"eval"' cut/record.jsonl)" "$reached" "the record has every validation once"
rm cut/DONE
ok "a run that was killed before it wrote the result is continued" "${learn[@]}" --epochs 100 \
    --set train.until="iou>=0.3" --out cut
is "$(grep -c '"kind":"eval"' cut/record.jsonl) $(field cut/DONE reached_epochs)" \
    "$reached $reached" "and so its record"

# --- the same bits on any number of threads ---
for t in 1 2 3; do
    ok "deterministic on $t threads" "${train[@]}" --threads $t --epochs 2 --batch-size 4 \
        --set train.deterministic=true --out det-$t
done
is "$(field det-2/DONE weights_sha256) $(field det-3/DONE weights_sha256)" \
    "$(field det-1/DONE weights_sha256) $(field det-1/DONE weights_sha256)" \
    "any number of threads gives the same weights"
ok "deterministic with plain kernels" "${train[@]}" --threads 1 --epochs 2 --batch-size 4 \
    --set train.deterministic=true --backend ref --out det-ref
exits 2 "a backend of earlier studies is refused" "${train[@]}" --backend dnnl --out bad
like "$ERR" "train.backend: 'dnnl': oneDNN is no longer used, .* use simd or auto" \
    "the error names backends to use"

# --- a terminal sees how far it is ---
if command -v script >/dev/null; then
    script -qec "${train[*]} --epochs 40 --batch-size 1 --out shown" tty.out </dev/null >/dev/null
    like tty.out '\[#*\.*\] epoch [0-9]+/40 .* [0-9]:[0-9]{2}:[0-9]{2} left' \
        "a terminal gets a bar and the remaining time"
else
    skip "no script(1)" "a bar and the time that is left"
fi
done_testing
