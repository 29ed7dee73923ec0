#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints a table in Markdown of our step on this machine's GPU beside PyTorch's. Runs unattended for
# at most 8 minutes. Needs gcc with C++, nvcc and make, for PyTorch's columns python3 with torch,
# and no network.
#
#   bench/gpu/run.sh [FOLDER for programs and measurements: plain-build]
#
# Cases that exceed the time or the GPU's memory are shown as a dash, with the reason below the
# table. CUDA=DIR and PYTHON=PROGRAM replace /usr/local/cuda and python3.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-plain-build} cuda=${CUDA:-/usr/local/cuda} python=${PYTHON:-python3}
limit=470 # seconds, of everything
say() { echo "bench/gpu/run.sh: $*" >&2; }
left() { echo $((limit - SECONDS)); }

if ! gpus=$(timeout -k 5 60 nvidia-smi --query-gpu=name,compute_cap,memory.total --format=csv,noheader 2>&1) || [ -z "$gpus" ]; then
    say "there is no GPU on this machine: nvidia-smi says: ${gpus:-nothing}; nothing was measured"
    exit 77
fi
for tool in gcc make "$cuda/bin/nvcc"; do
    command -v "$tool" >/dev/null || { say "$tool is missing (CUDA=DIR names another CUDA)"; exit 1; }
done
gcc -x c++ -fsyntax-only - </dev/null 2>/dev/null || { say "gcc has no C++ here, which nvcc needs (g++)"; exit 1; }
IFS=, read -r name capability memory <<<"$(head -n 1 <<<"$gpus")"
arch=$(tr -d '. ' <<<"$capability")
mkdir -p "$folder" || exit 1
: >"$folder/gpu.jsonl"
: >"$folder/gpu.notes"
if ! timeout 150 make -j"$(nproc)" -f bench/gpu/plain/Makefile B="$folder" CUDA="$cuda" ARCH="$arch" >"$folder/make.log" 2>&1; then
    tail -n 20 "$folder/make.log" >&2
    say "the build failed or took more than 150 s: $folder/make.log"
    exit 1
fi
say "built in $SECONDS s"

if ! torch=$("$python" -c 'import torch; print(torch.__version__); assert torch.cuda.is_available(), "PyTorch sees no GPU"' 2>"$folder/why"); then
    echo "PyTorch: $(tail -n 1 "$folder/why")" >>"$folder/gpu.notes"
    torch=
fi

# PyTorch's cuDNN is used if the system has none; its timings are kept in the folder.
if libraries=$("$python" bench/gpu/libraries.py) && [ -n "$libraries" ]; then
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries
fi
XDG_CACHE_HOME=$PWD/$folder
[[ $folder == /* ]] && XDG_CACHE_HOME=$folder
export XDG_CACHE_HOME

# Runs one measurement and appends its line to gpu.jsonl.
measure() { # WHAT SECONDS COMMAND...
    local what=$1 most=$2
    shift 2
    if [ "$(left)" -lt 5 ]; then
        echo "$what: no time left" >>"$folder/gpu.notes"
        return
    fi
    [ "$(left)" -lt "$most" ] && most=$(left)
    timeout -k 5 "$most" "$@" >"$folder/line" 2>"$folder/why"
    local code=$?
    if [ $code = 0 ]; then
        tail -n 1 "$folder/line" >>"$folder/gpu.jsonl"
        [[ $what == ours* ]] && sed -n 's/^.*warning: //p' "$folder/why" | sed "s/^/$what: /" >>"$folder/gpu.notes"
    elif [ $code = 124 ] || [ $code = 137 ]; then
        echo "$what: more than $most s" >>"$folder/gpu.notes"
    else
        echo "$what: $(tail -n 1 "$folder/why")" >>"$folder/gpu.notes"
    fi
}

# The cases that take PyTorch longest come last.
cases=('8 768x1024 16 20' '64 256x256 16 10' '16 128x128 4 200')
each_case() { # WHAT...: for each case
    local mode case words
    for mode in train infer; do
        for case in "${cases[@]}"; do
            read -ra words <<<"$case"
            "$@" $mode "${words[@]}"
        done
    done
}
measure_ours() { # DTYPE MODE BASE SIZE BATCH STEPS
    measure "ours in $1, ${*:2}" 60 "$folder/step" cuda "${@:2}" "$1"
}
measure_torch() { # WAY MODE BASE SIZE BATCH STEPS
    measure "PyTorch $1, ${*:2}" 60 "$python" bench/gpu/step_torch.py "$@"
}
for dtype in f32 tf32 bf16; do
    each_case measure_ours $dtype
done
for way in fp32 amp compile; do
    [ -n "$torch" ] && each_case measure_torch $way
done

field() { sed -n "s/.*\"$2\": *\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" <<<"$1"; }
line_of() { # BACKEND MODE BASE SIZE BATCH [TYPE]
    grep -E "\"backend\": ?\"$1\".*\"mode\": ?\"$2\".*${6:+\"dtype\": ?\"$6\".*}\"base\": ?$3,.*\"height\": ?${4%x*},.*\"width\": ?${4#*x},.*\"batch\": ?$5," \
        "$folder/gpu.jsonl" | tail -n 1
}
{
    echo "$name,$memory, compute capability $capability; CUDA $("$cuda/bin/nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')${torch:+, PyTorch $torch}; $(date -u +%F). Images a second."
    echo
    echo '| step | ours f32 | ours tf32 | ours bf16 | least time of f32 by the plan, share of ours | PyTorch fp32 | PyTorch bf16 AMP, channels_last | the same, torch.compile |'
    echo '|---|---|---|---|---|---|---|---|'
    for mode in train infer; do
        for case in "${cases[@]}"; do
            read -r base size batch _ <<<"$case"
            own=$(line_of cuda $mode "$base" "$size" "$batch" f32)
            row="| $mode, base $base, $size, batch $batch | $(field "$own" img_per_s) | "
            for dtype in tf32 bf16; do
                row+="$(field "$(line_of cuda $mode "$base" "$size" "$batch" $dtype)" img_per_s) | "
            done
            row+=$(awk -v f="$(field "$own" flop)" -v b="$(field "$own" bytes)" -v pf="$(field "$own" peak_flop)" \
                -v pb="$(field "$own" peak_bytes)" -v s="$(field "$own" step_s)" 'BEGIN {
                    if (!(pf > 0 && pb > 0 && s > 0)) exit
                    least = f / pf > b / pb ? f / pf : b / pb
                    printf "%.3f ms, %.1f %%", 1e3 * least, 100 * least / s }')
            for way in fp32 amp compile; do
                row+=" | $(field "$(line_of torch-$way $mode "$base" "$size" "$batch")" img_per_s)"
            done
            sed 's/|  |/| - |/g; s/|  |/| - |/g' <<<"$row |"
        done
    done
    [ -s "$folder/gpu.notes" ] && { echo; sed 's/^/- /' "$folder/gpu.notes"; }
} | tee "$folder/gpu.md"
say "took $SECONDS s; lines in $folder/gpu.jsonl, the table in $folder/gpu.md"
grep -q '"backend":"cuda"' "$folder/gpu.jsonl"
