#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/gpu/visit from end to end: both calls with emulated GPUs and packed programs, in a root that
# has glibc, bash, coreutils and Python only, with a program that hangs and one that crashes; and
# the programs for a real GPU start there. VISIT_ROOT names a root of another system to use.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

python=$(readlink -f /usr/bin/python3)
[ -x "$python" ] || skip_all "there is no /usr/bin/python3"
unshare --mount --pid --fork true 2>/dev/null || skip_all "no rights to enter another root"
export PYTHONDONTWRITEBYTECODE=1

# ---- a root with nothing else
root=$TMP/root
copy() { # FILE...: with the libraries that it needs
    local file
    for file in "$@" $(ldd "$@" | grep -o '/[^ :)]*' | sort -u); do
        [ -e "$root$file" ] || { mkdir -p "$root${file%/*}" && cp -L "$file" "$root$file"; }
    done
}
make_root() {
    local tool
    mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/lib64"
    ln -s usr/bin "$root/bin"
    ln -s usr/lib "$root/lib"
    copy "$(readlink -f /lib64/ld-linux-x86-64.so.2)" /usr/bin/bash "$python"
    cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
    for tool in env cat ls sleep mkdir rm uname; do copy "/usr/bin/$tool"; done
    ln -s bash "$root/usr/bin/sh"
    ln -s "${python##*/}" "$root/usr/bin/python3"
    cp -r "/usr/lib/${python##*/}" "$root/usr/lib/"
    copy "/usr/lib/${python##*/}"/lib-dynload/*.so
}
if [ -n "${VISIT_ROOT:-}" ]; then
    root=$VISIT_ROOT
else
    make_root
fi
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/tree/bench" "$root/out"
cp -r "$srcdir/bench/gpu" "$root/tree/bench/"
# shellcheck disable=SC2016 # expanded there
there() { # COMMAND...: in the root, with an empty environment
    unshare --mount --net --pid --fork bash -c 'ip link set lo up && mount -t proc proc "$1/proc" &&
        mount --bind /dev "$1/dev" && root=$1 && shift && exec env -i /usr/sbin/chroot "$root" "$@"' bash \
        "$root" "$@"
}
# OUT and what makes the emulation quick.
visit() { there /usr/bin/env PATH=/usr/bin OUT=/out UNET_CUDNN=only OMP_NUM_THREADS=1 \
    OMP_WAIT_POLICY=passive /tree/bench/gpu/visit "$@"; }
ok "nothing else is there" there /usr/bin/bash -c '! command -v gcc && ! command -v nvidia-smi'

# ---- the programs for a GPU
if [ -x "$builddir/trainer/backends/cuda/test/gpu.t" ]; then
    exits 0 "packed for a GPU" "$srcdir/bench/gpu/pack" gpu "$root/tree/gpu-visit"
    like "$OUT" '^bench/gpu/pack: .*: [0-9]+ MB$' "... its size: $(cut -d: -f3 "$OUT")"
    exits 0 "unet-train starts where there is nothing" there /usr/bin/env \
        LD_LIBRARY_PATH=/tree/gpu-visit/lib:/tree/gpu-visit/lib/cxx \
        /tree/gpu-visit/bin/unet-train devices
    like "$OUT" 'GPU +none: there is no NVIDIA driver' "and finds no driver"
    exits 77 "a visit without a GPU" visit
    is "$(cat "$ERR")" "bench/gpu/visit: there is no GPU on this machine: there is no NVIDIA $(
    )driver on this machine (libcuda.so.1)" "one line says why"
    rm -rf "$root/tree/gpu-visit"
else
    skip "this build has no CUDA" "packed for a GPU"
fi

# ---- both calls, with emulated GPUs
exits 0 "packed for the emulation" "$srcdir/bench/gpu/pack" emulated "$root/tree/gpu-visit"
printf '#!/bin/bash\ntrap "" TERM\nwhile :; do sleep 0.2; done\n' >"$root/tree/gpu-visit/bin/cudnn_real"
# shellcheck disable=SC2016 # its own process
printf '#!/bin/bash\nkill -SEGV $$\n' >"$root/tree/gpu-visit/bin/comm_nccl"
chmod +x "$root/tree/gpu-visit/bin/"{cudnn_real,comm_nccl}
call() { # NUMBER SECONDS OPTIONS...
    local began=$SECONDS
    exits 1 "call $1" visit --small "${@:3}" "$1"
    ok "ends in time: $((SECONDS - began)) s" test $((SECONDS - began)) -le "$2"
    grep -o '"phase": "[a-z_]*", "kind": "phase".*' "$root/out/results.jsonl" | diag
    ok "at most 8 files come back" test "$(find "$root/out" -type f | wc -l)" -le 8
    is "$(find "$root/out" -size +16M)" "" "none has more than 16 MiB"
}
call 1 480
mv "$root/out/results.jsonl" "$root/first.jsonl"
rm "$root/out/"*
call 2 240 --first /first.jsonl

# Failures that must be there, and no others.
expected='nvidia-smi: No such file or directory
correctness: cuDNN takes our descriptors: (stopped after|no time was left)
ranks: NCCL, (ranks: [12]|two ranks on one GPU): ended by SIGSEGV
PyTorch(: | cannot)
there is no (ncu|compute-sanitizer)'
grep '^- call' "$root/out/failures.md" >failures
while read -r line; do
    like failures "$line" "listed: $line"
done <<<"$expected"
is "$(grep -vE "$(paste -sd'|' <<<"$expected")" failures)" "" "nothing else failed"
for what in 'steps in bf16' 'whole networks' 'losses of 3 steps in f32' 'losses of 3 steps in bf16' \
    'every op' 'none norm, two ranks, UNET_CAPTURE=on' 'sync norm, two ranks, UNET_CAPTURE=off' \
    'a killed rank is named by the other' 'stopped and resumed: the same weights'; do
    like "$root/out/table.md" "^- $what.*: [1-9][0-9]* checks passed" "$what"
done
for who in cpu bf16 f32; do
    like "$root/out/table.md" "^- training, $who: IoU 0\.[0-9]+ after 2 epochs" "a training: $who"
done
is "$(grep -cE '^\| base [0-9]+, [0-9x]+, batch 2 \| [0-9.]+ \| - \| - \| [0-9.]+ \| [0-9.]+ \|' \
    "$root/out/table.md")" 8 "every step of ours was measured"
is "$(find /proc/[0-9]*/root -maxdepth 0 -lname "$root" 2>/dev/null | wc -l)" 0 "no process is left"

# ---- PyTorch's side, on the CPU
if "$python" -c 'import torch' 2>"$ERR"; then
    exits 1 "PyTorch's steps" env OUT="$TMP/out" OMP_NUM_THREADS=1 PYTHON="$python" \
        "$srcdir/bench/gpu/visit" --small --programs "$root/tree/gpu-visit" --phases torch_times \
        --limit 120
    is "$(grep -cE '"who": "torch (eager|tf32)"' out/results.jsonl)" 16 "each is measured"
    is "$(grep -c '"kind": "failure"' out/results.jsonl)" 8 "a CUDA graph of each fails on the CPU"
else
    skip "$python has no torch" "PyTorch's steps"
fi
done_testing
