#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How gradients are summed (train.allreduce, bucket_mib 0, compress): what must not change the bits
# does not, the two reference behaviours are there, and a report puts them side by side.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
mpi=
if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then mpi=yes; fi
ok "synthetic data" unet-train data synth --out data --count 40 --size 32x32 --seed 2
ok "its split" unet-train data split --data data --out split.json
# 488,617 parameters: 82 tensors, 1.9 MB.
train=(unet-train train --data data --set data.split=split.json --size 32x32 --set model.base=8 \
    --threads 1
    --set train.optimizer=sgd --lr 0.02 --set model.batch_norm=none --epochs 6 \
        --set train.timeout_s=60)
weights() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1/DONE"; }
# The same by threads and by ranks.
both() { # NAME N OPTIONS...
    local name=$1 n=$2
    shift 2
    ok "$name: $n threads" "${train[@]}" --batch-size 4 --gpus "$n" "$@" --out "$name-t$n"
    [ -n "$mpi" ] || { skip "no MPI" "$name: $n ranks"; return; }
    ok "$name: $n ranks" timeout 120 mpirun -np "$n" "${train[@]}" --batch-size 4 "$@" \
        --out "$name-m$n"
}
for n in 2 3; do
    both bucketed "$n"
    for way in "native --set train.allreduce=native" "horovod --set train.allreduce=horovod" \
        "small --set train.allreduce=horovod --set train.fusion_mib=1 --set train.cycle_ms=5" \
        "tuned --set train.bucket_mib=0"; do
        read -ra words <<<"$way"
        both "${words[0]}" "$n" "${words[@]:1}"
        for how in t m; do
            [ $how = t ] || [ -n "$mpi" ] || continue
            is "$(weights "${words[0]}-$how$n")" "$(weights "bucketed-$how$n")" \
                "${words[0]}, $how$n: the weights are the same bits"
        done
    done
done
like tuned-t2/record.jsonl \
    '"kind":"bucket","bytes":[0-9]+,"tried":\[\{"bytes":262144,"step_s":[0-9.e-]+\},.*"bytes":19[0-9]+,' \
    "the record has the sizes of buckets that were tried"
is "$(grep -c '"kind":"bucket"' tuned-t2/record.jsonl)" 1 "the choice is recorded once"
like horovod-t2/record.jsonl '"allreduce":"horovod","bucket_mib":1,"fusion_mib":128,"cycle_ms":1,' \
    "the record says how gradients were summed"
ok "a deterministic training with bucket_mib 0" \
    "${train[@]}" --batch-size 4 --gpus 2 --set train.bucket_mib=0 \
    --set train.deterministic=true --out det
unlike det/record.jsonl '"kind":"bucket"' "it does not choose by time"
ok "native with synchronised batch norm" "${train[@]}" --batch-size 4 --gpus 2 \
    --set model.batch_norm=sync --set train.allreduce=native --out sync
ok "bucketed with it" "${train[@]}" --batch-size 4 --gpus 2 --set model.batch_norm=sync --out sync-b
is "$(weights sync)" "$(weights sync-b)" "the weights are equal to the last bit"
for how in "--gpus 3" "mpi"; do # statistics are summed while the cycles go on
    if [ "$how" = mpi ]; then how=; set -- timeout 120 mpirun -np 3; else set --; fi
    [ -n "$mpi$how" ] || { skip "no MPI" "horovod with synchronised batch norm"; continue; }
    # shellcheck disable=SC2086
    ok "bucketed with it ${how:-3 ranks}" "$@" "${train[@]}" --batch-size 4 $how \
        --set model.batch_norm=sync --out sync-b3
    # shellcheck disable=SC2086
    ok "horovod with it" "$@" "${train[@]}" --batch-size 4 $how --set model.batch_norm=sync \
        --set train.allreduce=horovod --out sync-h3
    is "$(weights sync-h3)" "$(weights sync-b3)" "the weights are equal to the last bit"
    rm -r sync-b3 sync-h3
done

# --- as 16 bits
ok "compression on one node" "${train[@]}" --batch-size 4 --gpus 2 --set train.compress=bf16 \
    --out half-node
