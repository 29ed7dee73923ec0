#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unet-train train and eval on a small synthetic data set: what a run leaves behind, what it
# refuses, how it fails.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

# One thread: this test shares its machine with others.
train=(unet-train train --data data --size 64x64 --set model.base=4 --set model.depth=2 \
    --threads 1 --set train.lr_scaling=none)
field() { # FILE KEY: a number or word of a JSON line
    sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1
}
no_result() { [ ! -e "$1/DONE" ] && [ -e "$1/FAILED" ]; }

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 1

# --- a good run ---
exits 0 "a training succeeds" "${train[@]}" --epochs 15 --batch-size 4 --lr 0.01 --out good
like "$ERR" 'epoch 15/15: loss 0\.[0-9]+, [0-9.]+ s, [0-9.]+ images/s' "each epoch is one line"
for f in DONE log.csv record.jsonl split.json checkpoint/weights.safetensors \
    checkpoint/model.json; do
    ok "$f is written" test -s "good/$f"
done
ok "there is no FAILED" test ! -e good/FAILED
is "$(head -n 1 good/log.csv)" ",time_per_epoch,loss,lr,training_time,test_time,iou" \
    "log.csv has the header"
is "$(wc -l <good/log.csv)" 16 "log.csv has 15 rows"
is "$(cut -d, -f4 good/log.csv | sed 1d | uniq | tr '\n' ' ')" \
    "0.010000 0.005000 0.002500 0.001250 " \
    "the learning rate goes down in steps"
# With progress between them where an epoch takes long.
is "$(sed -n 's/^{"kind":"\([a-z]*\)".*/\1/p' good/record.jsonl | grep -v progress | uniq | tr '\n' ' ')" "run epoch checkpoint end " \
    "the record has the lines run, epoch, state and end in order"
for k in schema study run seed engine attempt_dir started version host hosts gpus nodes world_size \
    devices \
    strategy backend device why_cpu comm dtype threads cores oversubscribed model height width \
    channels batch_per_gpu \
    global_batch epochs train_images val_images repeat remainder optimizer lr lr_scaling \
    lr_schedule \
    bucket_mib versions slurm_job; do
    grep -q "^{\"kind\":\"run\".*\"$k\":" good/record.jsonl || echo "$k"
done >missing
is "$(cat missing)" "" "the first line has every key of its schema"
is "$(tail -n 1 good/record.jsonl)" "$(cat good/DONE)" "DONE holds the last line"
is "$(field good/DONE weights_sha256)" \
    "$(sha256sum good/checkpoint/weights.safetensors | cut -c1-16)" \
    "the hash is the checkpoint's"
images() { sed -n 's/^{"kind":"epoch".*"images":\([0-9]*\).*/\1/p' "$1/record.jsonl" | tail -n 1; }
is "$(images good)" 32 "every training image is used"
first=$(sed -n 2p good/log.csv | cut -d, -f3) last=$(tail -n 1 good/log.csv | cut -d, -f3)
ok "the loss falls ($first to $last)" awk "BEGIN { exit !($last < $first / 2) }"
iou=$(field good/DONE iou)
ok "the IoU is above 0.5 ($iou)" awk "BEGIN { exit !($iou > 0.5) }"

# --- activations of 16 bits ---
exits 0 "a training in bf16 succeeds" \
    "${train[@]}" --epochs 15 --batch-size 4 --lr 0.01 --dtype bf16 --out half
like "$ERR" 'computing on the CPU, .*; bf16 is rounded between ops, which takes longer than f32$' \
    "the first line says that it is slower"
is "$(field half/record.jsonl dtype) $(field good/record.jsonl dtype)" "bf16 f32" \
    "the record names the number format"
other=$(tail -n 1 half/log.csv | cut -d, -f3)
ok "its loss ($other) is near that of floats ($last)" awk \
    "BEGIN { exit !(($other - $last)^2 < 0.02^2) }"
exits 0 "eval in bf16" unet-train eval --checkpoint half/checkpoint --data data --dtype bf16 --json
exits 3 "fp16 without a GPU" "${train[@]}" --epochs 1 --dtype fp16 --out no
like "$ERR" 'scaled loss: take bf16' 'the error says what to use'
exits 2 "an unknown type is refused" "${train[@]}" --epochs 1 --dtype f64 --out no

