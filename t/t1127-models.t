#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study of a residual network on images with classes, from init to the report. Accuracy replaces
# IoU everywhere.
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/classes.sh"
without_pictures
command -v python3 >/dev/null || skip_all 'python3 is not installed'
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
    "$@"; }

make_cifar cifar 120 40
exits 0 "init examines CIFAR-10's files" unetctl init s --data cifar \
    --site local --set model.base=4 \
    --set train.epochs=8 --set train.batch_per_gpu=5 --set train.lr=0.01 \
    --set train.lr_scaling=none \
    --set train.eval_epochs=1 --set train.threads=1
like s/study.yaml 'Data: 160 images of 10 classes; 32x32 .*colour' \
    "study.yaml has number, classes and size of the images"
like s/study.yaml 'name: resnet20 ' "study.yaml has a network for classes"
is "$(grep -cE '^  (height|width): 32 *' s/study.yaml)" 2 "study.yaml has the size of the images"
exits 0 "plan works" unetctl plan -C s --gpus 1
like "$OUT" 'about 120 training and 40 validation images' "plan uses the division of the files"
ok "pairs are made" unet-train data synth --out pairs --count 6 --size 32x32 --seed 1
ok "... also as TFRecord files" python3 "$srcdir/t/tfrecord.py" pairs shards 100
exits 0 "init examines them" unetctl init t --data shards --site local --model fcnn
like t/study.yaml 'Data: 6 images, 6 masks; 32x32' "study.yaml has their number and size"
exits 0 "plan --model works" unetctl plan -C s --gpus 1..4 --model resnet44-projection --json
is "$(json "$OUT" '[r["run"] for r in d["runs"]][3]')" resnet44-projection-g04-s1 \
    "runs have the model's name"
exits 0 "generate --model works" unetctl generate -C s --gpus 3 --model resnet44
is "$(json s/runs/resnet44-g03-s1/run.json '(d["model"]["name"], d["model"]["base"])')" \
    "('resnet44', 4)" "run.json has the name and the width of the model"
exits 0 "generate with the model's own width" \
    unetctl generate -C s --gpus 2 --model resnet56 --set model.base=0
is "$(json s/runs/resnet56-g02-s1/run.json 'd["model"]["base"]')" 16 "run.json has that width"
exits 2 "an unknown model is refused" unetctl generate -C s --gpus 1 --model resnet45
like "$ERR" "'resnet45' is not a model \(unet; nnunet; fcnn; chips; resnet20" \
    "the error lists the models"
exits 3 "a model that needs masks is refused" unetctl submit -C s --gpus 1 --model unet
like "$ERR" 'unet needs a mask for each image.*--model resnet44' \
    "the error names models that need no masks"
rm -r s/runs
exits 0 "runs on 1 and 2 devices succeed" unetctl submit -C s --gpus 1,2 --wait
like "$ERR" 'resnet20-g02-s1: COMPLETED job [0-9]+, accuracy [01]\.[0-9]+' \
    "the accuracy is reported"
exits 0 "status works" unetctl status -C s
like "$OUT" 'resnet20-g01-s1 .*accuracy [01]\.' "status shows the accuracy"
exits 0 "status --json works" unetctl status -C s --json
cp "$OUT" status.json
ok "the JSON has the accuracy" python3 -c 'import json, sys
for r in json.load(open(sys.argv[1]))["runs"]: assert 0 <= r["accuracy"] <= 1 and "iou" not in r' \
    status.json
exits 0 "collect works" unetctl collect -C s
like "$OUT" '8 epochs, accuracy' "collect shows the accuracy"
exits 0 "the report is made" unetctl report -C s --reach 0.2,0.3,1 --text --json report.json
unlike "$OUT" 'IoU' "it does not mention IoU"
like "$OUT" 'accuracy' "it mentions accuracy"
ok "the numbers are those of the records" python3 - <<'EOF'
import json
e = json.load(open("report.json"))["engines"][0]
assert e["quality"] == "accuracy"
levels = {round(c["target"], 2): c["points"] for c in e["reach"]}
assert 0.2 in levels
for k, gpus in enumerate((1, 2)):
    lines = [json.loads(l) for l in open(f"s/runs/resnet20-g0{gpus}-s1/attempt-1/record.jsonl")]
    end = lines[-1]
    assert end["metric"] == "accuracy"
    assert abs(e["points"][k]["accuracy"]["median"] - end["accuracy"]) < 1e-9
    seconds = [l["seconds"] for l in lines if l["kind"] == "epoch"]
    for target, points in levels.items():
        first = next((l["epochs"] for l in lines if l["kind"] == "eval" and l["accuracy"] >= target), None)
        p = points[k]
        assert p["epochs"] == first, (target, p, first)
        assert first is None or abs(p["seconds"] - sum(seconds[:first])) < 1e-6
        if p["seconds"] and points[0]["seconds"]:
            assert abs(p["speedup"] - points[0]["seconds"] / p["seconds"]) < 1e-6
EOF
exits 0 "the page is made" unetctl report -C s
ok "it has the times to each accuracy" \
    grep -q 'accuracy of a validation first reaches a value' s/report/report.html
exits 0 "a report is made from the collected logs" \
    unetctl report --logs s/logs --json again.json -o again
is "$(json again.json 'd["engines"][0]["points"][1]["accuracy"]["median"]')" \
    "$(json report.json 'd["engines"][0]["points"][1]["accuracy"]["median"]')" \
    "the report of the logs has the accuracy of the report of the study"
exits 2 "levels that are not ascending are refused" unetctl report -C s --reach 0.5,0.2
ok "scripts of other engines accept the U-Net only" grep -q 'run.need("unet", mask=True)' \
    "$srcdir/templates/pytorch/train.py"
done_testing
