#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Images that have one class as a whole: a residual network learns them from CIFAR-10's binary
# format and from idx, and the other verbs use it.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/classes.sh
. "${srcdir:-$(dirname "$0")/..}/t/classes.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }

make_cifar cifar 120 40
mkdir idx
python3 - <<'EOP'
import gzip, random, struct
rng = random.Random(5)
def picture(kind, side, channels):
    rows = []
    for c in range(channels):
        for y in range(side):
            for x in range(side):
                bright = (x if kind % 2 else y) < side // 2
                level = 40 + 150 * bright * (1 + (kind // 2 + c) % 5) // 5
                rows.append(min(255, max(0, level + rng.randrange(-20, 20))))
    return bytes(rows)
for name, count in (("train", 60), ("t10k", 20)):
    with gzip.open(f"idx/{name}-images-idx3-ubyte.gz", "wb") as f:
        f.write(struct.pack(">IIII", 2051, count, 14, 14))
        for i in range(count):
            f.write(picture(i % 2, 14, 1))
    with gzip.open(f"idx/{name}-labels-idx1-ubyte.gz", "wb") as f:
        f.write(struct.pack(">II", 2049, count) + bytes(i % 2 for i in range(count)))
EOP
train=(unet-train train --model resnet20 --set model.base=4 --threads 1 --lr 0.01 --batch-size 20)
ok "CIFAR-10's format" "${train[@]}" --data cifar --size 32x32 --channels 3 --epochs 15 \
    --set augment.hflip=true \
    --set train.eval_epochs=5 --out run
accuracy=$(field run/DONE accuracy)
ok "more than half of ten classes are right ($accuracy)" awk "BEGIN { exit !($accuracy > 0.5) }"
is "$(field run/DONE pixels)" 40 "each validation image counts once"
is "$(field run/record.jsonl train_images)" 120 "images of the test batch do not train"
is "$(grep -c '"kind":"eval".*"accuracy":' run/record.jsonl)" 3 \
    "the record has the accuracy of each validation"
is "$(grep -o '"class":[0-9]*' run/DONE | wc -l)" 10 "the marker has the score of each class"
ok "eval" unet-train eval --checkpoint run --split run/split.json --threads 1 --json
is "$(python3 -c 'import json, sys
d = json.load(sys.stdin)
rows = [r["predicted"] for r in d["confusion"]]
print(sum(map(sum, rows)) == d["images"], sum(r[i] for i, r in enumerate(rows)) == d["intersection"])' <"$OUT")" \
    "True True" "what each class is predicted as adds up"
is "$(field "$OUT" accuracy)" "$accuracy" "eval of the run"
unlike "$ERR" 'was "' "there is no warning of other names"
exits 2 "objects of whole images" unet-train eval --checkpoint run --data cifar --instances
like "$ERR" 'eval: --instances counts objects of masks' "there are none"
ok "eval of the folder" unet-train eval --checkpoint run --data cifar --threads 1 --json
is "$(field "$OUT" accuracy) $(field "$OUT" left_out)" "$accuracy 120" \
    "leaves out the records that it was trained on"
ok "the same again" "${train[@]}" --data cifar --size 32x32 --channels 3 --epochs 15 \
    --set augment.hflip=true \
    --set train.eval_epochs=5 --out again
ok "the weights are the same" \
    cmp run/checkpoint/weights.safetensors again/checkpoint/weights.safetensors

ok "idx" "${train[@]}" --data idx --size 14x14 --epochs 40 --set train.until='acc>=0.9' \
    --out idx-run
is "$(field idx-run/DONE stopped_early)" true "the training ends when the accuracy is reached"
ok "DONE has that epoch" test "$(field idx-run/DONE reached_epochs)" -gt 0
ok "DONE has the best accuracy" test -n "$(field idx-run/DONE best_accuracy)"

# --- data check ---
exits 0 "data check of CIFAR-10's files" unet-train data check cifar
is "$(wc -l <"$OUT") $(head -n 1 "$OUT" | cut -f 1-5 | xargs)" \
    "160 cifar/data_batch_1.bin#0 32 32 3 8" "there is a line for each record"
exits 0 "data check of idx files succeeds" unet-train data check idx idx/train-images-idx3-ubyte.gz
is "$(wc -l <"$OUT")" 140 "a folder and a single file of idx are listed"
cp -r cifar cut && printf '\310' | dd of=cut/data_batch_1.bin bs=3073 seek=7 conv=notrunc \
    2>/dev/null
exits 7 "a wrong label is an error" unet-train data check cut
like "$ERR" 'record 7 has label 200' "the error names the record"
is "$(wc -l <"$OUT")" 40 "the other files are printed"

# --- predict and export ---
ok "pictures" unet-train data convert --data cifar --to png --out png
images=(png/test/airplane/*.png)
[ -e "${images[0]}" ] || mapfile -t images < <(find png -name '*.png' | sort | head -n 4)
ok "predict" unet-train predict --checkpoint run --threads 1 -p --out classes "${images[@]}"
is "$(head -n 1 classes/classes.csv)" "image,class,name,probability,p_0,p_1,p_2,p_3,p_4,p_5,p_6,p_7,p_8,p_9" \
    "a table"
is "$(($(wc -l <classes/classes.csv) - 1))" "${#images[@]}" "a row for each image"
awk -F, 'NR > 1 {
    s = 0
    for (i = 5; i <= NF; i++) { s += $i; if ($i > m[NR]) { m[NR] = $i; k = i - 5 } }
    if (s < 0.9999 || s > 1.0001 || k != $2 || m[NR] != $4) exit 1 }' classes/classes.csv
report $? "probabilities add up to 1, the class is the most probable"
is "$(awk -F, 'NR == 2 { print $3 }' classes/classes.csv)" \
    "$(sed 's/.*"class_names":\["\([^]]*\)"\].*/\1/; s/","/\n/g' run/checkpoint/model.json |
        sed -n "$(awk -F, 'NR == 2 { print $2 + 1 }' classes/classes.csv)p")" "with its name"
cp "${images[0]}" "./=A1+1.png"
bidi=$(printf 'x\342\200\256y')
cp "${images[0]}" "./$bidi.png"
ok "predict images with names that are orders" unet-train predict --checkpoint run --threads 1 \
    --out named "=A1+1.png" "$bidi.png"
is "$(sed 1d named/classes.csv | cut -d, -f1 | paste -sd " ")" "'=A1+1.png x y.png" \
    "the table has them as texts"
ok "export" unet-train export --checkpoint run --onnx run.onnx --safetensors run.safetensors
ok "has the network" grep -q GlobalAveragePool run.onnx

# --- classes of other names ---
cp -r png/val others && mv others/0 others/zeppelin && mv others/9 "others/$bidi"
exits 7 "a set of which some classes have other names" unet-train eval -c run --data others --threads 1
like "$ERR" '"x.xe2.x80.xaey" is a class here and not in training, and 8 of 10 classes are' \
    "is refused, with the name as its bytes"
mkdir three ten && cp -r png/val/[259] three && cp -r png/val/* ten
for i in 0 1 2 3 4 5 6 7 8 9; do mv "ten/$i" "ten/class $((9 - i))"; done
exits 0 "other names altogether" unet-train eval -c run --data ten --threads 1
like "$ERR" 'class 0 is "class 0" in these data, but was "0" in training' "are compared by number"
exits 0 "three of the ten classes" unet-train eval -c run --data three --threads 1 --images three.csv
is "$(sed -n 's/^\([0-9]\) .*/\1/p' "$OUT" | sort -u | xargs)" \
    "$(tail -n +2 three.csv | cut -d, -f 2 | grep -v all | sort -u | xargs)" "are those of their names"
right=$(unet-train predict -c run --threads 1 --out three-out three >/dev/null 2>&1 &&
    awk -F'[/,]' 'NR > 1 { n += $2 == $5; all++ } END { print n / all }' three-out/classes.csv)
is "$(sed -n 's/^accuracy *//p' "$OUT")" "$(printf '%.6f' "$right")" "eval scores what predict writes"

# --- what does not go together ---
ok "masks" unet-train data synth --out masks --count 6 --size 32x32 --seed 1
exits 3 "a residual network refuses masks" "${train[@]}" --data masks --size 32x32 --out no1
like "$ERR" 'use model unet' "the error names a model"
exits 3 \
    "a U-Net refuses classes" unet-train train --data cifar --size 32x32 --channels 3 --threads 1 \
    --out no2
like "$ERR" 'use model resnet20' "the error names a model"
exits 3 "Dice is refused" \
    "${train[@]}" --data cifar --size 32x32 --channels 3 --set train.loss=dice --out no3
exits 3 \
    "another number of classes is refused" "${train[@]}" --data cifar --size 32x32 --channels 3 \
    --set data.classes=7 --out no4
exits 2 "an unknown model is refused" \
    unet-train train --data cifar --size 32x32 --model resnet21 --out no5
exits 3 "eval refuses masks" unet-train eval --checkpoint run --data masks --threads 1
done_testing