# --- what it computes on ---
given() { env -u UNET_GPUS SLURM_JOB_GPUS=0,1 "${train[@]}" --epochs 1 "$@"; }
if unet-train devices | grep -q '^GPU [0-9]'; then
    skip "this machine has a GPU" "a job whose GPUs do not work"
else
    exits 5 "GPUs that do not work are an error" given --out gpus
    like "$ERR" 'was given GPUs \(SLURM_JOB_GPUS=0,1\) and cannot use them: .*; train.backend: cpu' \
        "the error has the reason and what to do"
    like gpus/FAILED '"exit_code":5,"error":"this process was given GPUs' "the marker says so"
    exits 0 "the CPU can be chosen" given --backend cpu --out cpu
    like "$ERR" '^unet-train: computing on the CPU, .* \(backend [a-z]+, comm self\)$' \
        "the first line names the device and the backend"
    like cpu/record.jsonl '"backend":"[a-z]+".*"device":"[^"]+","why_cpu":""' "the record says so"
    exits 5 "eval on such GPUs is an error" \
        env -u UNET_GPUS CUDA_VISIBLE_DEVICES=0 unet-train eval --checkpoint cpu \
        --data data
    exits 5 \
        "backend cuda without a GPU is an error" "${train[@]}" --epochs 1 --backend cuda --out cuda
    exits 0 "a training without GPUs uses the CPU" \
        env -u UNET_GPUS CUDA_VISIBLE_DEVICES= "${train[@]}" --epochs 1 \
        --out none-given
    like none-given/record.jsonl \
        '"why_cpu":"(there is no NVIDIA driver|this program was built without CUDA)' \
        "the record says that auto uses the CPU, and why"
fi
exits 0 "a training with fake GPUs uses the CPU" \
    env UNET_GPUS=fake SLURM_JOB_GPUS=0 "${train[@]}" --epochs 1 --out fake
like "$ERR" 'computing on the CPU, .*: the GPUs here are fake' "the first line says so"

# --- eval ---
exits 0 "eval on the run's split" \
    unet-train eval --checkpoint good/checkpoint --split good/split.json --threads 1 --json
is "$(field "$OUT" iou) $(field "$OUT" images)" "$iou 8" "gives exactly the run's IoU"
exits 0 "eval on the folder that it was trained on" unet-train eval \
    --checkpoint good/checkpoint/weights.safetensors \
    --data data --size 64x64 --threads 1 --json
is "$(field "$OUT" iou) $(field "$OUT" images) $(field "$OUT" left_out)" "$iou 8 32" \
    "leaves the training images out, and gives exactly the run's IoU"
like "$ERR" "32 of 40 images are training images of this run .$TMP/good/split.json.* --all counts" \
    "which is reported"
mkdir moved && cp -r good moved/run
ok "a run that was moved" unet-train eval -c moved/run --data data --threads 1 --json
is "$(field "$OUT" images)" 8 "has its split with it"
ok "eval on all pairs of the folder" unet-train eval -c good --data data --all --threads 1 --json
is "$(field "$OUT" images) $(field "$OUT" left_out)" "40 0" "uses all of them"
cp -r good/checkpoint lone
ok "a checkpoint without its run" unet-train eval -c lone --data data --threads 1 --json
is "$(field "$OUT" images)" 40 "cannot say which they are"
mkdir -p seen/images seen/masks
one=$(sed 's/.*"train":\[{"stem":"\([^"]*\)".*/\1/' good/split.json)
for part in images masks; do cp "data/$part/$one.png" seen/$part/copy.png; done
exits 7 "training images alone, by another name" unet-train eval -c good --data seen --threads 1
like "$ERR" 'seen: all 1 images are training images of this run' "are refused"
exits 2 "--all with a split" unet-train eval -c good --split good/split.json --all
for state in good/checkpoint/state-*.safetensors; do
    exits 9 "eval of a run's state is refused" unet-train eval --checkpoint "$state" --data data
    like "$ERR" "state-.*not weights: name good/checkpoint/weights.safetensors, or the folder" \
        "the error names the weights"
