#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Training on the CUDA backend, its kernels and queues carried out by the CPU
# (trainer/backends/cuda/runtime/test/emulate.h): what the session does around a device. No GPU is
# needed, nor CUDA.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

emulated=$builddir/trainer/backends/cuda/test/unet-train
train=("$emulated" train --data data --size 32x32 --set model.base=4 --set model.depth=2 \
    --threads 1 --epochs 2 --batch-size 4 --dtype f32
    --set train.lr_scaling=none --lr 0.003 --seed 3)
column() { cut -d, -f"$2" "$1/log.csv" | sed 1d; }
# log.csv's losses and IoU of two runs agree.
agree() { # RUN RUN TOLERANCE
    paste -d' ' <(column "$1" 3; column "$1" 7) <(column "$2" 3; column "$2" 7) |
        awk -v d="$3" 'function far(a, b, d) { return a - b > d || b - a > d }
            far($1, $2, d) { bad = 1 }
            END { exit bad || NR < 4 }'
}

# A number of the last epoch in three places, or nothing.
field() { sed -n "s/.*\"$2\":\([^,}]*\).*/\1/p" "$1/record.jsonl" | tail -n 1 |
    awk '{ printf "%.3g", $1 }'; }

field_of() { sed -n "s/.*\"$2\":\"\([^\"]*\).*/\1/p" "$1/record.jsonl" | head -n 1; }

ok "synthetic data" unet-train data synth --out data --count 20 --size 32x32 --seed 1
exits 0 "the reference" "${train[@]}" --backend ref --out ref
split=ref/split.json
exits 0 "a run, its convolutions by what is fastest" "${train[@]}" --backend cuda \
    --set data.split="$split" --out fast
ok "loss and IoU are those of the reference" agree fast ref 0.002
choices=$HOME/.cache/unetctl/cudnn-choices
like "$choices" \
    '^Emulated GPU .*, cuDNN 90000, forward 4x32x32x.*, f32	engine [23] [0-9]+ [0-9]+	[0-9.]+$' \
    "the chosen engine is recorded with its time"
exits 5 "a run without cuDNN" env EMULATE_CUDNN=missing "${train[@]}" --backend cuda \
    --set data.split="$split" --out without
like "$ERR" 'error: backend cuda: GPU 0 .Emulated GPU. needs cuDNN 9: libcudnn.so.9 is not there; train' \
    "one line says so"
exits 0 "devices without cuDNN" env -u UNET_GPUS EMULATE_CUDNN=missing "$emulated" devices
like "$OUT" '^computes on +the CPU.*: GPU 0 .Emulated GPU. needs cuDNN 9: libcudnn.so.9 is not there' \
    "its last line says so"
exits 5 "a run whose convolutions have no engine" env EMULATE_CUDNN=none "${train[@]}" \
    --backend cuda --set data.split="$split" --out without
like "$ERR" "error: conv2d: Emulated GPU 9.0 with [0-9]+, cuDNN 90000, forward 4x32x32x1 to 32x32x4, $(
    )side 3, stride 1, f32.*: cuDNN has no engine for it; update cuDNN" "the error names all"
exits 0 "a run in bf16 without engines for that" env EMULATE_CUDNN=floats "${train[@]}" \
    --backend cuda --dtype bf16 --set data.split="$split" --out floats
ok "loss and IoU are those of the reference" agree floats ref 0.02
exits 0 "a run where files cannot be locked" env LOCKS="$TMP/locks" LD_PRELOAD="$builddir/t/late.so" \
    ASAN_OPTIONS=verify_asan_link_order=0 XDG_CACHE_HOME="$TMP/unlocked" "${train[@]}" \
    --backend cuda --set data.split="$split" --out without-locks
ok "it keeps its choices" grep -q Emulated unlocked/unetctl/cudnn-choices
# Some 80 saves try once, not 100 times each.
ok "it does not wait for locks" test -s locks -a "$(wc -c <locks)" -lt 1000
echo broken >"$choices"
exits 0 "a run in tf32" "${train[@]}" --backend cuda --dtype tf32 --set data.split="$split" \
    --out tf32
is "$(grep -c 'cudnn-choices is damaged' "$ERR")" 1 "a damaged file of choices is reported once"
like "$choices" 'tf32' "it is written again"
is "$(field_of tf32 dtype)" tf32 "the record names the type"
exits 3 "tf32 on the CPU is refused" \
    "${train[@]}" --backend ref --dtype tf32 --set data.split="$split" \
    --out no
