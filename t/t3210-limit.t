#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Trainings that end at limit.steps or limit.minutes: their record, what is refused, and a study of
# them, which has speeds and no quality.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

train=(unet-train train --data data --set data.split=split.json --size 32x32 --set model.base=2
    --set model.depth=2 --threads 1 --batch-size 4 --epochs 100)
sums() { # DIR: the steps, the images, and whether the intervals follow each other
    python3 - "$1/record.jsonl" <<'PY'
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
steps = [l for l in lines if l["kind"] == "steps"]
end = lines[-1]
numbers = [l["step"] for l in steps]
whole = abs(sum(l["seconds"] for l in steps) - end["training_time"]) < 1e-6
print(numbers[-1], sum(l["images"] for l in steps), numbers == sorted(set(numbers)), whole,
      sorted(set(end) - {"peak_rss_mib", "kind", "schema"}))
PY
}
ends='['"'epoch_images', 'limited', 'metric', 'startup_s', 'status', 'training_time'"']'

ok "synthetic data" unet-train data synth --out data --count 40 --size 32x32 --seed 2
ok "its split" unet-train data split --data data --out split.json

# --- by steps: 8 in an epoch
ok "a training of 30 steps" "${train[@]}" --set limit.steps=30 --out steps
is "$(sums steps)" "30 120 True True $ends" "it ends within the fourth epoch, and has no quality"
is "$(grep -c '"kind":"epoch"' steps/record.jsonl)" 3 "three epochs were complete"
is "$(grep -c '"kind":"steps"' steps/record.jsonl)" 15 "an interval is a 20th of the limit"
is "$(find steps -type f | sort | tr '\n' ' ')" "steps/DONE steps/record.jsonl " \
    "there are no weights, and no log.csv"
exits 3 "it does not continue in its folder" "${train[@]}" --set limit.steps=60 --out steps
like "$ERR" 'already holds DONE' "the reason is one line"
exits 9 "nor in another" "${train[@]}" --resume steps --out again
like "$ERR" '--resume steps: this folder has no checkpoint/state-' "the reason is one line"
ok "at the end of an epoch" "${train[@]}" --set limit.steps=16 --out even
is "$(sums even)" "16 64 True True $ends" "it ends there"
ok "a training that is complete before" "${train[@]}" --set limit.steps=17 --epochs 2 --out whole
like whole/DONE '"iou":' "it is scored as a whole one"
is "$(wc -l <whole/log.csv)" 3 "it has a log.csv"
ok "a training with validations" "${train[@]}" --set limit.steps=20 --set train.eval_epochs=1 \
    --set train.keep=best --set train.until='iou>=0.01' --out judged
unlike judged/record.jsonl '"kind":"eval"' "it is not judged before its limit, either"
is "$(sums judged)" "20 80 True True $ends" "a goal does not end it"

# --- several ranks, and by time
ok "2 ranks" "${train[@]}" --gpus 2 --set limit.steps=10 --out two
is "$(sums two)" "10 80 True True $ends" "they count the same steps"
ok "2 ranks for 0.6 s" "${train[@]}" --gpus 2 --epochs 100000 --set limit.minutes=0.01 --out time
like time/DONE '"limited":true' "they end"
is "$(python3 -c 'import json; s = json.load(open("time/DONE"))["training_time"]; print(0.6 <= s < 30)')" \
    True "at that time"
ok "a training with a checkpoint after each epoch" "${train[@]}" --set train.checkpoint_epochs=1 \
    --epochs 3 --out begun
exits 9 "a checkpoint beyond the limit is refused" "${train[@]}" --set limit.steps=9 \
    --resume begun --out beyond
like "$ERR" 'has 24 steps, and limit.steps ends the run after 9: raise it' "the reason is one line"
ok "one before it continues" "${train[@]}" --set limit.steps=30 --resume begun --out further
is "$(sums further | cut -d' ' -f1,2)" "30 24" "with the steps that are left"

# --- a study
ok "a study with a limit" unetctl init study --full --data "$PWD/data" --site local \
    --set data.height=32 --set data.width=32 --set train.epochs=100 --set train.batch_per_gpu=2 \
    --set model.base=2 --set model.depth=2 --set limit.steps=40
exits 0 "1 and 2 devices" unetctl submit -C study --gpus 1,2 --wait
exits 0 "collect" unetctl collect -C study
like "$OUT" 'unet-g02-s1: done, ended at its limit, [0-9.e-]+ s an epoch' "each ended at its limit"
is "$(python3 - study/logs/results.csv <<'PY'
import csv, sys
for r in csv.DictReader(open(sys.argv[1])):
    print(r["limited"], r["images"], float(r["images_per_s"]) > 0, float(r["median_epoch_s"]) > 0,
          r["iou"] + r["loss"] + r["training_time"] + r["test_time"] + r["log"] == "")
PY
)" "yes 32.000000 True True True
yes 32.000000 True True True" "the table has speeds in images of an epoch, and nothing else"
exits 0 "report" unetctl report -C study --json report.json
is "$(python3 -c 'import json; print([len(s["points"]) for s in json.load(open("report.json"))["engines"]])')" \
    "[2]" "both counts are one series"
exits 0 "as text" unetctl report -C study --text
like "$OUT" '^ +2 +1 +[0-9.]+ +[0-9.]+ ' "it has the speed-up of 2 devices"
like "$OUT" '^All runs give the steady speed alone, so quality is not judged\.$' \
    "it is by speed alone"
unlike "$OUT" 'IoU (holds|falls|collapses|[0-9])' "it does not judge a quality"
like "$OUT" '^GPUs  runs  limited  epoch s  steady( +interval)? +efficiency$' "its table has no quality"
sed -i '$d' study/runs/unet-g01-s1/attempt-1/record.jsonl
exits 1 "a record without its end" unetctl collect -C study
like "$OUT" '^unet-g01-s1: corrupt: .*it has no end' "is corrupt"

ok "a study whose runs are complete before their limit" unetctl init long --full --data "$PWD/data" \
    --site local --set data.height=32 --set data.width=32 --set train.epochs=2 --set model.base=2 \
    --set model.depth=2 --set limit.steps=1000
exits 0 "one of them" unetctl submit -C long --gpus 1 --wait
exits 0 "collect" unetctl collect -C long
like "$OUT" 'unet-g01-s1: done, 2 epochs, IoU' "it is a whole run"

done_testing