done
exits 2 "eval without images" unet-train eval --checkpoint good/checkpoint
exits 9 "eval without a checkpoint" unet-train eval --checkpoint none --data data
cp -r good/checkpoint cut
truncate -s -100 cut/weights.safetensors
exits 9 "eval of a truncated checkpoint is refused" unet-train eval --checkpoint cut --data data
like "$ERR" 'cut/weights.safetensors: is not the file that was written' "the error names the file"

# --- the same run again is the same run ---
ok "a training with a fixed seed" \
    "${train[@]}" --epochs 2 --batch-size 4 --set data.split=good/split.json \
    --out again-1
ok "the same training again" \
    "${train[@]}" --epochs 2 --batch-size 4 --set data.split=good/split.json \
    --out again-2
is "$(field again-1/DONE weights_sha256)" "$(field again-2/DONE weights_sha256)" \
    "two deterministic trainings give the same weights"

# --- repeat and drop ---
ok "a training with repeat and drop" "${train[@]}" --epochs 1 --batch-size 7 --set data.repeat=2 \
    --set data.remainder=drop --out drop
is "$(images drop)" 63 "63 of 2 x 32 images fill batches of 7"

# --- refusals ---
exits 3 "a folder that holds a run is refused" "${train[@]}" --epochs 1 --out good
like "$ERR" 'already holds DONE .*--out' "the error says what to do"
ok "the run in the folder is unchanged" test -e good/DONE -a ! -e good/FAILED
exits 3 "a run that is done is refused also if Slurm restarted its job" \
    env SLURM_RESTART_COUNT=1 "${train[@]}" --epochs 1 \
    --out good
broken again-3/restart-1/FAILED
mkdir again-3 && cp again-1/record.jsonl again-3 && echo '{}' >again-3/FAILED
exits 0 "a failed run begins again when Slurm restarted the job" \
    env SLURM_RESTART_COUNT=1 "${train[@]}" --epochs 1 --batch-size 16 --out again-3
like "$ERR" '.*again-3 has no checkpoint: the training starts at the beginning' \
    "a missing checkpoint is reported, and the training starts at the beginning"
ok "the earlier files are moved away" test -e again-3/restart-1/record.jsonl \
    -a -e again-3/restart-1/FAILED -a -e again-3/DONE
exits 2 "a training without --out is refused" "${train[@]}"
exits 2 "a training without data is refused" unet-train train --out r
exits 2 "a bad value is refused" "${train[@]}" --epochs many --out r
like "$ERR" 'train: [-]-epochs: .*not a whole number' "the error names the option"
exits 3 "a size that does not fit the depth" unet-train train --data data --size 66x64 \
    --set model.depth=2 --out r
exits 2 "--run with an option that it contains is refused" \
    unet-train train --run r.json --epochs 3 --out r
exits 3 "a run.json that does not exist is refused" unet-train train --run none.json --out r
ok "refused commands make no folder" test ! -e r
exits 7 "missing data are an error" "${train[@]}" --data none --out nodata
ok "the run is marked as failed" no_result nodata
exits 0 \
    "the same folder can be used with data" "${train[@]}" --epochs 1 --batch-size 16 --out nodata
ok "the failed run is moved away" test -e nodata/DONE -a -e nodata/restart-1/FAILED
like nodata/restart-1/FAILED '"exit_code":7,"error":"none' "FAILED has code and reason"

# --- run.json ---
cat >run.json <<END
{"schema":1,"study":"t","study_id":"1","run":"unet-g01-s1","engine":"embedded","seed":1,
 "data":{"dir":"$TMP/data","split":"$TMP/good/split.json","height":64,"width":64,"channels":1,"repeat":1,
  "soft_masks":false,"remainder":"keep"},
 "model":{"name":"unet","base":4,"depth":2,"batch_norm":"local"},
 "train":{"epochs":2,"batch_per_gpu":4,"optimizer":"adam","lr":0.001,"lr_scaling":"none","lr_schedule":"step",
  "backend":"auto","comm":"auto","threads":1,"bucket_mib":1,"timeout_s":60},
 "layout":{"gpus":1,"nodes":1,"tasks":1,"tasks_per_node":1,"gpus_per_task":1,"strategy":"mirrored"}}
