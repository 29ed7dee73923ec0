#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reading images and data sets: every malformed and odd file of the shared collection by its
# verdict, file names and files that no collection can hold, bounded memory.
# shellcheck source=t/lib.sh
. "${srcdir:?}/t/lib.sh"

# Runs a command with 50 MB for its heap. Not under a sanitizer, which needs more for itself.
sanitized() { nm "$builddir/unet-train" 2>/dev/null | grep -q '__[at]san_init'; }
limited() {
    if sanitized; then "$@"; else (ulimit -d 50000 && exec "$@"); fi
}

# --- the verbs -----------------------------------------------------------------------------------
exits 2 "the second word of the verb is missing" unet-train data
exits 0 "help of the group" unet-train data --help
like "$OUT" '^  data split ' "it lists its verbs"
exits 0 "help of one of them" unet-train data split --help
like "$OUT" '^Usage: unet-train data split' "it prints the verb's usage"
exits 2 "a misspelled second word is refused" unet-train data splt --data x
like "$ERR" "did you mean 'unet-train data split'" "the error names the nearest verb"
exits 2 "an option in its place" unet-train data --seed 1
like "$ERR" "unknown option '--seed'" "the error names the option"
exits 2 "data check without files" unet-train data check

# --- names and kinds of files ------------------------------------------------------------------
ok "a set to play with" unet-train data synth --out set --count 6 --size 64x64 --seed 1
mkfifo fifo.png
exits 7 "a FIFO does not block" timeout 20 unet-train data check fifo.png
like "$ERR" 'fifo.png' "the error names the file"
ok "all files in a folder are checked" unet-train data check set
like "$ERR" '^unet-train: 12 images can be read: width 64, height 64, channels 1, bits 8$' \
    "the last line sums up what is fine"
is "$(cut -f 1 "$OUT" | head -n 2 | xargs)" "set/images/0001.png set/images/0002.png" \
    "the images are listed in order"
is "$(wc -l <"$OUT")" 12 "images and masks are checked"
mkdir nothing
exits 7 "a folder without images" unet-train data check nothing
ok "check prints JSON" unet-train data check --json set/images/0001.png
mv "$OUT" check.json
ok "the JSON has the fields of the text" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
f = d["files"][0]
assert (d["checked"], d["bad"]) == (1, 0)
assert (f["path"], f["width"], f["height"], f["channels"], f["bits"], f["pages"]) == ("set/images/0001.png", 64, 64, 1, 8, 1)
assert len(f["sha256"]) == 64' check.json
exits 7 "check prints JSON although a file is bad" unet-train data check --json fifo.png set/masks
mv "$OUT" check.json
ok "the error is in the JSON" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert (d["checked"], d["bad"]) == (7, 1) and "fifo.png" in d["files"][0]["error"]' check.json
ln -s loop.png loop.png
exits 7 "a link to itself" unet-train data check loop.png
like "$ERR" 'loop.png.*[Ll]evels' "the error says so"
exits 7 "a missing file" unet-train data check none.png
is "$(wc -l <"$ERR")" 1 "the error is one line"

odd=$'new\nline\x1b[31m.png'
latin=$'latin-\xfc.png'
# shellcheck disable=SC2016 # meant literally
dollar='$(touch pwned).png'
for name in "$odd" "$latin" "$dollar" ' .png' '-v.png'; do cp set/images/0001.png "./$name"; done
ok "odd names" unet-train data check "$odd" "$latin" "$dollar" ' .png' -- -v.png
is "$(wc -l <"$OUT")" 5 "each bad file has one line"
like "$OUT" '^new\\x0aline\\x1b\[31m\.png	64	64	1	8	[0-9a-f]{16}$' "control characters are escaped"
like "$OUT" '^latin-\\xfc\.png	' "bytes that are not UTF-8 are escaped, too"
is "$(cut -f 6 "$OUT" | sort -u | wc -l)" 1 "all are the same image"
[ ! -e pwned ]
report $? "no name is run as a command"
printf garbage >"$odd"
exits 7 "a bad file with a newline in its name" unet-train data check "$odd"
is "$(wc -l <"$ERR")" 1 "the error is one line"
exits 7 "a bad file among good ones" unet-train data check set/images/0001.png "$odd" \
    set/images/0002.png
is "$(wc -l <"$OUT")" 2 "the other files are printed"
like "$ERR" '1 of 3 files' "the number of bad files is printed"
mkdir none
exits 7 "a folder without images among them" unet-train data check set/images/0001.png none \
    set/images/0002.png
is "$(wc -l <"$OUT")" 2 "it does not end the check"
like "$ERR" 'none: no images in it \(png tif' "the error names the folder"
exits 7 "in JSON" unet-train data check --json none set/images/0001.png
like "$OUT" '"path":"none","error":"none: no images in it' "the JSON has the error"
like "$OUT" '"checked":2,"bad":1' "the JSON has the counts"

odd_set() { # IMAGE-NAME: a copy of the set with one more pair of that name
    rm -rf odd && cp -r set odd && cp set/images/0001.png "odd/images/$1" &&
        cp set/masks/0001.png "odd/masks/$1"
}
odd_set $'a\nb.png'
ok "a newline in a set's file name" unet-train data split --data odd --out odd1.json
ok "the newline is escaped in the split" grep -q 'a\\nb.png\|a\\u000ab.png' odd1.json
odd_set "$dollar"
ok "a command in a set's file name" unet-train data split --data odd --out odd2.json
[ ! -e pwned ]
report $? "the command in the file name is not run"
odd_set "$latin"
exits 7 "a name that JSON can't hold" unet-train data split --data odd --out odd3.json
like "$ERR" 'UTF-8' "the error has the reason"
[ ! -e odd3.json ]
report $? "without a half-made split"
rm -rf odd && cp -r set odd && ln -s . odd/images/again && ln -s ../images odd/images/more
ok "a loop of links in a set is not followed" timeout 60 unet-train data split --data odd \
    --out odd4.json
