#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Networks as data: a user's own file through model, train, eval, predict, export and a study; and
# its description goes along with the checkpoint. A training that begins with weights of another.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
sha() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1"; }

exits 0 "the built-in models are printed" unet-train model --list
is "$(grep -cxE 'unet|nnunet|fcnn|chips|resnet(20|32|44|56|110)(-projection)?|(unet-)?resnet(18|34)' "$OUT")" 18 \
    "all are listed"
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

# ---- nnU-Net's network, and a layer that ONNX does not have
nn=(unet-train train --data data --model nnunet --size 32x32 --set model.base=4 --threads 1 \
    --batch-size 2)
exits 3 "nnU-Net's depth follows from the size" "${nn[@]}" --epochs 1 --out shallow
like "$ERR" 'instance_norm \(enc6.1.norm\): the input is one pixel' "the error names the layer"
ok "it trains" "${nn[@]}" --set model.depth=3 --epochs 12 --lr 0.01 --out nn
is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") column = i }
    NR == 2 { first = $column } { last = $column }
    END { print NR - 1, (last < first / 2 ? "below half" : first " " last) }' nn/log.csv)" "12 below half" \
    "its loss falls"
ok "export" unet-train export --checkpoint nn --onnx nn.onnx
ok "ONNX has its norms" grep -qa InstanceNormalization nn.onnx
printf '%s\n' 'model: groups' 'of: masks' 'layers:' '  - conv: 4' '  - group_norm: 2' '  - conv: classes' >groups.yaml
ok "a network with group norm" unet-train train --data data --model groups.yaml --size 32x32 --threads 1 \
    --batch-size 2 --epochs 1 --out groups
exits 3 "ONNX does not have it" unet-train export --checkpoint groups --onnx groups.onnx
like "$ERR" 'ONNX of version 13 has no operator for group_norm; export --safetensors' "in one line"

# ---- weights of another training (model.init, model.freeze)
tensor() { # RUN PATTERN: hash of the tensors of its weights whose names match
    python3 - "$1/checkpoint/weights.safetensors" "$2" <<'EOP'
import fnmatch, hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8])
head = json.loads(data[8:8 + n])
names = sorted(k for k in head if fnmatch.fnmatchcase(k, sys.argv[2]))
assert names, sys.argv[2]
parts = [data[8 + n + head[k]["data_offsets"][0]:8 + n + head[k]["data_offsets"][1]] for k in names]
print(hashlib.sha256(b"".join(parts)).hexdigest())
EOP
}
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$1" | tail -n 1; }
ok "larger data" unet-train data synth --out more --count 40 --size 32x32 --seed 2
ok "their split" unet-train data split --data more --out more.json
base=(unet-train train --data more --set data.split=more.json --size 32x32 --set model.base=4
    --set model.depth=2 --threads 1 --batch-size 4 --set train.lr_scaling=none)
plain=("${base[@]}" --set model.batch_norm=none)
still=(--epochs 1 --lr 1e-12) # no number of the weights changes
ok "a training" "${plain[@]}" --epochs 3 --lr 0.003 --out old
file=old/checkpoint/weights.safetensors
ok "a training that begins with its weights" "${plain[@]}" "${still[@]}" --set model.init=$file --out same
like "$ERR" "model.init $file: 7397 of 7397 parameters fit, 0 are frozen\$" "it says what fits"
is "$(field same/DONE iou) $(field same/DONE intersection)" \
    "$(field old/DONE iou) $(field old/DONE intersection)" "its first score is the last one"
is "$(sha same/DONE)" "$(sha old/DONE)" "the weights are the same to the last bit"
like same/record.jsonl "\"kind\":\"init\",\"file\":\"$file\",\"sha256\":\"$(sha256sum $file | cut -c1-64)\"" \
    "the record has the file's hash"
ok "the same with three ranks" "${plain[@]}" "${still[@]}" --set model.init=$file --gpus 3 --batch-size 2 --out three
is "$(sha three/DONE)" "$(sha old/DONE)" "all ranks have the same weights"
printf '0 a\n255 b\n' >two.txt
ok "another number of classes" "${plain[@]}" "${still[@]}" --set model.init=$file --set data.classes=2 \
    --set data.class_file=two.txt --set data.split= --out classes
like "$ERR" '; 2 tensors of the network anew: head.weight \(2x4x1x1, in the file 1x4x1x1\), head.bias' \
    "only the head is anew"
is "$(tensor classes 'dec*')" "$(tensor old 'dec*')" "the rest is the file's"

ok "a training with batch norm" "${base[@]}" --epochs 2 --out norm
frozen='enc*,up1.weight,dec1.conv2.bias,dec1.bn1.bias'
for backend in simd ref; do
    ok "some of it frozen, $backend" "${base[@]}" --backend $backend --epochs 2 --lr 0.01 \
        --set model.init=norm/checkpoint/weights.safetensors --set model.freeze="$frozen" \
        --set train.optimizer=adamw --set train.weight_decay=0.1 --out frozen-$backend
    for name in 'enc*.weight' 'enc*.bias' up1.weight dec1.conv2.bias dec1.bn1.bias; do
        is "$(tensor frozen-$backend "$name")" "$(tensor norm "$name")" "$name has the same bits"
    done
    for name in up1.bias 'up2.*' dec1.conv2.weight dec1.bn1.weight 'enc*.running_mean'; do
        ok "$name has others" test "$(tensor frozen-$backend "$name")" != "$(tensor norm "$name")"
    done