END
exits 0 "a run from run.json" unet-train train --run run.json --out fromjson
is "$(field fromjson/DONE weights_sha256)" "$(field again-1/DONE weights_sha256)" \
    "a run of run.json has the weights of a run with the same options"

# --- a disk that fails after DONE was written ---
for start in '' running; do
    out=synced$start
    mkdir "$out"
    if [ -n "$start" ]; then : >"$out/$start"; fi
    exits 0 "DONE counts once it was written${start:+, in a job}" \
        env ${start:+UNETCTL_START="$TMP/$out/$start"} DONE_SYNC=no LD_PRELOAD="$builddir/t/late.so" \
        ASAN_OPTIONS=verify_asan_link_order=0 "${train[@]}" --epochs 1 --batch-size 16 --out "$out"
    like "$ERR" 'warning: cannot sync the folder of .*DONE: .*; a power failure now might lose it' \
        "the failure is a warning"
    ok "there is no FAILED beside it" test -s "$out/DONE" -a ! -e "$out/FAILED"
    is "$(grep -c '"kind":"end"' "$out/record.jsonl")" 1 "the record has one end"
done

# --- failures ---
exits 1 "an extreme learning rate is an error" "${train[@]}" --epochs 30 --lr 1e12 --out nan
ok "the run has no result" no_result nan
like nan/FAILED 'diverged' "FAILED has the reason"
like nan/record.jsonl '^\{"kind":"end","status":"failed","exit_code":1' "record.jsonl has it, too"

# A step of seconds: 32 batches.
"${train[@]}" --size 512x512 --epochs 100000 --batch-size 1 --set train.accumulate=32 --out killed \
    2>/dev/null &
pid=$!
ok "a training is running" wait_until 60 grep -q '"kind":"run"' killed/record.jsonl
sleep 0.5
kill -INT $pid
sleep 0.3
ok "SIGINT waits for the end of the step" kill -0 $pid
kill -INT $pid
ended=$SECONDS
wait $pid
is $? 130 "a second SIGINT ends it with 130"
ok "it ends at once" test $((SECONDS - ended)) -le 3
ok "it is marked as failed" no_result killed
like killed/FAILED '"exit_code":130,"error":"stopped by signal 2' "FAILED has the reason"

"${train[@]}" --epochs 100000 --out killed9 2>/dev/null &
pid=$!
ok "another training is running" wait_until 60 grep -q '"kind":"epoch"' killed9/record.jsonl
kill -KILL $pid
wait $pid 2>/dev/null
ok "after kill -9 there is no DONE" test ! -e killed9/DONE

# A disk of 64 KiB: the record fits, the checkpoint does not.
mkdir small
if mount -t tmpfs -o size=64k none small 2>/dev/null; then
    unmount() { umount small; }
    cleanup_hooks+=(unmount)
    exits 1 "a full disk is an error" unet-train train --data data --size 64x64 --set model.base=8 \
        --set model.depth=2 --threads 1 \
        --epochs 1 --set data.split=good/split.json --out small/run
    like "$ERR" 'No space left on device' "the error says so"
    ok "the run has no result" test ! -e small/run/DONE
else
    skip "no right to mount a tmpfs" "a full disk"
fi
exits 3 "a folder that cannot be made is an error" "${train[@]}" --out /proc/none/run

exits 0 "devices" unet-train devices --json
like "$OUT" '"backends":\[.*"ref"(,"cuda")?\],"communicators":\["self","node"' \
    "the JSON lists backends and communicators"
like "$OUT" '"compute":\{"backend":"[a-z]+","fake":true,"device":"[^"]' "what auto computes on"
like "$OUT" '"cuda":\{"runtime":[0-9]+,.*("gpus":0,"why_none":"[^"]{20,}|"gpus":[1-9][0-9]*,"why_none":"")"' \
    "the JSON lists the GPUs or says why there is none"
done_testing
