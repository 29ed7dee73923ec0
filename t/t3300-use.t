#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a trained network is used for: predict on images of any size, export, TensorBoard, bench.
# (t/peers/p3020-use.t reads what is written here with other people's programs.)
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

check() { unet-train data check "$1" | cut -f 2-5 | tr '\t' ' '; } # width height channels bits
hash_of() { unet-train data check "$1" | cut -f 6; }

ok "synthetic data" unet-train data synth --out data --count 20 --size 64x64 --seed 1
ok "a network" unet-train train --data data --size 64x64 --set model.base=4 --set model.depth=2 \
    --threads 1 --epochs 40 --seed 3 \
    --batch-size 4 --lr 0.003 --set train.lr_schedule=constant --set train.loss=ce+dice \
    --set train.tensorboard=true --out run
ok "larger images" unet-train data synth --out large --count 2 --size 150x201 --seed 5
use=(--checkpoint run --threads 1)

# --- waiting threads leave their processor to others ---
spins() { # the program may have started twice: see the last
    env "$@" OMP_DISPLAY_ENV=verbose unet-train --version 2>&1 | grep -o 'SPINCOUNT.*' | tail -n 1
}
if [ -z "$(spins GOMP_SPINCOUNT=7)" ]; then
    skip 3 "this OpenMP is not GNU's"
else
    is "$(spins -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT)" "SPINCOUNT = '1000'" "they spin briefly"
    is "$(spins -u OMP_WAIT_POLICY GOMP_SPINCOUNT=7)" "SPINCOUNT = '7'" \
        "or as GOMP_SPINCOUNT says"
    like <(spins -u GOMP_SPINCOUNT OMP_WAIT_POLICY=active) "'[0-9]{6,}'" "or OMP_WAIT_POLICY"
fi

# --- predict ---
ok "predict" unet-train predict "${use[@]}" --out masks \
    --probabilities --overlay large/images/0001.png large/images/0002.png
is "$(cd masks && echo *)" \
    "0001.png 0001_overlay.png 0001_prob.png 0002.png 0002_overlay.png 0002_prob.png" \
    "predict writes mask, probabilities and overlay"
like <(unet-train data check masks/0001.png) '201.150.1.8' "the mask has the size of the image"
like <(unet-train data check masks/0001_prob.png) '201.150.1.16' "probabilities have 16 bits"
like <(unet-train data check masks/0001_overlay.png) '201.150.3.8' "the overlay is in colour"
mkdir -p scored/images scored/masks && cp large/images/0001.png scored/images &&
    cp masks/0001.png scored/masks
ok "a mask is a mask that eval takes" unet-train eval "${use[@]}" --data scored --size 64x64 --json
ok "predict works again, in tiles" \
    unet-train predict "${use[@]}" --out other --native --size 96x96 --overlap 40 \
    large/images/0001.png
ok "the masks differ" test "$(hash_of masks/0001.png)" != "$(hash_of other/0001.png)"
is "$(hash_of masks/0001.png)" \
    "$(unet-train predict "${use[@]}" --out same large/images/0001.png 2>/dev/null; hash_of same/0001.png)" \
    "the same command gives the same mask"
ok "an image smaller than a tile" unet-train data synth --out small --count 1 --size 33x41 --seed 6
ok "it is predicted" unet-train predict "${use[@]}" --out tiny small/images/0001.png
like <(unet-train data check tiny/0001.png) '41.33.1.8' "the mask has its size"
ok "a threshold of 0" unet-train predict "${use[@]}" --threshold 0 --out none large/images/0001.png
ok "everything becomes foreground" test "$(hash_of none/0001.png)" != "$(hash_of masks/0001.png)"
exits 2 "two images of one name are refused" \
    unet-train predict "${use[@]}" --out twice data/images/0001.png \
    data/images/../images/0001.png
like "$ERR" 'would both become 0001; predict' "the error says so"
ok "nothing is written" test ! -e twice
exits 7 \
    "a file that is not an image is an error" unet-train predict "${use[@]}" --out bad /etc/passwd
exits 9 "a folder that is not a checkpoint is an error" \
    unet-train predict --checkpoint data --out bad large/images/0001.png
exits 3 "a size that does not fit the depth" unet-train predict "${use[@]}" --size 66x64 --out bad \
    large/images/0001.png
exits 2 "an overlap of tiles without tiles" unet-train predict "${use[@]}" --overlap 8 --out bad \
    large/images/0001.png
exits 2 "an overlap of nearly the tile" unet-train predict "${use[@]}" --native --overlap 49 \
    --out bad large/images/0001.png
like "$ERR" 'at most 48, .*each pixel 16 times' "the error has the cost"
exits 0 "many tiles" unet-train predict "${use[@]}" --native --size 16x16 --overlap 12 --out many \
    large/images/0001.png