done
ok "in parts, resumed" "${base[@]}" --epochs 1 --lr 0.01 --set train.lr_schedule=constant \
    --set model.init=norm/checkpoint/weights.safetensors --set model.freeze="$frozen" --out part
ok "the whole" "${base[@]}" --epochs 2 --lr 0.01 --set train.lr_schedule=constant \
    --set model.init=norm/checkpoint/weights.safetensors --set model.freeze="$frozen" --out whole
ok "the file is not read again" "${base[@]}" --epochs 2 --lr 0.01 --set train.lr_schedule=constant \
    --set model.init=gone.safetensors --set model.freeze="$frozen" --resume part --out rest
is "$(sha rest/DONE)" "$(sha whole/DONE)" "the weights are the same to the last bit"
is "$(grep '"kind":"init"' rest/record.jsonl)" "$(grep '"kind":"init"' part/record.jsonl)" \
    "the record still says where they began"
exits 9 "with other frozen parameters it does not resume" "${base[@]}" --epochs 2 \
    --lr 0.01 --set train.lr_schedule=constant --set model.freeze='enc*' --resume part --out other
like "$ERR" 'model.freeze' "the error names the setting"

refuse() { # CODE WHAT MESSAGE SETTING...
    exits "$1" "$2" "${base[@]}" --epochs 1 --out refused "${@:4}"
    is "$(grep -c error: "$ERR")" 1 "in one line"
    like "$ERR" "error: $3" "the reason"
    rm -rf refused
}
head -c 2000 $file >cut.safetensors
echo '# no weights' >text.safetensors
header='{"enc1.conv1.weight":{"dtype":"F32","shape":[1e99,1,3,3],"data_offsets":[0,1e99]}}'
printf '\377\377\377\377\377\377\377\377%s' "$header" >long.safetensors
printf "\\x$(printf %02x ${#header})\0\0\0\0\0\0\0%s" "$header" >huge.safetensors
refuse 9 "no file" 'model.init: cannot read none.safetensors: No such file' --set model.init=none.safetensors
refuse 9 "a file that is cut" 'model.init: cut.safetensors: .*must be a whole .safetensors file' \
    --set model.init=cut.safetensors
refuse 9 "a text" 'model.init: text.safetensors: ' --set model.init=text.safetensors
refuse 9 "a header longer than the file" 'model.init: long.safetensors: a header of ' --set model.init=long.safetensors
refuse 9 "a header of huge sizes" 'model.init: huge.safetensors: enc1.conv1.weight: its shape' \
    --set model.init=huge.safetensors
refuse 9 "another network" 'model.init: .*these are weights of another network: of ' --model fcnn \
    --set model.depth=0 --set model.init=$file
refuse 9 "the same with another base" 'model.init: .*: enc1.conv2.weight has shape 4x4x3x3, but' \
    --set model.base=8 --set model.batch_norm=none --set model.init=$file
refuse 3 "a pattern of nothing" "model.freeze: no parameter has a name like 'enc1.conv1.wieght'; did you mean 'enc1.conv1.weight'" \
    --set model.freeze=enc1.conv1.wieght
refuse 3 "all frozen" "model.freeze: '\*' leaves nothing to train" --set model.freeze='*'
exits 0 "without a training" unet-train model unet --base 4 --depth 2 --size 32x32 --channels 2 --init $file \
    --freeze 'enc*' --json
like "$OUT" '"parameters":6441,"state":1312,.*"frozen":1152' "the frozen ones are counted"
like "$ERR" 'anew: enc1.conv1.weight .4x2x3x3, in the file 4x1x3x3., ' "the stem is anew"

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
exits 3 "weights that do not fit are not submitted" unetctl submit -C s --gpus 3 --model resnet20 \
    --set model.init="$PWD/$file"
like "$ERR" 'weights of another network' "the error says why"
cp "$file" s/begin.safetensors
exits 3 "a path beside study.yaml" unetctl submit -C s --gpus 3 --model resnet20 \
    --set model.freeze='head.*' --set model.init=none.safetensors
like "$ERR" 'cannot read .*none.safetensors' "the file must be there"
exits 0 "plan warns" unetctl plan -C s --gpus 3 --model resnet20 --set model.init=none.safetensors
like "$ERR" 'none.safetensors: No such file or directory; submit will refuse it' "of it"
ok "weights for the study" unet-train train --data cifar --model resnet20 --size 32x32 --channels 3 \
    --set model.base=4 --epochs 1 --threads 1 --batch-size 10 --out cifar-20
cp cifar-20/checkpoint/weights.safetensors s/begin.safetensors
exits 0 "those that fit are" unetctl submit -C s --gpus 2 --model resnet20 --wait --set model.base=4 \
    --set model.freeze='stem.*,stage1.*' --set model.init="$PWD/s/begin.safetensors"
like s/runs/resnet20-g02-s1/attempt-1/record.jsonl '"kind":"init","file":".*/s/begin.safetensors"' \
    "the run began with them"
exits 3 "the script of another engine has no such setting" unetctl plan -C s --gpus 1 --set engine=pytorch \
    --set model.batch_norm=local --set model.freeze='head.*'
like "$ERR" 'model.freeze: the script of unetctl for the engine pytorch trains all' "the error says so"
exits 3 "a network for masks is not submitted" unetctl submit -C s --gpus 3 --model moved.yaml
like "$ERR" 'needs a mask for each image' "the error says what it needs"
done_testing