ln -s 0007.png odd/images/0007.png && cp set/masks/0001.png odd/masks/0007.png
exits 7 "an image that is a link to itself" timeout 60 unet-train data split --data odd \
    --out odd5.json
like "$ERR" 'images/0007.png' "the error names the file"
rm -rf odd && cp -r set odd && rm odd/images/0003.png && mkfifo odd/images/0003.png
exits 7 "a FIFO in a set" timeout 20 unet-train data split --data odd --out odd6.json
like "$ERR" 'images/0003.png' "the error names the file"

mkdir -p odd/gif/images odd/gif/masks && cp set/masks/000* odd/gif/masks &&
    touch odd/gif/images/000{1,2}.gif
exits 7 "a set whose images have no format that is read" unet-train data split --data odd/gif \
    --out odd7.json
like "$ERR" 'gif: no image files in images/ \(png tif tiff jpg jpeg bmp\); 0 in images/, [0-9]+ in masks/' \
    "the error lists the formats that can be read"

# Pairs are read several at a time, and what is told does not depend on which is done first.
many=many && unet-train data synth --out "$many" --count 64 --size 32x32 2>/dev/null
ok "read by one thread" env OMP_NUM_THREADS=1 unet-train data split --data many --out many1.json
ok "read by four" env OMP_NUM_THREADS=4 unet-train data split --data many --out many4.json
ok "the split is the same" cmp many1.json many4.json
head -c 300 set/images/0001.png >many/images/0009.png
printf 'no picture' >many/images/0040.png
cp set/masks/0001.png many/masks/0010.png
for _ in 1 2 3 4 5 6 7 8; do
    OMP_NUM_THREADS=4 unet-train data split --data many --out n.json 2>&1
done >told.txt
is "$(grep -c 'images/0009.png' told.txt)" 8 "of three wrong pairs the first is reported"
is "$(wc -l <told.txt)" 8 "no other is reported"
[ ! -e n.json ]
report $? "a refused split writes nothing"

# --- sets ----------------------------------------------------------------------------------------
exits 7 "no such folder" unet-train data split --data none --out n.json
exits 7 "a folder without images/ and masks/" unet-train data split --data set/images --out n.json
like "$ERR" 'has images/ and masks/' "the error says what is expected"
exits 2 "no --out" unet-train data split --data set
exits 2 "a share of 0" unet-train data split --data set --out n.json --val-fraction 0
printf '0001.png\n0002.png\r\n\n0003.png\n' >train.txt
printf '0005.png' >val.txt
ok "a given split" unet-train data split --data set --out given.json --train-list train.txt \
    --val-list val.txt
given() { python3 \
    -c 'import json,sys; print(*[i["stem"] for i in json.load(open("given.json"))[sys.argv[1]]])' \
    "$1"; }
is "$(given train)" "0001 0002 0003" "the listed images train"
is "$(given val)" "0005" "the listed images validate"
exits 2 "a list for training without one for validation is refused" \
    unet-train data split --data set --out n.json --train-list train.txt
exits 7 "the same image on both sides" unet-train data split --data set --out n.json \
    --train-list train.txt --val-list train.txt
like "$ERR" '0001.png is listed twice' "the error names the image"
echo 0099.png >val.txt
exits 7 "an image that is not there" unet-train data split --data set --out n.json \
    --train-list train.txt --val-list val.txt
like "$ERR" 'val.txt: names 0099.png' "the error names the image"
printf '0005\n\0\n0004\n' >val.txt
exits 7 "a list with a NUL byte" unet-train data split --data set --out n.json \
    --train-list train.txt --val-list val.txt
like "$ERR" 'val.txt: is not a text file in UTF-8: it has a NUL byte' "the error says so"
printf '\357\273\2770005\n' >val.txt
ok "a list with a byte order mark" unet-train data split --data set --out mark.json \
    --train-list train.txt --val-list val.txt
ok "has all its names" cmp mark.json given.json
rm -rf odd && cp -r set odd && cp set/images/0001.png odd/images/0006.png
echo 0006.png >val.txt
exits 7 "the same picture on both sides" unet-train data split --data odd --out n.json \
    --train-list train.txt --val-list val.txt
like "$ERR" '0001.png and images/0006.png are the same image' \
    "equal images are found by their pixels"
for seed in 1 2 3 4 5 6; do
    unet-train data split --data odd --out "eq$seed.json" --seed $seed --val-fraction 0.5 2>"$ERR"
    python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(sum({"0001", "0006"} <= {i["stem"] for i in s[k]} for k in ("train", "val")))' "eq$seed.json"
done >sides
is "$(sort -u sides)" 1 "equal pictures are on one side, with any seed"
like "$ERR" '1 image is equal to another one, but with another mask.* images/0001.png and .*/0006' \
    "and named where their masks differ"
[ ! -e n.json ]
report $? "no refused split was written"

# --- layouts of others ----------------------------------------------------------------------------
if command -v python3 >/dev/null; then
    PYTHONPATH=$srcdir/t python3 - <<'EOP'
