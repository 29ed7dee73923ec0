#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real study on 1, 2 and 4 ranks: the report has what only a trainer measures, the noise of its
# gradients and the quality after each epoch.
. "${srcdir:-.}/t/lib.sh"

json() { # EXPRESSION of the series e
    python3 -c 'import json, sys
e = json.load(open("s/report/report.json"))["engines"][0]
print(eval(sys.argv[1]))' "$1"
}

ok "a data set is made" unetctl data synth --out "$TMP/data" --count 60 --size 32x32 --seed 3
ok "a study of it is made" unetctl init s --data "$TMP/data" --site local --set data.height=32 \
    --set data.width=32 --set train.epochs=14 --set train.batch_per_gpu=3 \
    --set model.batch_norm=local --set model.base=4 \
    --set model.depth=2 --set train.eval_epochs=1 --set train.lr=0.01 --set train.lr_scaling=none
exits 0 \
    "runs on 1, 2 and 4 GPUs succeed" env OMP_NUM_THREADS=1 unetctl submit -C s --gpus 1,2,4 --wait
exits 0 "the report is made" unetctl report -C s
tr -s "\n " " " <"$OUT" >words
is "$(head -n 1 s/runs/unet-g02-s1/attempt-1/examples/examples.csv)" example,image,iou \
    "a run writes example pictures"
is "$(grep -c '<img alt="\(best\|median\|worst\|random\): ' s/report/report.html)" 4 \
    "the page has four of them"
ok "best, median and worst are those of images.csv" python3 - <<'EOF'
import csv
run = "s/runs/unet-g02-s1/attempt-1/"
iou = {r["image"]: float(r["iou"]) for r in csv.DictReader(open(run + "images.csv"))}
shown = {r["example"]: (r["image"], float(r["iou"])) for r in csv.DictReader(open(run + "examples/examples.csv"))}
ranked = sorted(iou.values(), reverse=True)
assert [shown[k][1] for k in ("best", "median", "worst")] == [ranked[0], ranked[len(ranked) // 2], ranked[-1]]
assert all(iou[image] == value for image, value in shown.values()), shown
EOF
is "$(cut -d, -f1 s/report/figures/loss.csv | sort | uniq -c | tr -s ' \n' ' ')" \
    " 28 1 GPU 28 2 GPUs 28 4 GPUs 1 series " "the losses of training and validation by epoch"
is "$(cut -d, -f1,3 s/report/figures/quality.csv | sort | uniq -c | tr -s ' \n' ' ')" \
    " 14 1 GPU,IoU 14 2 GPUs,IoU 14 4 GPUs,IoU 1 series,axis " "and the IoU of validations"

# The same numbers computed from the records: means over the epochs after the first, summed over
# runs.
expected=$(
    python3 - <<'EOF'
import json
noise = gradient = 0
for gpus in 2, 4:
    lines = [json.loads(l) for l in open(f"s/runs/unet-g{gpus:02d}-s1/attempt-1/record.jsonl")]
    epochs = [l for l in lines if l["kind"] == "epoch"][1:]
    for l in epochs:
        b, whole = l["grad_batch_local"], l["grad_batch_global"]
        gradient += (whole * l["grad_sq_global"] - b * l["grad_sq_local"]) / (whole - b) / len(epochs)
        noise += (l["grad_sq_local"] - l["grad_sq_global"]) / (1 / b - 1 / whole) / len(epochs)
print(f"{noise / gradient:.6g}")
EOF
)
is "$(json 'format(e["noise_scale"]["critical_batch"], ".6g")')" "$expected" \
    "the critical batch is tr(Sigma) / |G|^2"
is "$(json 'e["noise_scale"]["interval"]["low"] < e["noise_scale"]["critical_batch"] < e["noise_scale"]["interval"]["high"]')" \
    True "the critical batch is within its interval"

# Measured epochs may contradict the critical batch, and it may lie below every batch.
like words 'Critical batch: (about [0-9.]+ images \(95 % interval [0-9.]+-[0-9.]+\) over the epochs|below |not known)' \
    "the report has the critical batch or says why it is unknown"
like words 'the same progress takes about [0-9.]+x the images|predict [0-9.]+x as many images|gains nothing from larger' \
    "the report says what the critical batch means for the number of GPUs"
unlike s/runs/unet-g01-s1/attempt-1/record.jsonl grad_sq \
    "one rank without accumulation does not record the gradient's norms"

is "$(json 'e["convergence"]["metric"]')" score \
    "time to accuracy is measured by the score after each epoch"
is "$(json '[p["gpus"] for p in e["convergence"]["points"] if p["seconds"]]')" "[1, 2, 4]" \
    "all numbers of GPUs have a time to accuracy"
exits 0 \
    "a report with a target is made" unetctl report -C s --target-iou 0.2 --json target.json --text
ok "time to it is the sum of the epochs until a validation says so" python3 -c '
import json, sys
reached = 0
for p in json.load(open(sys.argv[1]))["engines"][0]["convergence"]["points"]:
    run = "s/runs/unet-g%02d-s1/attempt-1/record.jsonl" % p["gpus"]
    lines = [json.loads(l) for l in open(run)]
    seconds = [l["seconds"] for l in lines if l["kind"] == "epoch"]
    first = next((l["epochs"] for l in lines if l["kind"] == "eval" and l["iou"] >= 0.2), None)
    reached += first is not None
    if first is None:
        assert p["seconds"] is None, p
    else:
        assert p["epochs"] == first and abs(p["seconds"] - sum(seconds[:first])) < 1e-6, (p, first)
assert reached > 0' target.json
done_testing
