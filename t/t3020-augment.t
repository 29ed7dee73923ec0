#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Training with images that are loaded ahead and augmented: the same weights for any number of
# loading threads, ranks of a step or none; options that cannot be.
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
    elastic=2; do
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
    elastic=3; do
    "${train[@]}" --epochs 1 --set "augment.$one" --out "one-${one%=*}" >/dev/null 2>&1
done
is "$(for d in one-*; do weights "$d"; done | sort -u | wc -l)" 8 \
    "each of the eight augmentations gives other weights"

exits 2 "an unknown augmentation is refused" "${train[@]}" --set augment.shear=2 --out bad
like "$ERR" 'augment.*shear' "the error names it"
exits 2 "a value out of range" "${train[@]}" --set augment.crop=1 --out bad
exits 2 "a flip by a number" "${train[@]}" --set augment.hflip=3 --out bad
[ ! -e bad ]
report $? "a refused augmentation makes no file"

# --- looking at it
# ---------------------------------------------------------------------------------
ok "preview" unet-train data preview --data data --size 32x32 --set augment.hflip=true \
    --set augment.elastic=3 --count 3 --out look
is "$(unet-train data check look | cut -f 2-4 | sort | uniq -c | xargs)" "3 128 32 3" \
    "the preview has three pictures of four parts"
ok "preview of the six copies" unet-train data preview --data data --size 32x32 \
    --set augment.six=true --count 7 --out six
picture_hash() { unet-train data check "$1" | cut -f 6; }
is "$(for i in 0 1 2 3 4 5 6; do picture_hash six/000$i.png; done | sort -u | wc -l)" 7 \
    "the six copies differ, and the seventh picture is of the second pair"
ok "preview of one pair as it is" \
    unet-train data preview --data data --size 32x32 --count 2 --out still
is "$(picture_hash six/0000.png)$(picture_hash six/0006.png)" \
    "$(picture_hash still/0000.png)$(picture_hash still/0001.png)" "the first copy is the image itself"
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
done_testing
