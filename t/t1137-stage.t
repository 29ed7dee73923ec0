#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# data.stage: the data are copied to the node once, by whichever process comes first, and removed
# when none uses them, whatever is killed.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

ok "a set is made" unet-train data synth --out data --count 10 --size 48x40 --seed 3
ok "its split is made" unet-train data split --data data --out split.json
mkdir scratch
root=$TMP/scratch/unetctl-$(id -u)
words=(unetctl stage --to "$TMP/scratch" --split split.json --data "$TMP/data" --out "$TMP" --)
stage() { "${words[@]}" "$@"; } # PROGRAM WORD...
remove() { unetctl stage --remove --to "$TMP/scratch"; }
copies() { find "$root" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l; }
hold() { # FILE, which gets the process
    rm -f "$1"
    "${words[@]}" sh -c "echo \$\$ >$1; exec sleep 100" 2>/dev/null &
}
killed() { # FILE
    kill -KILL "$(cat "$1")"
    wait_until 5 sh -c "! kill -0 $(cat "$1") 2>/dev/null"
}

# ---- one copy
# shellcheck disable=SC2016 # for the program
exits 0 "a program" stage sh -c 'echo "$UNETCTL_DATA_DIR" "$@"; cd "$UNETCTL_DATA_DIR" && find . -type f |
    sort | xargs sha256sum' - "$TMP/data/images" "--data=$TMP/data" "$TMP/data/none" "$TMP/database"
copy=$(head -n 1 "$OUT" | cut -d' ' -f1)
like "$OUT" "^$root/[0-9a-f]{16} $copy/images --data=$copy $TMP/data/none $TMP/database$" \
    "gets the copy, also in its words"
is "$(tail -n +2 "$OUT")" "$(cd data && find images masks -type f | sed 's|^|./|' | sort | xargs sha256sum)" \
    "which has the bytes of all images and masks"
like stage '^[0-9.]+ [0-9]+ '"$copy"'$' "seconds, bytes and folder are noted"
is "$(stat -c %a "$root")" 700 "its folder is closed to others"
exits 0 "copies that are not used" remove
ok "are removed, with the folder" test ! -e "$root"
exits 7 "the program's own exit code" stage sh -c 'exit 7'

for i in 1 2 3 4; do
    # shellcheck disable=SC2016
    RANK=$i stage sh -c 'stat -c %i "$UNETCTL_DATA_DIR"; until [ -e go ]; do sleep 0.1; done' >"rank-$i" &
done
ready() { [ "$(cat rank-? | wc -l)" = 4 ]; }
ok "four ranks at once" wait_until 20 ready
is "$(sort -u rank-? | wc -l) $(copies)" "1 1" "use one copy"
is "$(wc -l <stage)" 2 "of which rank 0 alone notes the seconds"
touch go
wait

# ---- kill -9
hold a; hold b
ok "two jobs" wait_until 20 test -s a -a -s b
killed a
ok "after one of them was killed" remove
is "$(copies)" 1 "the copy of the other stays"
mv data away
exits 0 "another process uses it, without the data" stage true
mv away data
killed b
exits 0 "when both were killed" remove
ok "the copy is removed" test ! -e "$root"
unet-train data synth --out other --count 4 --size 32x32 --seed 5 >"$OUT" 2>&1
ok "another set" unet-train data split --data other --out other.json
hold a
ok "a job" wait_until 20 test -s a
killed a
exits 0 "that was killed" unetctl stage --to "$TMP/scratch" --split other.json --data "$TMP/other" \
    --out "$TMP" -- sh -c "ls $root"
is "$(grep -c '\.lock$' "$OUT")" 1 "leaves nothing once another copy is made"
remove

# ---- killed while it copies, which an image that is a FIFO blocks
image=$(find data/images -type f | head -n 1)
mv "$image" image && mkfifo "$image"
rm -f stage
hold a
begun() { [ "$(find "$root" -path '*.tmp/images')" ]; }
ok "a rank that copies" wait_until 20 begun
copier=$!
rm "$image" && mv image "$image" # it still waits for the other
hold b
kill -KILL $copier
wait $copier 2>/dev/null
ok "is killed, and the next one makes the copy" wait_until 20 test -s b
is "$(find "$root" -name '*.tmp') $(find "$root"/*/images -type f | wc -l)" " 10" "as a whole"
killed b
remove

# ---- what cannot be
refused() { # TEXT PATTERN COMMAND...
    exits "$1" "$2" "${@:4}"
    like "$ERR" "$3" "$2: one line says so"
}
mkdir mine && ln -s "$TMP/mine" "$root"
mkdir -m 0777 "$root.2" && chmod 0777 "$root.2"
# shellcheck disable=SC2016
exits 0 "a link of that name, and a folder that others may write" stage sh -c 'echo "$UNETCTL_DATA_DIR"'
like "$OUT" "^$root\\.3/[0-9a-f]{16}$" "are passed over"
is "$(find mine "$root.2" -mindepth 1)" "" "and nothing is written there"
is "$(stat -c %a "$root.3")" 700 "the folder is closed to others"
rm "$root" && rmdir "$root.2"
exits 0 "when they are gone, the copies" remove
ok "are removed" test ! -e "$root.3"
# shellcheck disable=SC2016
to() { unetctl stage --to "$1" --split split.json --data "$TMP/data" --out "$TMP" -- true; }
# shellcheck disable=SC2016
refused 3 "a variable that is not set" 'data.stage \$NOWHERE/x: \$NOWHERE is not set' to '$NOWHERE/x'
refused 3 "a folder that is not there" '/nowhere is not a folder that can be written' to /nowhere
mv data away
refused 7 "data that are gone" 'data/images/.*: No such file' stage true
mv away data
limited() { (trap '' XFSZ && ulimit -f 1 && stage true); }
dd if=/dev/urandom of=big bs=1k count=8 status=none && mv "$image" image && cp big "$image"
refused 7 "a disk that is full in the middle" \
    'cannot write .*/images/.*; remove data.stage, or choose another folder' limited