like "$ERR" 'large/images/0001.png: 1680 tiles' "the number of tiles is reported beforehand"
if unet-train data check --help >/dev/null && unet-train predict "${use[@]}" --format tiff \
    -p --out tiff large/images/0001.png 2>"$ERR"; then
    like <(unet-train data check tiff/0001.tif) '201.150.1.8' "a mask as TIFF"
    is "$(hash_of tiff/0001.tif)" "$(hash_of masks/0001.png)" "it has the same pixels"
    ok "it has its probabilities" test -s tiff/0001_prob.tif
else
    like "$ERR" 'built without libtiff' "TIFF is refused without libtiff"
fi

# --- masks in the colours of their class file ---
if command -v python3 >/dev/null; then
    PYTHONPATH=$srcdir/t python3 -c '
from png import *
colours = ((0, 0, 0), (200, 30, 0), (0, 0, 255))
dataset("paint", [squares(colours, i) for i in range(6)])'
    printf '0 0 0 ground\n200 30 0 cell\n0 0 255 wall\n' >paint.classes
    ok "a network for masks of three colours" unet-train train --data paint --size 32x32 --epochs 2 \
        --set model.base=2 --set model.depth=1 --set data.classes=3 \
        --set data.class_file=paint.classes --threads 1 --out painter
    painted=(unet-train predict -c painter --threads 1)
    ok "it writes masks" "${painted[@]}" --out numbers paint/images/00.png
    ok "... and masks in colours" "${painted[@]}" --colors --overlay --out painted \
        paint/images/00.png
    unet-train data check painted/00.png >"$OUT"
    like "$OUT" '	32	32	3	8	' "... which have three channels"
    mkdir -p again/images again/masks
    cp paint/images/00.png again/images && cp painted/00.png again/masks
    exits 0 "... and are read as masks" unet-train eval -c painter --data again --all --threads 1 --json
    like "$OUT" '"accuracy":1[,.}]' "... of the classes that the network predicts"
    exits 3 "colours that training did not have" unet-train predict "${use[@]}" --colors --out bad \
        large/images/0001.png
    like "$ERR" 'the masks of training had no colours' "... are refused"
else
    skip 'python3 is not installed' "masks in colours"
fi

# --- what predict writes is what eval has measured ---
if command -v python3 >/dev/null; then
    cat >iou.py <<'EOP'
# iou.py TRUTH FOLDER: (I + 1) / (U + 1) of all masks, 8-bit grey PNGs
import os, sys
import png
def read(path):
    return [v > 127 for row in png.read(path) for v in row]
both = either = 1
for name in sorted(os.listdir(sys.argv[2])):
    truth, mask = read(f"{sys.argv[1]}/{name}"), read(f"{sys.argv[2]}/{name}")
    assert len(truth) == len(mask), name
    both += sum(t and m for t, m in zip(truth, mask))
    either += sum(t or m for t, m in zip(truth, mask))
print(f"{both / either:.6f}")
EOP
    same() { # TEXT DATA TOLERANCE OPTION...
        local text=$1 data=$2 tolerance=$3 want got
        shift 3
        rm -rf predicted
        want=$(unet-train eval "${use[@]}" --data "$data" --all --json "$@" 2>"$ERR" |
            sed 's/.*"iou":\([0-9.]*\).*/\1/')
        ok "$text: predict" unet-train predict "${use[@]}" --out predicted "$@" "$data/images"
        got=$(PYTHONPATH=$srcdir/t python3 iou.py "$data/masks" predicted)
        ok "its files' IoU, $got, is eval's, $want" \
            awk "BEGIN { d = $got - $want; exit !($want > 0.1 && d * d <= $tolerance ^ 2) }"
    }
    same "images of the network's size" data 0.000001
    same "larger ones, resized and back" large 0.000001
    same "larger ones at their own scale" large 0.000001 --native
    same "in other tiles" large 0.000001 --native --size 96x96 --overlap 40
else
    skip 'python3 is not installed' "predict's files have eval's IoU"
fi
exits 0 "eval" unet-train eval "${use[@]}" --data large
is "$(grep -n ':$' "$OUT")" "1:at the network's size, 64 x 64, as in training:
5:masks at each image's own size, as predict writes them:" "both scores are named"
is "$(awk '$1 == "all" { print $2 }' "$OUT" | sort -u | wc -l)" 2 "and differ for larger images"
exits 0 "eval of images of the network's size" unet-train eval "${use[@]}" --data data
is "$(awk '$1 == "all" { print $2 }' "$OUT" | sort -u | wc -l)" 1 "which has the same score twice"
ok "two ranks train on larger images" unet-train train --data large --size 64x64 --epochs 2 \
    --batch-size 2 --gpus 2 --set model.base=2 --set model.depth=2 --out larger
