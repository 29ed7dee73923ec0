#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Replicas with a GPU each, connected by NCCL, as threads and as processes without MPI: they train
# what one does, processes with sums in captured steps, and who fails is named. GPUs and NCCL are
# carried out by the CPU (trainer/backends/cuda/runtime/test/emulate.h), and NCCL refuses what only
# some ranks capture (trainer/comm/test/nccl_emulated.c).
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

differ=$builddir/trainer/checkpoint/test/checkpoint.t
emulated=$builddir/trainer/backends/cuda/test/unet-train
if [ ! -x "$differ" ] || [ ! -x "$emulated" ]; then skip_all \
    "the unit tests are not built (make check-build)"; fi
train=("$emulated" train --data data --size 16x16 --set model.base=4 --set model.depth=2 \
    --threads 1 --set train.lr_scaling=none
    --set data.split=split.json --set train.timeout_s=20 --backend cuda
    --set train.deterministic=true) # a choice of engines by time may differ, and so the last bits
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }
tolerance=1e-4
near() { awk -v a="$1" -v b="$2" \
    'BEGIN { exit !(a > 0 && b > 0 && a / b < 1.001 && b / a < 1.001) }'; }

host=$(uname -n)
port=$((20000 + $$ % 12000))
nranks=2
# One of $nranks ranks in the background; its GPU is the one of its rank, or $GPU. The lines of
# ${with[r]} are variables of its environment.
rank() { # RANK OPTIONS...
    local r=$1 i workers='' IFS=$'\n'
    shift
    for ((i = 0; i < nranks; i++)); do workers+="${workers:+,}\"$host:$((port + i))\""; done
    # shellcheck disable=SC2086 # variables
    env ${with[r]-} EMULATE_CALLS="$r.calls" PMI_SIZE=$nranks PMI_RANK="$r" \
        LOCAL_RANK="${GPU:-$r}" \
        TF_CONFIG="{\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":$r}}" \
        timeout 120 "${train[@]}" "$@" >"$r.out" 2>"$r.err" &
    ranks[r]=$!
}
processes() { # OPTIONS...
    local r codes=0
    port=$((port + nranks))
    for ((r = 0; r < nranks; r++)); do rank "$r" "$@"; done
    for ((r = 0; r < nranks; r++)); do wait "${ranks[r]}" || codes=$?; done
    : >"$ERR"
    for ((r = 0; r < nranks; r++)); do cat "$r.err" >>"$ERR"; done
    return $codes
}
calls() { sed -n "s/^$2 //p" "$1.calls"; } # RANK FUNCTION: how often it was called

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json

# 32 images in 3 steps of at most 12: ranks have unequal shares in some.
for norm in sync none; do
    step=(--epochs 2 --set model.batch_norm="$norm")
    ok "$norm: 1 GPU, batch 12" "${train[@]}" "${step[@]}" --batch-size 12 --out $norm-1
    ok "$norm: 2 forked ranks, batch 6" "${train[@]}" "${step[@]}" --gpus 2 --batch-size 6 --out $norm-t
    is "$(field $norm-t/record.jsonl comm)" nccl "$norm: by NCCL"
    ok "$norm: 2 forked ranks give the same weights" close $norm-1 $norm-t
    ok "$norm: 2 processes" processes "${step[@]}" --batch-size 6 --out $norm-p
    is "$(field $norm-p/record.jsonl comm)" nccl "$norm: by NCCL"
    is "$(field $norm-p/DONE weights_sha256)" "$(field $norm-t/DONE weights_sha256)" \
        "$norm: 2 processes give the same bits as 2 forked ranks"
done
ok "the bandwidth between 2 forked ranks is measured" "${train[@]}" --gpus 2 --bandwidth --out measured
ok "they exchange messages" grep -q '"links":\[\[0,1,[0-9.e-]*\]\]' measured/bandwidth.json
ok "it is of NCCL" grep -q '"comm":"nccl"' measured/bandwidth.json
# By time, but rank 0's: no other rank tries engines, nor has any to keep.
for r in 0 1; do with[r]=XDG_CACHE_HOME=$PWD/cache$r; done
ok "2 processes, kernels by time" processes --set train.deterministic=false --epochs 1 \
    --set model.batch_norm=sync --batch-size 6 --out chosen
unset with
ok "rank 0 has chosen kernels" test -s cache0/unetctl/cudnn-choices
ok "rank 1 has received the choice" test ! -e cache1/unetctl/cudnn-choices
ok "the same on the CPU" "${train[@]}" --backend simd --epochs 2 --set model.batch_norm=sync \
    --gpus 2 --batch-size 6 --out host
