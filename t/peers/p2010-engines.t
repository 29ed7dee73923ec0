#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The U-Net scripts that come with unetctl, trained by TensorFlow and PyTorch on a real private
# Slurm: on one node and several, beside a plain program and the embedded engine in one study.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
need_python torch tensorflow numpy PIL
sandbox_up --nodes 3 --gpus-per-node 2
[ "$(unetctl sandbox status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])')" = netns ] ||
    skip_all "the nodes of this sandbox have no names of their own"

unet-train data synth --out data -n 24 --size 32x48 --seed 3 2>/dev/null
unetctl init study --data data --site sandbox --name engines --set data.scale=full --set data.height=32 \
    --set data.width=48 \
    --set model.base=4 --set model.depth=2 --set model.batch_norm=none --set train.epochs=4 \
    --set train.batch_per_gpu=2 --set train.lr=0.01 --set train.lr_scaling=none 2>"$ERR" ||
    diag <"$ERR"
python=$(command -v python3)
printf '%s:\n  python: %s\n  env: {OMP_NUM_THREADS: 1}\n' pytorch "$python" tensorflow \
    "$python" >>study/study.yaml
submit() { # ENGINE COUNTS
    exits 0 "submit --engine $1 --gpus $2" unetctl submit -C study --engine "$1" --gpus "$2" \
        --wait --timeout 500
    if states study | grep -q "$1-.* FAILED"; then tail -n 20 study/runs/"$1"-*/attempt-1/*.out |
        diag; fi
}
submit pytorch 1,2,3
submit tensorflow 1,2,3
exits 0 "submit the embedded engine" unetctl submit -C study --gpus 2 --wait --timeout 300
is "$(states study)" "pytorch-g01-s1 COMPLETED
pytorch-g02-s1 COMPLETED
pytorch-g03-s1 COMPLETED
tensorflow-g01-s1 COMPLETED
tensorflow-g02-s1 COMPLETED
tensorflow-g03-s1 COMPLETED
unet-g02-s1 COMPLETED" "all in one study"

# Every image is used once in each epoch, whatever the number of GPUs, and every validation image is
# scored.
images=$(python3 \
    -c 'import json; d = json.load(open("study/split.json")); print(len(d["train"]), len(d["val"]))')
for run in pytorch-g01-s1 pytorch-g03-s1 tensorflow-g01-s1 tensorflow-g03-s1; do
    is "$(python3 - "study/runs/$run/attempt-1/record.jsonl" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(*{r["images"] for r in rows if r["kind"] == "epoch"}, rows[-1]["val_images"])
END
)" "$images" "$run: all images"
    ok "$run: DONE agrees with log.csv" python3 - "study/runs/$run/attempt-1" <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/log.csv")))
done = json.load(open(sys.argv[1] + "/DONE"))
assert len(rows) == 4 and all(float(r["iou"]) == done["iou"] for r in rows), rows
assert float(rows[-1]["loss"]) < float(rows[0]["loss"]), rows
END
done
like study/runs/tensorflow-g03-s1/attempt-1/record.jsonl '"world_size": 3' \
    "3 GPUs: MultiWorkerMirroredStrategy"

exits 0 "collect" unetctl collect -C study
exits 0 "report" unetctl report -C study --json report.json
is "$(field report.json 'sorted(e["engine"] for e in d["engines"])')" \
    "['embedded', 'pytorch', 'tensorflow']" "all engines in one report"

# The mean gradient of all ranks is that of the whole batch: without batch norm, N GPUs with batch B
# compute what 1 GPU computes with batch N x B.
for engine in pytorch tensorflow; do
    cp study/study.yaml kept.yaml
    mkdir one-$engine
    sed 's/batch_per_gpu: 2/batch_per_gpu: 6/' study/study.yaml >one-$engine/study.yaml
    cp study/split.json one-$engine
    exits 0 "$engine: 1 GPU with the batch of 3" unetctl submit -C one-$engine --engine $engine \
        --gpus 1 --wait --timeout 300
    ok "$engine: has the losses of 3 GPUs" python3 \
        - one-$engine/runs/$engine-g01-s1/attempt-1/log.csv \
        study/runs/$engine-g03-s1/attempt-1/log.csv <<'END'
import csv, sys
one, three = ([float(r["loss"]) for r in csv.DictReader(open(f))] for f in sys.argv[1:])
assert all(abs(a - b) < 2e-4 * a for a, b in zip(one, three)), (one, three)
END
done
done_testing