like "$ERR" 'backend ref .*tf32' "the error says so"
# A choice by time may be another one in the next run, and so are the last bits.
train+=(--set train.deterministic=true)
for dtype in bf16 fp16; do
    exits 0 "a run in $dtype" "${train[@]}" --backend cuda --dtype $dtype --set train.accumulate=2 \
        --set data.split="$split" --out $dtype
    exits 0 \
        "the reference is trained in floats" "${train[@]}" --backend ref --set train.accumulate=2 \
        --set data.split="$split" --out wide
    ok "loss and IoU are those of the reference" agree $dtype wide 0.02
    is "$(field_of $dtype dtype)" $dtype "the record names the type"
    rm -rf wide
done
exits 0 "a run" "${train[@]}" --backend cuda --set data.split="$split" --out one
like one/record.jsonl '"backend":"cuda"' "the device computes"
ok "loss and IoU are those of the reference" agree one ref 0.002
is "$(grep -c '"kind":"epoch".*"train_iou":0\.[0-9]' one/record.jsonl)" 2 \
    "each epoch has the IoU of its training images"

auto=(env -u UNET_GPUS "${train[@]}" --dtype auto --set model.base=2 --set model.depth=1 --epochs 1 \
    --set data.split="$split")
exits 0 "auto on a machine with GPUs" "${auto[@]}" --out auto
like "$ERR" '^unet-train: computing on Emulated GPU \(backend cuda, comm self\) in tf32$' \
    "it uses cuda, and the GPU's tf32"
is "$(field_of auto dtype)" tf32 "the record has what auto became"
exits 0 "auto on a GPU without tf32" env EMULATE_CAPABILITY=75 "${auto[@]}" --out turing
like "$ERR" 'computing on Emulated GPU .* in f32; its tensor cores, if it has any, compute .*: fp16 only$' \
    "it computes in f32, and says what is faster"
is "$(field_of turing dtype)" f32 "as the record says"
exits 0 "auto is trained on two GPUs" "${auto[@]}" --gpus 2 --batch-size 2 --out auto2
like auto2/record.jsonl '"backend":"cuda",.*"comm":"nccl",.*"device":"Emulated GPU","why_cpu":""' \
    "two GPUs communicate by NCCL"
exits 0 "deterministic" "${auto[@]}" --set train.deterministic=true --out auto3
is "$(field_of auto3 backend)" cuda "it uses cuda, too"
exits 5 "a job with GPUs whose driver is too old" env SLURM_JOB_GPUS=0 EMULATE_DRIVER=12020 \
    "${auto[@]}" --out old
like "$ERR" 'SLURM_JOB_GPUS=0.*: the driver serves CUDA up to 12.2 and this program has 13.0; update' \
    "the error has the version of the driver"
exits 5 "a job whose GPUs the program was not built for is an error" \
    env SLURM_STEP_GPUS=0 EMULATE_CAPABILITY=35 "${auto[@]}" \
    --out arch
like "$ERR" 'GPU 0 .* has compute capability 3.5 .* built for [0-9 ]+; build it with ./configure CUDA_ARCHS=35' \
    "the error has the architecture of the GPU and how to build for it"
exits 0 "a V100" env EMULATE_CAPABILITY=70 EMULATE_CUDNN=91002 "${auto[@]}" \
    --set train.dtype=fp16 --out volta
like "$ERR" 'computing on Emulated GPU .* in fp16$' "it computes in fp16"
exits 5 "a V100 with a cuDNN that does not know it" \
    env SLURM_STEP_GPUS=0 EMULATE_CAPABILITY=70 EMULATE_CUDNN=91100 "${auto[@]}" --out unknown
like "$ERR" 'GPU 0 .* needs cuDNN 9: 9.0 to 9.10 serve compute capability 7.0, and 9.11 is loaded' \
    "the error has both"
exits 0 "newer ones" env EMULATE_CAPABILITY=120 "${auto[@]}" --out newer
is "$(field_of newer backend)" cuda "its code is compiled for them"
exits 0 "a machine with a driver too old" env EMULATE_DRIVER=12020 "${auto[@]}" --out cpu
like cpu/record.jsonl '"backend":"simd".*"why_cpu":"the driver serves CUDA up to 12.2' \
    "the CPU is used, and the record says why"
