#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/gpu/visit around programs that hang, crash or are missing, and on machines that are not as
# they should be. The whole of it is rehearsed by t/exhaustive/t3177-visit.t.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

command -v python3 >/dev/null || skip_all "there is no python3"
emulated=$builddir/trainer/backends/cuda/test
[ -x "$emulated/unet-train" ] || skip_all "the unit tests are not built (make check-build)"
visit=$srcdir/bench/gpu/visit
unset UNET_GPUS
export UNET_CUDNN=only UNET_CUDA_KERNELS=untried OMP_NUM_THREADS=1

# A Python without torch, and nvidia-smi of a GPU with errors that another process uses.
mkdir bin programs out
ln -s "$emulated/unet-train" programs/unet-train
printf '#!/bin/sh\nexec %s -S "$@"\n' "$(command -v python3)" >bin/python-bare
cat >bin/nvidia-smi <<'END'
#!/bin/sh
case $1 in
-L) echo "GPU 0: a GPU (UUID: GPU-0)" ;;
--query-gpu=*) echo "a GPU, 580.1, 81559 MiB, 345 MHz, 1980 MHz, 700 W, 30, 3, Disabled" ;;
--query-compute-apps=*) echo "4711, python, 40000 MiB" ;;
esac
END
chmod +x bin/*
export PYTHON=$TMP/bin/python-bare
failure() { like out/failures.md "^- call 1, $1" "$2"; }

# ---- where there is no GPU
exits 77 "no GPU" env CUDA_VISIBLE_DEVICES='' OUT="$TMP/out" "$visit" --programs programs
is "$(cat "$ERR")" "bench/gpu/visit: there is no GPU on this machine: CUDA: $(
    CUDA_VISIBLE_DEVICES='' programs/unet-train devices --json | sed 's/.*"why_none":"CUDA: //; s/".*//')" \
    "one line says why"
if command -v nvidia-smi >/dev/null; then
    skip "this machine may have a GPU" "neither programs nor nvidia-smi"
else
    exits 77 "neither programs nor nvidia-smi" env OUT="$TMP/out" "$visit" --programs empty
    like "$ERR" 'no GPU was found on this machine: .*/empty has no unet-train: make gpu-visit packs it' \
        "it says so"
fi
exits 2 "an unknown call" "$visit" 3
exits 1 "an unknown phase" "$visit" --phases smoke,nothing --programs programs
like "$ERR" '--phases nothing: there are environment, smoke' "the error lists all"

# ---- programs that hang and crash
cat >programs/network <<END
#!/bin/bash
[ "\$1" != --list ] || { echo 1; exit; }
trap "" TERM
setsid sleep 1234.$$ &
while :; do sleep 0.2; done
END
printf '#!/bin/sh\nkill -SEGV $$\n' >programs/cudnn_real
chmod +x programs/network programs/cudnn_real
began=$SECONDS
exits 1 "a program that hangs and one that crashes" env OUT="$TMP/out" "$visit" --small \
    --programs programs --phases correctness,smoke --limit 18
ok "end in time" test $((SECONDS - began)) -le 20
failure "correctness: whole networks, part 1: stopped after" "what hung is listed"
failure "correctness: cuDNN takes our descriptors: ended by SIGSEGV" \
    "what crashed is listed, with its signal"
like out/table.md '^- steps in bf16: 1 checks passed' "the next phase ran"
is "$(pgrep -f "sleep 1234\.$$" | wc -l)" 0 "no process is left, nor one in a session of its own"
is "$(grep -c '"kind": "phase"' out/results.jsonl)" 2 "both phases have their time"

