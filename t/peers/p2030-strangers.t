#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs as a stranger has them: a DDP script, a Lightning module, a Hugging Face Trainer and
# LAMMPS's melt, each begun by one line of init from its own command line and a log of it, on a real
# private Slurm of 2-GPU nodes. What unetctl says of each run is compared with what the run printed.
# What is not installed is skipped. STRANGERS="ddp melt" chooses, COUNTS="1,3" the numbers of ranks.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 2 --gpus-per-node 2
[ "$(unetctl sandbox status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mode"])')" = netns ] ||
    skip_all "the nodes of this sandbox have no names of their own"
mend_torch
counts=${COUNTS:-1..4}
run=(env "PYTHONPATH=$TMP/mended" OMP_NUM_THREADS=1 python3)

cat >ddp.py <<'END'
import os, sys, time
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
torch.manual_seed(0)
x = torch.randn(1920, 64)
data = TensorDataset(x, (x @ torch.randn(64, 1)).tanh())
loader = DataLoader(data, batch_size=32, sampler=DistributedSampler(data))
net = DDP(torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
begun = time.time()
for epoch in range(1, int(sys.argv[1]) + 1):
    total = 0
    for inputs, targets in loader:
        loss = ((net(inputs) - targets) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        time.sleep(0.005)
    if dist.get_rank() == 0:
        print(f"Epoch {epoch}/{sys.argv[1]}: loss {total / len(loader):.4f}, elapsed {time.time() - begun:.4f} s, "
              f"{dist.get_world_size()} ranks", flush=True)
END
cat >lit.py <<'END'
import os, time
import pytorch_lightning as L
import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

def data(n, size):
    x = torch.randn(n, 32)
    set = TensorDataset(x, (x[:, 0] > 0).long())
    return DataLoader(set, batch_size=size, sampler=DistributedSampler(set))

class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(32, 2)
    def training_step(self, batch, _):
        time.sleep(0.005)
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
    def validation_step(self, batch, _):
        out = self.net(batch[0])
        self.log("val_acc", (out.argmax(1) == batch[1]).float().mean(), sync_dist=True)
    def train_dataloader(self): return data(960, 16)
    def val_dataloader(self): return data(256, 64)
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), 1e-2)

class Clock(L.Callback):
    def on_train_start(self, *_): self.begun = time.time()
    def on_train_epoch_end(self, trainer, _):
        if trainer.is_global_zero:
            print(f"epoch={trainer.current_epoch + 1} time={time.time() - self.begun:.4f} "
                  f"val_acc={trainer.callback_metrics['val_acc']:.4f} on {trainer.world_size} ranks", flush=True)

L.seed_everything(0)
L.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", strategy="ddp", max_epochs=3,
          devices=int(os.environ.get("LOCAL_WORLD_SIZE", 1)), num_nodes=int(os.environ.get("UNETCTL_NODES", 1)),
          callbacks=[Clock()], enable_progress_bar=False, enable_checkpointing=False, logger=False).fit(Net())
END
cat >hf.py <<'END'
import os
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, TrainerCallback

class Data(torch.utils.data.Dataset):
    def __init__(self, n): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, i):
        ids = (torch.arange(32) + i) % 8
        return {"input_ids": ids, "labels": ids}

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=32, n_layer=1, n_head=2, bos_token_id=0,
                                   eos_token_id=0))
trainer = Trainer(model, TrainingArguments(
    os.environ.get("UNETCTL_ATTEMPT_DIR", "out"), per_device_train_batch_size=8, num_train_epochs=2, logging_steps=5,
    save_strategy="no", report_to=[], use_cpu=not torch.cuda.is_available(), dataloader_pin_memory=False,
    include_num_input_tokens_seen=True), train_dataset=Data(480), eval_dataset=Data(64))
trainer.train()
trainer.evaluate()
trainer.save_state()
print("of", trainer.args.world_size, "ranks", flush=True)
END
cat >in.melt <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
run 200
END

