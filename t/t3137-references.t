#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The other reference systems: the chips network with dropout and L2 on class folders, the same for
# every number of replicas; OTBTF's network on TFRecord files dealt to workers, with cropped
# outputs.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
losses() { sed -n 's/.*"kind":"epoch".*"loss":\([0-9.]*\).*/\1/p' "$1/record.jsonl"; }
close() { # A B: the losses of two runs, nearly the same
    paste <(losses "$1") <(losses "$2") |
        awk '{ if (($1 - $2)^2 > 1e-8 * $1 * $1) bad = 1 } END { exit bad || NR < 2 }'
}

# ---- chips
make_cifar cifar 48 20
ok "class folders" unet-train data convert --data cifar --to png --out folders
train=(unet-train train --data folders --model chips --set model.base=4 --size 32x32 --channels 3 \
    --epochs 3
    --lr 0.002 --threads 1 --seed 2 --set train.lr_schedule=constant --set train.lr_scaling=none)
ok "a training with one replica" "${train[@]}" --batch-size 8 --out one
ok "a training with two replicas and half the batch" "${train[@]}" --batch-size 4 --gpus 2 --out two
ok "drop the same numbers: the same losses" close one two
ok "four batches of two in a step" "${train[@]}" --batch-size 2 --set train.accumulate=4 --out four
ok "four batches in a step have the losses of one batch" close one four
ok "other numbers with another seed" "${train[@]}" --batch-size 8 --seed 3 --out other
ok "other losses" test "$(losses one)" != "$(losses other)"
for rule in linear sqrt two-thirds; do
    ok "rate $rule" "${train[@]}" --batch-size 4 --gpus 2 --set train.lr_scaling=$rule --epochs 2 \
        --out lr-$rule
done
is "$(for r in linear sqrt two-thirds; do sed -n '2s/.*,"lr":\([0-9.]*\).*/\1/p' lr-$r/record.jsonl; done |
    awk '{ printf "%s%.7g", (NR > 1 ? " " : ""), $1 }')" \
    "0.004 0.002828427 0.003174802" "two replicas have 2, 2^1/2 and 2^2/3 times the rate"
ok "six-fold" "${train[@]}" --batch-size 8 --set augment.six=true --set data.repeat=6 --epochs 1 \
    --out six
is "$(sed -n 's/.*"kind":"epoch".*"images":\([0-9]*\).*/\1/p' six/record.jsonl)" $((6 * 48)) \
    "an epoch has six times the images"
exits 3 "five-fold" "${train[@]}" --batch-size 8 --set augment.six=true --set data.repeat=5 \
    --out five
like "$ERR" 'must be a multiple of 6' "the error says which multiple is needed"
exits 3 "not square" "${train[@]}" --set augment.six=true --set data.repeat=6 --size 32x48 \
    --out wide
ok "a generator's steps: full batches only" "${train[@]}" --batch-size 10 --gpus 2 \
    --set data.remainder=drop --epochs 1 --out drop
is "$(sed -n 's/.*"kind":"epoch".*"steps":\([0-9]*\).*/\1/p' drop/record.jsonl)" 2 \
    "48 images are 2 steps of 20"

# ---- fcnn
ok "data" unet-train data synth --out pairs --count 26 --size 64x64 --seed 1
ok "TFRecord files of 4" python3 "$srcdir/t/tfrecord.py" pairs shards 4
files=$(find shards -name '*.records' | wc -l)
ok "there are at least five TFRecord files" test "$files" -ge 5
fcnn=(unet-train train --data shards --model fcnn --set model.base=4 --size 64x64 --threads 1 \
    --epochs 2 --batch-size 2)
ok "all files" "${fcnn[@]}" --gpus 2 --out all
exits 0 "each of 4 workers gets the same number of files" \
    "${fcnn[@]}" --gpus 4 --set data.files=workers --out cut
like "$ERR" "[48] of [0-9]+ TFRecord files for 4 workers" "the rest is left"
images() { sed -n 's/.*"kind":"epoch".*"images":\([0-9]*\).*/\1/p' "$1/record.jsonl" | head -1; }
ok "fewer images" test "$(images cut)" -lt "$(images all)"
exits 7 "more workers than files" "${fcnn[@]}" --gpus 16 --set data.files=workers --out few
like "$ERR" 'TFRecord files? with training images is not enough for 16 workers' \
    "the error says that there are too few files"
exits 3 "files of pairs" unet-train train --data pairs --model fcnn --set model.base=4 \
    --size 64x64 --set data.files=workers --out no
is "$(find all -name 'weights.safetensors' | wc -l)" 1 "only rank 0 writes a checkpoint"
exits 2 "a crop given twice" \
    unet-train predict --checkpoint all --crop 4,16,4 --out twice pairs/images/*0.png
like "$ERR" '--crop 4,16,4: 4 is given twice' "the error names it"
ok "cropped outputs" unet-train predict --checkpoint all --crop 4,16 --out masks pairs/images/*0.png
python3 - <<'EOF' >sizes
import glob, struct
for f in sorted(glob.glob("masks/*.png")):
    print(f.split("_")[-1] if "crop" in f else "whole", *struct.unpack(">II", open(f, "rb").read()[16:24]))
EOF
is "$(sort -u sizes | xargs)" "crop16.png 32 32 crop4.png 56 56 whole 64 64" \
    "whole and cropped outputs have their sizes"
exits 7 "a crop of everything" unet-train predict --checkpoint all --crop 32 --out cropped \
    pairs/images/*0.png
is "$(ls cropped)" "" "writes no masks"
exits 2 "a crop of nothing" unet-train predict --checkpoint all --crop x --out masks \
    pairs/images/*0.png
done_testing
