#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Networks as data: a user's own file through model, train, eval, predict, export and a study; and
# its description goes along with the checkpoint.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
sha() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1"; }

exits 0 "the built-in models are printed" unet-train model --list
is "$(grep -cxE 'unet|fcnn|chips|resnet(20|32|44|56|110)(-projection)?' "$OUT")" 13 "all are listed"
exits 0 "one of them" unet-train model unet --size 32x32
like "$OUT" '^dec1.conv2 .* 32x32x8 ' "its layers are printed"
like "$OUT" '487145 parameters in 118 tensors, 1472 running' "its parameters are printed"
exits 0 "a network of whole images" unet-train model chips
is "$(awk '$1 ~ /^dense/ { print $2 }' "$OUT" | xargs)" "dense dense" \
    "the layers of class dense are listed"
exits 0 "print" unet-train model unet --print
cp "$OUT" my.yaml
ok "data" unet-train data synth --out data --count 8 --size 32x32 --seed 1
train=(unet-train train --data data --size 32x32 --set model.base=2 --set model.depth=2 \
    --threads 1 --epochs 2 --batch-size 2)
ok "a training of the built-in U-Net" "${train[@]}" --out a
ok "a training of the same network from a file" "${train[@]}" --model my.yaml --out b
is "$(sha b/DONE)" "$(sha a/DONE)" "the weights are the same to the last bit"
like b/checkpoint/model.json '"name":"unet","description":"# The U-Net' \
    "the checkpoint contains the description of the model"
unlike a/checkpoint/model.json description "the checkpoint of a built-in model has no description"
sed -i -e 's/^model: unet/model: mine/' -e 's/- relu/- relu\n        - dropout: 0.1/' my.yaml
ok "a training of another network" "${train[@]}" --model my.yaml --out c
rm -f moved.yaml && mv my.yaml moved.yaml
exits 0 "eval does not need the file" unet-train eval --checkpoint c --data data --json
like "$OUT" '"iou":' "it scores"
exits 0 "predict does not need the file" unet-train predict --checkpoint c --out masks data/images/*
ok "export does not need the file" unet-train export --checkpoint c --onnx c.onnx
ok "it has the network's name" grep -q mine c.onnx
ok "the same training again" "${train[@]}" --model moved.yaml --out d
is "$(sha d/DONE)" "$(sha c/DONE)" "dropout depends only on the seed"
cat >bad.yaml <<'EOF'
model: bad
of: masks
layers:
  - conv: 4
  - save: skip
  - max_pool
  - concat: skip
EOF
exits 3 "a layer that does not fit is refused" unet-train model bad.yaml --size 32x32
like "$ERR" "bad.yaml:7: concat \(concat1\): the input is 16x16x4, but 'skip' is 32x32x4: height and width must be equal" \
    "the error has file, line, layer and shapes"
exits 3 "it is refused in training" "${train[@]}" --model bad.yaml --out f
exits 3 "a file that does not exist is refused" \
    unet-train train --model none.yaml --data data --size 32x32 \
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
ok "the runs have its name" test -s s/runs/tiny-g02-s1/attempt-1/DONE
exits 0 "plan" unetctl plan -C s --model tiny.yaml --gpus 1 --set model.base=64
like "$OUT" '0\.11 million parameters' "it knows the number of parameters"
cp tiny.yaml s/own.yaml
sed -i 's/^  name: resnet20/  name: own.yaml/' s/study.yaml
exits 0 "a file beside study.yaml is named there" unetctl plan -C s --gpus 1
like "$OUT" own-g01-s1 "it is found"
cp bad.yaml s/own.yaml
exits 3 "an invalid network is not submitted" unetctl submit -C s --gpus 3
like "$ERR" 'own.yaml:7: concat' "the error has its line"
exits 3 "a network for masks is not submitted" unetctl submit -C s --gpus 3 --model moved.yaml
like "$ERR" 'needs a mask for each image' "the error says what it needs"
done_testing
