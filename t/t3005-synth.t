#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unet-train data synth, split, stats on a synthetic data set: reproducible, refused where it would
# overwrite, and no easy prey for a threshold.
# shellcheck source=t/lib.sh
. "${srcdir:?}/t/lib.sh"

ok "a set is made" unet-train data synth --out a --count 12 --size 96x128 --seed 7
like "$ERR" 'a: 12 pairs of 96 x 128' "it is reported"
count() { find "$1" -name '*.png' | wc -l; }
is "$(count a/images) $(count a/masks)" "12 12" "12 images, 12 masks"
ok "the same set is made again" unet-train data synth --out b --count 12 --size 96x128 --seed 7
ok "the same seed gives the same files" diff -r a b
ok "a longer set is made" unet-train data synth --out c --count 14 --size 96x128 --seed 7
ok "it begins with the same images" cmp a/images/0012.png c/images/0012.png
ok "a set with another seed is made" unet-train data synth --out d --count 12 --size 96x128 --seed 8
exits 1 "another seed gives other files" cmp a/images/0001.png d/images/0001.png

exits 7 "a folder that is not empty is refused" unet-train data synth --out a
like "$ERR" 'a: this folder is not empty' "the error names it"
is "$(count a/images)" 12 "nothing was added"
mkdir empty
ok "an empty folder is filled" unet-train data synth --out empty --count 2
exits 2 "no --out" unet-train data synth
exits 2 "a bad size" unet-train data synth --out e --size 96
like "$ERR" 'HEIGHTxWIDTH' "the error says how sizes are written"
exits 2 "a size too small" unet-train data synth --out e --size 8x8
exits 2 "no pictures" unet-train data synth --out e --count 0
[ ! -e e ]
report $? "a refused command makes no folder"
exits 7 "a folder that cannot be made is an error" unet-train data synth --out no/such/folder
# In a mount namespace of its own: nothing is left behind, whatever happens.
mkdir tiny
on_tiny_disk() { unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs tiny && exec "$@"' sh "$@"; }
if on_tiny_disk true 2>/dev/null; then
    exits 1 \
        "a full disk is an error" on_tiny_disk unet-train data synth --out tiny/set --count 100 \
        --size 256x256
    like "$ERR" 'tiny/set/.*No space left' "the error says so"
else
    skip "a small file system can't be mounted here" "a full disk"
fi

ok "the set is split" unet-train data split --data a --out split.json --seed 3
ok "the split is JSON" python3 -m json.tool split.json
split_count() { python3 \
    -c 'import json,sys; print(len(json.load(open("split.json"))[sys.argv[1]]))' "$1"; }
is "$(split_count train) $(split_count val)" "10 2" "12 x 0.2: 2 validate"
cp split.json first.json
ok "split again to the same file" unet-train data split --data a --out split.json --seed 3
ok "the file is unchanged" cmp first.json split.json
exits 3 "another seed to the same file is refused" unet-train data split --data a --out split.json \
    --seed 4
like "$ERR" 'split.json: exists and holds another split' "the error says why"
exits 3 "a folder is not a split file" unet-train data split --data a --out .
like "$ERR" '\.: is not a regular file; give another --out' "the error says so"
ok "the file is unchanged" cmp first.json split.json
ok "another file is written" unet-train data split --data a --out other.json --seed 4
exits 1 "it differs" cmp -s first.json other.json

# --- groups --------------------------------------------------------------------------------------
# Four images of each of three patients.
mkdir -p ward/images ward/masks
(
    echo 'age,file,patient'
    for i in 01 02 03 04 05 06 07 08 09 10 11 12; do
        patient=$(tr 0-9 a-j <<<$((10#$i % 3)))
        for part in images masks; do cp a/$part/00$i.png ward/$part/"$patient-$i.png"; done
        echo "\"$patient-$i\",57,$patient"
    done
) >ward.csv
sed -i '1s/.*/file,age,patient/' ward.csv
patients() { python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(*({i["stem"][0] for i in s["train"]} & {i["stem"][0] for i in s["val"]}), len(s["val"]))' "$1"; }
ok "names alike" unet-train data split --data ward --out alike.json
like "$ERR" "warning: [0-9]+ training images differ from a validation image only in the last number .*data.group=" \
    "are warned of"
for seed in 1 2 3; do
    for rule in '^(.)-' ward.csv:patient; do
        unet-train data split --data ward --seed $seed --out w.json --val-fraction 0.4 --group "$rule"
        patients w.json && sed -i 's/"group":"[^"]*",//' w.json && mv w.json w$seed-${#rule}.json
    done
    cmp w$seed-5.json w$seed-16.json
done >sides.txt 2>warned.txt
is "$(uniq -c sides.txt | xargs)" "6 4" "a group is on one side, by a pattern or a list, which agree"
unlike warned.txt 'warning|error' "names alike that are grouped are not warned of"
refused() { # CODE RULE REGEX
    exits "$1" "the group $2" unet-train data split --data ward --out no.json --group "$2"
    like "$ERR" "$3" "is refused with the reason"
}
refused 7 '(z.*)' "'\(z.\*\)': finds a group in 0 of 12 names, but not in a-03; it must in all"
refused 7 '^(a)' 'in 4 of 12 names, but not in b-01'
refused 3 '^.-' 'must be a pattern with the group in parentheses, .* or FILE.csv:COLUMN'
refused 3 '(.)-(.)' 'must be an extended regular expression with one part in parentheses'
refused 3 '(' "'\(': "
refused 3 ward.csv:ward 'ward.csv: its first line must name the columns: ward'
refused 7 none.csv:patient 'data.group: cannot read none.csv'
sed 5d ward.csv >short.csv
refused 7 short.csv:patient 'short.csv: has no group for images/b-04.png'
(cat ward.csv && echo a-03,57,b) >twice.csv
refused 7 twice.csv:patient 'twice.csv: a-03 has two groups, a and b'
(cat ward.csv && echo a-03) >cells.csv
refused 7 cells.csv:patient "cells.csv: 'a-03' lacks columns"
printf '%s\n' a-03 a-06 b-01 >train.txt
printf '%s\n' a-09 b-04 >val.txt
exits 7 "lists that separate a group" unet-train data split --data ward --out no.json \
    --train-list train.txt --val-list val.txt --group '^(.)'
like "$ERR" 'images/a-03.png and images/a-09.png are of one group .data.group., but one is for' \
    "are refused"
mkdir -p wards/{train,val}/{images,masks}
for part in images masks; do
    cp ward/$part/[ab]-* wards/train/$part && cp ward/$part/c-* wards/val/$part
    mv wards/train/$part/a-03.png wards/val/$part
done
ok "folders that separate a group" unet-train data split --data wards --out wards.json \
    --group '/(.)-'
like "$ERR" 'warning: 3 training images are also validation images, or of their groups .data.group.;' \
    "leave its training images out"

ok "statistics" unet-train data stats --data a --size 48x64
like "$OUT" '^pairs +12$' "pairs"
like "$OUT" '96 x 128 grey, 8 bits: 12$' "shape"
like "$OUT" '^ +255: [0-9.]+ %$' "mask values"
like "$OUT" 'IoU 0\.[01][0-9]+ at native size' "a threshold does not find the marks"
like "$OUT" 'IoU 0\.[01][0-9]+ at 48x64' \
    "at another size a threshold does not find the marks either"
printf '0 ground\n255 mark\n' >two.txt
ok "stats of two classes are printed" \
    unet-train data stats --data a --classes 2 --class-file two.txt
like "$OUT" '0 ground: [0-9.]+ % of the pixels that count, in [0-9]+ of [0-9]+ masks' \
    "the share of each class is printed"
like "$OUT" 'balanced by +--set train.class_weights=[0-9.]+,[0-9.]+$' "weights to copy"
ok "stats of two classes are printed as JSON" \
    unet-train data stats --data a --classes 2 --class-file two.txt --json
like "$OUT" '"classes":\[\{"name":"ground","pixels":[0-9]+,"images":[0-9]+,"weight":[0-9.]+\}' \
    "the JSON has the classes and their weights"
ok "two classes are background and foreground" unet-train data stats --data a --class-file two.txt
like "$OUT" '1 mark: [0-9.]+ % of the pixels that count' \
    "the classes are taken from the class file without --classes"
printf '0 ground\n255 mark\n7 hole\n' >three.txt
exits 7 "three need --classes" unet-train data stats --data a --class-file three.txt
done_testing
