#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Training with images that are loaded ahead, augmented or cut into patches: the same weights for
# any number of loading threads, ranks of a step or none; options that cannot be.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

train=(unet-train train --data data --set data.split=split.json --size 32x32 --set model.base=4 \
    --set model.depth=2 --threads 1
    --epochs 3 --batch-size 4 --set model.batch_norm=none --set train.lr_scaling=none)
weights() { sed -n 's/.*"weights_sha256":"\([^"]*\).*/\1/p' "$1/DONE"; }
ok "a set is made" unet-train data synth --out data --count 10 --size 32x32 --seed 3
ok "its split is made" unet-train data split --data data --out split.json

all=()
for one in hflip=true vflip=true rot90=true brightness=0.1 contrast=0.2 shift=2 crop=0.2 \
    elastic=2 preset=nnunet noise=0.5:0..0.5; do
    all+=(--set "augment.$one")
done
ok "a training without loading threads" "${train[@]}" "${all[@]}" --set data.workers=0 --out w0
ok "a training with one loading thread" "${train[@]}" "${all[@]}" --set data.workers=1 --out w1
ok "a training with five loading threads" "${train[@]}" "${all[@]}" --set data.workers=5 --out w5
ok "a training without augmentation" "${train[@]}" --out plain
is "$(weights w1)" "$(weights w0)" "one loading thread gives the same weights as none"
is "$(weights w5)" "$(weights w0)" "five loading threads give the same weights as none"
isnt() { [ -n "$1" ] && [ "$1" != "$2" ]; report $? "$3"; }
isnt "$(weights plain)" "$(weights w0)" "other weights than without augmentation"
for one in hflip=true vflip=true rot90=true brightness=0.2 contrast=0.2 shift=2 crop=0.3 \
    elastic=3 rotate=1:-30..30 zoom=1:0.7..1.4 noise=1:0.1..0.1 blur=1:1..1 multiply=1:0.7..1.3 \
    stretch=1:0.7..1.3 gamma=1:0.7..1.5 gamma_inverted=1:0.7..1.5 preset=nnunet-no-mirroring; do
    "${train[@]}" --epochs 1 --set "augment.$one" --out "one-${one%=*}" >/dev/null 2>&1
done
is "$(for d in one-*; do weights "$d"; done | sort -u | wc -l)" 17 \
    "each of 17 augmentations gives other weights"
"${train[@]}" --epochs 1 --set augment.rotate=0:-30..30 --out never >/dev/null 2>&1
"${train[@]}" --epochs 1 --out once >/dev/null 2>&1
is "$(weights never)" "$(weights once)" "one that never happens gives those of none"

exits 2 "an unknown augmentation is refused" "${train[@]}" --set augment.shear=2 --out bad
like "$ERR" 'augment.*shear' "the error names it"
exits 2 "a value out of range" "${train[@]}" --set augment.crop=1 --out bad
exits 2 "a flip by a number" "${train[@]}" --set augment.hflip=3 --out bad
exits 2 "a probability above 1" "${train[@]}" --set augment.rotate=1.2:0..10 --out bad
like "$ERR" "augment.rotate: '1.2:0..10' must be PROBABILITY:LOW..HIGH, .* from 0 to 1 and LOW <= HIGH" "says the form"
for one in zoom=0.2:2..1 zoom=0.2:0..1 noise=0.1:-1..1 blur=0.5:1..11 gamma=0.5 gamma=0.5:1 \
    multiply=x:1..2 stretch=0.5:1..2x; do
    exits 2 "augment.$one" "${train[@]}" --set "augment.$one" --out bad
done
exits 3 "nnU-Net's flips beside the six copies" "${train[@]}" --set augment.six=true \
    --set data.repeat=6 --set augment.preset=nnunet --out bad
like "$ERR" 'augment.preset nnunet has no effect: it needs augment.six false' "one line"
[ ! -e bad ]
report $? "a refused augmentation makes no file"

# --- looking at it
# ---------------------------------------------------------------------------------
ok "preview" unet-train data preview --data data --size 32x32 --set augment.hflip=true \
    --set augment.elastic=3 --count 3 --out look
is "$(unet-train data check look | cut -f 2-4 | sort | uniq -c | xargs)" "3 192 96 3" \
    "three pictures of nine pairs: itself and eight examples"
ok "preview of the six copies" unet-train data preview --data data --size 32x32 \
    --set augment.six=true --count 2 --out six
ok "preview of pairs as they are" \
    unet-train data preview --data data --size 32x32 --count 2 --out still
is "$(unet-train data check still | cut -f 2-4 | sort | uniq -c | xargs)" "2 64 32 3" \
    "one pair each"
