#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Folds: each image validates once; a study repeats its runs over them, compares counts by fold and
# seed, and reports mean and range; bad divisions get one line.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

ok "a set is made" unet-train data synth --out data --count 13 --size 32x32 --seed 3
for fold in 1 2 3; do
    ok "fold $fold of 3" unet-train data split --data data --folds 3 --fold $fold --out "f$fold.json"
done
cat >parts.py <<'EOP'
import json, sys
splits = [json.load(open(f)) for f in sys.argv[1:]]
val = [[i["stem"] for i in s["val"]] for s in splits]
train = [[i["stem"] for i in s["train"]] for s in splits]
print(sorted(map(len, val)), sorted(sum(val, [])) == sorted(val[0] + train[0]),
      all(set(v).isdisjoint(t) and len(v) + len(t) == 13 for v, t in zip(val, train)),
      [(s["folds"], s["fold"]) for s in splits])
EOP
if command -v python3 >/dev/null; then
    is "$(python3 parts.py f1.json f2.json f3.json)" "[4, 4, 5] True True [(3, 1), (3, 2), (3, 3)]" \
        "each image validates in one of them"
else
    skip 'python3 is not installed' "contents of splits"
fi
exits 2 "a fold that there is not" unet-train data split --data data --folds 3 --fold 4 --out bad.json
like "$ERR" '--folds 3 --fold 4: there must be 2 folds or more, and --fold one of them' "one line"
exits 2 "one fold" unet-train data split --data data --folds 1 --out bad.json
exits 7 "more folds than images" unet-train data split --data data --folds 20 --out bad.json
like "$ERR" '13 different images, .*, do not fill 20 folds; lower data.folds' "one line"
ls data/images | head -n 9 >train.txt
ls data/images | tail -n 4 >val.txt
exits 3 "folds of lists" unet-train data split --data data --train-list train.txt --val-list val.txt \
    --folds 3 --out bad.json
like "$ERR" 'data.folds: its images are divided already, by lists; leave data.folds out' "one line"
if command -v python3 >/dev/null; then
    # only the first mask has foreground
    PYTHONPATH=$srcdir/t python3 -c '
from png import *
dataset("poor", [squares((0, 255), i, 32) if i == 0 else [[0] * 32] * 32 for i in range(6)])'
    for fold in 1 2 3; do
        unet-train data split --data poor --folds 3 --fold $fold --out "p$fold.json" 2>>poor.txt
    done
    is "$(ls p?.json | wc -l) $(grep -c 'fold [123] of 3 has no foreground in its 2 masks; lower data.folds' poor.txt)" \
        "1 2" "a fold without foreground is refused in one line"
else
    skip 'python3 is not installed' "a fold without foreground"
fi

# --- a training of one fold
# -------------------------------------------------------------------------------
train=(unet-train train --data data --size 32x32 --set model.base=4 --set model.depth=2 --threads 1
    --epochs 2 --set data.folds=3)
ok "a training makes its fold" "${train[@]}" --set data.fold=2 --out one
is "$(grep -A3 '"val"' one/split.json | grep -o '"stem":[^,]*')" \
    "$(grep -A3 '"val"' f2.json | grep -o '"stem":[^,]*')" "which is that of data split"
ok "one that is given" "${train[@]}" --set data.fold=2 --set data.split=f2.json --out two
exits 3 "that of another fold" "${train[@]}" --set data.fold=2 --set data.split=f3.json --out bad
like "$ERR" "data.split: f3.json has fold 3 of 3, but data.fold is 2 and data.folds 3; make it with" "one line"
exits 3 "a fold above data.folds" "${train[@]}" --set data.fold=4 --out bad
like "$ERR" 'data.fold: it must be from 1 to data.folds' "one line"
exits 3 "one fold" "${train[@]}" --set data.folds=1 --out bad
like "$ERR" 'data.folds: one fold leaves no image for training' "one line"
exits 3 "a share beside folds" "${train[@]}" --set data.val_fraction=0.3 --out bad
like "$ERR" 'data.val_fraction 0.3 has no effect' "one line"

# --- a study
# ----------------------------------------------------------------------------------------------
exits 0 "a study" unetctl init study --data data --site local --set data.folds=3 --set gpus=1,2 \
    --set seeds=2 --set train.epochs=2 --set data.height=32 --set data.width=32 --set model.base=4 \
    --set model.depth=2 --set train.global_batch=4
exits 0 "its plan" unetctl plan -C study
is "$(grep -c '^unet-g0[12]-s[1-6] ' "$OUT")" 12 "has each seed with each fold"
exits 0 "is submitted" unetctl submit -C study
wait_until 120 eval 'unetctl status -C study | grep -q "12 done"'
is "$(grep -l '"split": ".*/study/split-2.json"' study/runs/*/run.json | xargs -n1 dirname | xargs -n1 basename | xargs)" \
    "unet-g01-s2 unet-g01-s5 unet-g02-s2 unet-g02-s5" "seeds 2 and 5 validate on the second fold"
is "$(for s in split split-2 split-3; do sed 's/"data":"[^"]*"//' "study/$s.json"; done | cksum)" \
    "$(for s in f1 f2 f3; do sed 's/"data":"[^"]*"//' "$s.json"; done | cksum)" "the folds are those of data split"
exits 0 "a report" unetctl report -C study
like "$OUT" 'IoU has the mean and range over folds 0[.][0-9]+ \(0[.][0-9]+ to 0[.][0-9]+, 3 of 3 folds\)' \
    "has mean and range over the folds"
unlike "$OUT" 'on these [0-9]+ images|do not say how many validation images' \
    "and does not take their images for the same"
is "$(grep -o '"iou":[0-9.]*' study/runs/unet-g01-s*/attempt-1/DONE | awk -F: '{ print $NF }' | sort -u | wc -l)" \
    6 "the six runs of a count have six results"
exits 3 "another number of folds is another study" unetctl generate -C study --set data.folds=4 --gpus 4
like "$ERR" 'split(-[0-9])?.json: it was made with data.folds 3, and data.folds is 4; set that back' "one line"
exits 3 "so is none" unetctl generate -C study --set data.folds=0 --gpus 4
exits 2 "folds are shared by variants" unetctl plan -C study --vary data.folds=2,3
like "$ERR" 'data.folds is not a setting of a variant: all runs of a study share it' "one line"
done_testing
