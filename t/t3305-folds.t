#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Folds: each image validates once; a study repeats its runs over them, compares counts by fold and
# seed, and reports mean and range; bad divisions get one line. Predictions are means over
# checkpoints and flips.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

ok "a set is made" unet-train data synth --out data --count 13 --size 32x32 --seed 3
for fold in 1 2 3; do
    ok "fold $fold of 3" unet-train data split --data data --folds 3 --fold $fold \
        --out "f$fold.json"
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
exits 2 "a fold that there is not" unet-train data split --data data --folds 3 --fold 4 \
    --out bad.json
like "$ERR" '--folds 3 --fold 4: there must be 2 folds or more, and --fold one of them' "one line"
exits 2 "a share beside folds" unet-train data split --data data --folds 3 --val-fraction 0.3 \
    --out bad.json
like "$ERR" '--folds 3 and --val-fraction 0.3: a fold is 1/3 of the images; give one of them' \
    "one line"
exits 2 "one fold" unet-train data split --data data --folds 1 --out bad.json
exits 7 "more folds than images" unet-train data split --data data --folds 20 --out bad.json
like "$ERR" '13 different images, .*, do not fill 20 folds; lower data.folds' "one line"
(cd data/images && printf '%s\n' 000[1-9].png) >train.txt
(cd data/images && printf '%s\n' 001[0-3].png) >val.txt
exits 3 "folds of lists" unet-train data split --data data --train-list train.txt --val-list val.txt \
    --folds 3 --out bad.json
like "$ERR" 'data.folds: its images are divided already, by lists; leave data.folds out' "one line"
if command -v python3 >/dev/null; then
    # only the first mask has foreground
    PYTHONPATH=$srcdir/t python3 -c '
from png import *
for name, values in ("1", (0, 255)), ("3", (0, 1, 2)):
    dataset(name, [squares(values, i, 32) if i == 0 else [[0] * 32] * 32 for i in range(6)])'
    for classes in 1 3; do
        for fold in 1 2 3; do
            unet-train data split --data $classes --folds 3 --fold $fold --classes $classes \
                --out "p$classes$fold.json" 2>>poor.txt
        done
    done
    few() { grep -c "fold [123] of 3 has no $1 in its 2 masks; lower data.folds" poor.txt; }
    is "$(find . -name 'p??.json' | wc -l) $(few foreground) $(few 'class but the first')" "2 2 2" \
        "a fold without foreground, or with one class, is refused in one line"
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
exits 3 "another number of folds is another study" unetctl generate -C study --set data.folds=4 \
    --gpus 4
like "$ERR" 'split(-[0-9])?.json: it was made with data.folds 3, and data.folds is 4; set that back' "one line"
exits 3 "so is none" unetctl generate -C study --set data.folds=0 --gpus 4
exits 2 "folds are shared by variants" unetctl plan -C study --vary data.folds=2,3
like "$ERR" 'data.folds is not a setting of a variant: all runs of a study share it' "one line"

# --- means of predictions
# ---------------------------------------------------------------------------------
runs=(study/runs/unet-g01-s1 study/runs/unet-g01-s2 study/runs/unet-g01-s3)
predict() { # OUT OPTIONS...
    unet-train predict --threads 1 --probabilities --out "$@"
}
same_files() {
    [ "$(cd "$1" && find . -type f | sort | xargs cksum)" = "$(cd "$2" && find . -type f | sort | xargs cksum)" ]
}
for i in 0 1 2; do
    ok "one of a fold" predict "one$i" -c "${runs[i]}" data/images
done
ok "the same twice" predict twice -c "${runs[0]}" -c "${runs[0]}" data/images
ok "has the same bytes" same_files twice one0
ok "three folds" predict three -c "${runs[0]}" -c "${runs[1]}" -c "${runs[2]}" data/images
like "$ERR" '13 images predicted, each the mean of 3, resized to 32x32' "says so"
ok "with flips" predict flips -c "${runs[0]}" --flips data/images
ok "in tiles" predict tiles -c "${runs[0]}" -c "${runs[1]}" --native --size 24x16 \
    --flips data/images
for i in 0 1; do
    ok "one in tiles" predict "tile$i" -c "${runs[i]}" --native --size 24x16 --flips data/images