if command -v python3 >/dev/null; then
    # the cells of a preview, as many different ones, and whether the first is the pair itself
    cells() {
        PYTHONPATH=$srcdir/t python3 -c '
import sys
from png import *
rows, one = read(sys.argv[1]), read(sys.argv[2])
cells = [[tuple(r[192 * x:192 * x + 192]) for r in rows[32 * y:32 * y + 32]]
         for y in range(3) for x in range(3)]
print(len({tuple(c) for c in cells}), cells[0] == [tuple(r) for r in one])' "$1" "$2"
    }
    is "$(cells look/0001.png still/0001.png)" "9 True" "eight examples that differ"
    is "$(cells six/0001.png still/0001.png)" "6 True" \
        "the six copies, of which the first is itself"
else
    skip 'python3 is not installed' "cells of previews"
fi
exits 3 "quarter turns of images that are not square are refused by preview" \
    unet-train data preview --data data --size 32x48 --set augment.six=true --out oblong
like "$ERR" 'augment.six: quarter turns need square images' "the error says why"
exits 7 "preview of a folder without data" \
    unet-train data preview --data look --size 32x32 --out oblong
[ ! -e oblong ]
report $? "a refused preview makes no folder"
exits 2 "an unknown augmentation is refused by preview" \
    unet-train data preview --data data --size 32x32 --set augment.shear=1 \
    --out look

# --- patches -------------------------------------------------------------------------------------
ok "images of one size" unet-train data synth --out oblongs --count 6 --size 97x130 --seed 6
ok "... and of another" unet-train data synth --out sizes --count 6 --size 160x120 --seed 5
for one in oblongs/images/* oblongs/masks/*; do cp "$one" "sizes/$(dirname "${one#*/}")/odd$(basename "$one")"; done
ok "their split is made" unet-train data split --data sizes --out sizes.json
patches=(unet-train train --data sizes --set data.split=sizes.json --set data.patch=64x48
    --set model.base=4 --set model.depth=2 --threads 1 --set train.loss=ce+dice
    --set train.global_batch=4 --set train.lr_scaling=none --set model.batch_norm=none
    --set augment.preset=nnunet --lr 0.003 --epochs 3 --set train.eval_epochs=1)
ok "a training on patches" "${patches[@]}" --out p1
like "$ERR" 'at their own size, in patches of 64 x 48' "images keep their size"
like "$ERR" 'validation at each image.s own size, in tiles of 64 x 48: IoU' "also in the validation"
ok "... with five loading threads, from a cache file" "${patches[@]}" --set data.workers=5 \
    --set data.cache=kept --out p5
is "$(weights p5)" "$(weights p1)" "gives the same weights"
curve() { cut -d, -f1,4 "$1/log.csv"; }
is "$(curve p5)" "$(curve p1)" "and the same curve"
ok "... on two ranks" "${patches[@]}" --gpus 2 --out p2
ok "... on three" "${patches[@]}" --gpus 3 --out p3
near() { # the losses of two runs, which ranks sum in another order
    paste -d, <(grep -oE '"loss":[0-9.]+' "$1/record.jsonl") \
        <(grep -oE '"loss":[0-9.]+' "$2/record.jsonl") | sed 's/"loss"://g' |
        awk -F, '{ d = $1 / $2 - 1; if (d * d > 1e-6 || $1 == "") bad = 1 } END { exit bad || NR < 6 }'
}
ok "two ranks have the losses of one, in training and validation" near p1 p2
ok "so have three" near p1 p3
counts() { cut -d, -f1,2,8-11 "$1/images.csv"; }
is "$(counts p2)" "$(counts p1)" "and the same masks and pixels"
cut_off() { # OUT: a run that is killed when it has a checkpoint within an epoch
    "${patches[@]}" --set train.checkpoint_s=0.000001 --epochs 30 --out "$1" >"$OUT" 2>&1 &
    local pid=$!
    wait_until 60 eval "ls $1/checkpoint/state-*[1-9]-*[1-9]* >/dev/null 2>&1"
    kill -KILL "$pid"
    wait "$pid"
    [ ! -e "$1/DONE" ]
}
ok "a longer one is killed within an epoch" cut_off killed 2>"$ERR"
ok "and continued" "${patches[@]}" --set train.checkpoint_s=0.000001 --epochs 30 --out killed
ok "another is not" "${patches[@]}" --epochs 30 --out whole
is "$(weights killed)" "$(weights whole)" "both end with the same weights"
like whole/DONE '"own_size":[{]"scale":"own","iou":(0[.][0-9]+),.*' "there is a score at the own size"
is "$(grep -o '"iou":[0-9.]*' whole/DONE | sort | uniq -c | awk '{ print $1 }')" 2 "which is the run's"
like whole/checkpoint/model.json '"height":64,"width":48,"scale":"native"' "model.json says how"
exits 0 "eval tiles them, too" unet-train eval -c whole --split sizes.json --json --threads 1
like "$OUT" '"scale":"native"' "which it says"
is "$(grep -o '"intersection":[0-9]*' "$OUT")" "$(grep -o '"intersection":[0-9]*' whole/DONE | head -n 1)" \
    "with the run's counts"