ok "the weights are the same" close sync-t host
for key in grad_sq_local grad_sq_global; do
    ok "$key as the host measures it" near "$(field sync-t/record.jsonl $key)" \
        "$(field host/record.jsonl $key)"
done
tolerance=1e-5
exact=(--epochs 2 --set model.batch_norm=sync --set train.optimizer=sgd --lr 0.05)
ok "sgd: 1 GPU, batch 12" "${train[@]}" "${exact[@]}" --batch-size 12 --out exact-1
ok "sgd: 2 GPUs" processes "${exact[@]}" --batch-size 6 --out exact-2
ok "sgd: the same to 1e-5" close exact-1 exact-2
# With weights of the classes: what the loss is divided by is a sum over the ranks in the queue,
# too. A rank without images captures the sums alone.
one=(--epochs 1 --set train.optimizer=sgd --lr 0.05 --set train.global_batch=1 \
    --set train.class_weights="1,3")
for norm in sync none; do
    ok "$norm: steps of one image" "${train[@]}" "${one[@]}" --set model.batch_norm=$norm \
        --out image-$norm-1
    ok "$norm: of which a GPU has none" processes "${one[@]}" --set model.batch_norm=$norm \
        --out image-$norm-2
    ok "$norm: the same to 1e-5" close image-$norm-1 image-$norm-2
    ok "$norm: images of other steps are not counted once more" near \
        "$(field image-$norm-1/record.jsonl train_iou)" "$(field image-$norm-2/record.jsonl train_iou)"
    for r in 0 1; do
        ok "$norm: rank $r replays steps" test "$(calls $r cudaGraphLaunch)" -ge 30
        ok "$norm: graphs of rank $r prefer sums" test "$(calls $r preferred_nodes)" -gt 0
        ok "$norm: sums amid steps of rank $r wait for no gradients" \
            test "$(calls $r nccl_urgent_reduce)" -gt 0
    done
done
ways=("--dtype fp16 --set train.clip_norm=0.05" "--set train.optimizer=lars --set train.accumulate=2"
    "--set train.accumulate=3 --set train.clip_norm=0.05 --set train.class_weights=1,3")
[ -z "${EXHAUSTIVE:-}" ] || ways+=("--dtype fp16 --set train.class_weights=1,3"
    "--set train.class_weights=1,3 --set train.accumulate=2" "--set train.clip_norm=0.05"
    "--set train.optimizer=lamb")
for how in "${ways[@]}"; do
    case $how in
    *fp16*) tolerance=3e-4 ;; # cuDNN rounds the gradients of weights to fp16
    *) tolerance=1e-4 ;;
    esac
    # shellcheck disable=SC2086 # options
    ok "1 GPU $how" "${train[@]}" --epochs 2 --set model.batch_norm=none --batch-size 6 $how \
        --out how-1
    # shellcheck disable=SC2086
    ok "2 GPUs $how" processes --epochs 2 --set model.batch_norm=none --batch-size 3 $how \
        --out how-2
    ok "the weights are the same" close how-1 how-2
    rm -rf how-1 how-2
done
# 50 images in steps of at most 8, so of 7 or 8, on 7 ranks: in 1 of 7 steps a rank has two.
many=(--set data.dir=fifty --set data.split=fifty.json --set model.base=2 --set model.depth=1
    --epochs 3 --set train.global_batch=8 --set train.optimizer=sgd --lr 0.05)
ok "more data" unet-train data synth --out fifty --count 62 --size 32x32 --seed 3
ok "their split" unet-train data split --data fifty --out fifty.json
ok "1 GPU trains steps of 8" "${train[@]}" "${many[@]}" --out many-1
nranks=7
export EMULATE_GPUS=7
ok "7 GPUs share them" processes "${many[@]}" --out many-7
ok "the weights are the same" close many-1 many-7
for ((r = 0; r < nranks; r++)); do
    echo "$(calls "$r" cudaGraphLaunch) $(calls "$r" cudaGraphInstantiateWithFlags)"
done >launches
is "$(awk '$1 < 19' launches)" "" "each rank replays 19 of 21 steps"
is "$(awk '$2 > 5' launches)" "" "by two graphs, one of them captured anew as memory moved"
nranks=2
unset EMULATE_GPUS
ok "1 rank of NCCL" "${train[@]}" --set train.comm=nccl --epochs 2 --set model.batch_norm=none \
    --batch-size 6 --out single
ok "a run on 1 GPU is trained" \
    "${train[@]}" --epochs 2 --set model.batch_norm=none --batch-size 6 --out single-self
