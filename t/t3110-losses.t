#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Losses, several classes, pixels that do not count; metrics per class and image; the same result
# for every number of replicas.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
[ -x "$differ" ] || skip_all "the unit tests are not built (make check-build)"
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }
first() { grep -o "\"$2\":[^,}]*" "$1" | head -n 1 | cut -d: -f2; }
close() {
    local d
    d=$("$differ" "$1/checkpoint/weights.safetensors" "$2/checkpoint/weights.safetensors") ||
        return 1
    echo "$d"
    awk -v d="${d%% *}" 'BEGIN { exit !(d <= 1e-4) }'
}
# A dip in the loss is not the aim, to find the foreground is.
beats() { awk "BEGIN { exit !($(field "$1/DONE" iou) > $2) }"; }

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 1
train=(unet-train train --data data --size 64x64 --set model.base=4 --set model.depth=2 \
    --threads 1 --batch-size 4)
for loss in ce dice ce+dice; do
    ok "$loss" "${train[@]}" --epochs 10 --lr 0.01 --set train.loss=$loss --out "$loss"
    ok "$loss finds the marks ($(field "$loss/DONE" iou))" beats "$loss" 0.4
done
ok "class weights" "${train[@]}" --epochs 10 --lr 0.01 --set train.class_weights=0.1,2 \
    --out weighted
ok "more weight on the foreground finds more of it" \
    awk "BEGIN { exit !($(field weighted/DONE recall) > $(field ce/DONE recall)) }"
like weighted/record.jsonl '"loss":"ce","class_weights":"0.1,2"' "the record has loss and weights"
exits 3 "a weight too many is refused" "${train[@]}" --set train.class_weights=1,2,3 --out bad
like "$ERR" 'train.class_weights: 3 weights for 2 classes' "the error has both numbers"
exits 3 "weights that are all 0 are refused" "${train[@]}" --set train.class_weights=0,0 --out bad
like "$ERR" "class_weights: '0,0' leaves nothing to learn" "the error says why"
exits 3 \
    "weights that are not numbers are refused" "${train[@]}" --set train.class_weights=1,x --out bad
exits 2 "an unknown loss is refused" "${train[@]}" --set train.loss=hinge --out bad
like "$ERR" 'known: ce, dice, ce\+dice' "the error lists the losses"

# --- focal and Tversky ---
for more in "ce focal_gamma=2" "dice tversky=0.3,0.7" "ce+dice focal_gamma=2 tversky=0.3,0.7"; do
    read -r loss words <<<"$more"
    # shellcheck disable=SC2046,SC2086 # lists of words
    ok "$more" "${train[@]}" --epochs 10 --lr 0.01 --set train.loss=$loss \
        $(printf -- '--set train.%s ' $words) --set train.eval_epochs=10 --out "more-$loss"
    ok "$more finds the marks ($(field "more-$loss/DONE" iou))" beats "more-$loss" 0.4
done
like more-ce+dice/record.jsonl '"focal_gamma":2,"tversky":"0.3,0.7"' "the record has both"
ok "more weight on false negatives" "${train[@]}" --epochs 10 \
    --lr 0.01 --set train.loss=dice --set train.tversky=0.1,0.9 --out recall
ok "finds more of the foreground" \
    awk "BEGIN { exit !($(field recall/DONE recall) > $(field dice/DONE recall)) }"
ok "0.5,0.5" "${train[@]}" --epochs 10 --lr 0.01 --set train.loss=dice \
    --set train.tversky=0.5,0.5 --out half
is "$(field half/DONE weights_sha256)" "$(field dice/DONE weights_sha256)" "is Dice"
while IFS='|' read -r status words error; do
    # shellcheck disable=SC2086 # a list of words
    exits "$status" "refused: $words" "${train[@]}" --out bad $words
    is "$(wc -l <"$ERR")" 1 "in one line"
    like "$ERR" "$error" "which says why"
    ok "nothing is written" test ! -e bad
done <<'EOF'
2|--set train.focal_gamma=-1|focal_gamma: '-1' must be from 0 to 100
3|--set train.loss=dice --set train.focal_gamma=2|focal_gamma 2 has no effect: it needs train.loss
3|--set train.tversky=0.3,0.7|tversky 0.3,0.7 has no effect: it needs train.loss
3|--set train.loss=dice --set train.tversky=0,0|tversky: '0,0' leaves nothing to learn
3|--set train.loss=dice --set train.tversky=-0.3,0.7|tversky: '-0.3,0.7' is not a list of numbers
3|--set train.loss=dice --set train.tversky=0.3|tversky: '0.3' is 1 number, not the weights of
3|--set train.loss=dice --set train.tversky=0.3,0.3,0.4|tversky: '0.3,0.3,0.4' is 3 numbers, not
3|--set train.loss=dice --set train.tversky=a,b|tversky: 'a,b' is not a list of numbers
3|--set train.loss=dice --set train.tversky=0.5,11|tversky: '0.5,11' is not a list of numbers from 0 to 10
EOF

exits 3 "Dice of one class has no class weights" "${train[@]}" --set train.loss=dice \
    --set train.class_weights=1,2 --out bad