# What the runs printed, by hand: "RANKS N, EPOCHS OR UNITS, SECONDS OR SPEED, QUALITY" of each, in
# the words of this program, beside what results.csv says of it.
cat >compare.py <<'END'
import csv, glob, json, re, sys
kind, folder = sys.argv[1:]
def near(a, b): return abs(a - b) <= 1e-3 * abs(b)
for row in csv.DictReader(open(f"{folder}/logs/results.csv")):
    attempt = f"{folder}/runs/{row['run']}/attempt-1"
    text = "".join(open(f, errors="replace").read() for f in glob.glob(f"{attempt}/slurm-*.out"))
    value = lambda name: float(row[name] or "nan")
    if kind in ("ddp", "lit"):
        rows = re.findall(r"(?:elapsed |time=)([0-9.]+)(?:.*?val_acc=([0-9.]+))?.* (\d+) ranks", text)
        ranks, ok = rows[-1][2], int(value("epochs")) == len(rows) and near(value("training_time"), float(rows[-1][0]))
        ok &= kind == "ddp" or abs(float(row["accuracy"] or row["quality"]) - float(rows[-1][1])) < 1e-4
    elif kind == "hf":
        history = json.load(open(f"{attempt}/trainer_state.json"))["log_history"]
        last = [h for h in history if "train_runtime" in h][-1]
        ranks = re.search(r"of (\d+) ranks", text)[1]
        tokens = last.get("num_input_tokens_seen", history[-1].get("num_input_tokens_seen"))
        ok = near(value("training_time"), last["train_runtime"]) and near(value("images_per_s"), tokens / last["train_runtime"])
        ok &= abs(value("quality") - [h["eval_loss"] for h in history if "eval_loss" in h][-1]) < 1e-4
    else:
        ranks = re.search(r"(\d+) MPI tasks", text)[1]
        ok = near(value("images_per_s") * 86400, float(re.search(r"([0-9.]+) tau/day", text)[1]))
    print(row["run"][-6:-3], row["state"], ranks, "ranks", "agrees" if ok else dict(row))
END

stranger() { # NAME NEEDS LOG-COMMAND LOG INIT-WORDS...: the study
    local name=$1 need log=$4 begun=$SECONDS
    case " ${STRANGERS:-$name} " in *" $name "*) ;; *) return ;; esac
    for need in $2; do
        has "$need" || { skip "$need is not installed, or not importable: $(tail -n 1 "$ERR")" "$name" && return; }
    done
    ok "$name: by hand" bash -c "$3"
    exits 0 "$name: init" unetctl init "st-$name" --site sandbox --try "$log" "${@:5}"
    sed "s/^/# /" "$OUT" "$ERR"
    exits 0 "$name: plan" unetctl plan -C "st-$name" --gpus "$counts"
    exits 0 "$name: submit" unetctl submit -C "st-$name" --gpus "$counts" --wait --timeout 900
    if ! all_states "st-$name" COMPLETED; then tail -n 15 "st-$name"/runs/*/attempt-1/*.out | diag; fi
    exits 0 "$name: collect" unetctl collect -C "st-$name"
    python3 compare.py "$name" "st-$name" >"$OUT" 2>"$ERR" || diag <"$ERR"
    is "$(sed 's/g0\(.\) done \(.\) ranks agrees/\1=\2/' "$OUT" | paste -sd' ')" \
        "$(unetctl plan -C "st-$name" --gpus "$counts" --json | python3 -c '
import json, sys
print(*("{0}={0}".format(r["gpus"]) for r in json.load(sys.stdin)["runs"]))')" "$name: results agree with what as many ranks as GPUs printed"
    exits 0 "$name: report" unetctl report -C "st-$name" --text
    sed "s/^/# $name: /" "$OUT"
    unlike "$OUT" 'IoU|[Ii]mages|\bnan\b' "$name: the report speaks of no images"
    like "$OUT" 'No GPU was used' "$name: and of its fake GPUs"
    echo "# $name: $((SECONDS - begun)) s"
}
launch=(-m torch.distributed.run)
stranger ddp torch "${run[*]} -m torch.distributed.run --nnodes=1 --nproc_per_node=1 --master_port=29751 ddp.py 3 >ddp.log" \
    ddp.log -- "${run[@]}" "${launch[@]}" --nnodes=1 --nproc_per_node=4 ddp.py 3
# Lightning 2.6 refuses 2+1 itself: devices times num_nodes has to be the number of ranks.
counts=${COUNTS:-1,2,4} stranger lit pytorch_lightning "WORLD_SIZE=1 RANK=0 LOCAL_RANK=0 MASTER_ADDR=localhost MASTER_PORT=29752 ${run[*]} lit.py >lit.log" \
    lit.log --engine pytorch -- "${run[@]}" lit.py
stranger hf "transformers accelerate" "${run[*]} hf.py" \
    out/trainer_state.json --engine pytorch -- "${run[@]}" hf.py
stranger melt lmp "lmp -in in.melt >melt.log" melt.log -- mpirun -np 4 lmp -in in.melt
done_testing