is "$(field single/DONE weights_sha256)" "$(field single-self/DONE weights_sha256)" \
    "the weights are equal to the last bit"

# ---- what cannot be captured
# Choosing an engine captures it: the first run keeps the choices for the others.
own=(--epochs 2 --set model.batch_norm=sync --batch-size 6 --set train.deterministic=false)
ok "a run that chooses engines" processes "${own[@]}" --out own
rm -r own
ok "a run with its choices" processes "${own[@]}" --out own
weights=$(field own/DONE weights_sha256)
for r in 0 1; do replays[r]=$(calls $r cudaGraphLaunch); done # 4 steps; the rest are predictions
faults=("1 cudaStreamBeginCapture" "0 cudaGraphUpload")
[ -z "${EXHAUSTIVE:-}" ] ||
    faults+=("0 cudaStreamEndCapture" "1 cudaGraphInstantiateWithFlags")
for fault in "${faults[@]}"; do
    with=()
    with[${fault% *}]="EMULATE_FAULT=${fault#* } 1"
    ok "rank ${fault% *}'s ${fault#* } fails" processes "${own[@]}" --out uncaptured
    is "$(grep -c 'warning: a step cannot be captured .*: .*UNET_CAPTURE=off' "$ERR")" 1 \
        "it warns once, and names the switch"
    is "$(field uncaptured/DONE weights_sha256)" "$weights" "the result is the same"
    for r in 0 1; do
        ok "rank $r replays no step" test "$(calls $r cudaGraphLaunch)" -le $((replays[r] - 4))
    done
    rm -rf uncaptured
done
exits 0 "a single GPU whose capture fails" env "EMULATE_FAULT=cudaGraphInstantiateWithFlags 1" \
    "${train[@]}" --epochs 2 --batch-size 6 --out uncaptured
is "$(grep -c 'warning: a step cannot be captured' "$ERR")" 1 "it warns once"
ok "the same by capture" "${train[@]}" --epochs 2 --batch-size 6 --out captured
is "$(field uncaptured/DONE weights_sha256)" "$(field captured/DONE weights_sha256)" \
    "the weights are equal to the last bit"
exits 5 "a GPU that another process has for itself" env "EMULATE_FAULT=cudaSetDevice 1" \
    "${train[@]}" --epochs 1 --out unavailable
like "$ERR" 'error: GPU 0: another process has it for itself alone, .*ask for a GPU of your own$' \
    "one line says so"
with=([1]=NCCL_GRAPH_REGISTER=1)
processes "${own[@]}" --out registers
is $? 5 "NCCL registers the buffers of graphs where the user says so, which is not emulated"
like "$ERR" 'error: .*NCCL: a step .*UNET_CAPTURE=off' "the error names the switch"
with=([0]=$'NCCL_GRAPH_REGISTER=1\nUNET_CAPTURE=off' [1]=NCCL_GRAPH_REGISTER=1)
ok "one rank's UNET_CAPTURE=off is for all" processes "${own[@]}" --out off
is "$(field off/DONE weights_sha256)" "$weights" "the result is the same"

# ---- the environment of NCCL, and other releases
unset with
like own/record.jsonl '"nccl_settings":"NCCL_LAUNCH_ORDER_IMPLICIT=1 NCCL_GRAPH_REGISTER=0"' \
    "the record has what NCCL was given"
ok "a deterministic run" processes "${own[@]}" --set train.deterministic=true --out ring
like ring/record.jsonl '"nccl_settings":"NCCL_LAUNCH_ORDER_IMPLICIT=1 NCCL_ALGO=Ring NCCL_GRAPH_REGISTER=0"' \
    "it sums in rings"
unlike 0.err 'by one communicator' "two communicators are used"
for how in NCCL_LAUNCH_ORDER_IMPLICIT=0 $'NCCL_LAUNCH_ORDER_IMPLICIT=0\nUNET_CAPTURE=off'; do
    with=([1]=$how)
    ok "one rank's ${how//$'\n'/, }" processes "${own[@]}" --out one-link
    is "$(field one-link/DONE weights_sha256)" "$weights" "the result is the same"
    like 0.err 'NCCL 2\.27\.3 connects 2 ranks by one communicator' "both use one communicator"
    rm -rf one-link
done
with=([0]=EMULATE_NCCL=22504 [1]=$'EMULATE_NCCL=22504\nNCCL_ALGO=Tree')
ok "NCCL 2.25" processes "${own[@]}" --out older
like older/record.jsonl '"nccl_settings":"NCCL_GRAPH_REGISTER=0"' \
    "it does not know the variable"