done
if command -v python3 >/dev/null; then
    cat >means.py <<'EOP'
# means.py MEAN ONE...: how many probabilities there are, whether each is the mean of the others,
# and the mask has those above a half
import os, sys
import png
n, near, masks = 0, True, True
for name in sorted(f for f in os.listdir(sys.argv[1]) if f.endswith("_prob.png")):
    mean, *ones = [[[256 * r[2 * x] + r[2 * x + 1] for x in range(len(r) // 2)]
                    for r in png.read(f"{d}/{name}")] for d in sys.argv[1:]]
    mask = png.read(f"{sys.argv[1]}/{name.replace('_prob', '')}")
    for y, row in enumerate(mean):
        for x, v in enumerate(row):
            near = near and abs(v - sum(o[y][x] for o in ones) / len(ones)) <= 1
            masks = masks and (abs(v - 32767.5) < 1 or (v > 32767) == (mask[y][x] == 255))
            n += 1
print(n, near, masks)
EOP
    cat >flip.py <<'EOP'
# flip.py FROM TO H V: flips 8-bit grey pictures, or probabilities of 16 bits
import os, sys
import png
source, target, h, v = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
for name in os.listdir(source):
    rows = png.read(f"{source}/{name}")
    wide = len(rows[0]) > len(rows)
    if wide:
        rows = [[256 * r[2 * x] + r[2 * x + 1] for x in range(len(r) // 2)] for r in rows]
    rows = [list(r)[::-1] if h else list(r) for r in rows]
    png.write(f"{target}/{name}", rows[::-1] if v else rows, bits=16 if wide else 8)
EOP
    means() { PYTHONPATH=$srcdir/t python3 means.py "$@"; }
    flip() { PYTHONPATH=$srcdir/t python3 flip.py "$@"; }
    is "$(means three one0 one1 one2)" "13312 True True" "their probabilities are the mean"
    is "$(means tiles tile0 tile1)" "13312 True True" "in tiles, too"
    views=(one0)
    for side in "1 0" "0 1" "1 1"; do
        # shellcheck disable=SC2086
        flip data/images "flipped$side" $side
        predict "of$side" -c "${runs[0]}" "flipped$side" 2>/dev/null
        # shellcheck disable=SC2086
        flip "of$side" "back$side" $side
        views+=("back$side")
    done
    is "$(means flips "${views[@]}")" "13312 True True" "flips are the mean of four, flipped back"
else
    skip 'python3 is not installed' "values of means"
fi
mkdir -p kinds/a kinds/b
cp data/images/000[1-5].png kinds/a && cp data/images/000[6-9].png kinds/b
for seed in 1 2; do
    ok "a network for classes" unet-train train --data kinds --size 16x16 --set model.name=resnet20 \
        --set model.base=4 --epochs 1 --batch-size 4 --set seed=$seed --threads 1 --out kinds$seed
    ok "its classes" predict class$seed -c kinds$seed kinds
done
ok "the mean of both" predict classes -c kinds1 -c kinds2 kinds
column() { cut -d, -f5 "$1/classes.csv" | tail -n +2; }
paste -d' ' <(column class1) <(column class2) <(column classes) >columns.txt
# shellcheck disable=SC2016
ok "is that of their probabilities" awk '{ d = ($1 + $2) / 2 - $3; if (d * d > 4e-12 || $1 == $2) bad = 1 }
    END { exit bad || NR != 9 }' columns.txt
exits 3 "networks for masks and for classes" unet-train predict -c "${runs[0]}" -c kinds1 \
    --out refused data/images
like "$ERR" 'study/runs/unet-g01-s1 and kinds1 differ in model.name, so that their probabilities have no mean' "one line"
ok "one of another size" "${train[@]}" --size 48x32 --out wide
exits 3 "checkpoints of two sizes" unet-train predict -c "${runs[0]}" -c wide \
    --out refused data/images
like "$ERR" 'study/runs/unet-g01-s1 and wide differ in size' "one line"
exits 0 "unless one is given" predict sized -c "${runs[0]}" -c wide --size 32x32 data/images
[ ! -e refused ] && [ ! -e bad.json ]
report $? "what is refused makes no file"
done_testing