for list in "" -1; do
    exits 0 "CUDA_VISIBLE_DEVICES=\"$list\"" env CUDA_VISIBLE_DEVICES="$list" "${auto[@]}" \
        --out "none$list"
    is "$(grep -c '^unet-train: computing on the CPU.*no CUDA-capable' "$ERR")" 1 \
        "one line says that there is no GPU"
done
exits 0 "an instance of MIG" env CUDA_VISIBLE_DEVICES=MIG-5c1e6a0b-0000-0000-0000-000000000000 \
    "${auto[@]}" --out mig
is "$(field_of mig backend)" cuda "it is used"
exits 5 "a GPU that the machine does not have" env CUDA_VISIBLE_DEVICES=7 "${auto[@]}" --out seven
like "$ERR" '^unet-train: error: this process was given GPUs \(CUDA_VISIBLE_DEVICES=7\) and cannot use them: ' \
    "the error has the list"
exits 5 "two ranks with one visible GPU" env CUDA_VISIBLE_DEVICES=1 "${auto[@]}" --gpus 2 \
    --batch-size 2 --out shared
like "$ERR" 'rank 1 on .* has the same device as rank 0: GPU' "the error names both ranks"
exits 0 "fake GPUs" env UNET_GPUS=fake SLURM_JOB_GPUS=0 "${auto[@]:3}" --out fake
like fake/record.jsonl '"backend":"simd","dtype":"f32"' "the CPU is used, in f32"

exits 2 "devices --check" "$emulated" devices --check
like "$ERR" 'opcheck.t --check cuda compares every kernel' "the error says what stands in its place"

exits 0 "two ranks, a device each" \
    "${train[@]}" --backend cuda --gpus 2 --set data.split="$split" --out two --batch-size 2
exits 0 "two replicas are trained by the reference" \
    "${train[@]}" --backend ref --gpus 2 --set data.split="$split" \
    --out ref2 --batch-size 2
ok "loss and IoU are those of the reference" agree two ref2 0.002
exits 5 "three ranks on two devices" \
    "${train[@]}" --backend cuda --gpus 3 --set data.split="$split" --out three --batch-size 2
like "$ERR" 'rank 2 on .* has the same device as rank 0: GPU .*--gpus-per-node' \
    "the error names the ranks that share a GPU and an option against it"

# What the device does at the end of a step: sums of batches, clipping, tensor by tensor.
for how in "--set train.accumulate=2 --set train.clip_norm=0.5" \
    "--set train.accumulate=3 --set train.optimizer=lamb" \
    "--set train.optimizer=lars --set train.clip_norm=0.1" \
    "--set train.optimizer=sgd --set train.accumulate=5 --set model.batch_norm=none"; do
    # shellcheck disable=SC2086 # options
    exits 0 "$how" "${train[@]}" --backend cuda $how --set data.split="$split" --out how
    # shellcheck disable=SC2086
    exits 0 "the same is trained by the reference" \
        "${train[@]}" --backend ref $how --set data.split="$split" \
        --out refhow
    ok "loss and IoU are those of the reference" agree how refhow 0.002
    for key in grad_sq_local grad_sq_global; do
        is "$(field how $key)" "$(field refhow $key)" "$key as the host measures it"
    done
    rm -rf how refhow
done

# A checkpoint has what was computed up to it, though results come late.
"${train[@]}" --backend cuda --set data.split="$split" --out again --set train.checkpoint_epochs=1 \
    >/dev/null 2>&1
ok "the same run gives the same weights" \
    cmp one/checkpoint/weights.safetensors again/checkpoint/weights.safetensors
exits 0 "eval" "$emulated" eval --backend cuda --dtype f32 --checkpoint one --data data \
    --split "$split" --json
is "$(sed 's/.*"iou":\([0-9.]*\).*/\1/; q' "$OUT" | xargs printf '%.6f')" \
    "$(column one 7 | tail -n 1)" "eval gives the IoU of the run"

exits 0 "eval without --dtype" "$emulated" eval --backend cuda --checkpoint tf32 --data data \
    --split "$split"