exits 0 "eval of the run's images" unet-train eval -c larger --split larger/split.json --json
own_size() { sed 's/.*"own_size":{[^{]*"intersection":\([0-9]*\).*/\1/' "$1"; }
is "$(own_size larger/DONE)" "$(own_size "$OUT")" "the run has the score at the own size, too"
cp "$OUT" own.json
is "$(python3 -c 'import json, sys
d = json.load(open("own.json"))
own, (a, b) = d["own_size"], [r["predicted"] for r in d["confusion"]]
print(sum(a + b) == own["pixels"], sum(b) == own["truth"], a[1] + b[1] == own["pred"], b[1] == own["intersection"],
      "instances" in d)')" "True True True True False" "what each class is predicted as adds up to its counts"
exits 0 "eval with objects" unet-train eval -c larger --split larger/split.json --json --instances
like "$OUT" '"instances":\[[{]"class":1,"name":"foreground","truth":[1-9]' \
    "true objects are counted"
exits 0 "eval --native --json" unet-train eval "${use[@]}" --data large --native --json
like "$OUT" '"scale":"native"' "it says at which scale it measured"
exits 2 "eval limits the overlap, too" unet-train eval "${use[@]}" --data large \
    --native --overlap 49

# --- nothing is overwritten ---
for out in large/images masks; do
    before=$(cat "$out"/*.png | sha256sum)
    exits 3 "predict into $out" unet-train predict "${use[@]}" --out $out large/images/0002.png \
        large/images/0001.png
    like "$ERR" "$out/0002.png exists already, and nothing is overwritten" "the error says so"
    is "$(cat "$out"/*.png | sha256sum)" "$before" "nothing is changed"
done
for name in x.onnx x.safetensors x.csv; do echo mine >$name; done
exits 3 "export over a file" unet-train export -c run --onnx y.onnx --safetensors x.safetensors
ok "no other file is written" test ! -e y.onnx
exits 3 "export of ONNX over a file" unet-train export -c run --onnx x.onnx
exits 3 "eval's table over a file" unet-train eval "${use[@]}" --data data --images x.csv
ln -s nowhere dangling.onnx
exits 3 "a dangling link is not overwritten" unet-train export -c run --onnx dangling.onnx
is "$(cat x.*)" "mine
mine
mine" "all is as it was"

# --- many images ---
mkdir -p many-in/a many-in/b/deep
cp large/images/0001.png many-in/a/1.png
cp large/images/0002.png many-in/b/1.png
cp large/images/0002.png many-in/b/deep/1.png
echo broken >many-in/a/0.png
exits 7 "a folder, an image among them broken" unet-train predict "${use[@]}" --out kept many-in \
    none/2.png
like "$ERR" 'many-in/a/0.png: is not an image' "the error names the broken image"
like "$ERR" 'none/2.png: No such file' "the error names the missing image"
like "$ERR" '2 of 5 images were not predicted' "the number of failures is printed"
is "$(cd kept && find . -type f | sort | xargs)" "./a/1.png ./b/1.png ./b/deep/1.png" \
    "the other images have masks, each in its folder"
is "$(hash_of kept/a/1.png)" "$(hash_of masks/0001.png)" "the others have their masks"
mkdir empty
exits 7 "a folder without images" unet-train predict "${use[@]}" --out bad empty

# --- several classes ---
printf '0 ground\n255 mark\n' >two.txt
ok "a network of two classes" unet-train train --data data --size 64x64 --set model.base=4 \
    --set model.depth=2 --threads 1 --epochs 1 \
    --batch-size 4 --set data.classes=2 --set data.class_file=two.txt --out two
ok "it predicts" unet-train predict --checkpoint two --threads 1 --out classes \
    --probabilities --overlay large/images/0001.png
is "$(cd classes && echo *)" "0001.png 0001_overlay.png 0001_prob_0.png 0001_prob_1.png" \
    "there is a probability for each class"

# --- what -c takes; model.json says how masks were read ---
printf '7 ground\n255 "a, mark"\n0 ground\n99 ignore\n' >three.txt
ok "classes with names, from a file" unet-train train --data data --size 64x64 --set model.base=4 \
    --set model.depth=2 --threads 1 \
    --epochs 1 --batch-size 4 --set data.classes=2 --set data.class_file=three.txt --out named
mv three.txt gone.txt
like named/checkpoint/model.json \
    '"class_names":\["ground","\\"a, mark\\""\],"class_file":"7 ground' \
    "model.json has the names of the classes and the class file"
exits 0 "eval needs no class file" unet-train eval -c named --data data --threads 1 --json
like "$OUT" '"name":"ground"' "it prints the names of classes"
ok "a value to ignore" unet-train train --data data --size 64x64 --set model.base=4 \
    --set model.depth=2 --threads 1 --epochs 1 \
    --batch-size 4 --set data.classes=2 --set data.ignore=255 --out ignoring
like ignoring/checkpoint/model.json '"ignore":"255"' "model.json has it"
exits 0 "eval ignores it" unet-train eval -c ignoring --data data --threads 1
broken ignoring/checkpoint/model.json study/attempt-2/checkpoint/model.json # of earlier versions
sed 's/,"class_names":.*,"weights/,"weights/' ignoring/checkpoint/model.json >older.json
mv older.json ignoring/checkpoint/model.json
exits 7 "an earlier model.json lacks it" unet-train eval -c ignoring --data data --threads 1
ok "an option supplies it" unet-train eval -c ignoring --data data --threads 1 --ignore 255
mkdir -p study/attempt-{1,2,10,11}
cp -r run/checkpoint study/attempt-2
exits 9 "a run without a completed attempt is refused" unet-train eval -c study --data data
like "$ERR" 'no attempt of this run is DONE; the newest is attempt-11' "the error says so"
touch study/attempt-{1,2,10}/DONE
mkdir -p study/attempt-{1,10}/checkpoint && cp -r named/checkpoint study/attempt-10
for path in study study/attempt-10 study/attempt-10/checkpoint \
    study/attempt-10/checkpoint/weights.safetensors; do
    ok "export -c $path" unet-train export -c $path --safetensors "${path//\//-}.out"
    ok "the newest completed attempt is used" \
        cmp "${path//\//-}.out" named/checkpoint/weights.safetensors
done
sed -i 's/,"scale":.*,"weights/,"weights/' study/attempt-2/checkpoint/model.json
ok "an earlier model.json is read" unet-train eval -c study/attempt-2 --data data --threads 1
printf '\377' | dd of=study/attempt-10/checkpoint/weights.safetensors bs=1 seek=2000 conv=notrunc \
    2>"$ERR"
for verb in "eval --data data" "predict --out damaged large/images/0001.png" \
    "export --onnx damaged.onnx"; do
    # shellcheck disable=SC2086
    exits 9 "$verb with a damaged byte in the weights" unet-train ${verb%% *} -c study ${verb#* }
    like "$ERR" 'attempt-10/checkpoint/weights.safetensors: .*damaged or replaced' \
        "the error names the damaged file"
done

# --- export ---
ok "export" unet-train export --checkpoint run --onnx net.onnx --safetensors net.safetensors
ok "safetensors as the run's" cmp net.safetensors run/checkpoint/weights.safetensors
like net.onnx 'BatchNormalization' "the ONNX file has operators"
for word in height_multiple_of_4 image_channels grey trained_size 64x64 'multiples of 4' \
    '["foreground"]'; do
    ok "the ONNX file has $word" grep -qaF "$word" net.onnx
done
ok "a network with named classes is exported" unet-train export -c named --onnx named.onnx
ok "the ONNX file has their names" grep -qaF '["ground","\"a, mark\""]' named.onnx
exits 2 "export without an output is refused" unet-train export --checkpoint run
exits 1 "export to a folder that does not exist is an error" unet-train export --checkpoint run \
    --onnx /proc/none/net.onnx

# --- TensorBoard ---
ok "events for TensorBoard" eval \
    'grep -q "train/loss" run/tensorboard/events.out.tfevents.* && grep -q "val/iou" run/tensorboard/events.out.tfevents.*'

# --- bench ---
for mode in train infer; do
    exits 0 "bench $mode" unet-train bench --base 2 --size 32x32 --batch-size 2 --threads 1 \
        --mode $mode --steps 3 --warmup 1 --json
    for k in img_per_s step_s_median step_s_min peak_rss_mib; do
        like "$OUT" "\"$k\":[0-9.]+" "the JSON has $k"
    done
done
exits 0 "bench with images" unet-train bench --data data --base 2 --size 32x32 --batch-size 2 \
    --threads 1 --steps 3 --workers 1 --json
like "$OUT" '"workers":1' "the JSON has the threads that load"
exits 0 "bench of loading alone" unet-train bench --mode load --data data --size 32x32
like "$OUT" '^img/s [0-9]' "images a second are printed"
exits 2 "loading needs images" unet-train bench --mode load
exits 3 "bench with images that have no masks" unet-train bench --data data --size 32x32 \
    --model resnet20 --classes 2
like "$ERR" 'bench: --data data: its images have masks, but model resnet20 takes classes' "one line"
exits 0 "op by op" unet-train bench --base 2 --depth 1 --size 16x16 --steps 2 --per-op
like "$OUT" '^peak of a core: [0-9.]+ GFLOP/s, [0-9.]+ GB/s' "the peak of a core is printed"
like "$OUT" '^conv2d .* GFLOP/s +[0-9.]+ GB/s +[0-9.]+ % of peak' "each op is compared with it"
exits 2 "an unknown type of number" unet-train bench --dtype f8
done_testing