import glob, os, pickle, struct
from png import *
masks = [squares((0, 255), i) for i in range(5)]
def text(path, words):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write("\n".join(words) + "\n")
dataset("lay/nnunet", masks, "imagesTr", "labelsTr", "case_%03d", "_0000")
dataset("lay/channels", masks, "imagesTr", "labelsTr", "case_%03d", "_0000")
write("lay/channels/imagesTr/case_000_0001.png", picture(9))
dataset("lay/img", masks, "img", "label")
dataset("lay/capital", masks, "Images", "Masks")
dataset("lay/one", masks, ".", ".", mask_end="_mask")
dataset("lay/marked", masks, "imgs", "masks", mask_end="_mask")
dataset("lay/voc", masks, "JPEGImages", "SegmentationClass")
write("lay/voc/JPEGImages/77.png", picture(7))
text("lay/voc/ImageSets/Segmentation/train.txt", ["00", "01", "02"])
text("lay/voc/ImageSets/Segmentation/val.txt", ["03"])
dataset("lay/lists", masks)
text("lay/lists/train.txt", ["00.png", "01.png"])
text("lay/lists/val.txt", ["02.png", "03.png"])
dataset("lay/notes", masks)
text("lay/notes/train.txt", ["one fine day"])
text("lay/notes/val.txt", ["it rained"])
dataset("lay/wrong", masks)
text("lay/wrong/train.txt", ["00.png", "1.png"])
text("lay/wrong/val.txt", ["02.png"])
for place in ("%s/images", "%s/masks"), ("images/%s", "masks/%s"):
    name = "lay/" + ("above" if place[0][0] == "%" else "below")
    dataset(name, masks[:3], place[0] % "train", place[1] % "train")
    dataset(name, masks[3:], place[0] % "val", place[1] % "val")
    for i in 0, 1:
        write("%s/%s/%02d.png" % (name, place[0] % "val", i), picture(20 + i))
text("lay/img/img/00.gif", [""])
dataset("lay/two", masks, "images", "labels")
dataset("lay/two", masks, "images", "gt")
dataset("lay/first", masks)
dataset("lay/first", masks, "images", "truth", mask_end="_manual")
dataset("lay/eye", masks[:3], "training/images", "training/1st_manual", "%02d", "_training", "_manual1")
dataset("lay/eye", masks[:3], "training/images", "training/mask", "%02d", "_training", "_training_mask")
dataset("lay/eye", masks[3:], "test/images", "test/1st_manual", "%02d", "_test", "_manual1")
dataset("lay/eye", masks[3:], "test/images", "test/mask", "%02d", "_test", "_test_mask")
dataset("lay/weed", masks, "images", "masks", "%03d", "_image", "_mask")
dataset("lay/weed", masks, "images", "annotations", "%03d", "_image", "_annotation")
dataset("lay/ends", masks, ".", ".", "%02d", "_img", "_masks")
for p in "pat1", "pat2":
    dataset("lay/patients", masks, p, p, "s%d", mask_end="_mask")
for p in "benign", "malignant":
    dataset("lay/breast", masks, p, p, p + " (%d)", mask_end="_mask")
dataset("lay/cellpose", masks, ".", ".", mask_end="_cp_masks")
dataset("lay/ilastik", masks, mask_end="_Simple Segmentation")
dataset("lay/vessels", masks, "training/images", "training/1st_manual", "%02d", "_training",
        "_manual1")
dataset("lay/drawn", masks, "raw", "truth")
dataset("lay/halfval", masks, "train/images", "train/masks")
write("lay/halfval/val/images/00.png", picture(9))
for k, p in enumerate("ab"):
    dataset("lay/wards", [squares((0, 255), i + k) for i in range(5)], "images/" + p, "masks/" + p)
    for i in range(5):
        write("lay/wards/images/%s/%02d.png" % (p, i), picture(10 * k + i))
