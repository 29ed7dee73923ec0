#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Networks as data: a user's own file through model, train, eval, predict, export and a study; and
# its description goes along with the checkpoint.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
sha() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1"; }

exits 0 "the built-in ones" unet-train model --list
is "$(grep -cxE 'unet|fcnn|chips|resnet(20|32|44|56|110)(-projection)?' "$OUT")" 13 "are listed"
exits 0 "one of them" unet-train model unet --size 32x32
like "$OUT" '^dec1.conv2 .* 32x32x8 ' "is shown with its layers"
like "$OUT" '487145 parameters in 118 tensors, 1472 running' "and parameters"
exits 0 "a network of whole images" unet-train model chips
is "$(awk '$1 ~ /^dense/ { print $2 }' "$OUT" | xargs)" "dense dense" \
    "dense layers are listed as such"
exits 0 "print" unet-train model unet --print
cp "$OUT" my.yaml
ok "data" unet-train data synth --out data --count 8 --size 32x32 --seed 1
train=(unet-train train --data data --size 32x32 --set model.base=2 --set model.depth=2 \
    --threads 1 --epochs 2 --batch-size 2)
ok "the built-in U-Net" "${train[@]}" --out a
ok "the same from a file" "${train[@]}" --model my.yaml --out b
is "$(sha b/DONE)" "$(sha a/DONE)" "gives the same weights to the last bit"
like b/checkpoint/model.json '"name":"unet","description":"# The U-Net' \
    "the description is in the checkpoint"
unlike a/checkpoint/model.json description "not of a built-in one"
sed -i -e 's/^model: unet/model: mine/' -e 's/- relu/- relu\n        - dropout: 0.1/' my.yaml
ok "another one" "${train[@]}" --model my.yaml --out c
rm -f moved.yaml && mv my.yaml moved.yaml
exits 0 "eval needs no file" unet-train eval --checkpoint c --data data --json
like "$OUT" '"iou":' "it scores"
exits 0 "predict neither" unet-train predict --checkpoint c --out masks data/images/*
ok "nor export" unet-train export --checkpoint c --onnx c.onnx
ok "it has the network's name" grep -q mine c.onnx
ok "the same again" "${train[@]}" --model moved.yaml --out d
is "$(sha d/DONE)" "$(sha c/DONE)" "dropout depends on the seed alone"
cat >bad.yaml <<'EOF'
model: bad
of: masks
layers:
  - conv: 4
  - save: skip
  - max_pool
  - concat: skip
EOF
exits 3 "a layer that does not fit" unet-train model bad.yaml --size 32x32
like "$ERR" "bad.yaml:7: concat \(concat1\): the input is 16x16x4, but 'skip' is 32x32x4: height and width must be equal" \
    "is told with file, line, layer and shapes"
exits 3 "and in training" "${train[@]}" --model bad.yaml --out f
exits 3 "a file that is not there" unet-train train --model none.yaml --data data --size 32x32 \
    --out g

# ---- in a study
make_cifar cifar 40 20
cat >tiny.yaml <<'EOF'
model: tiny
of: classes
parameters: {base: 4}
layers:
  - conv: {channels: base, stride: 2}
  - batch_norm
  - relu
  - avg_pool
  - conv: 2 * base
  - relu
  - max_pool
  - dropout: 0.25
  - flatten
  - dense: {channels: 16, l2: 0.001}
  - relu
  - dense: classes
EOF
exits 0 "init" unetctl init s --data cifar --site local --set train.epochs=2 \
    --set train.batch_per_gpu=5 \
    --set train.threads=1
exits 0 "submit --model FILE" unetctl submit -C s --model tiny.yaml --gpus 1,2 --wait
ok "runs have its name" test -s s/runs/tiny-g02-s1/attempt-1/DONE
exits 0 "plan" unetctl plan -C s --model tiny.yaml --gpus 1 --set model.base=64
like "$OUT" '0\.11 million parameters' "knows its size"
cp tiny.yaml s/own.yaml
sed -i 's/^  name: resnet20/  name: own.yaml/' s/study.yaml
exits 0 "named in study.yaml, beside it" unetctl plan -C s --gpus 1
like "$OUT" own-g01-s1 "is found there"
cp bad.yaml s/own.yaml
exits 3 "a bad one is not submitted" unetctl submit -C s --gpus 3
like "$ERR" 'own.yaml:7: concat' "and told before"
exits 3 "nor one of masks" unetctl submit -C s --gpus 3 --model moved.yaml
like "$ERR" 'needs a mask for each image' "for images with classes"
done_testing