like "$ERR" 'computing on Emulated GPU .* in tf32$' "it computes as train.dtype auto does"
is "$(awk '$1 == "all" { printf "%.3f", $2; exit }' "$OUT")" \
    "$(column tf32 7 | tail -n 1 | xargs printf '%.3f')" "and gives the IoU of a run in tf32"

# What travels to the device.
calls() { sed -n "s/^$2 //p" "$1"; } # FILE FUNCTION-OR-KERNEL: how often it was called
exits 0 "a run whose calls are counted" env EMULATE_CALLS=sent.calls "${train[@]}" --backend cuda \
    --set data.split="$split" --out sent
is "$(calls sent.calls late_copies)" "" "no copy of images waits for kernels of earlier steps"
# Such a crop moves nothing, but makes floats of the images.
for images in bytes floats; do
    crop=$([ $images = bytes ] && echo 0 || echo 1e-12)
    exits 0 "images as $images" env EMULATE_CALLS=$images.calls UNET_CUDNN=only "${train[@]}" \
        --backend cuda --set data.split="$split" --set augment.hflip=true --set augment.vflip=true \
        --set augment.rot90=true --set augment.shift=2 --set augment.crop="$crop" --out as-$images
done
is $(($(calls floats.calls copied_bytes) - $(calls bytes.calls copied_bytes))) \
    $((2 * 16 * 3 * 32 * 32)) "the 16 images of two epochs take 3 bytes less per pixel"
ok "they give the same weights" \
    cmp as-bytes/checkpoint/weights.safetensors as-floats/checkpoint/weights.safetensors
exits 0 "prediction" env EMULATE_CALLS=predict.calls "$emulated" predict --backend cuda \
    --checkpoint one --out predicted data/images
is "$(calls predict.calls unpack)" 20 "without targets"
exits 0 "by two networks" "$emulated" predict --backend cuda --checkpoint one --checkpoint one \
    --out twice data/images
ok "whose mean is that of one" diff -r predicted twice

# Launches of a step of one rank: those of two steps more, halved.
launches() { awk '!/^(cuda|launch |kernel |late_|copied_|dnn_[^r])/ { n += $2 } END { print n }' "$1"; }
for steps in 2 4; do
    ok "a run of $steps steps" env EMULATE_CALLS=$steps.calls UNET_CUDNN=only EMULATE_CUDNN=zeros \
        "${train[@]}" --backend cuda --dtype bf16 --set model.base=8 \
        --set model.depth=4 --batch-size 1 --set limit.steps=$steps \
        --set data.split="$split" --out launches-$steps
done
more=$(($(launches 4.calls) - $(launches 2.calls)))
echo "# $((more / 2)) launches a step"
ok "a step has at most 175 launches" test $more -gt 200 -a $more -le 350
is $(($(calls 4.calls pack_weights) - $(calls 2.calls pack_weights))) 4 \
    "one of them packs the weights of all convolutions, one their gradients"

# Bytes of a step with base 8 and 16 images of 768x1024 in bf16, from those of two small ones: a
# plan has each tensor of an op once. Besides, norms read 3 x 122 bytes per pixel again, and the
# passes of the five biases that are not in front of a norm 90.
bytes() { env UNET_CUDNN=only EMULATE_CUDNN=zeros "$emulated" bench --backend cuda --dtype bf16 --base 8 \
    --size "$1" --batch-size 1 --steps 1 --warmup 0 --threads 1 --json | sed 's/.*"bytes":\([0-9]*\).*/\1/'; }
small=$(bytes 96x128) large=$(bytes 192x256)
gb=$(awk -v a="$small" -v b="$large" 'BEGIN { each = (b - a) / (192 * 256 - 96 * 128)
    printf "%.1f", (16 * 768 * 1024 * (each + 3 * 122 + 90) + a - 96 * 128 * each) / 1e9 }')
echo "# $gb GB a step"
ok "a step moves at most 31 GB" awk -v gb="$gb" 'BEGIN { exit !(gb > 20 && gb <= 31) }'

# Steps in fp16 that are left out, in a training that is killed, asked to leave, and continued.
wild=("${train[@]}" --backend cuda --dtype fp16 --set data.split="$split" --lr 0.2 \
    --set model.batch_norm=none --batch-size 2
    --epochs 12 --set train.checkpoint_epochs=1)