like "$ERR" 'class_weights 1,2 has no effect: it needs train.loss ce' "the error says why"
printf '0 ground\n255 mark\n' >two.txt
for weights in 1,1 3,1 ""; do
    ok "Dice of two classes, weights $weights" "${train[@]}" --epochs 2 --set train.loss=dice \
        --set data.classes=2 --set data.class_file=two.txt --set train.class_weights=$weights \
        --out "dice-$weights"
done
is "$(field dice-1,1/DONE weights_sha256)" "$(field dice-/DONE weights_sha256)" \
    "equal weights are none"
ok "others are others" test "$(field dice-3,1/DONE weights_sha256)" != \
    "$(field dice-/DONE weights_sha256)"
like dice-3,1/record.jsonl '"dice_weights":"classes"' "the record says that Dice is weighted"
ok "as earlier versions trained" "${train[@]}" --epochs 2 --set train.loss=dice \
    --set data.classes=2 --set data.class_file=two.txt --set train.class_weights=3,1 \
    --set train.dice_weights=none --out dice-old
is "$(field dice-old/DONE weights_sha256)" "$(field dice-/DONE weights_sha256)" \
    "a run of an earlier version continues without weights"

# --- scores of each image ---
is "$(head -n 1 ce/images.csv)" \
    "image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels" \
    "images.csv has a header"
is "$(sed 1d ce/images.csv | cut -d, -f2 | sort | uniq -c | tr -s ' ')" " 8 all" \
    "images.csv has a row per image"
is "$(sed 1d ce/images.csv | awk -F, '{ i += $8; p += $9; t += $10; n += $11 } END { print i, p, t, n }')" \
    "$(field ce/DONE intersection) $(field ce/DONE pred) $(field ce/DONE truth) 32768" \
    "which add up to the run's counts"
ok "eval writes a table of images" \
    unet-train eval --checkpoint ce/checkpoint --split ce/split.json \
    --threads 1 \
    --images images.csv --json
ok "it is that of the run" cmp images.csv ce/images.csv
ok "a training on three replicas" "${train[@]}" --epochs 1 --gpus 3 --out three
is "$(sed 1d three/images.csv | wc -l)" 8 "they write every image once"

# --- pixels that do not count: with 255 ignored, all that counts is background ---
ok "a training in which only background counts" \
    "${train[@]}" --epochs 2 --set data.ignore=255 --out blind
is "$(field blind/DONE truth)" 0 "no foreground is counted"
ok "fewer pixels are counted" test "$(field blind/DONE pixels)" -lt 32768

# --- several classes: replicas share the weight of a step ---
two=("${train[@]}" --set data.classes=2 --set data.class_file=two.txt --set train.lr_scaling=none \
    --set model.batch_norm=none
    --set train.class_weights="1,3" --set train.loss=ce+dice)
ok "two classes are trained" "${two[@]}" --epochs 3 --batch-size 12 --out two
ok "two classes are trained on 3 replicas" \
    "${two[@]}" --epochs 3 --batch-size 4 --gpus 3 --out two-3
ok "the weights are the same" close two two-3
like two/DONE '"classes":\[\{"class":0,"name":"ground",.*\{"class":1,"name":"mark"' \
    "the marker has the score of each class with its name"
is "$(first two/DONE truth)" 32768 "their truth is every pixel"
is "$(cut -d, -f2 two/images.csv | sort -u | tr '\n' ' ')" "all class ground mark " "images.csv too"
ok "eval of several classes" unet-train eval --checkpoint two/checkpoint --split two/split.json \
    --class-file two.txt --threads 1
like "$OUT" '^ground +0\.[0-9]+ +0\.[0-9]+' "it prints a row per class"
like "$OUT" '^all +0\.[0-9]+ +0\.[0-9]+' "it prints their mean"
ok "and the mean without the background" test \
    "$(awk '$1 == "mark" { print $2; exit }' "$OUT")" = "$(awk '/^without ground/ { print $3; exit }' "$OUT")"
is "$(first two/DONE iou_without_background)" \
    "$(sed 's/.*"name":"mark","iou":\([0-9.e-]*\).*/\1/' two/DONE)" "the marker has it, too"

if shared data/camvid; then
    # 11 classes and a value that does not count.
    camvid=(unet-train train --data "$UNETCTL_SHARED/data/camvid" --channels 3 --size 48x64 \
        --set model.base=8 --set model.depth=2
        --threads 1 --batch-size 4 --set data.classes=11 --set data.ignore=11)
    ok "11 classes" "${camvid[@]}" --epochs 8 --lr 0.005 --out camvid
    ok "road and building are found (accuracy $(field camvid/DONE accuracy))" \
        awk "BEGIN { exit !($(field camvid/DONE accuracy) > 0.4) }"
    is "$(grep -o '"class":' camvid/DONE | wc -l)" 22 "each class has its scores, at both sizes"
    like camvid/checkpoint/model.json '"classes":11' "model.json has their number"
else
    skip "no shared data" "11 classes"
fi
done_testing