is "$(weights half-node)" "$(weights bucketed-t2)" \
    "ranks of one node send nothing, and the weights do not change"
if [ -n "$mpi" ]; then
    apart=(timeout 120 mpirun -x UNET_SHARED_MEMORY=off -np 3 "${train[@]}" --batch-size 4)
    ok "3 ranks like 3 nodes" "${apart[@]}" --out wide
    for half in bf16 fp16; do
        ok "$half between them" "${apart[@]}" --set train.compress=$half --out "wide-$half"
        ok "$half: other bits" test "$(weights "wide-$half")" != "$(weights wide)"
        d=$("$differ" wide/checkpoint/weights.safetensors \
            "wide-$half/checkpoint/weights.safetensors")
        ok "$half: weights close to those of floats ($d)" awk -v d="${d%% *}" \
            'BEGIN { exit !(d > 0 && d <= 1e-3) }'
        like "wide-$half/record.jsonl" "\"compress\":\"$half\"" "$half: the record says so"
    done
    ok "bf16, fused in cycles" "${apart[@]}" --set train.compress=bf16 \
        --set train.allreduce=horovod --out wide-fused
    is "$(weights wide-fused)" "$(weights wide-bf16)" "the weights are those of buckets"
else
    skip "no MPI" "gradients as 16 bits"
fi

# --- the reference's two curves from one study
ok "a study" unetctl init study --data data --name demo --site local --set data.height=32 \
    --set data.width=32 \
    --set model.depth=2 --set model.batch_norm=local --set train.epochs=3 \
    --set train.batch_per_gpu=4 --set train.threads=1
for way in native horovod; do
    exits 0 "$way on 1 and 2 GPUs" unetctl submit -C study --gpus 1,2 --set train.allreduce=$way \
        --wait
    ok "the runs have the name of their setting" test -e study/runs/unet-$way-g02-s1/attempt-1/DONE
done
exits 0 "collect" unetctl collect -C study
is "$(grep -c '^unet-\(native\|horovod\)-g0[12]-s1,embedded,.*,log_unet-\(native\|horovod\)_[12].csv,.*; train.allreduce=\(native\|horovod\)' \
    study/logs/results.csv)" 4 "each run has its setting and a log of its own"
exits 0 "report" unetctl report -C study
is "$(field study/report/report.json 'sorted((e["label"], [p["gpus"] for p in e["points"]]) for e in d["engines"])')" \
    "[('embedded, train.allreduce horovod', [1, 2]), ('embedded, train.allreduce native', [1, 2])]" \
    "one report has both settings"
ok "the report compares them" test "$(field study/report/report.json 'len(d["pairs"])')" -ge 1
like study/report/report.html 'embedded, train.allreduce native' "the page names one"
like study/report/report.html 'embedded, train.allreduce horovod' "the page names the other"
exits 0 "runs in 16 bits are done" unetctl submit -C study --gpus 1,2 --set train.allreduce=native \
    --set train.dtype=bf16 --wait
ok "they are runs of their own" test -e study/runs/unet-native-bf16-g02-s1/attempt-1/DONE
like study/runs/unet-native-bf16-g01-s1/run.json '"dtype": "bf16"' "their run.json has the type"
exits 0 "report again" unetctl report -C study
is "$(field study/report/report.json 'sorted(e["label"] for e in d["engines"])')" \
    "['embedded, train.allreduce horovod', 'embedded, train.allreduce native', 'embedded, train.dtype bf16, train.allreduce native']" \
    "the runs in 16 bits are a third series"
exits 0 "predict" unetctl report -C study --predict 4,8 --links pcie3,eth10
like "$OUT" 'embedded, train.allreduce native of demo, from its runs on 1 to 2 GPUs' \
    "the prediction uses the measurements of each series"
like <(tr '\n' ' ' <"$OUT") '[0-9.]+ MB of gradients' \
    "the prediction has the size of the gradients from the record"
is "$(pgrep -f -- "$TMP/" | wc -l)" 0 "no process is left"
done_testing