# An epoch that was continued in its middle has the sum of two sums as its loss.
counts() {
    sed -nE '/"kind":"epoch"/{s/"(seconds|[a-z]+_s)":[^,}]*,?//g;s/("loss":[0-9.]{14})[0-9]*/\1/;p}' \
        "$1/record.jsonl"
}
exits 0 "a run whose gradients overflow" "${wild[@]}" --out whole
like whole/record.jsonl '"loss_scale":[1-9][0-9]{0,3},"steps_left_out":[1-9]' \
    "steps are left out, and the record has their number"
state() { find stopped/checkpoint -name 'state-*.safetensors' 2>/dev/null | sort | tail -n 1; }
# It goes on in the background until that EPOCH is recorded and there is a checkpoint; then the
# signal.
is_at() {
    ! kill -0 "$process" ||
        { [ -n "$(state)" ] && grep -q "\"kind\":\"epoch\",\"epoch\":$1," stopped/record.jsonl; }
}
stop_after() { # EPOCH SIGNAL
    "${wild[@]}" --out stopped >"$OUT" 2>"$ERR" &
    process=$!
    wait_until 60 is_at "$1"
    kill "-$2" $process
    wait $process
}
stop_after 0 KILL 2>/dev/null
is $? 137 "the run is killed after its first epoch"
ok "the run has left out steps" grep -aq 'scaling_left_out\\":[1-9]' "$(state)"
stop_after 2 KILL 2>/dev/null
is $? 137 "the run is killed again"
stop_after 4 USR1
is $? 75 "a run that gets SIGUSR1 ends with exit code 75"
ok "it ends within a few steps" test "$(grep -c '"kind":"epoch"' stopped/record.jsonl)" -lt 12
exits 0 "the run is continued" "${wild[@]}" --out stopped
is "$(cat stopped/restart-*/record.jsonl stopped/record.jsonl | grep -c '"kind":"resume"')" 3 \
    "each start continues from a checkpoint"
counts whole >whole.counts
counts stopped >stopped.counts
# An epoch that was continued in its middle has no IoU of its training images.
ok "at most one epoch was interrupted in its middle" \
    test "$(grep -vc train_iou stopped.counts)" -le 1
awk 'NR == FNR { counted[FNR] = /train_iou/; next }
    !counted[FNR] { sub(/"train_iou":[^,]*,/, "") } 1' stopped.counts whole.counts >expected.counts
ok "losses, rates, steps and factors are those of the whole run" cmp expected.counts stopped.counts
ok "every epoch has them" test "$(grep -c loss_scale whole.counts)" = 12
ok "the weights are those of the whole run" \
    cmp whole/checkpoint/weights.safetensors stopped/checkpoint/weights.safetensors

exits 0 "each op by itself" "$emulated" bench --backend cuda --base 4 --depth 1 --size 16x16 \
    --batch-size 2 \
    --steps 2 --per-op
like "$OUT" '^plan  0\.003 GFLOP and 0\.[0-9]* GB a step' \
    "the plan's operations and bytes are printed"
like "$OUT" '^batch_norm(_relu)? .* ms .* GB/s' "times and rates of ops are printed"

# ---- a part is frozen (model.freeze): neither updates nor decay, with biases that are not
for backend in ref cuda; do
    exits 0 "a part is frozen, $backend" "${train[@]}" --backend $backend --set data.split="$split" \
        --set model.init=ref/checkpoint/weights.safetensors --set train.optimizer=adamw \
        --set train.weight_decay=0.1 --set model.freeze='enc*,up1.weight,dec1.conv2.bias,dec1.bn1.bias' \
        --out frozen-$backend
done
ok "loss and IoU are those of the reference" agree frozen-cuda frozen-ref 0.002
cat >same.py <<'EOP'
import json, struct
def read(run):
    data = open(f"{run}/checkpoint/weights.safetensors", "rb").read()
    n, = struct.unpack("<Q", data[:8])
    head = {k: v for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in head.items()}
old, new = read("ref"), read("frozen-cuda")
same = {k for k in old if old[k] == new[k]}
frozen = {k for k in old if k.startswith("enc") and "running" not in k} | {
    "up1.weight", "dec1.conv2.bias", "dec1.bn1.bias"}
assert same == frozen, same ^ frozen
EOP
if command -v python3 >/dev/null; then
    ok "what is frozen, and no more, is the same to the last bit" python3 same.py
fi
done_testing
