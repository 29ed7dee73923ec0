#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/gpu/visit from end to end with emulated GPUs and packed programs, in a root that has glibc,
# bash, coreutils and Python only; and the programs for a real GPU start there. VISIT_ROOT names a
# root of another system to use.
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

# ---- all phases, with emulated GPUs
exits 0 "packed for the emulation" "$srcdir/bench/gpu/pack" emulated "$root/tree/gpu-visit"
exits 1 "all phases" visit --small
grep -o '"phase": "[a-z_]*", "kind": "phase".*' "$root/out/results.jsonl" | diag
ok "at most 8 files come back" test "$(find "$root/out" -type f | wc -l)" -le 8
for what in 'steps in bf16' 'every op' 'whole networks' 'losses, cpu and bf16' 'NCCL, two ranks' \
    'losses, one and two'; do
    like "$root/out/results.jsonl" "\"kind\": \"checks\", \"what\": \"$what\"" "$what"
done
is "$(grep '"failure"' "$root/out/results.jsonl" | grep -cvE 'PyTorch|there is no ncu')" 0 \
    "nothing fails but what is not there"
is "$(find /proc/[0-9]*/root -maxdepth 0 -lname "$root" 2>/dev/null | wc -l)" 0 "no process is left"

# ---- PyTorch's side, on the CPU
if "$python" -c 'import torch' 2>"$ERR"; then
    mkdir out
    exits 1 "PyTorch's steps" env OUT="$TMP/out" OMP_NUM_THREADS=1 PYTHON="$python" \
        "$srcdir/bench/gpu/visit" --small --programs "$root/tree/gpu-visit" --phases steps
    is "$(grep -cE '"who": "torch (eager|tf32)"' out/results.jsonl)" 8 "each is measured"
else
    skip "$python has no torch" "PyTorch's steps"
fi
done_testing