for i, mask in enumerate(masks):
    write("lay/drawn/overlay/%02d.png" % i, picture(20 + i))
    for name, rows in ("img", picture(i)), ("mask", mask):
        write("lay/persons/p%d/%s.png" % (i, name), rows)
    halves = [[v // 255 * (1 + x // 16) for x, v in enumerate(r)] for r in mask]
    for name, rows in ("images", picture(i)), ("masks", halves):
        write("lay/bowls/s%d/%s/0.png" % (i, name), rows)
write("lay/breast/benign/benign (1)_mask_1.png", masks[1])
write("lay/breast/benign/benign (1)_mask_2.png", masks[1])
dataset("lay/kinds", masks, ".", "truth")
for i in range(5):
    os.rename("lay/kinds/truth/%02d.png" % i, "lay/kinds/m%02d" % i)
    os.rename("lay/kinds/%02d.png" % i, "lay/kinds/%02d.tif" % i)
    os.rename("lay/kinds/m%02d" % i, "lay/kinds/%02d.png" % i)
os.rmdir("lay/kinds/truth")
dataset("lay/named", masks, "pics", "my_masks")
dataset("lay/unnamed", masks, "scans", "truth")
dataset("lay/nested/inner", masks)
text("lay/coco/annotations/instances.json", ["{}"])
write("lay/coco/images/0.png", picture(0))
text("lay/yolo/labels/0.txt", ["0 1 1 1 1"])
write("lay/yolo/images/0.png", picture(0))
dataset("lay/mmseg", masks[:3], "img_dir/train", "ann_dir/train")
dataset("lay/mmseg", masks[3:], "img_dir/val", "ann_dir/val")
dataset("lay/camvid", masks[:3], "train", "trainannot")
dataset("lay/camvid", masks[3:], "val", "valannot", "v%02d")
dataset("lay/camvid", masks[3:], "test", "testannot", "t%02d")
for side, city, some in ("train", "aachen", masks[:2]), ("train", "bonn", masks[2:3]), ("val", "ulm", masks[3:]):
    for kind in "color", "instanceIds", "labelIds":
        dataset("lay/cities", [[[(v > 0) * (1 + (kind == "color")) for v in r] for r in m] for m in some],
                "leftImg8bit/%s/%s" % (side, city), "gtFine/%s/%s" % (side, city), city + "_%06d",
                "_leftImg8bit", "_gtFine_" + kind)
    text("lay/cities/gtFine/%s/%s/%s_000000_gtFine_polygons.json" % (side, city, city), ["{}"])
for k, path in enumerate(glob.glob("lay/mmseg/img_dir/*/*") + glob.glob("lay/camvid/v*/*") +
                         glob.glob("lay/camvid/t*/*") + glob.glob("lay/cities/left*/*/*/*")):
    if "annot/" not in path:
        write(path, picture(100 + k))
for i, mask in enumerate(masks):
    name = "lay/bowl/%02d" % i
    write("%s/images/%02d.png" % (name, i), picture(i))
    for part in 0, 1:
        write("%s/masks/%d.png" % (name, part), [[v * ((x > 16) == part) for x, v in enumerate(r)] for r in mask])
dataset("lay/whole", masks)
for i in range(4):
    for k, name in enumerate(("deep/in/cat", "deep/in/dog")):
        write("lay/%s/%d.png" % (name, i), picture(50 + 4 * k + i))
for name in "c100/train.bin", "c100/test.bin", "p10/batches.meta", "p100/cifar-100-python/meta":
    text("lay/" + name, ["x"])
for name in "data_batch_1", "test_batch":
    data = [[(i * 7 + k * (i + len(name))) % 256 for k in range(3072)] for i in range(4)]
    pickle.dump({b"labels": [0, 1, 9, 1], b"data": data}, open("lay/p10/" + name, "wb"))
os.makedirs("lay/dotted")
open("lay/dotted/train-images.idx3-ubyte", "wb").write(struct.pack(">4I", 2051, 4, 2, 2) + bytes(range(16)))
open("lay/dotted/train-labels.idx1-ubyte", "wb").write(struct.pack(">2I", 2049, 4) + b"\0\1\0\1")
text("lay/array/images/1.npy", ["\x93NUMPY"])
open("lay/array/images/1.npy", "wb").write(b"\x93NUMPY\1\0")
dataset("lay/array", masks[:1], "masks", "masks")
os.makedirs("lay/dicom/images")
open("lay/dicom/images/1.dcm", "wb").write(bytes(128) + b"DICM\2\0")
dataset("lay/dicom", masks[:1], "masks", "masks")
for i in range(4):
    for k, name in enumerate(("cls/valid", "cls/invalid", "b/test/x", "b/test/y")):
        write("lay/%s/%d.png" % (name, i), picture(4 * k + i))
os.makedirs("lay/cls/empty")
EOP
    layout() { # SET TRAIN VAL TEXT [OPTION...]
        exits 0 "$4" unet-train data split --data "lay/$1" --out "lay/$1.json" "${@:5}"
        cp "$ERR" told.txt
        is "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(len(s["train"]), len(s["val"]), len(s.get("classes", [])))' "lay/$1.json" 2>&1)" "$2 $3 0" \
    "$1: its pairs"
    }
    refused() { # SET REGEX TEXT [CODE]
        exits "${4:-7}" "$3" unet-train data split --data "lay/$1" --out "lay/$1.json"
        like "$ERR" "$2" "$1: with the reason"
    }
    layout nnunet 4 1 "nnU-Net's folders"
    ok "the split has the names of the files" grep \
        -q '"image":"imagesTr/case_000_0000.png","mask":"labelsTr/case_000.png"' lay/nnunet.json
    layout img 4 1 "img/ and label/"
    like told.txt 'warning: .*1 entry is not read in img/ and label/, such as 00.gif: none of png' \
        "the warning names files that are no images"
    layout capital 4 1 "capitals in the names of folders"
    layout one 4 1 "masks beside the images, named NAME_mask"
    layout marked 4 1 "names of masks with a suffix"
    layout voc 3 1 "Pascal VOC, divided by its lists"
    layout lists 2 2 "train.txt and val.txt beside the folders"
    like told.txt '1 images belong neither to training nor' "what is in neither does not take part"
    layout notes 4 1 "such files that name no image"
    like told.txt 'train.txt and .*val.txt name none of the images' \
        "lists that name no image divide nothing, which is reported"
    layout above 3 2 "train/images and val/images"
    layout below 3 2 "images/train and images/val"
    refused wrong 'names 1.png, which is not among the images' "a list with a wrong name"
    refused channels 'case_000_0001.png is a second channel' "two channels of one image"
    refused two 'masks may be in labels/ or in gt/' "two folders that may hold the masks" 3
    layout two 4 1 "... of which one is chosen" --mask-folder gt
    ok "... and read" grep -q '"mask":"gt/00.png"' lay/two.json
    refused first 'masks of images/ may be in masks/ or in truth/: choose with data.masks=masks' \
        "a folder beside images/ and masks/ with the same names" 3
    refused eye 'eye/training: the masks of images/ may be in mask/ or in 1st_manual/' \
        "a field of view beside the truth" 3
    layout eye 1 2 "... of which the truth is chosen" --mask-folder 1st_manual
    ok "... whose names have another ending" \
        grep -q '"mask":"training/1st_manual/02_manual1.png"' lay/eye.json
    refused weed 'masks may be in masks/ or in annotations/' "annotations beside masks" 3
    layout weed 4 1 "... of which one is chosen" --mask-folder annotations
    layout ends 4 1 "NAME_img and NAME_masks in one folder"
    layout kinds 4 1 "NAME.tif and its mask NAME.png in one folder"
    layout patients 8 2 "masks beside their images in a folder per patient"
    ok "... with the folder in their name" grep -q '"stem":"pat2/s1"' lay/patients.json
    ok "... also when they are converted" unet-train data convert --data lay/patients \
        --out lay/copies
    ok "... to pairs" test -e lay/copies/images/pat2_s1.png -a -e lay/copies/masks/pat2_s1.png
    layout wards 8 2 "a folder per patient in images/ and masks/"
    ok "... whose pairs are converted" unet-train data convert --data lay/wards --out lay/wards-png
    is "$(samples lay/wards-png/masks)" "$(samples lay/wards/masks)" "... with all masks"
    layout halfval 4 1 "validation without masks"
    like told.txt 'val/ has no images with masks and is not used: train/ is divided' "... is named"
    refused persons 'its folders, such as p0/, seem to hold images and masks' \
        "a folder per person, no class"
    layout cellpose 4 1 "masks of Cellpose beside their images"
    layout ilastik 4 1 "masks of ilastik"
    layout breast 8 1 "... with blanks and brackets"
    like told.txt '1 image is not used, such as benign/benign .1..png: it has several masks' \
        "... an image with several masks is left out"
    refused named 'my_masks/ seems to hold masks.*data.images=pics and data.masks=my_masks' \
        "two folders whose names suggest no classes" 3
    layout named 4 1 "... named as images and masks" --image-folder pics --mask-folder my_masks
    exits 3 "a chosen folder that is not there" unet-train data split --data lay/named \
        --out lay/gone.json --mask-folder gone
    like "$ERR" 'no images in the folders that data.images and data.masks name .images/ and gone/' \
        "... is named"
    refused unnamed 'truth/ seems to hold masks.*data.images=scans' \
        "two folders whose contents suggest no classes" 3
    refused vessels '1st_manual/ seems to hold masks.*data.images=images' \
        "... and with other endings" 3
    refused drawn 'truth/ seems to hold masks.*data.images=(raw|overlay)' "... and a third folder" 3
    layout mmseg 3 2 "img_dir/ and ann_dir/"
    layout camvid 3 2 "train/ and trainannot/, val/ and valannot/"
    ok "... with their masks" grep -q '"image":"train/00.png","mask":"trainannot/00.png"' lay/camvid.json
    layout cities 3 2 "leftImg8bit/ and gtFine/ with a folder for each city"
    is "$(grep -o '"mask":"gtFine/[^"]*_gtFine_labelIds.png"' lay/cities.json | wc -l)" 5 "... by labelIds"
    layout bowl 4 1 "a folder of masks for each image"
    ok "... which are converted" unet-train data convert --data lay/bowl --out lay/bowl-png
    is "$(samples lay/bowl-png/masks)" "$(samples lay/whole/masks)" "... which are one mask together"
    exits 0 "they are trained" unet-train train --data lay/bowl --set data.split=lay/bowl.json \
        --size 32x32 --set model.base=2 --set model.depth=1 --epochs 1 --threads 1 --out lay/run
    cp lay/bowl/01/masks/1.png lay/bowl/01/masks/2.png
    exits 7 "another mask in such a folder" unet-train train --data lay/bowl \
        --set data.split=lay/bowl.json --size 32x32 --set model.depth=1 --epochs 1 --out lay/bowl-no
    like "$ERR" '01/masks/: the file is not the one that the split was made with' "is another mask"
    refused bowls 's0/masks/0.png: holds 1 and 2, but .* one object' \
        "masks of classes in such folders"
    refused nested 'name that one .lay/nested/inner' "a folder too high"
    refused deep 'the class folders lie in its folder in: name that one .lay/deep/in' "classes too deep"
    refused c100 "is CIFAR-100.*not read: .*import Image; .*f.png/{s}/{r.1.}" "CIFAR-100"
    refused p100 'is CIFAR-100 for Python' "CIFAR-100 for Python"
    refused p10 'is CIFAR-10 for Python.*cifar-10-binary.tar.gz' "CIFAR-10 for Python"
    cp "$ERR" told-p10
    refused dotted 'MNIST.*for f in .*idx.-ubyte.*mv ' "names of idx files with a dot"
    cp "$ERR" told-dotted
    for set in p10 dotted; do
        (cd "lay/$set" && sh -c "$(sed -n 's/.*type in that folder: //p' "../../told-$set")") 2>"$ERR"
        exits 0 "what it says to type" unet-train data split --data "lay/$set" --out "lay/$set.json"
    done
    refused array '1.npy: an array of NumPy is not read: write it as TIFF' "arrays of NumPy"
    refused dicom '1.dcm: DICOM is not read: .*dcm2pnm --write-16-bit-png' "DICOM"
    refused coco 'is a COCO set' "COCO's outlines"
    refused yolo 'labels/; other files there are not read, such as 0.txt' "YOLO's boxes"
    refused b 'none for training: train/ is missing' "images to validate alone"
    exits 0 "classes that are called valid and invalid" unet-train data split --data lay/cls \
        --out lay/cls.json
    like "$ERR" '1 folder holds no images and is not a class' "an empty folder is not a class"
    like lay/cls.json '"classes":\["invalid","valid"\]' "the other folders are classes"
    ok "a divided set as PNG" unet-train data convert --data lay/lists --to png --out lay/again
    is "$(find lay/again -name '*.png' | sort | cut -d/ -f 3,4 | uniq -c | xargs)" \
        "1 test/images 1 test/masks 2 train/images 2 train/masks 2 val/images 2 val/masks" \
        "folders with images are classes"
    layout again 2 2 "the converted set is read with the same division"
else
    skip "python3 is not installed" "layouts"
fi

# --- what masks hold
# -------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
    PYTHONPATH=$srcdir/t python3 - <<'EOP'
import random
from png import *
rng = random.Random(1)
def noisy(rows):
    return [[max(0, min(255, v + rng.randrange(-6, 7))) for v in row] for row in rows]
def masks(*values):
    return [squares(values, i) for i in range(8)]
red, green = [(0, 0, 0), (255, 0, 0), (0, 0, 255)], [(0, 0, 0), (0, 0, 255), (255, 0, 0)]
dataset("m/plain", masks(0, 255))
dataset("m/half", masks(0, 128))
dataset("m/steel", masks(0, 85, 170, 255))
dataset("m/void", masks(0, 1, 2, 255))
dataset("m/twelve", masks(*range(12)))
dataset("m/numbered", [squares(tuple(range(4 + i)), i) for i in range(8)])
dataset("m/lossy", [noisy(m) for m in masks(0, 255)])
dataset("m/colours", masks(*red))
dataset("m/pictures", [picture(20 + i) for i in range(8)])
dataset("m/ones", masks(1, 2))
dataset("m/mixed", masks(0, 1)[:4] + masks(0, 255)[:4])
dataset("m/nothing", masks(0))
dataset("m/named", masks(0, 1, 2, 3), "imagesTr", "labelsTr", "c_%02d", "_0000")
open("m/named/dataset.json", "w").write('{"labels": {"background": 0, "cell": 1, "wall": 2, "ignore": 3}}')
dataset("m/regions", masks(0, 1, 2, 3), "imagesTr", "labelsTr", "c_%02d", "_0000")
open("m/regions/dataset.json", "w").write(
    '{"labels": {"background": 0, "whole": [1, 2, 3], "core": [2, 3], "et": 3}}')
def smoothed(rows, k):  # by a box filter of k x k, one pixel at a time
    side = len(rows)
    box = [(j, i) for j in range(k) for i in range(k)]
    return [[sum(rows[min(side - 1, y + j)][min(side - 1, x + i)] for j, i in box) // (k * k)
             for x in range(side)] for y in range(side)]
dataset("m/box", [smoothed(m, 2) for m in masks(0, 255)])
dataset("m/smooth", [smoothed(smoothed(m, 2), 3) for m in masks(0, 255)])
dataset("m/trimap", [[[128 if 0 < v < 255 else v for v in r] for r in smoothed(m, 3)] for m in masks(0, 255)])
for name, low, high in ("fine", 1, 254), ("lines", 1, 1):
    dataset("m/" + name, [[[v if v in (0, 255) else low if v < 128 else high for v in r]
                           for r in smoothed(m, 3)] for m in masks(0, 255)])
dataset("m/shares", [[[v * 60 // 255 for v in r] for r in smoothed(smoothed(m, 9), 7)]
                     for m in masks(0, 255)])
dataset("m/mixture", [[[(v, 0, 255 - v) for v in r] for r in smoothed(m, 3)] for m in masks(0, 255)])
def grey(i, low, high):
    return [[(high if v else low) + (7 * x + 3 * y) % 9 for x, v in enumerate(r)]
            for y, r in enumerate(squares((0, 255), i))]
for i in range(12):
    write("m/exposed/images/%d.png" % i, grey(i, 20 * i, 20 * i + 12))
    write("m/exposed/masks/%d.png" % i, squares((0, 255), i))
    dark = [[255 * (i % 2 == 0) if x < 30 else 255 - v for x, v in enumerate(r)]
            for r in squares((0, 255), i)]
    write("m/absolute/images/%d.png" % i,
          [[20 + 180 * (v > 0) + (x + y) % 9 for x, v in enumerate(r)] for y, r in enumerate(dark)])
    write("m/absolute/masks/%d.png" % i, dark)
for i, m in enumerate(masks(0, 1, 2)):
    write("m/palettes/images/%d.png" % i, picture(i))
    write("m/palettes/masks/%d.png" % i, m, red if i % 2 else green)
EOP
    looks() { # SET MEANING CLASSES IGNORE CLASS-FILE TEXT
        unet-train data stats --data "m/$1" --sample 100 --json >"$OUT" 2>"$ERR"
        is "$(python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))["masks"]
print(m["meaning"], m["classes"], m["ignore"] or "-", m["class_file"].replace("\n", ",") or "-")' "$OUT" 2>&1)" \
            "$2 $3 $4 $5" "$6"
    }
    looks plain foreground 1 - - "0 and 255"
    looks half classes 1 - '0 background,128 foreground,' "0 and 128"
    looks steel classes 4 - '0 background,85 value_85,170 value_170,255 value_255,' \
        "a few values with gaps"
    looks void classes 3 255 - "numbers, and 255 for what does not count"
    looks twelve classes 12 - - "numbers of twelve classes"
    looks numbered unsure 1 - - "numbered objects"
    like "$OUT" "1-65535 foreground.*classes.txt.*-s data.classes=11" \
        "the advice shows the class file and the number of classes"
    looks lossy classes 1 - '0-127 background,128-255 foreground,' "what JPEG makes of 0 and 255"
    looks fine classes 1 - '0-127 background,128-255 foreground,' "0, 1, 254 and 255 of a mild JPEG"
    looks lines unsure 1 - - "0, 255 and 1 at edges"
    like "$OUT" 'If 255 marks pixels to ignore: -s data.ignore=255' "are a question"
    looks shares unsure 1 - - "a smooth map of 0 to 60"
    looks colours classes 3 - '0 0 0 background,255 0 0 colour_1,0 0 255 colour_2,' "colours"
    looks palettes classes 3 - '0 0 0 background,0 0 255 colour_1,255 0 0 colour_2,' \
        "palettes that differ by file"
    looks named classes 3 - '0 background,1 cell,2 wall,3 ignore,' \
        "classes that nnU-Net's dataset.json names"
    looks regions classes 4 - '0 background,1 whole,2 core,3 et,' "nnU-Net's regions"
    like "$OUT" 'regions overlap: a value is named after its smallest region' "overlap, as it says"
    looks box unsure 1 - - "a box filter's 0, 63, 127, 255"
    like "$OUT" "If it has two values: printf '0-127 background.*128-255 foreground.*data.class_file.*If each is a class: .*255 value_255.*data.classes=4" \
        "are a question, with the settings that decide"
    looks smooth unsure 1 - - "smooth edges"
    like "$OUT" 'a line VALUE NAME for each in classes.txt' "of more values"
    looks trimap unsure 1 - - "a trimap"
    looks mixture unsure 1 - - "two colours with smooth edges"
    exits 7 "init refuses a question" unetctl init q --data m/box --site sandbox
    exits 0 "an answer is accepted" unetctl init q --data m/box --site sandbox -s data.soft_masks=true
    spread() { # SET
        unetctl init "q-$1" --data "m/$1" --site sandbox >"$OUT" 2>"$ERR"
    }
    spread exposed
    is "$(grep -c 'differ by 34.0 deviations .*-s data.scale=percentile' "$ERR")" 1 \
        "images of different exposure: scaling each by itself is proposed in one line"
    like q-exposed/study.yaml 'scale: auto' "and not done"
    spread absolute
    unlike "$ERR" 'data.scale=percentile' "grey that is the class: it is not"
    looks pictures unsure 1 - - "grey values"
    looks ones unsure 1 - - "two values without 0"
    looks mixed unsure 1 - - "0 and 1 in some, 0 and 255 in others"
    looks nothing "one class" 1 - - "background alone"
    exits 0 "a table of masks of classes" unet-train data stats --data m/twelve
    unlike "$OUT" 'Otsu|foreground  ' "has no threshold's IoU"
    like "$OUT" 'masks +the masks contain 12 values .*: 12 classes' \
        "the values in the masks are listed"
    exits 0 "statistics of coloured masks are printed" unet-train data stats --data m/colours
    like "$OUT" 'mask colours +255 0 0: [0-9.]+ %' "their colours"
    explained() { # SET REGEX TEXT
        exits 7 "$3" unet-train data split --data "m/$1" --out m.json
        like "$ERR" "$2" "$1: with what to type"
    }
    explained half \
        "value 128.*printf '0 background.n128 foreground.n' >classes.txt, then -s data.class_file=classes.txt" "0 and 128 without a class file"
    explained numbered 'seem to be object numbers' "numbered objects without one"
    explained lossy 'as a lossy format .JPEG.' "lossy masks"
    explained colours 'has colours.*255 0 0 colour_1.*data.classes=3' "colours"
    explained void 'value 2.*-s data.classes=3 -s data.ignore=255' "classes"
    explained mixed 'If both are foreground' "mixed masks"
    printf '0 ground\n1-255 thing\n' >two.txt
    exits 0 "a class file of two names without --classes" unet-train data split --data m/numbered \
        --class-file two.txt --out m2.json
    exits 0 "masks of 0 and 255 are trained as background and foreground" \
        unet-train train --data m/numbered \
        --set data.class_file=two.txt --size 32x32 --set model.base=2 \
        --set model.depth=1 --epochs 1 --threads 1 --out m-run
    exits 0 "also for eval" unet-train eval --checkpoint m-run --data m/numbered --all \
        --class-file two.txt --threads 1 --json
    like "$OUT" '"iou":[0-9.e-]+,.*"pixels":8192,"constant":0\.[0-9]+,"constant_class":"foreground"' \
        "the score of predicting one class for all pixels is printed"
    printf '0 a\n85 b\n170 c\n255 d\n' >four.txt
    exits 7 "a class file with one name for four classes is refused" \
        unet-train data split --data m/steel --class-file four.txt \
        --out m.json
    like "$ERR" 'four.txt: has 4 classes: set data.classes to 4 .--classes 4.' \
        "the error says that --classes is required"
    exits 0 "masks of background alone train" unet-train train --data m/nothing --size 32x32 \
        --set model.base=2 --set model.depth=1 --epochs 1 \
        --threads 1 --out m-none
    like "$ERR" 'warning: this score is meaningless: the truth is "background" everywhere' \
        "a warning says that the score is meaningless"
else
    skip "python3 is not installed" "masks"
fi

# --- the shared collection -----------------------------------------------------------------------
bad=$UNETCTL_SHARED/bad-inputs
if ! shared bad-inputs/expect.tsv; then
    skip "the shared malformed inputs are not here (UNETCTL_SHARED)" "verdicts of malformed inputs"
    done_testing
fi

# A build without a library must refuse its format with a word about it.
if command -v python3 >/dev/null && grep -q "^#define HAVE_JPEG 1" "$builddir/config.h"; then
    PYTHONPATH=$srcdir/t python3 - "$bad/jpeg/40_good.jpg" <<'EOP'
import sys
from tfrecord import *
jpeg = open(sys.argv[1], "rb").read()
twelve = bytearray(jpeg)
twelve[jpeg.index(b"\xff\xc0") + 4] = 12
open("twelve.jpg", "wb").write(twelve)
for i, marker in enumerate((0xee, 0xe2, 0xfe)):  # Adobe, an ICC profile, a comment come first
    write("marked/%d.records" % i, [example(image=octets(
        jpeg[:2] + bytes([0xff, marker, 0, 14]) + b"Adobe\0d\0\0\0\0\1" + jpeg[2:]), label=number(i))])
EOP
    exits 0 "JPEG in records that begin with other markers" unet-train data check marked
    is "$(wc -l <"$OUT")" 3 "are read"
    exits 7 "a JPEG of 12 bits" unet-train data check twelve.jpg
    like "$ERR" 'twelve.jpg: a JPEG of a kind that is not read .*12.: convert it to PNG' "is not damaged"
fi
has() { grep -q "^#define HAVE_$1 1" "$builddir/config.h"; }
unsupported() { [[ $1 == jpeg/* ]] && ! has JPEG || [[ $1 == tiff/* ]] && ! has TIFF; }
check_file() { # PATH VERDICT WANT
    local path=$1 verdict=$2 want=$3
    (cd "$bad" && limited timeout 60 unet-train data check "$path") >"$OUT" 2>"$ERR"
    local rc=$?
    if [ $rc = 0 ] && [ "$verdict" != reject ]; then
        # Where the table has no numbers, any picture will do.
        [[ $want == *$'\t-' ]] && want=$(cut -f 1 "$OUT") && cut -f 1 "$OUT" >"$OUT.path" &&
            mv "$OUT.path" "$OUT"
        is "$(cat "$OUT")" "$want" "$path: $verdict: the right samples"
    elif [ $rc = 7 ] && unsupported "$path"; then
        like "$ERR" "$path.*convert it to PNG" "$path: not supported, said clearly"
    elif [ $rc = 7 ] && [ "$verdict" != accept ]; then
        is "$(grep -c "error: $path: " "$ERR")" 1 "$path: $verdict: one error that names it"
    else
        report 1 "$path: $verdict, exit code $rc"
        cat "$OUT" "$ERR" | diag
    fi
}
check_set() { # PATH VERDICT
    local path=${1%/} verdict=$2
    (cd "$bad" && limited timeout 60 unet-train data split --data "$path" --out "$TMP/set.json") \
        >"$OUT" 2>"$ERR"
    local rc=$?
    rm -f "$TMP/set.json"
    case $verdict,$rc in
    accept,0 | either,0) report 0 "$path: $verdict: split" ;;
    reject,7 | either,7) is "$(grep -c "error: $path" "$ERR")" 1 \
        "$path: $verdict: one error that names it" ;;
    *)
        report 1 "$path: $verdict, exit code $rc"
        diag <"$ERR"
        ;;
    esac
}
while IFS=$'\t' read -r path verdict width height channels bits hash _; do
    case $path in
    path) ;;
    sets/* | cls/*) check_set "$path" "$verdict" ;;
    *) check_file "$path" "$verdict" "$path	$width	$height	$channels	$bits	$hash" ;;
    esac
done < <(sed 's/\t\t/\t-\t/g; s/\t\t/\t-\t/g' "$bad/expect.tsv")

names_both() { # SET REGEX TEXT
    unet-train data split --data "$bad/sets/$1" --out "$TMP/set.json" 2>"$ERR"
    like "$ERR" "$2" "$3"
}
names_both 01_mask_size_mismatch 'images/03.png has 96 x 96 .*masks/03.png has 90 x 80' \
    "both files and sizes are named"
names_both 06_mask_out_of_range 'masks/03.png.*value 7.*soft_masks=true' \
    "file, value and a way out are named"
names_both 16_duplicate_stems '00.png and images/00.tif' "both files of one stem are named"
names_both 21_one_corrupt 'images/05.png' "the corrupt one of six is named"

if sanitized; then
    skip "a sanitizer needs memory for itself" "memory is limited"
else
    exits 1 "an error is reported if memory does not suffice" limited unet-train data synth \
        --out big --size 4096x4096
    like "$ERR" 'out of memory' "the error says so"
    ok "no folder is left" test ! -e big
fi
exits 7 "the header bomb" limited unet-train data check "$bad/png/10_header_bomb_100000x100000.png"
like "$ERR" '100000 x 100000 pixels' "the error has its size"
ok "the text bomb is not inflated" limited unet-train data check "$bad/png/12_ztxt_bomb.png"

# --- numbers known of the real sets --------------------------------------------------------------
stats_are() { # SET REGEX
    if shared "data/$1"; then
        unet-train data stats --data "$UNETCTL_SHARED/data/$1" --mask-folder masks >"$OUT"
        like "$OUT" "$2" "$1: a threshold's IoU as published with the set"
    else
        skip "the shared data are not here (UNETCTL_SHARED)" "$1"
    fi
}
stats_are nuclei_fluo 'IoU 0\.806[0-9] at native size .bright'
stats_are emps_particles 'IoU 0\.280[0-9] at native size'
stats_are isbi2012_em 'IoU 0\.647[5-9]|IoU 0\.648[0-4]'
done_testing
