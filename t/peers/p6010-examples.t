#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The studies of examples/ on a real private Slurm of 2-GPU nodes, with 1, 2, 3 (as 2+1) and 4 ranks:
# each program as people write it, with its own log. What is not installed is skipped. EXAMPLES="jax
# gromacs" chooses.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 2 --gpus-per-node 2
[ "$(unetctl sandbox status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])')" = netns ] ||
    skip_all "the nodes of this sandbox have no names of their own"

mend_torch
example() { # NAME NEEDS UNIT QUALITY: submitted with 1 to 4 ranks, collected and reported
    local name=$1 need begun=$SECONDS
    case " ${EXAMPLES:-$name} " in *" $name "*) ;; *) return ;; esac
    for need in $2; do
        if ! has "$need"; then
            skip "$need is not installed, or not importable: $(tail -n 1 "$ERR")" "$name"
            return
        fi
    done
    cp -r "$srcdir/examples/$name" .
    sed -i "s|^  script: ./train.py|&\n  python: $(command -v python3)\n  env: {PYTHONPATH: $TMP/mended, OMP_NUM_THREADS: 1}|" \
        "$name/study.yaml"
    if [ "$name" = mpi-heat ]; then mpicc -O2 -o mpi-heat/heat mpi-heat/heat.c -lm; fi
    if [ "$name" = gromacs ]; then gromacs/water.sh >water.log 2>&1 || diag <water.log; fi
    exits 0 "$name: 1 to 4 ranks" unetctl submit -C "$name" --site sandbox --gpus 1..4 --wait --timeout 900
    if ! all_states "$name" COMPLETED; then tail -n 15 "$name"/runs/*/attempt-1/*.out | diag; fi
    exits 0 "$name: collect" unetctl collect -C "$name"
    exits 0 "$name: report" unetctl report -C "$name" --json "$name.json" --text
    sed "s/^/# $name: /" "$OUT"
    unlike "$OUT" 'IoU|[Ii]mages' "$name: the report speaks of neither images nor IoU"
    is "$(field "$name.json" '[p["gpus"] for s in d["engines"] for p in s["points"]]')" "[1, 2, 3, 4]" \
        "$name: one series of 4 counts"
    is "$(field <(results) 'd')" "4 $3 $4" "$name: work and quality of each run"
    echo "# $name: $((SECONDS - begun)) s"
}
# "N UNIT QUALITY": runs that have a rate, and names of the unit and of the quality
results() {
    python3 - "$name/logs/results.csv" <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
rated = [r for r in rows if float(r["images_per_s"] or 0) > 0]
print(json.dumps(" ".join([str(len(rated)), *{r["unit"] for r in rows}, *{r["metric"] or "-" for r in rows}])))
END
}
example pytorch-ddp torch samples val_loss
example lightning pytorch_lightning samples val_loss
example jax jax samples val_loss
example hugging-face "transformers accelerate" tokens eval_loss
example mpi-heat mpicc cells -
example gromacs "gmx gmx_mpi" ns -

# ---- accelerate launch as the interpreter: its options with the ranks of unetctl
accelerated() {
    mkdir accelerated
    cat >accelerated/train.py <<'END'
import torch
from accelerate import Accelerator
a = Accelerator()
total = a.reduce(torch.tensor([float(a.process_index)])).item()
print("rank", a.process_index, "of", a.num_processes, "local", a.local_process_index, a.mixed_precision, total, flush=True)
if a.is_main_process:
    print("step 1 seconds 1\nstep 2 seconds 2")
END
    cat >accelerated/study.yaml <<END
name: accelerated
engine: pytorch
pytorch:
  script: ./train.py
  python: $(command -v accelerate) launch --num_processes=1 --num_machines=1 --cpu --mixed_precision=bf16
log: {pattern: 'step (?<step>\d+) seconds (?<elapsed>\d+)'}
END
    exits 0 "accelerate launch" unetctl submit -C accelerated --site sandbox --gpus 3 --wait --timeout 600
    is "$(grep -h '^rank' accelerated/runs/*/attempt-1/*.out | sort)" \
        "rank 0 of 3 local 0 bf16 3.0
rank 1 of 3 local 1 bf16 3.0
rank 2 of 3 local 0 bf16 3.0" "has 3 ranks as 2+1 and the precision of its option"
}
case " ${EXAMPLES:-accelerated} " in *" accelerated "*)
    if has accelerate; then accelerated; else skip "accelerate is not installed" "accelerate launch"; fi ;;
esac

# ---- DeepSpeed: its processes are those of engine pytorch
deepspeed_ranks() {
    mkdir deepspeed
    cat >deepspeed/train.py <<'END'
import os, time
import deepspeed, torch
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False # compiled at the start, with PyTorch's headers
deepspeed.init_distributed(dist_backend="gloo")
net = torch.nn.Linear(16, 1)
engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config={
    "train_micro_batch_size_per_gpu": 8,
    "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}}})
rank, begun = deepspeed.comm.get_rank(), time.time()
torch.manual_seed(rank)
for step in range(1, 6):
    engine.backward((engine(torch.randn(8, 16)) ** 2).mean())
    engine.step()
    if rank == 0:
        print(f"step {step} seconds {time.time() - begun:.6f}", flush=True)
print("rank", rank, "of", deepspeed.comm.get_world_size(), "local", engine.local_rank,
      "weights %.6f" % net.weight.sum().item(), flush=True)
END
    cat >deepspeed/study.yaml <<END
name: deepspeed
engine: pytorch
pytorch:
  script: ./train.py
  python: $(command -v python3)
  env: {PYTHONPATH: $TMP/mended, OMP_NUM_THREADS: 1, DS_ACCELERATOR: cpu}
log: {pattern: 'step (?<step>\d+) seconds (?<elapsed>\S+)'}
END
    exits 0 "DeepSpeed" unetctl submit -C deepspeed --site sandbox --gpus 3 --wait --timeout 600
    grep -h '^rank' deepspeed/runs/*/attempt-1/*.out | sort >ranks
    is "$(sed 's/ weights.*//' ranks)" "rank 0 of 3 local 0
rank 1 of 3 local 1
rank 2 of 3 local 0" "has 3 ranks as 2+1"
    is "$(sed 's/.* weights//' ranks | sort -u | wc -l)" 1 "whose weights are the same after 5 steps of different data"
}
case " ${EXAMPLES:-deepspeed} " in *" deepspeed "*)
    if has deepspeed; then deepspeed_ranks; else skip "deepspeed is not installed" "DeepSpeed"; fi ;;
esac
done_testing