ok "predict does, for any size" unet-train predict -c whole --threads 1 --out masks \
    sizes/images/0001.png sizes/images/odd0001.png data/images/0001.png
is "$(unet-train data check masks | cut -f 2-3 | sort | xargs)" "120 160 130 97 32 32" \
    "masks have the images' sizes"
for one in patches=20 patch_foreground=0 patch=48x64; do
    ok "data.$one" "${patches[@]}" --set "data.$one" --out "own-${one%=*}"
    isnt "$(weights "own-${one%=*}")" "$(weights p1)" "gives other weights"
done
like own-patches/record.jsonl '"images":20,' "an epoch has the patches that are asked for"
ok "a preview" unet-train data preview --data sizes --set data.patch=64x48 --count 3 --out cut
is "$(unet-train data check cut | cut -f 2-3 | sort | uniq -c | xargs)" "3 96 64" "shows patches"
for full in '' --full; do
    rm -rf begun
    exits 0 "a study of patches is made ($full)" unetctl init begun ${full:+$full} --data sizes \
        --site local --set data.patch=64x48
    exits 0 "... which can be planned" unetctl plan -C begun --gpus 1,2
done
if command -v python3 >/dev/null; then
    # one image of one grey value; masks without foreground
    PYTHONPATH=$srcdir/t python3 -c '
from png import *
dataset("flat", [squares((0, 255), i, 64) for i in range(6)])
write("flat/images/02.png", [[90] * 64] * 64)
dataset("none", [[[0] * 64] * 64] * 6)'
    small=(unet-train train --set model.base=2 --set model.depth=1 --threads 1 --epochs 1 \
        --set data.patch=32x32)
    for scale in range percentile zscore; do
        ok "a constant image, data.scale=$scale" "${small[@]}" --data flat \
            --set data.scale=$scale --out "flat-$scale"
        unlike flat-$scale/record.jsonl 'nan|inf' "is trained on"
    done
    exits 7 "a set without foreground is refused" "${small[@]}" --data none --out bad1
    like "$ERR" 'none of the [0-9]+ training masks has foreground.*data.patch_foreground=0' "in one line"
    ok "unless no patch is to have any" "${small[@]}" --data none --set data.patch_foreground=0 \
        --out without
else
    skip 'python3 is not installed' "constant images, masks without foreground"
fi
exits 7 "a patch larger than an image" "${patches[@]}" --set data.patch=100x48 --out bad2
like "$ERR" 'images/odd0001.png: is 97x130 pixels \(height x width\), smaller than data.patch: 100x48; set' \
    "names the image, and what to set"
exits 3 "a patch that the network cannot have" "${patches[@]}" --set data.patch=66x48 --out bad3
exits 2 "half a size" "${patches[@]}" --set data.patch=64 --out bad4
like "$ERR" 'data.patch: .*64.* must be HEIGHTxWIDTH in pixels, as in 256x256' "says the form"
exits 2 "a share above 1" "${patches[@]}" --set data.patch_foreground=1.5 --out bad5
exits 2 "a size beside the patch's" "${patches[@]}" --size 64x64 --out bad6
like "$ERR" 'no effect beside data.patch: 64x48, .*; leave them out' "one line"
exits 2 "a height beside it" "${patches[@]}" --set data.height=64 --out bad7
exits 3 "patches without data.patch" "${train[@]}" --set data.patches=5 --out bad8
like "$ERR" 'data.patches 5 has no effect: it needs data.patch' "have no effect"
exits 2 "a preview with both sizes" unet-train data preview --data sizes --size 64x48 \
    --set data.patch=64x48 --out bad9
mkdir -p kinds/a kinds/b
cp data/images/000[1-4].png kinds/a && cp data/images/000[5-8].png kinds/b
exits 3 "images with a class each" unet-train train --data kinds --set data.patch=16x16 \
    --set model.name=resnet20 --epochs 1 --out bad10
like "$ERR" 'data.patch.*(masks|unet)' "one line"
is "$(find . -maxdepth 2 -path './bad*' -name DONE)" "" "none of these has trained"
done_testing