# ---- a step that fails with a switch on
rm out/*
exits 1 "replays that fail" env OUT="$TMP/out" EMULATE_FAULT="cudaGraphLaunch 1" "$visit" --small \
    --programs programs --phases smoke --limit 60
failure "smoke: steps in bf16: unet-train: error: .*cudaGraphLaunch .*failed" "their error is listed"
failure "smoke: steps in bf16: it passes with UNET_CAPTURE=off; the phases" "the switch is found"

# ---- machines that are not as they should be
rm out/*
exits 1 "another process, ECC errors, no torch" env PATH="$TMP/bin:$PATH" OUT="$TMP/out" "$visit" \
    --programs programs --phases environment,torch_times --small --limit 40 --first lost.jsonl
failure "environment: the GPU: 3 uncorrected ECC errors" "ECC errors are one line"
failure "environment: the GPU: another process uses it: 4711, python, 40000 MiB" "a process is one"
failure "environment: PyTorch: .*No module named 'torch'" "a missing torch is one"
failure "torch_times: torch_times: PyTorch cannot be used" "and so is what needed it"
failure "start: results of the first call: lost.jsonl: No such file" "a lost file is one"
is "$(grep -c "^- call" out/failures.md)" 5 "there are no others"
exits 1 "a driver that is too old, and no OUT" env PATH="$TMP/bin:$PATH" EMULATE_DRIVER=12020 \
    "$visit" --programs programs --phases smoke,environment --small --limit 40
like "$OUT" '^- call 1, start: unet-train: .*the driver serves CUDA up to 12.2' "the driver is one line"
like "$OUT" '^- call 1, start: results: OUT is not set; results are only printed' "OUT is one"
like "$OUT" '"phase": "environment", "kind": "machine"' "the other phases ran"
mkdir tiny
full() { unshare -m sh -c 'mount -t tmpfs -o size=68k tmpfs tiny &&
    head -c 60000 /dev/zero >tiny/0 && exec "$@"' sh env OUT="$TMP/tiny" "$visit" "$@"; }
if unshare -m true 2>/dev/null; then
    exits 1 "an OUT that is full" full --programs programs --phases smoke --small --limit 40
    like "$OUT" '^- call 1, start: results: OUT=.*: No space left on device' "it is one line"
    like "$OUT" '^- steps in bf16: 1 checks passed' "results are printed"
else
    skip "no rights to mount" "an OUT that is full"
fi

# ---- tables
cat >results.jsonl <<'END'
{"call":1,"phase":"","kind":"devices","found":{"devices":[{"kind":"gpu","name":"NVIDIA H100 80GB HBM3"}],"cuda":{"runtime":13000,"cudnn":91900,"nccl":22809}}}
{"call":1,"phase":"ours_times","kind":"time","who":"ours bf16","mode":"train","case":[8,768,1024,16],"step_s":0.5,"flop":1,"bytes":1}
{"call":2,"phase":"again","kind":"time","who":"ours bf16","mode":"train","case":[8,768,1024,16],"step_s":0.01,"flop":869.1e9,"bytes":14.5e9}
{"call":1,"phase":"torch_times","kind":"time","who":"torch graph","mode":"train","case":[8,768,1024,16],"step_s":0.02}
{"call":1,"phase":"torch_times","kind":"time","who":"torch eager","mode":"train","case":[8,768,1024,16],"step_s":0.03}
{"call":1,"phase":"profile","kind":"kernel","which":"counted","name":"add","launches":2,"gpu__time_duration.sum":3000,"dram__bytes_read.sum":2e6,"dram__bytes_write.sum":1e6,"smsp__inst_executed.sum":1100000}
{"call":1,"phase":"smoke","kind":"failure","what":"one step","error":"it broke"}
{"call":1,"phase":"smoke","kind":"fai
END
mkdir -p packed/counts
n=0
for kernel in add add adam add add adam; do
    printf 'launch\t%s\t7\t256\t0\t8\t%d\t0\t0\t0\t0\t%d\t%d\n' $kernel \
        $((n += 500000)) $((n / 5)) $((n / 10))
done >packed/counts/8-256x256-2-bf16
echo '{"steps":[{"case":"base 8, 768x1024, batch 16","dtype":"bf16","gpu":"H100","ours_ms":9.87}]}' \
    >packed/predicted.json
exits 0 "tables of results" "$visit" --programs packed --tables results.jsonl
like "$OUT" '^NVIDIA H100 80GB HBM3, CUDA 13.0' "the GPU"
like "$OUT" '^\| base 8, 768x1024, batch 16 \| 10 \| 4.83, 48 % \| 9.87 \| - \| - \| 30 \| 20 \| 2.00 \|' \
    "our step: the last measurement, the roofline's share, the prediction, and PyTorch's best"
like "$OUT" '^\| `add` \| 2 / 2 \| 3.0 \| 0 \| 3 / [0-9.]+ \| 1.1e\+06 / ' "a kernel beside its counts"
like "$OUT" '^- call 1, smoke: one step: it broke' "failures"

# ncu's output, with a column or a row for each metric.
printf '==PROF== Connected\n"ID","Kernel Name","dram__bytes_read.sum"\n"","","byte"\n' >wide
printf '"0","void add<int>(float *)","1,000"\n"1","void add<int>(float *)","24"\n' >>wide
printf '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n' >long
printf '"%d","add(float *)","%s.sum","x","%d"\n' 0 dram__bytes_read 1000 0 gpu__time_duration 5 \
    1 dram__bytes_read 24 1 gpu__time_duration 6 >>long
exits 0 "ncu's output is read" env PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH="$srcdir/bench/gpu:$srcdir/bench/gpu/visitlib" python3 - <<'PY'
from reading import read_ncu
wide, long = (read_ncu(open(name).read())["add"] for name in ("wide", "long"))
assert wide == {"launches": 2, "dram__bytes_read.sum": 1024}, wide
assert long == {**wide, "gpu__time_duration.sum": 11}, long
assert read_ncu("==ERROR== no permission") == {}
PY
done_testing