is "$(field older/DONE weights_sha256)" "$weights" "the result is the same"
with=([1]=EMULATE_NCCL=22504)
processes "${own[@]}" --out differ
is $? 5 "ranks with different NCCL are refused"
like "$ERR" "error: rank 1 on $host has NCCL 2.25.4, rank 0 on $host has 2.27.3; load the same" \
    "one line says so"
is "$(grep -c 'error:' "$ERR")" 1 "only one"
exits 0 "devices" "$emulated" devices
like "$OUT" '^NCCL  *NCCL_LAUNCH_ORDER_IMPLICIT=1 NCCL_GRAPH_REGISTER=0$' "they show the variables"

# ---- two ranks on one GPU
with=([0]=$'UNET_SHARE_GPU=1\nNCCL_HOSTID=a' [1]=$'UNET_SHARE_GPU=1\nNCCL_HOSTID=b')
GPU=0
ok "two ranks share a GPU" processes "${own[@]}" --out one-gpu
is "$(field one-gpu/DONE weights_sha256)" "$weights" "the weights are equal to the last bit"
with=([0]=UNET_SHARE_GPU=1 [1]=UNET_SHARE_GPU=1)
processes "${own[@]}" --out one-host
is $? 5 "NCCL refuses that on one host"
like "$ERR" 'error: .*Duplicate GPU' "the error is NCCL's"
unset GPU with

# ---- left at a checkpoint, and continued
long=(--epochs 40 --set model.batch_norm=sync --batch-size 6 --gpus 2 --dtype fp16)
"${train[@]}" "${long[@]}" --out left >"$OUT" 2>"$ERR" &
leaving=$!
ok "a run is training" wait_until 60 grep -q '"kind":"epoch","epoch":2' left/record.jsonl
kill -USR1 $leaving
wait $leaving
is $? 75 "a run that gets SIGUSR1 ends with exit code 75"
ok "it ends long before the last" test "$(grep -c '"kind":"epoch"' left/record.jsonl)" -lt 40
ok "it is continued" "${train[@]}" "${long[@]}" --out left
ok "the same run without interruption" "${train[@]}" "${long[@]}" --out whole
is "$(field left/DONE weights_sha256)" "$(field whole/DONE weights_sha256)" \
    "the weights are equal to the last bit"

# ---- trouble
port=$((port + 2))
rank 0 --epochs 1 --out nodriver
SLURM_JOB_GPUS=1 EMULATE_DRIVER=0 rank 1 --epochs 1 --out nodriver
wait "${ranks[0]}"
is $? 5 "a rank on a node without a driver ends all"
wait "${ranks[1]}"
is $? 5 "itself, too"
like nodriver/FAILED "rank 1 on $host: .*there is no NVIDIA driver" "FAILED has rank and reason"
port=$((port + 2))
rank 0 --epochs 1 --out kinds
EMULATE_NAME="Other GPU" EMULATE_CAPABILITY=75 rank 1 --epochs 1 --out kinds
wait "${ranks[0]}"
is $? 0 "two kinds of GPUs train together"
like 0.err "warning: rank 1 on $host computes on Other GPU, rank 0 on Emulated GPU: .*constraint" \
    "a warning names both and what to do"
like kinds/record.jsonl '"device":"Emulated GPU . Other GPU"' "the record has both"
like 0.err 'in tf32$' "rank 0 has tf32"
like 0.err 'train.dtype auto is f32: the GPU of another rank' "it reports that the other has not"
like kinds/record.jsonl '"dtype":"f32"' "all compute in f32"
wait "${ranks[1]}"
port=$((port + 2))
GPU=0 rank 0 --epochs 1 --out same
GPU=0 rank 1 --epochs 1 --out same
wait "${ranks[0]}"
is $? 5 "two processes on one GPU are refused"
wait "${ranks[1]}"
cat 0.err 1.err >"$ERR"
like "$ERR" 'ranks? .*1 .*GPU' "the error names both ranks"
exits 5 "without a cluster spec" env PMI_SIZE=2 PMI_RANK=0 "${train[@]}" --set train.comm=nccl \
    --epochs 1 --out lost
like "$ERR" 'TF_CONFIG is not set' "the error says so"
exits 3 "sums by MPI" env PMI_SIZE=2 PMI_RANK=0 "${train[@]}" --set train.comm=mpi --epochs 1 --out lost
like "$ERR" 'train.comm: mpi sums on the CPU, and several GPUs need nccl; use auto' "are not for GPUs"
exits 3 "NCCL without a GPU" unet-train train --data data --backend ref --set train.comm=nccl \
    --size 32x32 --out none
is "$(pgrep -f -- "--out .*$TMP/" | wc -l)" 0 "no process is left"
done_testing
