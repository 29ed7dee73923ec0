#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Data sets of every format: converted to PNG without loss, split, trained from; damage in them is
# found; a little of each real set.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

has() { grep -q "^#define HAVE_$1 1" "$builddir/config.h"; }
weights() { sed -n 's/.*"weights_sha256":"\([^"]*\).*/\1/p' "$1/DONE"; }
count() { python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(s.get("format", "pairs"), len(s["train"]), len(s["val"]), len(s.get("classes", [])))' "$1"; }

# --- to PNG --------------------------------------------------------------------------------------
ok "a set is made" unet-train data synth --out png --count 12 --size 32x32 --seed 3
ok "... also as three shards of TFRecord" python3 "$srcdir/t/tfrecord.py" png shards 5
ok "they are converted" unet-train data convert --data shards --to png --out back
is "$(samples back/images)" "$(samples png/images)" "the images are the same"
is "$(samples back/masks)" "$(samples png/masks)" "the masks are the same"
exits 7 "an output folder with files is refused" unet-train data convert --data png --to png \
    --out back
exits 2 "an unknown format is refused" unet-train data convert --data png --to zip --out zip
exits 2 "TFRecord is not written" unet-train data convert --data png --to tfrecord --out new
like "$ERR" 'only read; train from png as it is, or write them by TensorFlow' "the error says so"
exits 2 "nor a cache" unet-train data convert --data png --to cache --out new
like "$ERR" 'fills its cache by itself; set data.cache to new' "the error says what fills it"

exits 2 "tiles are not written" unet-train data convert --data png --tile 20x16 --out new
like "$ERR" 'no longer written; train on patches of images as they are, by data.patch=20x16' \
    "the error says what stands in their place"
# Sets of tiles exist: name as such the images of a new set, four for each STEM.
tiles() { # DIR STEM...
    local dir=$1 stem at i=0
    shift
    unet-train data synth --out "$dir" --count $((4 * $#)) --size 32x32 --seed 4 2>"$ERR" || return
    for stem; do
        for at in y00000-x00000 y00000-x00016 y00012-x00000 y00012-x00016; do
            i=$((i + 1))
            mv "$dir/images/$(printf %04d "$i").png" "$dir/images/$stem-$at.png"
            mv "$dir/masks/$(printf %04d "$i").png" "$dir/masks/$stem-$at.png"
        done
    done
}
ok "a set of tiles" tiles tiles 0{0..9}a 10a 11a
# The files that a split has pieces of: those on both sides, and those that validate.
sides() { python3 - "$@" <<'EOP'
import json, re, sys
s = json.load(open(sys.argv[1]))
train, val = ({re.sub("(-p[0-9]{4})?(-y[0-9]{5}-x[0-9]{5})?$", "", i["stem"]) for i in s[k]} for k in ("train", "val"))
print(len(train & val), len(val))
EOP
}
for seed in 1 2 3; do
    unet-train data split --data tiles --seed $seed --out tiles$seed.json 2>"$ERR" &&
        sides tiles$seed.json
done >tiles.txt
is "$(sort -u tiles.txt)" "0 2" "all tiles of an image are on one side, with any seed"
basename -a tiles/images/* | grep -v 'x00000' >right.txt
basename -a tiles/images/* | grep 'x00000' >left.txt
ok "lists may put the halves of images on different sides" unet-train data split --data tiles \
    --train-list left.txt --val-list right.txt --out halves.json
like "$ERR" 'warning: ([01][0-9]a)-y[0-9]+-x00000 and \1-y[0-9]+-x00016 are pieces of one file, .* 24 training' \
    "which is reported"

# --- training from shards ------------------------------------------------------------------------
train=(unet-train train --size 32x32 --set model.base=4 --set model.depth=2 --threads 1 --epochs 2 \
    --batch-size 4
    --set model.batch_norm=none --set train.lr_scaling=none)
ok "a split of the shards" unet-train data split --data shards --out shards.json
is "$(count shards.json)" "tfrecord 10 2 0" "it has all records"
ok "a training from shards" "${train[@]}" --data shards --set data.split=shards.json --out run
ok "a training from a cache of the shards" \
    "${train[@]}" --data shards --set data.split=shards.json \
    --set data.cache=here --out run-cache
is "$(weights run-cache)" "$(weights run)" "the weights are the same"
like "$ERR" 'decoding .* samples' "it is filled"
ok "a second training uses it" "${train[@]}" --data shards --set data.split=shards.json \
    --set data.cache=here --out run-again
unlike "$ERR" 'decoding .* samples' "nothing is decoded"
printf 'X' | dd of=shards/1.records bs=1 seek=400 conv=notrunc 2>/dev/null
exits 7 "a damaged record is an error in training" \
    "${train[@]}" --data shards --set data.split=shards.json --out run-bad
like "$ERR" 'shards/1.records: record 0 is damaged' "the error names it"
exits 7 "a damaged record is an error in conversion" \
    unet-train data convert --data shards --to png --out broken
mkdir empty
exits 7 "the same into an existing folder" unet-train data convert --data shards --out empty
ok "no files are left" test ! -e broken -a -d empty -a -z "$(ls -A empty)"
unet-train data synth --out slow --count 9999 --size 256x256 2>"$ERR" &
pid=$!
wait_until 20 test -e slow/masks/0003.png
kill -KILL $pid
wait $pid 2>/dev/null
exits 7 "a set whose writer was killed is refused" unet-train data split --data slow --out slow.json
like "$ERR" 'slow: is not complete: .* remove the folder and run the command again' \
    "the error says so"
is "$(find png back -name .unfinished)" "" "finished sets are not marked"
truncate -s -7 shards/0.records
exits 7 "a truncated shard is an error" unet-train data split --data shards --out cut.json
like "$ERR" 'shards/0.records ends inside record 4' "the error names it"

# --- records of tensors: bands, 16 bits, classes -------------------------------------------------
PYTHONPATH=$srcdir/t python3 - <<'EOP'
import png, random
from tfrecord import *
rng = random.Random(3)
def grey(rows):  # as a tensor of height, width, 1
    return tensor([len(rows), len(rows[0]), 1], bytes(sum(rows, [])))
def colour(rows, n=4):
    return tensor([len(rows), len(rows[0]), n], bytes(v for p in sum(rows, []) for v in p[:n]))
pairs = []
for i in range(10):  # the truth is in the fourth band alone
    mask = [[255 * ((x // 8 + y // 8 + i) % 2) for x in range(32)] for y in range(32)]
    image = [[(*rng.choices(range(256), k=3), 30 + v // 2) for v in row] for row in mask]
    png.write("bands/images/%d.png" % i, image)
    png.write("bands/masks/%d.png" % i, mask)
    pairs.append((image, mask))
write("band-shards/0.records", [example(image=colour(i), mask=grey(m)) for i, m in pairs])
write("rgb-shards/0.records", [example(image=colour(i, 3), mask=grey(m)) for i, m in pairs])
write("long-pixels/0.records", [example(image=tensor([4, 4, 1000], b"\x55" * 16000),
                                        mask=tensor([4, 4, 1], b"\0\1" * 8))])
def deep(i):
    return [[v * 200 + i for v in row] for row in png.picture(i)]
def sample(i, label):
    words = sum(deep(i), [])
    return example(input=tensor([32, 32], struct.pack("<1024H", *words), 17),
                   label=tensor([], struct.pack("<q", label), 9))
for i in range(1, 9):
    png.write("classes/%s/%02d.png" % ("cat" if i < 5 else "dog", i), deep(i), bits=16)
write("class-shards/0.records", [sample(i, int(i > 4)) for i in range(1, 9)])
EOP
ok "the shards are converted to images" \
    unet-train data convert --data band-shards --to png --out band-back
is "$(samples band-back/images)" "$(samples bands/images)" "the images have their four bands"
is "$(samples band-back/masks)" "$(samples bands/masks)" "and the masks are the same"
learn=(unet-train train --size 32x32 --set model.base=4 --set model.depth=2 --threads 1 \
    --epochs 25 --batch-size 2 --lr 0.01)
ok "a network with four channels is trained" \
    "${learn[@]}" --data band-shards --channels 4 --out band-run
like band-run/DONE '"iou":(0\.9|1)' "it uses the fourth channel"
ok "it predicts" unet-train predict --checkpoint band-run --threads 1 --out band-masks \
    bands/images/0.png
exits 7 "a record with 1000 channels is refused" unet-train data check long-pixels
like "$ERR" '0.records: record 0: a picture of 1000 channels; 1 to 64 are supported' \
    "the error has the number"
exits 7 "four channels of RGB images are refused" \
    "${learn[@]}" --data rgb-shards --channels 4 --out rgb-run
like "$ERR" 'has 3 channels, and data.channels is 4: train with --channels 3' \
    "the error has both numbers"

# --- classes by folder
# -----------------------------------------------------------------------------
ok "a folder per class is split" unet-train data split --data classes --out classes.json
is "$(count classes.json)" "folders 6 2 2" "each of its two classes has a validation image"
ok "shards of 16 bits and labels are converted" \
    unet-train data convert --data class-shards --to png --out class-back
is "$(samples class-back/1)" "$(samples classes/dog)" "the second class has its images"
exits 3 "a U-Net refuses images without masks" "${train[@]}" --data classes --out class-run
like "$ERR" 'one class for each image' "the error says so"
mkdir classes/val
mv classes/cat classes/dog classes/val && mkdir -p classes/train/cat classes/train/dog
mv classes/val/cat/0[123].png classes/train/cat && mv classes/val/dog/0[567].png classes/train/dog
cp classes/val/dog/08.png classes/train/dog/copy.png
ok "a divided folder is split" unet-train data split --data classes --out divided.json
is "$(count divided.json)" "folders 6 2 2" \
    "the division is kept, and an image of both sides is not trained on"
like "$ERR" '1 training images are also validation' "duplicates between the sides are reported"

# --- sets that are divided by their names --------------------------------------------------------
PYTHONPATH=$srcdir/t python3 - <<'EOP'
import gzip, struct
from tfrecord import *
import png
drawn = 0
def draw(path, side=32):
    global drawn
    drawn += 1
    png.write(path, png.picture(drawn, side))
    return path
def shards(folder, **counts):
    for name, n in counts.items():
        name = name.replace("__", ".tfrecord").replace("_", "-")
        write("own/%s/%s" % (folder, name), [
            example(image=picture(draw("own.png")), label=number(i % 2)) for i in range(n)])
one = dict(a_train___00000_of_00002=4, a_train___00001_of_00002=4, a_test___00000_of_00001=3)
shards("plain", train_00000_of_00002=5, train_00001_of_00002=5, validation_00000_of_00001=3,
       test_00000_of_00001=2)
shards("tfds", **one)
shards("two", **one, b_train=4, b_test=2)
shards("extra", **one, a_extra=4)
shards("gap", a_train=4, a_test___00000_of_00003=1, a_test___00001_of_00003=1)
shards("folders/train", a=4)
shards("folders/test", a=3)
shards("undivided/train", a=10)
shards("parts", train1=5, train2=5)
def idx(name, n, first):
    global drawn
    for kind, head, size in ("images-idx3", (2051, n, 14, 14), 14), ("labels-idx1", (2049, n), 0):
        with gzip.open("own/emnist/emnist-%s-%s-ubyte.gz" % (name, kind), "wb") as f:
            f.write(struct.pack(">%dI" % len(head), *head))
            for i in range(n):
                drawn += 1
                f.write(bytes(v * drawn % 251 for v in range(size * size)) if size
                        else bytes([first + i % 3]))
os.mkdir("own/emnist")
for name, first in ("letters", 1), ("digits", 0):
    idx(name + "-train", 9, first)
    idx(name + "-test", 4, first)
for word, n in ("train", 4), ("val", 2), ("test", 3):
    png.dataset("own/camvid", [], "", "")
    for i in range(n):
        draw("own/camvid/%s/%d.png" % (word, i))
        png.write("own/camvid/%sannot/%d.png" % (word, i), png.squares((0, 255), i))
        for kind in "a", "b":
            draw("own/tumor/%s/%s/%d.png" % ({"train": "Training", "test": "Testing"}.get(word, "notes"), kind, i))
for kind in "train", "bus", "car":
    for i in range(5):
        draw("own/vehicles/%s/%d.png" % (kind, i))
EOP
own() { # SET WANT TEXT [OPTION...]: the names of the files that train, and of those that validate
    rm -f own.json
    exits 0 "$3" unet-train data split --data "own/$1" --out own.json "${@:4}"
    is "$(python3 -c '
import json
s = json.load(open("own.json"))
print(*("%d of %s" % (len(s[k]), ",".join(sorted({i["image"].split("#")[0].rsplit("/", 1)[0] for i in s[k]})))
        for k in ("train", "val")), sep=" | ")' 2>&1)" "$2" "$1: its own split"
}
strange() { # SET CODE REGEX TEXT
    exits "$2" "$4" unet-train data split --data "own/$1" --out n.json
    like "$ERR" "$3" "$1: the error says so"
}
own plain '10 of train-00000-of-00002,train-00001-of-00002 | 3 of validation-00000-of-00001' \
    "shards named train and validation"
like "$ERR" 'test-00000-of-00001 is not used, as other files are for validation' "the test set is named"
tfds='8 of a-train.tfrecord-00000-of-00002,a-train.tfrecord-00001-of-00002 | 3 of a-test.tfrecord-00000-of-00001'
own tfds "$tfds" "shards of TFDS"
strange two 3 'a-test.* and b-test.* are of different sets: .* data.images=b or data.images=a .unet' \
    "shards of two sets"
own two "$tfds" "of which one is chosen" --image-folder a
strange extra 7 'a-extra is neither for training nor for validation' "a shard of neither side"
strange gap 7 'gap: a-test.tfrecord-00002-of-00003 is missing, but a-test.tfrecord-00000-of-00003 is there' "a missing shard"
own folders '4 of train | 3 of test' "TFRecord in train/ and test/"
own undivided '8 of train | 2 of train' "TFRecord in train/ alone is divided at random"
own parts '8 of train1,train2 | 2 of train1,train2' "shards for training alone are divided at random"
strange emnist 3 'are of different sets: .*data.images=emnist-letters or data.images=emnist-digits' \
    "two sets of EMNIST"
own emnist '9 of emnist-letters-train-images-idx3-ubyte.gz | 4 of emnist-letters-test-images-idx3-ubyte.gz' \
    "of which one is chosen" --image-folder emnist-letters
like "$ERR" 'warning: own/emnist: the labels begin at 1: class 0 has no image$' "class 0 is named"
is "$(grep -c warning "$ERR")" 1 "once"
own camvid '4 of train | 2 of val' "train/ and trainannot/ (CamVid)"
own tumor '8 of Training/a,Training/b | 6 of Testing/a,Testing/b' "classes in Training/ and Testing/"
own vehicles '12 of bus,car,train | 3 of bus,car,train' "a class that is called train"

# --- stacks
# ------------------------------------------------------------------------------------------
if has TIFF; then
    mkdir -p stack{,s}/{images,masks}
    python3 -c '
import struct
# A stack of three 32 x 32 pages, not compressed: header, then for each page its pixels and
# directory.
def stack(path, first, more=0):
    pages = b""
    at = 8
    data = []
    for page in range(3):
        value = first + more + page * 50
        pixels = bytes((value + i * i) % 256 // first * first for i in range(1024))
        tags = [(256, 3, 1, 32), (257, 3, 1, 32), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
                (273, 4, 1, at), (277, 3, 1, 1), (278, 3, 1, 32), (279, 4, 1, 1024)]
        ifd = at + 1024
        after = ifd + 2 + 12 * len(tags) + 4
        data.append(pixels + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags)
                    + struct.pack("<I", after + 1024 if page < 2 else 0))
        at = after
    open(path, "wb").write(b"II*\0" + struct.pack("<I", 8 + 1024) + b"".join(data))
stack("stack/images/s.tif", 1)
stack("stack/masks/s.tif", 255)
for k in range(5):
    stack("stacks/images/s%d.tif" % k, 1, 7 * k)
    stack("stacks/masks/s%d.tif" % k, 255)'
    exits 7 \
        "a stack in a set of pairs is refused" unet-train data split --data stack --out stack.json
    like "$ERR" 'images/s.tif: has 3 pages; .*data convert' "the error says what to do"
    ok "the stack is converted to images" unet-train data convert --data stack --to png --out pages
    is "$(find pages/images -name '*.png' | sort | xargs -n 1 basename | xargs)" \
        "s-p0002.png s-p0003.png s.png" "each page becomes an image"
    is "$(samples pages/images | sort -u | wc -l)" 3 "its three pages differ"
    ok "predict accepts a stack" unet-train predict -c run --threads 1 --out stacked stack/images
    ok "predict accepts its images" unet-train predict -c run --threads 1 --out single pages/images
    is "$(cd stacked && sha256sum -- *.png)" "$(cd single && sha256sum -- *.png)" \
        "each page of a stack gets the mask of the page as a single image"
    mkdir broken && cp pages/images/s.png broken/z.png
    python3 -c '
stack = bytearray(open("stack/images/s.tif", "rb").read())
second = int.from_bytes(stack[4:8], "little") + 2 + 12 * 9 + 4 + 1024
stack[second + 2 + 12 * 3 + 8] = 99 # its compression
open("broken/s.tif", "wb").write(stack)'
    exits 7 "a stack with a damaged page" unet-train predict -c run --threads 1 --out torn broken
    like "$ERR" 'broken/s.tif: page 2: .*' "the error names the page"
    like "$ERR" '1 of 2 images were not predicted' "the stack counts once"
    is "$(cd torn && sha256sum -- *.png | sed s/z.png/s.png/)" \
        "$(cd single && sha256sum s.png s.png)" "the page before it and the other image are predicted"
    exits 7 "pages of one file cannot be divided" unet-train data split --data pages --out n.json
    like "$ERR" 'all images are .*tiles or pages of one file; .* --train-list, --val-list' \
        "the error says how they can"
    ok "tiles of pages" tiles pages5 {a..e}{,-p0002,-p0003}
    for seed in 1 2 3; do
        unet-train data split --data pages5 --seed $seed --out p$seed.json 2>"$ERR" && sides p$seed.json
    done >pages.txt
    is "$(sort -u pages.txt)" "0 1" "all pages of a file are on one side"
else
    skip "built without libtiff" "pages of a TIFF"
fi

# --- what decoders remark
# -----------------------------------------------------------------------------
if has TIFF; then
    PYTHONPATH=$srcdir/t python3 - <<'EOP'
import png, struct, tiff
def turned(rows, o):  # the rows as a camera stores them that asks to turn them by o
    rows = [list(r) for r in (zip(*rows) if o >= 5 else rows)]
    if o in (2, 3, 7, 8): rows = [r[::-1] for r in rows]
    return rows[::-1] if o in (3, 4, 6, 7) else rows
def pair(name, i, image, mask, writer=png, **kinds):
    writer.write("r/%s/images/%d.%s" % (name, i, writer.__name__), image, **kinds)
    png.write("r/%s/masks/%d.png" % (name, i), mask)
# Bright where the mask is, in a corner, so that no turn maps it to itself.
def shape(i, w=32, h=24):
    mask = [[255 * (x < 20 + i % 3 and y < 8) for x in range(w)] for y in range(h)]
    return mask, [[40 + (x * 7 + y * 5 + i * 3) % 30 + v // 2 for x, v in enumerate(r)]
                  for y, r in enumerate(mask)]
for i in range(10):
    mask, image = shape(i)
    pair("upright", i, image, mask)
    pair("turned", i, turned(image, 6 if i % 2 else 3), mask, exif=6 if i % 2 else 3)
    pair("stored", i, turned(image, 6), turned(mask, 6), exif=6)
    mask, image = shape(i, 32, 32)
    pair("alpha", i, [[(v, v, v, m) for v, m in zip(*r)] for r in zip(image, mask)], mask)
    pair("band", i, [[(v, v, v, m) for v, m in zip(*r)] for r in zip(image, mask)], mask, tiff,
         photometric=2, tags=[(338, 3, 0)])
    pair("five", i, [[(v,) * 5 for v in r] for r in image], mask, tiff)
    pair("narrow", i, [[v * 16 for v in r] for r in image], mask, tiff, bits=16)
    pair("float", i, [[v * 10 - 300 for v in r] for r in image], mask, tiff, bits=32, kind=tiff.FLOAT)
    pair("stack", i, image, mask, tiff, tags=[(270, 2, b"ImageJ=1.53\nimages=9\nslices=9\n\0")])
    tiff.write("r/white/masks/%d.tif" % i, [[v // 255 for v in r] for r in mask], bits=1, photometric=0)
    png.write("r/white/images/%d.png" % i, image)
    tiff.write("r/labels/masks/%d.tif" % i, [[v // 255 * 1000 for v in r] for r in mask], bits=32, kind=tiff.INT)
    tiff.write("r/below/masks/%d.tif" % i, [[v // 255 - 1 for v in r] for r in mask], bits=32, kind=tiff.INT)
    for name in "labels", "below":
        png.write("r/%s/images/%d.png" % (name, i), image)
tiff.write("r/large.tif", [[0, 70000]], bits=32)
tag = lambda scheme: struct.pack("<HHIHH", 259, 3, 1, scheme, 0)
open("r/scheme.tif", "wb").write(open("r/large.tif", "rb").read().replace(tag(1), tag(60000)))
EOP
    remarks() { # SET REGEX TEXT
        exits 0 "$3" unet-train data split --data "r/$1" --out "r/$1.json"
        is "$(grep -cE "warning: .*$2" "$ERR")" 1 "$1: split says so, once"
        exits 0 "$3: statistics" unet-train data stats --data "r/$1" --json --sample 100
        is "$(grep -cE "warning: .*$4" "$ERR")" 1 "$1: stats says so, once"
    }
    turn='orientation, by which a picture is turned'
    remarks turned '10 images, such as images/0.png: turned upright' "images turned by EXIF" "$turn"
    remarks stored "10 images, such as images/0.png: an EXIF or TIFF $turn" \
        "images and masks as they are stored" "$turn"
    remarks alpha '10 images, such as .*alpha is dropped' "alpha that holds the mask" 'alpha is dr'
    remarks band '10 images, such as .*a band beside grey or RGB' "a fourth band" 'a band beside'
    remarks narrow 'only values from [0-9]+ to [0-9]{4} of 0 to 65535.*data.scale=auto' \
        "12 bits of 16" 'less than a tenth'
    remarks float '10 images.*values outside 0..1' "floats" 'values outside 0..1'
    remarks white '10 masks, such as masks/0.tif: white is zero' "masks whose white is zero" 'white is'
    exits 7 "a stack of ImageJ in one directory" unet-train data split --data r/stack --out r/s.json
    like "$ERR" 'images/0.tiff: is a stack .*Image Sequence' "is refused with what to do"
    exits 0 "check reads a stack" unet-train data check r/stack/images
    like "$ERR" '10 images, such as r/stack/images/0.tiff: ImageJ describes several' "and says so"
    printf '0 ground\n1000 cell\n' >labels.txt
    exits 0 "labels of 32 bits" unet-train data split --data r/labels --class-file labels.txt \
        --out r/labels.json
    exits 7 "larger ones" unet-train data split --data r/labels --out r/no.json
    like "$ERR" 'contains the value 1000' "are not foreground by themselves"
    printf '0 0 0 ground\n255 255 255 cell\n' >colours.txt
    exits 7 "labels below 0" unet-train data split --data r/below --class-file colours.txt \
        --out r/no.json
    like "$ERR" 'masks/0.tif: holds values from -1 to 0, but a colour is' "are no colours either"
    exits 0 "an image of 32 bits" unet-train data check r/large.tif
    exits 7 "an unknown compression" unet-train data check r/scheme.tif
    like "$ERR" 'scheme.tif: a TIFF of a kind that is not read .*60000.*: convert' "is not damaged"
    oriented() { # SET OPTION...: prints its IoU
        rm -rf "r/run-$1"
        unet-train train --size 24x32 --set model.base=4 --set model.depth=2 --threads 1 \
            --epochs 8 --batch-size 2 --lr 0.01 --data "r/$1" --set "data.split=r/$1.json" --out "r/run-$1" \
            "${@:2}" 2>"$ERR" && sed -n 's/.*"iou":\([0-9.]*\).*/\1/p' "r/run-$1/DONE"
    }
    unet-train data split --data r/upright --out r/upright.json 2>"$ERR"
    exits 0 "init of five bands" unetctl init five --data r/five --site sandbox
    like five/study.yaml 'channels: 5 ' "trains on all of them"
    exits 0 "init" unetctl init study --data r/turned --site sandbox
    is "$(grep -cE 'unetctl: warning: .*10 images, such as images/0.png: an EXIF' "$ERR")" 1 \
        "says so, too, once"
    good=$(oriented upright) got=$(oriented turned)
    ok "IoU $got with masks that are drawn upright, $good of upright images" \
        awk "BEGIN { exit !($good > 0.9 && $got > 0.9) }"
    exits 0 "they are predicted" unet-train predict -c r/run-turned --threads 1 --out r/predicted \
        r/turned/images
    is "$(unet-train data check r/predicted 2>/dev/null | cut -f 2,3 | sort -u)" "32	24" \
        "their masks are upright, too"
    like "$ERR" '10 images, such as .*: turned upright' "as is said"
    ok "they are converted" unet-train data convert --data r/turned --to png --out r/converted
    is "$(samples r/converted/images)" "$(samples r/upright/images)" "to upright ones"

    # --- data.scale: 16-bit images with values 100 to 163, and the same in 8 bits
    PYTHONPATH=$srcdir/t python3 - <<'EOP'
import png
def value(x, y, i, bright):  # 64 values
    return (x * 7 + y * 5 + i * 3) % 22 + 40 * bright
for i in range(10):
    mask = [[255 * (4 + i % 5 <= x < 18 and 3 <= y < 14 + i % 4) for x in range(32)]
            for y in range(24)]
    image = [[value(x, y, i, v > 0) for x, v in enumerate(r)] for y, r in enumerate(mask)]
    for name, bits, f in ("low", 16, lambda v: 100 + v), ("eight", 8, lambda v: 4 * v):
        png.write("r/%s/images/%d.png" % (name, i), [[f(v) for v in r] for r in image], bits=bits)
        png.write("r/%s/masks/%d.png" % (name, i), mask)
EOP
    unet-train data split --data r/eight --out r/eight.json 2>"$ERR"
    ok "low contrast is split" unet-train data split --data r/low --out r/low.json
    like "$ERR" 'only values from 100 to 16[0-9] of 0 to 65535, .*data.scale=auto' \
        "and what to set is recommended"
    good=$(oriented eight)
    for scale in range percentile zscore auto; do
        got=$(oriented low --set data.scale=$scale)
        ok "data.scale=$scale: IoU $got, of the 8-bit images $good" \
            awk "BEGIN { exit !($got > 0.9 && $good > 0.9) }"
        like r/run-low/checkpoint/model.json "\"image_scale\":\"$scale\"" "model.json has it"
        like r/run-low/record.jsonl "\"data.scale\":\"$scale\"|\"scale\":\"$scale\"" "the record, too"
        unet-train eval -c r/run-low --split r/low.json --threads 1 --json >"$OUT" 2>"$ERR"
        is "$(sed -n 's/.*"iou":\([0-9.]*\).*/\1/p' "$OUT")" "$got" "eval scales so"
        rm -rf r/low-masks r/low.onnx
        ok "predict scales so" unet-train predict -c r/run-low --threads 1 --out r/low-masks \
            --overlay r/low/images
        rm -rf r/scored && mkdir r/scored && cp -r r/low/masks r/scored && mkdir r/scored/images &&
            cp r/low-masks/?.png r/scored/images
        exits 0 "its masks as images" unet-train data stats --data r/scored
        like "$OUT" 'Otsu threshold +IoU (0.9|1.0)' "... are nearly the truth"
        ok "ONNX" unet-train export -c r/run-low --onnx r/low.onnx
        ok "its metadata have it" grep -q "image_scale..*$scale" <(tr '\n' ' ' <r/low.onnx)
        ok "a preview" unet-train data preview --data r/low --size 24x32 --out "r/look-$scale" \
            --set data.scale=$scale
    done
    exits 0 "the levels are the set's own 1 and 99 %" python3 - <<'EOP'
import glob, json, struct, zlib
values = []
for f in glob.glob("r/low/images/*.png"):
    data = open(f, "rb").read()
    n, = struct.unpack(">I", data[33:37])
    rows = zlib.decompress(data[41:41 + n])
    for y in range(24):
        values += struct.unpack(">32H", rows[65 * y + 1:65 * y + 65])
values.sort()
want = [values[int(len(values) * q)] for q in (0.01, 0.99)]
split = json.load(open("r/low.json"))
assert all(abs(a - b) <= 1 for a, b in zip(split["image_levels"], want)), (split["image_levels"], want)
model = json.load(open("r/run-low/checkpoint/model.json"))
assert model["image_levels"] == split["image_levels"], model
assert split["image_bits"] == model["image_bits"] == 9, model
onnx = open("r/low.onnx", "rb").read()
assert b"image_levels" in onnx and b"%d %d" % tuple(split["image_levels"]) in onnx
EOP
    other='images hold values of 8 bits, and those of the training values of up to 9'
    unet-train predict -c r/run-low --threads 1 --out r/p8 r/eight/images 2>"$ERR"
    like "$ERR" "10 of 10 $other.*data.scale=auto" "8 bits where training had more are named"
    unet-train eval -c r/run-low --data r/eight --threads 1 >"$OUT" 2>"$ERR"
    like "$ERR" "the $other" "by eval, too"
    unet-train predict -c r/run-eight --threads 1 --out r/p16 r/low/images r/eight/images 2>"$ERR"
    like "$ERR" '10 of 20 images hold values of up to 9 bits, .*of 8 bits' "with the count"
    unet-train predict -c r/run-low --threads 1 --out r/p61 r/low/images r/eight/images 2>"$ERR"
    like "$ERR" '10 of 20 images hold values of 8 bits, .*of up to 9 bits' "of those alone"
    unet-train predict -c r/run-eight --threads 1 --out r/p88 r/eight/images 2>"$ERR"
    unlike "$ERR" 'hold values of' "and equal bits are not"
    mkdir -p r/mixed/images r/mixed/masks
    for i in 0 1 2 3; do
        cp "r/eight/images/$i.png" "r/mixed/images/$i.png" && cp "r/eight/masks/$i.png" r/mixed/masks
        cp "r/low/images/$i.png" "r/mixed/images/1$i.png"
        cp "r/eight/masks/$i.png" "r/mixed/masks/1$i.png"
    done
    rm r/mixed/images/3.png r/mixed/masks/3.png
    ok "8 and 9 of 16 bits are split" unet-train data split --data r/mixed --out r/mixed.json
    like "$ERR" '3 images have 8 bits, such as images/0.png, and 4 have more, such as images/10.png' \
        "and named with their counts"
    python3 - <<'EOP'
import json
s = json.load(open("r/low.json"))
del s["image_bits"], s["image_levels"]
json.dump(s, open("r/old.json", "w"))
EOP
    exits 7 "auto by a split of an earlier version" unet-train train --size 24x32 --data r/low \
        --set data.split=r/old.json --set data.scale=auto --set model.depth=2 --epochs 1 --out r/old
    like "$ERR" 'r/old.json: an earlier version made this split.*make a new one' "is refused"
    got=$(oriented low --set data.scale=range --set data.cache=r/cache)
    ok "a cache of the scaled images: IoU $got" awk "BEGIN { exit !($got > 0.9) }"
    oriented low --set data.scale=percentile --set data.cache=r/cache >"$OUT"
    is "$(find r/cache -name '*.cache' | wc -l)" 2 "another scale has a cache of its own"
    got=$(oriented float --set data.scale=auto)
    ok "auto of floats from -300 to 2250: IoU $got" awk "BEGIN { exit !($got > 0.9) }"
    got=$(oriented float --set data.scale=zscore)
    ok "floats from 100 to 1700: IoU $got" awk "BEGIN { exit !($got > 0.9) }"
    exits 7 "floats outside 0..1 in full range" unet-train train --size 24x32 --data r/float \
        --set data.split=r/float.json --set model.depth=2 --epochs 1 --out r/full
    like "$ERR" 'images/[0-9].tiff: holds values from .*set data.scale=range' "are refused"
    exits 3 "zscore with brightness" unet-train train --size 24x32 --data r/low --out r/no \
        --set data.scale=zscore --set augment.brightness=0.1 --set model.depth=2
else
    skip "built without libtiff" "what decoders remark"
fi

# --- TFRecord by its bytes, compressed, with encoded pictures
# --------------------------------------------
python3 "$srcdir/t/tfrecord.py" png whole 5
unet-train data split --data whole --out whole.json 2>"$ERR"
mkdir other zipped
for i in 0 1 2; do
    cp "whole/$i.records" "other/data.tfrecord-0000$i-of-00003"
    gzip -c "whole/$i.records" >"zipped/$i.records.gz"
done
echo notes >other/README
gzip -c other/README >zipped/README.gz
for set in other zipped; do
    ok "shards of another name: $set" unet-train data split --data $set --out $set.json
    is "$(count $set.json)" "tfrecord 10 2 0" "they have all records"
    is "$(tr , '\n' <$set.json | grep image_sha | sort)" \
        "$(tr , '\n' <whole.json | grep image_sha | sort)" "... the same ones"
    is "$(unet-train data check $set | wc -l)" 12 "check finds them"
done
truncate -s -9 zipped/1.records.gz
exits 7 "a truncated one" unet-train data split --data zipped --out n.json
like "$ERR" '1.records.gz: is damaged: its gzip data end early' "is damaged"
PYTHONPATH=$srcdir/t python3 - <<'EOP'
from tfrecord import *
images = ["%04d.png" % i for i in range(1, 13)]
def read(folder, name):
    return octets(open("png/%s/%s" % (folder, name), "rb").read())
write("encoded/train-00000-of-00001", [example(
    image_encoded=read("images", n), image_format=octets(b"png"), image_height=number(32),
    image_filename=octets(n.encode()), image_segmentation_class_encoded=read("masks", n)) for n in images])
write("labelled/train.tfrecord", [example(
    image_encoded=read("images", n), image_class_label=number(i % 2 * 300 % 7),
    image_class_text=octets(b"label"), image_object_class_label=number(1, 2))
    for i, n in enumerate(images)])
write("real/0.records", [example(image=tensor([2, 2, 1], struct.pack("<4f", -1, 0, 1, 3), 1),
                                 mask=tensor([2, 2, 1], struct.pack("<4i", 0, 1, 1, 0), 3))])
write("raw/0.records", [example(image_raw=octets(bytes(3072)), height=number(32), width=number(32),
                                label=number(i)) for i in (0, 1)])
write("list/0.records", [example(image=field(2, field(1, struct.pack("<4f", 0, 1, 2, 3))), label=number(i))
                         for i in (0, 1)])
write("numbered/0.records", [example(image=tensor([2, 2, 1], b"1234"), label=number(i)) for i in (0, 1)])
write("pixels/0.records", [example(image=tensor([2, 2, 1], b"1234"), mask_raw=octets(b"\0\1\0\1"))])
write("broken/0.records", [example(image_encoded=octets(b"\x89PNG\r\n\x1a\n no"), mask=read("masks", images[0]))])
EOP
ok "records of encoded pictures" unet-train data convert --data encoded --to png --out decoded
is "$(samples decoded/images)" "$(samples png/images)" "have the images"
is "$(samples decoded/masks)" "$(samples png/masks)" "and the masks"
ok "they are split" unet-train data split --data encoded --out encoded.json
ok "a training from them" "${train[@]}" --data encoded --set data.split=encoded.json \
    --out run-encoded
ok "with a number as label" unet-train data split --data labelled --out labelled.json
is "$(count labelled.json)" "tfrecord 10 2 7" "they have classes"
exits 0 "floats outside 0..1" unet-train data check real
like "$ERR" 'values outside 0..1' "are remarked on"
exits 7 "raw pixels in a record" unet-train data split --data raw --out n.json
like "$ERR" 'raw/0.records: record 0: its feature image/raw holds 3072 bytes that are raw.*serialize_tensor' \
    "are called so"
unlike "$ERR" damaged "they are not damaged"
exits 7 "lists of floats" unet-train data split --data list --out n.json
like "$ERR" 'its feature image holds floats without their shape.*tf.io.encode_png' "are called so"
exits 7 "a raw mask" unet-train data split --data pixels --out n.json
like "$ERR" 'its feature mask/raw holds 4 bytes that are raw' "is called so"
exits 0 "a tensor with a number as label" unet-train data check numbered
exits 7 "a damaged picture in a record" unet-train data split --data broken --out n.json
like "$ERR" 'broken/0.records: record 0: damaged PNG' "is named"

# --- formats that are not read
# --------------------------------------------------------------------------
foreign() { # NAME BYTES: folders that hold only such files are refused by name
    local name=$1
    mkdir -p "f/$name/images" "f/$name/masks" "f/$name-classes/a" "f/$name-classes/b"
    # shellcheck disable=SC2059 # the bytes are escapes
    for f in "$name/images/1" "$name-classes/a/1" "$name-classes/b/1"; do
        printf "$2" >"f/$f.$name"
    done
    cp png/masks/0001.png "f/$name/masks"
    for command in "data check f/$name/images" "data split --data f/$name --out n.json" \
        "data stats --data f/$name-classes" "predict -c run --out n f/$name/images"; do
        # shellcheck disable=SC2086 # words
        exits 7 "$command" unet-train $command
        like "$ERR" "1\\.$name: $3 is not read: convert it to PNG .*mogrify -format png \\*\\." \
            "names the format"
    done
}
foreign gif 'GIF89a\1\0\1\0' GIF
foreign webp 'RIFF\44\0\0\0WEBPVP8 ' WebP
foreign jp2 '\0\0\0\14jP  \r\n\207\n' 'JPEG 2000'

# --- the real sets --------------------------------------------------------------------------------
real() { # SET WANT OPTIONS
    local set=$1 want=$2
    shift 2
    if ! shared "data/$set"; then
        skip "the shared data are not here (UNETCTL_SHARED)" "$set"
        return
    fi
    ok "$set" unet-train data split --data "$UNETCTL_SHARED/data/$set" --out "$set.json" "$@"
    is "$(count "$set.json")" "$want" "$set: its samples"
}
lists() { echo --train-list "$UNETCTL_SHARED/data/$1/train.txt" \
    --val-list "$UNETCTL_SHARED/data/$1/val.txt"; }
printf '0 a\n85 b\n170 c\n255 d\n' >steel.txt
# shellcheck disable=SC2046 # two options and their values
{
    real camvid "pairs 24 6 0" --classes 11 --ignore 11 $(lists camvid)
    real emps_particles "pairs 28 6 0" --mask-folder masks $(lists emps_particles)
    real isbi2012_em "pairs 24 6 0" $(lists isbi2012_em)
    real nuclei_fluo "pairs 120 30 0" $(lists nuclei_fluo)
    if has TIFF; then real uhcs_steel_sem "pairs 20 4 0" --classes 4 --class-file steel.txt \
        $(lists uhcs_steel_sem); fi
    real cifar10 "cifar 5000 1000 10"
    real mnist_idx "idx 10000 10000 10"
    if has JPEG; then real casting_2class "folders 320 80 2"; fi
}
# The same sets as their authors lay them out.
if shared data/camvid && shared data/mnist_idx; then
    for side in train val test; do
        mkdir -p real/camvid/$side real/camvid/${side}annot
        while read -r name; do
            name=${name%.*}
            ln -s "$UNETCTL_SHARED/data/camvid/images/$name.png" real/camvid/$side
            ln -s "$UNETCTL_SHARED/data/camvid/masks/$name.png" real/camvid/${side}annot
        done <"$UNETCTL_SHARED/data/camvid/$side.txt"
    done
    mkdir real/emnist
    for f in "$UNETCTL_SHARED"/data/mnist_idx/*.gz; do
        name=${f##*/} && name=${name/t10k/test} && ln -s "$f" "real/emnist/emnist-mnist-$name"
    done
    ok "CamVid's folders" unet-train data split --data real/camvid --classes 11 --ignore 11 --out cv.json
    is "$(count cv.json)" "pairs 24 6 0" "divide as its lists do"
    ok "EMNIST's names" unet-train data split --data real/emnist --out emnist.json
    is "$(count emnist.json)" "idx 10000 10000 10" "divide as MNIST's do"
else
    skip "the shared data are not here (UNETCTL_SHARED)" "CamVid's folders and EMNIST's names"
fi
done_testing