mv image "$image"
is "$(copies)" 0 "leaves no copy"
remove
mkdir small
if mount -t tmpfs -o size=16k,mode=1777 none small 2>/dev/null; then
    cleanup_hooks+=("umount $TMP/small")
    refused 7 "a folder without room" 'the data need 0.1 MiB, and .*small/unetctl-[0-9]+ has 0.0 MiB left' to "$TMP/small"
else
    skip "no tmpfs can be mounted" "a folder without room"
fi

# ---- a study
export SCRATCH=$TMP/scratch
# shellcheck disable=SC2016
ok "a study" unetctl init one --data data --site local --set data.height=32 --set data.width=32 \
    --set model.depth=2 --set model.base=4 --set train.epochs=2 --set 'data.stage=$SCRATCH'
exits 0 "plan" unetctl plan -C one --gpus 1,2
# shellcheck disable=SC2016
like "$OUT" ', 0\.[1-9] MiB in \$SCRATCH of each node' "says how much room a node needs"
exits 0 "runs" unetctl submit -C one --gpus 1,2 --wait --timeout 100
# shellcheck disable=SC2016
is "$(field one/runs/unet-g01-s1/run.json 'd["data"]["stage"]')" '$SCRATCH' \
    "run.json has the folder as it was written"
like <(cat one/runs/unet-g02-s1/attempt-1/slurm-*.out) "the data are read from $root/[0-9a-f]+: 0.1 MiB" \
    "the job's output says where the data are read"
ok "nothing is left" test ! -e "$root"
exits 0 "report" unetctl report -C one
like one/report/report.md '\| stage-in s \|' "names the part of the time"
is "$(python3 -c '
import csv
rows = list(csv.DictReader(open("one/logs/results.csv")))
print(all(float(r["stage_s"]) > 0 and float(r["stage_bytes"]) > 4096 for r in rows), len(rows))')" \
    "True 2" "results.csv has seconds and bytes"
exits 0 "doctor" unetctl doctor -C one --gpus 1
like "$OUT" 'ok +stage +the data can be copied to every node' "checks the folder"
exits 5 "doctor" unetctl doctor -C one --gpus 1 --set data.stage=/nowhere
like "$OUT" 'error +stage .*/nowhere is not a folder that can be written' "names one that is not there"
exits 1 "a run that begins without it" unetctl submit -C one --gpus 4 --wait --timeout 60 --set data.stage=/nowhere
like <(cat one/runs/unet-g04-s1/attempt-1/FAILED) '"exit_code":3,.*data.stage /nowhere' "fails, and says why"
exits 0 "it is resumed" unetctl resume -C one unet-g04-s1 --set "data.stage=$SCRATCH"
ok "with another folder" wait_until 60 test -e one/runs/unet-g04-s1/attempt-2/DONE

ok "a holder" unetctl generate -C one --gpus 1 --seeds 3
rm -f a
unetctl stage --to "$SCRATCH" --split one/split.json --data "$TMP/data" --out "$TMP" -- \
    sh -c 'echo $$ >a; exec sleep 100' &
ok "of the data" wait_until 20 test -s a
mv data away
(cd one/runs/unet-g01-s3 && mkdir -p attempt-1 && bash run_file.sh) >"$OUT" 2>"$ERR"
ok "lets a training run without them: it reads the copy" test -e one/runs/unet-g01-s3/attempt-1/DONE
mv away data
killed a
remove

# ---- other programs
cat >plain.sh <<'EOS'
#!/bin/sh
{ echo "$@"; ls "$UNETCTL_DATA_DIR"; } >"$UNETCTL_ATTEMPT_DIR/told"
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1; do echo "$i,0.5,0.4,0.01,1,0.1,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOS
chmod +x plain.sh
printf 'command:\n  script: %s\n  args: ["-d", "{{data_dir}}"]\n' "$TMP/plain.sh" >>one/study.yaml
exits 0 "a program of one's own" unetctl submit -C one --engine command --gpus 1 --wait --timeout 60
is "$(sed "s|$root/[0-9a-f]*|COPY|" one/runs/command-g01-s1/attempt-1/told | paste -sd' ')" \
    "-d COPY images masks" "gets the copy as argument and variable"
ok "a study without data" unetctl init none --site local -- ./plain.sh
exits 3 "data.stage" unetctl plan -C none --gpus 1 --set data.stage=/dev/shm
like "$ERR" 'data.stage needs data.dir' "is refused there, by what it needs"
exits 2 "a folder that is relative" unetctl plan -C one --set data.stage=scratch
like "$ERR" 'is neither an absolute path nor a variable of the nodes' "is refused, too"
# ---- a folder of masks for each image
for i in 0001 0002 0003 0004; do
    mkdir -p "bowl/$i/images" "bowl/$i/masks"
    cp "other/images/$i.png" "bowl/$i/images" && cp "other/masks/$i.png" "bowl/$i/masks/a.png"
    cp "other/masks/$i.png" "bowl/$i/masks/b.png"
done
ok "folders of masks" unet-train data split --data bowl --out bowl.json
# shellcheck disable=SC2016 # for the program
exits 0 "they are staged" unetctl stage --to "$TMP/scratch" --split bowl.json --data "$TMP/bowl" \
    --out "$TMP" -- sh -c 'cd "$UNETCTL_DATA_DIR" && find . -type f | sort'
is "$(cat "$OUT")" "$(cd bowl && find . -type f | sort)" "with all their files"
remove

done_testing
