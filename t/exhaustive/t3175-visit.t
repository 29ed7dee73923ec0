#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/gpu/visit with emulated GPUs, around programs that hang, crash or are missing, and on
# machines that are not as they should be. In a bare root: t/exhaustive/t3177-visit.t.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

command -v python3 >/dev/null || skip_all "there is no python3"
emulated=$builddir/trainer/backends/cuda/test
[ -x "$emulated/unet-train" ] || skip_all "the unit tests are not built (make check-build)"
visit=$srcdir/bench/gpu/visit
unset UNET_GPUS
export UNET_CUDNN=only OMP_NUM_THREADS=1

# A Python without torch.
mkdir bin programs out
ln -s "$emulated/unet-train" programs/unet-train
printf '#!/bin/sh\nexec %s -S "$@"\n' "$(command -v python3)" >bin/python-bare
chmod +x bin/*
export PYTHON=$TMP/bin/python-bare
result() { like out/results.jsonl "$1" "$2"; }

# ---- where there is no GPU
exits 77 "no GPU" env CUDA_VISIBLE_DEVICES='' OUT="$TMP/out" "$visit" --programs programs
is "$(cat "$ERR")" "bench/gpu/visit: there is no GPU on this machine: CUDA: $(
    CUDA_VISIBLE_DEVICES='' programs/unet-train devices --json | sed 's/.*"why_none":"CUDA: //; s/".*//')" \
    "one line says why"
exits 1 "no programs" env OUT="$TMP/out" "$visit" --programs empty
like "$ERR" 'empty has no unet-train: make gpu-visit packs it' "one line says so"
exits 1 "an unknown phase" "$visit" --phases smoke,nothing --programs programs
like "$ERR" '--phases nothing: there are smoke, opcheck' "the error lists all"

# ---- programs that hang, crash and are missing; the others still run
rm -f out/*
cat >programs/opcheck <<END
#!/bin/bash
sleep 1234.$$ &
exec kill -SEGV \$\$
END
printf '#!/bin/sh\necho "1..0 # skip no GPU"\n' >programs/network
chmod +x programs/opcheck programs/network
exits 1 "phases" env OUT="$TMP/out" "$visit" --small --programs programs \
    --phases opcheck,smoke,steps,images,ranks,ncu
result '"phase": "opcheck", "kind": "failure", "error": "every op: ended by SIGSEGV' "a crash"
result '"phase": "opcheck", "kind": "failure", "error": "whole networks: skipped: no GPU"' "a skip"
result '"phase": "smoke", "kind": "checks", "what": "steps in bf16"' "three steps"
result '"phase": "steps", "kind": "failure", "error": "PyTorch eager: .*No module named .torch' \
    "PyTorch is missing"
is "$(grep -cE '"who": "ours (bf16|tf32|f32)", "mode": "(train|infer)".*"step_s": [0-9]' \
    out/results.jsonl)" 12 "every step of ours is measured"
result '"phase": "images", "kind": "checks", "what": "losses, cpu and bf16"' "losses are the CPU's"
result '"phase": "ranks", "kind": "failure", "error": ".*has no comm_nccl: make gpu-visit' \
    "a missing program"
result '"phase": "ranks", "kind": "checks", "what": "losses, one and two"' "two ranks learn as one"
result '"phase": "ncu", "kind": "failure", "error": "there is no ncu' "ncu is missing"
is "$(grep -c '"kind": "phase"' out/results.jsonl)" 6 "each phase has its time"
is "$(pgrep -f "sleep 1234\.$$" | wc -l)" 0 "no process is left"

# ---- a program that hangs; ncu; a folder that is full
cat >bin/ncu <<'END'
#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
echo '"0","conv","1"' >"$2"
END
chmod +x bin/ncu
rm out/*
exits 0 "ncu" env PATH="$TMP/bin:$PATH" OUT="$TMP/out" "$visit" --small --programs programs \
    --phases ncu
like out/ncu.csv conv "its counts are kept"
sed 's/30, "unet-train", \*self.bench/1, "unet-train", *self.bench/' "$visit" >quick
# shellcheck disable=SC2016 # its own arguments
printf '#!/bin/sh\n[ "$1" = devices ] && exec "%s" "$@"\nsleep 60\n' "$emulated/unet-train" >programs/late
mv programs/late programs/unet-train
chmod +x quick programs/unet-train
exits 1 "a program that hangs" env OUT="$TMP/out" python3 quick --small --programs programs \
    --phases smoke
result '"error": "steps: stopped after 1 s"' "is stopped"
exits 1 "an OUT that cannot be written" env OUT="$TMP/lost" python3 quick --programs programs \
    --small --phases smoke
like "$OUT" '"error": "OUT=.*/lost: No such file or directory; results are only printed"' "one line"
is "$(grep -c 'only printed' "$OUT")" 1 "no more"
done_testing
