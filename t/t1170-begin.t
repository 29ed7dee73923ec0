#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study of a program, made from its own command line: launchers, interpreters and wrappers among
# its words, scripts for several ranks, its logs, and what a run executes. No framework is needed.
# shellcheck disable=SC2016 # words that no shell may expand
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/study.sh"
without_pictures

# Stand-ins: a launcher that logs its words and starts as many ranks as they say, and programs that
# only have to exist.
mkdir -p bin venv/bin pkg python "it's a"
cat >bin/torchrun <<'EOT'
#!/bin/sh
echo "$0 $*" >>"$UNETCTL_ATTEMPT_DIR/words"
n=1
while [ "${1#-}" != "$1" ]; do
    case $1 in
    --nproc_per_node=*) n=${1#*=} ;;
    --max_restarts) shift ;;
    esac
    shift
done
i=0
while [ $i -lt "$n" ]; do LOCAL_RANK=$i RANK=$i python3 "$@" || exit; i=$((i + 1)); done
EOT
for name in accelerate deepspeed julia mpirun srun uv conda apptainer numactl nsys wrap a.prog; do
    printf '#!/bin/sh\n' >bin/$name
done
chmod +x bin/*
PATH=$TMP/bin:$PATH
ln -s "$(command -v python3)" venv/bin/python
cat >train.py <<'EOT'
import os
import sys
import torch.distributed as dist
EOT
cat >plain.py <<'EOT'
import os, sys
with open(os.environ["UNETCTL_ATTEMPT_DIR"] + "/rank-" + os.environ["RANK"], "w") as f:
    print(*map(repr, sys.argv[1:]), os.environ.get("UNETCTL_TRAIN_BATCH_PER_GPU"),
          *["elastic"] * (os.environ.get("TORCHELASTIC_RUN_ID", "") != ""), file=f)
with open(os.environ["UNETCTL_ATTEMPT_DIR"] + "/log.csv", "w") as f:
    f.write("epoch,epoch_time\n0,0.5\n1,0.5\n")
EOT
cp plain.py pkg/train.py
printf '#!/bin/sh\n' >a.out && chmod +x a.out

# Prints what study.yaml says is run, one "KEY VALUE" a line, of a study made with these words.
begin() { # INIT WORDS...
    rm -rf st
    unetctl init st --site local "$@" 2>"$ERR" || cat "$ERR"
    sed -n 's/ *# .*//; s/^engine: /engine /p; s/^  \(script\|args\|python\|env\): /\1 /p' \
        st/study.yaml 2>/dev/null |
        sed "s,$TMP/,,g; s,$TMP,.,g; s,script $python,script PYTHON," | paste -sd '|'
}
python=$(command -v python3)
while IFS= read -r words && IFS= read -r want; do
    eval "set -- $words"
    is "$(begin -- "$@")" "${want#    }" "init -- $words"
done <<'EOT'
torchrun --nproc_per_node=4 --nnodes 2 train.py --lr 1
    engine torchrun|script train.py|args ["--lr", "1"]|python torchrun
torchrun --standalone --nproc-per-node 4 --max_restarts 3 train.py
    engine torchrun|script train.py|args []|python "torchrun --max_restarts 3"
python3 -m torch.distributed.run --nproc_per_node 4 train.py
    engine torchrun|script train.py|args []|python "python3 -m torch.distributed.run"
torchrun --nproc_per_node 4 -m pkg.train 5
    engine torchrun|script pkg/train.py|args ["5"]|python "torchrun -m pkg.train"|env {"PYTHONPATH": "."}
accelerate launch --num_processes 4 --mixed_precision bf16 train.py
    engine torchrun|script train.py|args []|python "accelerate launch --mixed_precision bf16"
deepspeed --num_gpus 4 train.py --deepspeed ds.json
    engine pytorch|script train.py|args ["--deepspeed", "ds.json"]|python python3
deepspeed --num_gpus 4 --module pkg.train 5
    engine pytorch|script pkg/train.py|args ["5"]|python "python3 -m pkg.train"|env {"PYTHONPATH": "."}
python3 -m accelerate.commands.launch --num_processes 4 train.py
    engine torchrun|script train.py|args []|python "python3 -m accelerate.commands.launch"
mpirun -np 4 julia --project plain.py
    engine mpi|script bin/julia|args ["--project", "plain.py"]
apptainer run --nv a.out
    engine command|script bin/apptainer|args ["run", "--nv", "a.out"]
apptainer run --nv a.out plain.py
    engine command|script bin/apptainer|args ["run", "--nv", "a.out", "plain.py"]
mpirun -np 4 --bind-to core -x A=1 ./a.out 1
    engine mpi|script a.out|args ["1"]
mpirun -np 4 a.prog -in in.melt
    engine mpi|script bin/a.prog|args ["-in", "in.melt"]
mpirun -np 4 python3 train.py
    engine pytorch|script train.py|args []|python python3
srun -n 4 --cpu-bind=cores ./a.out
    engine mpi|script a.out|args []
python3 plain.py 'a  b' '$HOME "q"' "it's" '{{seed}}' ''
    engine command|script PYTHON|args ["plain.py", "a  b", "$HOME \"q\"", "it's", "{{seed}}", ""]
./venv/bin/python plain.py
    engine command|script venv/bin/python|args ["plain.py"]
uv run plain.py
    engine command|script bin/uv|args ["run", "plain.py"]
numactl --cpunodebind=0 ./a.out
    engine command|script bin/numactl|args ["--cpunodebind=0", "a.out"]
python3 -m pkg.train
    engine command|script PYTHON|args ["-m", "pkg.train"]|env {"PYTHONPATH": "."}
EOT
begin -- accelerate launch --num_processes 4 --mixed_precision bf16 --gpu_ids=all train.py >"$OUT"
like "$ERR" "left out: --num_processes 4 --gpu_ids=all; unetctl fills in the numbers of each run$" \
    "the words that unetctl sets are listed"
begin -- mpirun -np 4 --bind-to core -x A=1 ./a.out 1 >"$OUT"
like "$ERR" 'left out: mpirun -np 4 --bind-to core -x A=1; unetctl starts the ranks' \
    "so are those of a launcher that is taken off"

like "$ERR" 'variables of the ranks belong in study.yaml: mpi: .env: ' "with the place of variables"
for words in '--export=ALL,A=1' '--export A=1' '--export=ALL'; do
    # shellcheck disable=SC2086 # words
    begin -- srun $words -n 2 ./a.out >"$OUT"
    is "$words $(grep -c 'variables of the ranks' "$ERR")" "$words $(grep -c A= <<<"$words")" \
        "srun's $words"
done
like <(begin -- ./a.out --config=plain.py --out pkg --x=none) \
    'args \["--config=plain.py", "--out", "pkg", "--x=none"\]' "files behind = have their path, too"
like st/study.yaml '"--config=/.*/plain.py", "--out", "/.*/pkg"' "which is absolute"
like "$ERR" 'made absolute, .*: --config=plain.py, pkg .a folder, which all runs share.; correct ' \
    "one line names the words"
begin -- bash -c './a.out <train.py --to plain.py --model x | tee out; cd .' >"$OUT"
like "$ERR" 'its own folder and does not find ./a.out, train.py, plain.py; write absolute paths$' \
    "files in the text of a shell are named"
begin -- bash -c "cd $TMP && ./a.out" >"$OUT"
unlike "$ERR" 'does not find' "unless it goes to a folder first"
begin -- ./a.out '{{stepz}}' '{{steps}}' >"$OUT"
is "$(grep -c 'plan will refuse' "$ERR")" 1 "an unknown marker is named"
like "$ERR" "'\{\{stepz\}\}'; did you mean '\{\{steps\}\}'\? .*template list.* has all; markers: " \
    "with those that there are, and how braces are written"
begin -- ./a.out --nodes=2 '>' out '2>&1' '&' >"$OUT"
is "$(grep -o "warning: --nodes=2\|gets '.*' as" "$ERR" | paste -sd' ')" \
    "warning: --nodes=2 gets '>' as gets '2>&1' as gets '&' as" "words for a shell, and nodes"

# ---- words that --engine gets
is "$(begin --engine pytorch -- venv/bin/python -u plain.py --lr 1)" \
    'engine pytorch|script plain.py|args ["--lr", "1"]|python "venv/bin/python -u"' \
    "--engine pytorch -- WORDS: interpreter, script and arguments; the link stays"
is "$(begin --engine pytorch -- "it's a/../plain.py" 1)" \
    "engine pytorch|script \"it's a/../plain.py\"|args [\"1\"]|python python3" "a script alone"
is "$(begin --engine torchrun -- apptainer exec --nv img.sif python3 -m pkg.train)" \
    'engine torchrun|script pkg/train.py|args []|python "apptainer exec --nv img.sif python3 -m '\
'pkg.train"|env {"PYTHONPATH": "."}' \
    "a wrapper and a module"
is "$(begin --engine command -- mpirun -np '{{gpus}}' ./a.out)" \
    'engine command|script bin/mpirun|args ["-np", "{{gpus}}", "a.out"]' \
    "--engine command keeps a launcher as the user's own program"

# ---- a script that is for several ranks is not guessed at
lines=0
while IFS='|' read -r engine line; do
    printf 'import os\n# import torch.distributed\n%s\n' "$line" >seen.py
    rm -rf st
    unetctl init st --site local -- env A=1 python3 seen.py '$x' 2>"$ERR" || diag <"$ERR"
    if [ -z "$engine" ]; then
        unlike "$ERR" 'several ranks' "not for several ranks: $line"
    else
        like "$ERR" "seen.py:3 has .*; unetctl init st --engine $engine -- env A=1 .* '.x'$" \
            "seen: $line"
    fi
    lines=$((lines + 1))
done <<'EOT'
pytorch|import torch.distributed as dist
pytorch|from torch.nn.parallel import DistributedDataParallel as DDP
pytorch|    torch.distributed.init_process_group("nccl")
pytorch|from lightning import Trainer
pytorch|import pytorch_lightning as pl
pytorch|import lightning.pytorch as pl
pytorch|from accelerate import Accelerator
pytorch|from transformers import Trainer, TrainingArguments
horovod|import horovod.torch as hvd
tensorflow|strategy = tf.distribute.MultiWorkerMirroredStrategy()
jax|jax.distributed.initialize()
mpi|from mpi4py import MPI
|strategy = tf.distribute.MirroredStrategy()
|from my_lightning_tools import Trainer
|import lightningbolt
|print("accelerate")
EOT
is "$lines" 16 "all lines were tried"
printf '#!/bin/bash -l\nset -e\n  exec srun -n 4 ./a.out 1 # all\n' >job
begin -- bash job >"$OUT"
like "$ERR" 'job:3 starts ranks by srun, .*; name that command: rm .*; unetctl init st -- srun '\
'-n 4 ./a.out 1 *$' \
    "nor is a shell script that starts ranks"
printf '#!/bin/sh\ncd . && A=1 torchrun --nproc_per_node 4 a.py\n' >job
begin -- bash -e job >"$OUT"
like "$ERR" 'job:2 starts ranks by torchrun, ' "behind other commands and variables, too"
begin -- bash -lc 'A=1 torchrun --nproc_per_node=4 seen.py' >"$OUT"
like "$ERR" "seen.py' starts ranks by torchrun, .*; unetctl init st -- torchrun --nproc_per_node=4" \
    "and a shell's text that starts ranks"
begin -- env CUDA_VISIBLE_DEVICES=0,1 python3 seen.py --num_nodes 2 >"$OUT"
is "$(sed -n 's/.*warning: \(.*\) is the same in each run.*/\1/p' "$ERR" | paste -sd'|')" \
    "--num_nodes 2|CUDA_VISIBLE_DEVICES=0,1" "words that fix the nodes or the GPUs are named"
printf 'if "CUDA_VISIBLE_DEVICES" == "":\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' >seen.py
begin --engine pytorch -- python3 seen.py --gpus 4 --devices=1 trainer.devices=2 --batch 8 >"$OUT"
like "$ERR" 'seen.py:2 sets CUDA_VISIBLE_DEVICES: ranks see the GPUs that it names, not those of '\
'their run' \
    "a script that chooses GPUs is named"
is "$(sed -n 's/.*warning: \(.*\) is the same in each run.*/\1/p' "$ERR" | paste -sd'|')" \
    "--gpus 4|trainer.devices=2" "and so are words that are a number of GPUs"
begin -- bash -c 'cd . && python3 seen.py --gpus 4 --trainer.devices=2 --batch 8 | tee out' >"$OUT"
is "$(sed -n 's/.*warning: \(.*\) is the same in each run.*/\1/p' "$ERR" | paste -sd'|')" \
    "--gpus 4|--trainer.devices=2" "also in the text of a shell"
printf 'import torch.distributed\n' >seen.py
rm -rf st
unetctl init st --site local -- python3 seen.py 2>"$ERR"
exits 0 "plan of a rank that gets several GPUs" unetctl plan -C st --gpus 1..3
like "$ERR" 'seen.py:1 has torch.distributed, .*type: unetctl init /.*/st-ranks --engine pytorch '\
'-- /.*python3 /.*/seen.py$' \
    "says what was seen and which command to type"
exits 0 "plan of one GPU" unetctl plan -C st --gpus 1
unlike "$ERR" 'several' "says nothing of it"
rm -rf st
unetctl init st --site local -- ./a.out 2>"$ERR"
exits 0 "plan of another program" unetctl plan -C st --gpus 1..3
like "$ERR" 'engine command starts one rank on a node: on 2, 3 GPUs it has several GPUs' \
    "names the rank that gets several GPUs"
exits 0 "plan of a run on two nodes" unetctl plan -C st --gpus 3,4 --site generic
like "$ERR" 'engine command: on 3, 4 GPUs a run has several nodes, and the program starts once '\
'for each GPU; .*only counts that one node has \(2 GPUs here\)' \
    "says that the program starts several times"
exits 0 "its plan with ranks of its own choice" unetctl plan -C st --gpus 3 --site generic \
    --set strategy=multi-worker
unlike "$ERR" 'several nodes' "says nothing"

# ---- bad words: one line, and nothing is left
bad() { # TEXT REGEX INIT WORDS...
    local text=$1 regex=$2
    shift 2
    rm -rf st
    unetctl init st --site local "$@" >"$OUT" 2>"$ERR"
    is "$? $(grep -c . "$ERR")" "${code:-3} 1" "$text is refused by one line"
    like "$ERR" "$regex" "$text: the line says why"
    ok "$text: nothing is left" test ! -e st
}
bad "two launchers" 'srun ... torchrun: two launchers of ranks; leave srun out' \
    -- srun -n 2 torchrun --nproc_per_node 2 train.py
code=2 bad "a launcher that is not known" 'name the script: --engine pytorch' -- composer -n 4 seen.py
bad "accelerate on CPUs" 'accelerate ... --cpu starts one rank, .*--engine pytorch' \
    -- accelerate launch --cpu --num_processes 2 train.py
for words in 'python3 nothing.py' 'srun -n 2 python3 nothing.py' 'torchrun nothing.py' \
    'accelerate launch nothing.py'; do
    # shellcheck disable=SC2086 # words
    bad "$words" '-- nothing.py: there is no such script$' -- $words
done
for words in nothing 'srun -n 2 nothing' 'mpirun -np 2 nothing'; do
    # shellcheck disable=SC2086 # words
    bad "$words" '-- nothing: no folder of PATH has this program; load its module or environment first, or give its path, such as ./nothing$' \
        -- $words
done
bad "a command in quotes" "-- 'python3 train.py': type its words without quotes" \
    -- 'python3 train.py'
bad "a variable" "-- 'A=1': write 'env NAME=VALUE PROGRAM'" -- A=1 python3 train.py
code=2 bad "sbatch" '-- sbatch ...: unetctl submits the jobs; name the command' -- sbatch run.sh
code=2 bad "several programs" '-- mpirun ... : ...: several programs in one run' \
    -- mpirun -np 1 ./a.out : -np 3 ./a.out
bad "a path of srun's that is missing" '-- ./nothing: there is no such program$' -- srun ./nothing
bad "a script that is a folder" 'pkg: it is a folder' -- python3 pkg
bad "an interpreter that is missing" './no/python3: there is no such program' -- ./no/python3 \
    train.py
bad "a module that is missing" 'm pkg.nothing: neither this folder nor PYTHONPATH' \
    --engine pytorch -- python3 -m pkg.nothing
bad "a program of engine pytorch that is no script" \
    'a.out: engine pytorch runs a script of Python' \
    --engine pytorch -- ./a.out
code=2 bad "a launcher without a program" 'torchrun ....+names no program or script' \
    -- torchrun --nproc_per_node 4
rm bin/wrap && mkdir bin/wrap
bad "a folder on PATH" 'wrap: no folder of PATH has this program' -- wrap train.py
bad "an engine that is named torch" "did you mean 'pytorch'" --engine torch -- python3 plain.py
rm -rf st
unetctl init st --site local --engine pytorch -- venv/bin/python plain.py 2>"$ERR"
mv venv away
exits 3 "an interpreter that is gone is refused by plan" unetctl plan -C st --gpus 2
like "$ERR" 'pytorch.python: /.*/venv/bin/python is not a program; correct it, or load it by a '\
'line of pytorch.setup$' \
    "the line names it"
mv away venv
exits 3 "a script that is a folder is refused by plan" unetctl plan -C st --gpus 2 \
    --set pytorch.script=./pkg
like "$ERR" 'pytorch.script: /.*/pkg is a folder; name the file that is run$' "the line names it"

# ---- runs
rm -rf st bin/mpirun
hash -r
unetctl init st --site local --set train.global_batch=12 -- \
    torchrun --nproc_per_node=8 --max_restarts 3 plain.py 'a  b' '$x"y"' 2>"$ERR"
if command -v mpirun >"$OUT"; then
    exits 0 "runs of torchrun" unetctl submit -C st --gpus 1,3 --wait --timeout 60
    attempt=st/runs/torchrun-g03-s1/attempt-1
    is "$(sed 's/--master.*plain/plain/; s,^[^ ]*/,,' $attempt/words)" \
        'torchrun --max_restarts 3 --nnodes=1 --node_rank=0 --nproc_per_node=3 plain.py a  b $x"y"' \
        "torchrun gets its words and the numbers of the run"
    is "$(cat $attempt/rank-*)" "'a  b' '\$x\"y\"' 4
'a  b' '\$x\"y\"' 4
'a  b' '\$x\"y\"' 4" "each rank gets the words as they were typed"
else
    skip "mpirun is not installed" "runs of torchrun"
fi
rm -rf st
unetctl init st --site local --engine pytorch -- plain.py 2>"$ERR"
exits 0 "a run of pytorch" unetctl submit -C st --gpus 1 --wait --timeout 60
is "$(cat st/runs/*/attempt-1/rank-0)" "None elastic" \
    "looks like torchrun's, which Lightning looks for"

# What run_file.sh starts.
started() { # INIT WORDS...
    rm -rf st
    unetctl init st --site local "$@" 2>"$ERR"
    unetctl generate -C st --gpus 2 2>"$ERR" || cat "$ERR"
    tail -n 1 st/runs/*/run_file.sh | sed "s,$TMP/,,g"
}
at='--master_addr=$MASTER_ADDR --master_port=$MASTER_PORT'
counts='--nnodes=$UNETCTL_NODES --node_rank=$GROUP_RANK --nproc_per_node=$LOCAL_WORLD_SIZE'
is "$(started -- accelerate launch --num_processes 4 --mixed_precision bf16 plain.py 1)" \
    '$start accelerate launch --mixed_precision bf16 --num_machines=$UNETCTL_NODES'\
' --machine_rank=$GROUP_RANK'\
' --num_processes=$((UNETCTL_NODES * LOCAL_WORLD_SIZE)) --main_process_ip=$MASTER_ADDR'\
' --main_process_port=$MASTER_PORT $([ $WORLD_SIZE = 1 ] || [ -e "${HF_HOME:-$HOME/.cache/'\
'huggingface}/accelerate/default_config.yaml" ] || echo --multi_gpu) plain.py 1' \
    "accelerate gets the numbers of the run"
is "$(started -- accelerate launch --multi_gpu --use_fsdp plain.py 1 | sed 's/.*_PORT//')" \
    ' plain.py 1' \
    "and no word against a way of its own"
exits 3 "a launcher of one rank in study.yaml is refused by plan" unetctl plan -C st --gpus 2 \
    --set "torchrun.python=accelerate launch --cpu"
like "$ERR" 'study.yaml: torchrun.python: accelerate ... --cpu starts one rank' "with its key"
is "$(started -- torchrun --nproc_per_node 4 --tee 3 -m pkg.train 1)" \
    "\$start torchrun --tee 3 $counts $at -m pkg.train 1" "a module stays one"
is "$(started --engine torchrun -- python3 -m pkg.train 1)" \
    "\$start python3 -m torch.distributed.run $counts $at -m pkg.train 1" "also of a plain Python"
is "$(started --engine pytorch -- python3 -u -m pkg.train 1)" \
    '$start python3 -u -m pkg.train 1' "and of the engine pytorch"
is "$(started --engine pytorch -- numactl -C '0 1' python3 plain.py)" \
    "\$start numactl -C '0 1' python3 plain.py" "a wrapper keeps a word with a blank"

# ---- the batch
printf '#!/bin/sh\nprintf "epoch,epoch_time\\n0,1\\n1,1\\n" >"$UNETCTL_ATTEMPT_DIR/log.csv"\necho '\
'"$UNETCTL_TRAIN_BATCH_PER_GPU $*" >"$UNETCTL_ATTEMPT_DIR/words"\n' >a.out
rm -rf st
unetctl init st --site local -- ./a.out '{{batch_per_gpu}}' '{{global_batch}}' 2>"$ERR"
exits 3 "counts that do not divide the batch are refused by plan" unetctl plan -C st --gpus 1..4
like "$ERR" 'study.yaml:[0-9]+: 3 GPUs cannot share train.global_batch 16 equally, as engine '\
'command needs; type --gpus 1,2,4, or set another' \
    "with those that do"
ok "runs that share a batch" unetctl submit -C st --gpus 1,2,4 --wait --timeout 60
is "$(cat st/runs/*/attempt-1/words)" "16 16 16
8 8 16
4 4 16" "markers and variable are the share of a GPU, and the batch of all is constant"
batch='list(d["train"].values())'
is "$(for n in 1 2 4; do field st/runs/command-g0$n-s1/run.json "$batch"; done)" \
    "[16, 16]
[8, 16]
[4, 16]" "run.json has both"
sed -i 's/"batch_per_gpu": .*,/"batch_per_gpu": 16,/; s/"global_batch": 16/"global_batch": 0/' \
    st/runs/*/run.json
exits 3 "a study whose runs gave the batch to each GPU is refused" unetctl submit -C st --gpus 1
like "$ERR" 'study.yaml:[0-9]+: train.global_batch 16 is the batch of all GPUs, and run '\
'command-g01-s1 began with 16 for each GPU; set train.batch_per_gpu: 16 and train.global_batch: 0 '\
'to continue' \
    "by one line"
sed -i 's/global_batch: 16/global_batch: 0\n  batch_per_gpu: 16/' st/study.yaml
exits 0 "what it says to set" unetctl submit -C st --gpus 1,2
like "$ERR" '0 runs submitted; before: 0 active, 2 done' "continues the study"
rm -rf st
unetctl init st --site local --engine mpi -- ./a.out '{{batch_per_gpu}}' 2>"$ERR"
unetctl generate -C st --gpus 1,3 2>"$ERR" || diag <"$ERR"
is "$(for n in 1 3; do field st/runs/mpi-g0$n-s1/run.json 'd["train"]'; done)" \
    "{'batch_per_gpu': 16}
{'batch_per_gpu': 16}" "train.batch_per_gpu keeps its meaning"

# ---- what its logs have
proposed() { # LOG: the rows, and what study.yaml gets, of a log
    rm -rf st
    unetctl init st --site local --try "$1" -- ./a.out 2>"$ERR" || cat "$ERR"
    python3 - <<'EOT'
import json, re
try:
    text = open("st/study.yaml").read()
except OSError:
    text = ""
for key in "file", "pattern", "time", "name", "unit":
    found = re.findall(rf'^  {key}: +("(?:[^"\\]|\\.)*"|\S+)', text, re.M)
    if found:
        print(key, json.loads(found[-1]) if found[-1][0] == '"' else found[-1])
EOT
}
mkdir logs
printf 'starting 3 workers\nEpoch %d/3: loss=0.%d val_loss=0.%d time: 1%d.5s eta 0:05:00\n' \
    1 52 61 2 2 42 51 1 3 40 49 0 >logs/train.log
is "$(proposed logs/train.log | sed -E 's/\[[-+0-9.]+\]\[-\+0-9\.,eE\]\*\|\(\?i:nan\|inf\)|\\\.\?\\d\[[^)]*\)\?/N/g')" 'logs/train.log: 3 epochs, such as
epoch 1: 12.5 s, loss 0.52
epoch 2: 11.5 s, loss 0.42
epoch 3: 10.5 s, loss 0.4
quality: val_loss 0.49
pattern Epoch\s+(?<epoch>N)/.*?loss=(?<loss>N).*?val_loss=(?<val_loss>N).*?time:\s*(?<epoch_time>N)s
name val_loss' "a line for each epoch: its first rows are shown, pattern and quality written"
printf 'epoch %d time %d.5\n' 1 3 2 6 3 10 >logs/clock.log
like <(proposed logs/clock.log) '^pattern .*time\\s.\(\?<elapsed>' \
    "a time that counts from the start is named so, for logs that do not show it"
cat >logs/steps.log <<'EOT'
2026-11-26 21:31:38,123 INFO step 100 | loss 3.21 | 1.25 s/it | lr 1e-4
2026-11-26 21:31:58,123 INFO step 200 | loss 3.01 | 1.20 s/it | lr 1e-4
2026-11-26 21:32:18,123 INFO eval: accuracy 0.81
2026-11-26 21:32:38,123 INFO step 300 | loss 2.91 | 1.22 s/it | lr 1e-4
EOT
is "$(proposed logs/steps.log | sed '/pattern/d')" 'logs/steps.log: 3 intervals, such as
interval 1: 125 s, loss 3.21, 0.8 steps/s
interval 2: 120 s, loss 3.01, 0.833333 steps/s
interval 3: 122 s, loss 2.91, 0.819672 steps/s
quality: accuracy 0.81
name accuracy' "times of steps, and a quality in a line of its own"
printf 'Train Epoch: 1 [32/60000 (53%%)]\tLoss: 0.3\nTest: Accuracy: 9843/10000 (98%%)\nepoch '\
'took 14.%d seconds\n' 2 0 >logs/mnist.log
is "$(proposed logs/mnist.log | sed '/pattern/d')" 'logs/mnist.log: 2 epochs, such as
epoch 1: 14.2 s
epoch 2: 14 s
no quality was seen; set quality.name to what the log has' \
    "a count of a total is not taken for an accuracy"
printf 'iter %d0: throughput 41%d.2 samples/s\n' 1 0 2 5 3 2 >logs/rate.log
is "$(proposed logs/rate.log | grep -v pattern | tail -n 3)" 'interval 3: 412.2 samples/s
no quality was seen; set quality.name to what the log has
unit samples' "a rate, with its unit"
printf 'epoch,secs,loss,val_acc\n1,10,0.5,0.7\n2,10.2,0.4,0.8\n' >logs/m.csv
is "$(proposed logs/m.csv)" 'logs/m.csv: 2 epochs, such as
epoch 1: 10 s, loss 0.5
epoch 2: 10.2 s, loss 0.4
quality: accuracy 0.8
each run has to write its m.csv into $UNETCTL_ATTEMPT_DIR
file m.csv
time secs:each
name accuracy' "a table whose time has a name of its own"
printf 'epoch,secs\n1,100\n2,110\n3,120\n4,130\n5,140\n' >logs/m.csv
bad "one that may count from the start" "'secs' rises: does it count from the start" \
    --try logs/m.csv -- ./a.out
printf 'epoch %d at 1%d0 s\n' 1 0 2 1 3 2 4 3 5 4 >logs/clock.log
bad "and such lines" "'time' rises: does it count from the start" --try logs/clock.log -- ./a.out
printf '[12:0%d:01] epoch %d done in 0:01:0%d (loss 0.5)\n' 1 0 2 2 1 1 >logs/clock.log
is "$(proposed logs/clock.log | sed -n 2,3p)" 'epoch 1: 62 s, loss 0.5
epoch 2: 61 s, loss 0.5' "durations, behind the time of day"
while IFS='|' read -r line want; do # lines as programs print them, @ for 1, 2 and 3
    for i in 1 2 3; do echo "${line//@/$i}"; done >logs/line.log
    is "$(proposed logs/line.log | sed -n 2p)" "$want" "proposed: $line"
done <<'EOT'
epoch=@ time=0.5 val_acc=0.949 val_loss=0.140|epoch 1: 0.5 s
step @ time 0.45 loss 2.31|interval 1: 0.45 s, loss 2.31, 2.22222 steps/s
step @ loss 2.3 tokens/s 12345.6|interval 1: loss 2.3, 12345.6 tokens/s
epoch @ loss 3.2, 1.5 s/epoch|epoch 1: 1.5 s, loss 3.2
{'loss': '2.1', 'epoch': '@.0', 'time': '3.5'}|epoch 1: 3.5 s, loss 2.1
iter @/9 ~ time per iter (ms): 612 ~ lm loss: 10.5|interval 1: 0.612 s, loss 10.5, 1.63399 steps/s
step @ of 500: ms/batch 23.31, loss 7.70|interval 1: 0.02331 s, loss 7.7, 42.9 steps/s
[05/01 12:00:0@ d2]: eta: 0:12:30 iter: @0 time: 0.25 data_time: 0.01|interval 1: 2.5 s, 4 steps/s
100/100 [====] - 1@s 120ms/step - loss: 0.5 - val_loss: 0.7|epoch 1: 11 s, loss 0.5
Info: Benchmark time: 4 CPUs 0.01@ s/step 0.14 days/ns 512.3 MB memory|interval 1: 0.011 s
Timing for main: time 2000-01-24_12:0@:00 on domain   1:    0.5 elapsed seconds|interval 1: 0.5 s
      LOOP+:  cpu time   12.31: real time   12.4@|interval 1: 12.41 s
Epoch @: training took 2m @3s|epoch 1: 133 s
Epoch @ completed in 1h 02m 0@s|epoch 1: 3721 s
Epoch @ loss 0.5 elapsed: @ day, 0:59:00|epoch 1: 89940 s, loss 0.5
9/9 == 1:1@ 38ms/step - loss: 0.5|epoch 1: 71 s, loss 0.5
epoch @ val_time 3.2 s time 12.5 s|epoch 1: 12.5 s
step @ data time 3.2 s compute time 12.5 s|interval 1: 12.5 s, 0.08 steps/s
step @ timeout 600 s, loss 0.1, 12.5 s|interval 1: 12.5 s, loss 0.1, 0.08 steps/s
step @ kl_loss 0.1 total_loss 1.1 time 0.5 s|interval 1: 0.5 s, loss 1.1, 2 steps/s
epoch @ time 0.5 kl_loss 0.1 loss 0.7@|epoch 1: 0.5 s, loss 0.71
step @ average loss: 0.0254. time: 0.5 s.|interval 1: 0.5 s, loss 0.0254, 2 steps/s
Epoch @ - 1,234.5 samples/s - loss 0.5|interval 1: loss 0.5, 1234.5 samples/s
step @ throughput/device 411.5 tokens/s|interval 1: 411.5 tokens/s
micro_step=@0/global_step=@, time: 0.5 s|interval 1: 0.5 s, 2 steps/s
Epoch @ [checkpoint saved] time: 12.5 s|epoch 1: 12.5 s
Epoch @ train on data shard A took 12.5 s|epoch 1: 12.5 s
epoch @ took 12.5 s, effective rank 1@|epoch 1: 12.5 s
step @, loss: 10.9, dt: 2512.12ms|interval 1: 2.51212 s, loss 10.9, 0.39807 steps/s
@/3 val_loss 0.71 time 12.3 s|interval 1: 12.3 s
iter: @ time: 0.38 last_time: 0.37|interval 1: 0.38 s, 2.63158 steps/s
iteration @, elapsed time per iteration (s): 2.34|interval 1: 2.34 s, 0.42735 steps/s
9/9 ━━ 3:52:0@ 7s/step - loss: 0.5|epoch 1: 13921 s, loss 0.5
Epoch @ total time: 12.@ s|epoch 1: 12.1 s
epoch   1, @00/ 2983 batches, ms/batch 12.50, loss  6.1|interval 1: 1.25 s, loss 6.1
epoch @, batch 256, 10.5 s/epoch|epoch 1: 10.5 s
Epoch[0] Batch [@0-10] Speed: 410.2 samples/sec|interval 1: 410.2 samples/s
iteration @: .52 sec|interval 1: 0.52 s, 1.92308 steps/s
Epoch @ step 500/500 loss 0.5 step_time 0.1s|epoch 1: 50 s, loss 0.5
batch 256, throughput 410 images/s|interval 1: 410 images/s
step @ loss 3.1 time/step 50 ms|interval 1: 0.05 s, loss 3.1, 20 steps/s
{'train_runtime': 60.5, 'train_samples_per_second': 8.26, 'epoch': 5.0}|interval 1: 60.5 s
EOT
while IFS='|' read -r line want; do # what may be something else is asked about, or not known
    for i in 1 2 3; do printf '%b\n' "${line//@/$i}"; done >logs/line.log
    bad "$line" "$want" --try logs/line.log -- ./a.out
done <<'EOT'
step @ time 51@.3 us|no line has a time
step @ took 51@.3 µs|no line has a time
took 2.@ mins|no line has a time
step @ took 1 min 2@ sec|no line has a time
step @ loss 2.1 tokens/s: 98@.5K|no line has a time
step @: 32 samples/step|no line has a time
cycle=@ time=2.4e-0@ dt=2.4e-04|no line has a time
Model loaded in 12.@ s|no line has a time
Epoch @ loss 0.5, checkpoint saved in 2.@ s|no line has a time
12:00:0@ INFO Loading data|no line has a time
 Time step: @0  t= 0.@E-01|no line has a time
[rank @] throughput: 41@.1 samples/s|several ranks have written lines such as
Assembly time 3.@ s\nSolve time 8.@ s|several times, such as that behind 'Solve time 8.1' and that in Assembly
step @ load 0.1@ s, sum 0.5 s, all 0.7 s|several times, such as that behind
Epoch @ Elapsed: 12.@ s|the elapsed time is 12.1 s in the first row
step @ loss 0.5 step_time_ms: 1@.5K|no line has a time
[INFO] time (ms), fwd: 112.1, bwd: 212.1, step: 31.@|no line has a time
epoch @ time elapsed: 0@:12 hours|no line has a time
Step: 35ms Tot: @s500ms Loss: 0.5|several times, such as that behind
Epoch @: loss 0,52 time 12,5 s|a comma may separate thousands or decimals
EOT
for i in 1 2; do
    printf '  Epoch  GPU_mem  box_loss  Instances  Size\n'
    printf '  %d/2  2.5G  1.1  13  640:  50%%|##  | 125/250 [00:40<00:40, 3.10it/s]\r' $i
    printf '  %d/2  2.5G  1.1  13  640: 100%%|####| 250/250 [01:40<00:00, 2.50it/s]\n' $i
    printf '    Class  Images  mAP50-95): 100%%|####| 4/4 [00:00<00:00, 5.57it/s]\n'
    printf '      all    128   929   0.64   0.53   0.60   0.44%d\n' $i
done >logs/yolo.log
is "$(proposed logs/yolo.log | sed '/^pattern/d' | paste -sd'|')" 'logs/yolo.log: 2 epochs, such as|epoch 1: 100 s|'\
'epoch 2: 100 s|quality: quality 0.442|name quality' "bars of Ultralytics, not those of validations"
printf 'HPLinpack 2.3\nT/V N NB P Q Time Gflops\nWR11C2R4 20000 192 2 2 52.12 1.0235e+02\n' >logs/hpl.log
like <(proposed logs/hpl.log) '^interval 1: 102.35 gflop/s' "the speed of HPL"
printf 'HPCG result is VALID with a GFLOP/s rating of=12.5709\n' >logs/hpcg.log
like <(proposed logs/hpcg.log) '^interval 1: 12.5709 gflop/s' "and that of HPCG"
for i in 1 2; do
    printf 'Epoch %d took 12.5 s\ntrain: loss 0.5 acc 0.91 val: loss 0.6 acc 0.8%d\n' $i $i
done >logs/phase.log
like <(proposed logs/phase.log) '^quality: val_acc 0.82' "a quality of the second half of a line of its own"
printf 'Epoch %d took 12.5 s\nval_loss 0.6%d\n' 1 1 2 2 >logs/phase.log
like <(proposed logs/phase.log) '^quality: val_loss 0.62' "one by its own name in a line of its own"
printf 'shuffle took 3.1 s\ntraining took 12.%d s\n' 5 4 >logs/line.log
is "$(proposed logs/line.log | sed -n 2p)" 'interval 1: 12.5 s' "a time by the word that distinguishes it"
printf 'step %d Tokens/s/device: 6564.6\n' 1 2 >logs/line.log
like <(proposed logs/line.log) '^pattern .*<tokens_per_s_per_device>' "a rate of one device"
printf 'epoch 1 took 12.5 s\nep\0 2 took 12.4 s\n' >logs/line.log
bad "a log with a byte 0" 'it has a byte 0' --try logs/line.log --column 'pattern=took (?<epoch_time>.*) s' -- ./a.out
printf 'real\t2m12.345s\nuser\t16m1.123s\nsys\t0m1.234s\n' >logs/line.log
is "$(proposed logs/line.log | sed -n 2p)" 'interval 1: 132.345 s' "the wall time of a shell's time"
printf '\tUser time (seconds): 961.12\n\tElapsed (wall clock) time (h:mm:ss or m:ss): 2:12.34\n' \
    >logs/line.log
is "$(proposed logs/line.log | sed -n 2p)" 'interval 1: 132.34 s' "and of the program"
while IFS='|' read -r line want; do # the quality of
    for i in 1 2 3; do echo "${line//@/$i}"; done >logs/line.log
    is "$(proposed logs/line.log | sed -n '/^quality/p')" "$want" "proposed: $line"
done <<'EOT'
Epoch @ train: loss 0.5 acc 0.91 val: loss 0.6 acc 0.8@ time: 3.5s|quality: val_acc 0.83
[@] training's auc: 0.9@ valid_1's auc: 0.7@ time 0.5 s|quality: val_auc 0.73
epoch @ time 0.5 best acc 0.81 acc 0.6@|
epoch @ time 0.5 val_loss 0.5 val_f1=0.7@ top5: 0.9|quality: val_f1 0.73
epoch @ time 0.5 accuracy/top1: 7@.5|quality: accuracy_top1 73.5
epoch @ time 0.5 total_loss: 15.1, iou_loss: 4.@|
epoch @ time 0.5 kl_loss 0.1 loss 0.@ val_loss 0.2@|quality: val_loss 0.23
EOT
printf '     LOOP:  cpu time    1.2: real time    1.3\n     LOOP+:  cpu time   12.3: real time  %s\n' \
    12.4 12.5 >logs/line.log
is "$(proposed logs/line.log | sed -n 1,3p)" 'logs/line.log: 2 intervals, such as
interval 1: 12.4 s
interval 2: 12.5 s' "of steps of VASP, not those within a step"
printf '      Time:      123.4       12.3     1000.0\n                 (ns/day)    (hour/ns)\n'\
'Performance:      139.9        0.2\n' >logs/md.log
is "$(proposed logs/md.log | sed -n '2p;$p')" 'interval 1: 139.9 ns/day
unit ns' "the speed of GROMACS, not the time of all cores"
printf 'Train: 0 [%d/9]  Loss: 6.9 (6.9)  Time: 0.5%d0s (0.5s)\nTest: Time: 0.1 Acc@1:  7%d.1 '\
'(72.%d)\n' 1 1 1 3 2 0 2 8 >logs/timm.log
like <(proposed logs/timm.log) '^quality: acc_1 72.8$' "a name with a number, of which the mean counts"
printf 'create_atoms CPU = 0.004 seconds\nLoop time of 3.01 on 1 procs for 500 '\
'steps\n\nPerformance: 71740.375 tau/day, 166.066 timesteps/s\nTotal wall time: '\
'0:00:03\n' >logs/lammps.log
is "$(proposed logs/lammps.log | sed -n '2p;$p')" 'interval 1: 0.830328 tau/s
unit tau' "the speed at the end, not a time of the beginning"
cat >logs/trainer_state.json <<'EOT'
{"log_history": [
 {"epoch": 0.5, "loss": 4.0, "num_input_tokens_seen": 2560, "step": 10, "train_runtime": 0.6},
 {"epoch": 0.5, "eval_loss": 3.5, "num_input_tokens_seen": 2560, "step": 10},
 {"epoch": 1.0, "loss": 3.9, "num_input_tokens_seen": 5120, "step": 20, "train_runtime": 1.6},
 {"epoch": 1.0, "eval_loss": 3.4, "num_input_tokens_seen": 5120, "step": 20},
 {"epoch": 1.0, "num_input_tokens_seen": 5120, "step": 20, "train_runtime": 2.0}]}
EOT
is "$(proposed logs/trainer_state.json)" 'logs/trainer_state.json: 2 intervals, such as
interval 1: no time of its own, loss 4
interval 2: no time of its own, loss 3.9
the whole training: 2 s
quality: eval_loss 3.4
each run has to write its trainer_state.json into $UNETCTL_ATTEMPT_DIR
file trainer_state.json
name eval_loss
unit tokens' "Hugging Face's state, with the tokens seen"
printf '  0%%| | 1/20 [00:00<00:54, 8.79it/s]\r 50%%| | 10/20 [00:01<00:01, 8.79it/s]\r    '\
'    \r%s\n' \
    "{'loss': '4.0', 'epoch': '1.0', 'time': '2.5'}" \
        "{'loss': '3.0', 'epoch': '2.0', 'time': '2.6'}" >logs/bar.log
is "$(proposed logs/bar.log | sed -n 2p)" 'epoch 1: 2.5 s, loss 4' "a line behind a progress bar"
# Bars of Lightning and tqdm are drawn again and again; the last one of an epoch has its mean rate.
bars() { # PREFIX UNIT RATE RATE RATE: three epochs
    local prefix=$1 unit=$2 epoch=0 rate
    for rate in "${@:3}"; do
        printf '%s %d:   0%%|          | 0/100 [00:00<?, ?it/s]\r' "$prefix" $epoch
        printf '%s %d: 100%%|####| 100/100 [00:12<00:00, 9.99%s]\r' "$prefix" $epoch "$unit"
        printf '%s %d: 100%%|####| 100/100 [00:12<00:00, %6.2f%s, v_num=0, val_acc=0.%d]\n' "$prefix" \
            $epoch "$rate" "$unit" $((70 + 5 * epoch))
        printf 'Validation %d: 100%%|####| 20/20 [00:01<00:00, 15.00it/s]\n' $epoch
        epoch=$((epoch + 1))
    done
}
bars Epoch it/s 8.00 10.00 12.50 >logs/bars.log
is "$(proposed logs/bars.log | sed '/pattern/d')" 'logs/bars.log: 3 epochs, such as
epoch 1: 12.5 s
epoch 2: 10 s
epoch 3: 8 s
quality: val_acc 0.8
name val_acc' "bars of epochs: their steps divided by their rate"
bars 'Train epoch' s/it 1.25 1.00 1.50 >logs/bars.log
is "$(proposed logs/bars.log | sed -n 2,4p | xargs)" 'epoch 1: 125 s epoch 2: 100 s epoch 3: 150 s' \
    "bars of steps that take more than a second"
for i in 1 2; do
    printf 'Epoch %d: 100%%|####| 100/100 [00:12<00:00, 8.00it/s, acc=0.9%d]\n' $i $i
    printf 'Epoch %d val: 100%%|####| 20/20 [00:01<00:00, 15.00it/s, acc=0.7%d]\n' $i $i
done >logs/bars.log
printf 'Epoch 3:  50%%|##  | 50/100 [00:06<00:06, 8.00it/s, acc=0.99]\n' >>logs/bars.log
is "$(proposed logs/bars.log | sed '/pattern/d')" 'logs/bars.log: 2 epochs, such as
epoch 1: 12.5 s
epoch 2: 12.5 s
quality: acc 0.72
name acc' "a quality in the bars of validations, not that of the same name in those of training"
printf '%s: 100%%|####| 100/100 [00:30<00:00, %s]\n' Map '510 examples/s' Evaluating 1.2s/it >logs/bars.log
bad "bars of a preparation and an evaluation" 'no line has a time' --try logs/bars.log -- ./a.out
for i in 1 2; do # as Lightning draws them, with those of the validation below
    printf '\rEpoch %d: 100%%|####| 100/100 [00:12<00:00, 8.00it/s]\n\rValidation: 100%%|####| 9/9\033[A' $i
    printf '\rEpoch %d: 100%%|####| 100/100 [00:20<00:00, 5.00it/s, val_acc=0.7%d]\n' $i $i
done >logs/bars.log
is "$(proposed logs/bars.log | sed '/pattern/d' | paste -sd'|')" 'logs/bars.log: 2 epochs, such as|epoch 1: 20 s|'\
'epoch 2: 20 s|quality: val_acc 0.72|name val_acc' "bars drawn again above those of a validation"
{ bars Epoch it/s 8.00 10.00 && bars Epoch it/s 8.10 10.10; } >logs/bars.log
bad "bars of two ranks" "step or epoch" --try logs/bars.log -- ./a.out
for i in 1 2; do
    printf "Epoch: [$i]  [ %d0/200]  time: 0.50  data_time: 0.01  loss: 0.$i  acc: 60\n" 5 10 20
    printf 'INFO - Epoch(val) [%d][20/20]  mIoU: 0.5%d  time: 0.05  data_time: 0.01\n' $i $i
done >logs/rows.log
is "$(proposed logs/rows.log | sed '/pattern/d')" 'logs/rows.log: 6 intervals, such as
interval 1: 25 s, loss 0.1
interval 2: 25 s, loss 0.1
interval 3: 50 s, loss 0.1
quality: miou 0.52
name miou' "rows of an epoch, and the quality of its validation"
printf 'GROMACS, 2023\nPerformance: 57.6 0.4\n (ns/day)\nPerformance:  57.6  0.4\nFinished at '\
'10:00:00\n' >logs/md.log
is "$(proposed logs/md.log | sed -n '2p;$p')" 'interval 1: 57.6 ns/day
unit ns' "a known log whose first line has a comma"
printf 'started at 10:00:00\n' >logs/tod.log
like <(proposed logs/tod.log) 'no line has a time' "a time of day that is there once is no duration"
printf 'Time = %d\nExecutionTime = %d.5 s  ClockTime = %d s\n' 1 3 5 2 6 10 3 9 15 >logs/foam.log
is "$(proposed logs/foam.log | sed -n 2p)" 'interval 1: 5 s' \
    "OpenFOAM's clock, not that of processors, nor its simulated time"
echo '     Program PWSCF v.7.2 starts on 1Jan2026' >logs/pw.log
for i in 1 2 3; do
    printf '     iteration # %2d     ecut= 25.00 Ry     beta= 0.70\n     total cpu time spent up to now is   %d.5 secs\n' \
        $i $((3 * i))
    printf '     total energy              =     -15.79%d Ry\n     estimated scf accuracy    <       0.0%d Ry\n' $i $((4 - i))
done >>logs/pw.log
printf '     %-12s :%11s CPU%11s WALL\n' init_run 1.23s 2.34s PWSCF '1m 9.50s' '1m20.25s' >>logs/pw.log
is "$(proposed logs/pw.log)" 'logs/pw.log: 1 interval, such as
interval 1: 80.25 s
no quality was seen; set quality.name to what the log has
pattern ^ +PWSCF +:.* CPU +(?<elapsed>[0-9dhm. ]+)s? WALL' \
    "the whole of Quantum ESPRESSO, not the time of processors; the accuracy of its iterations is no quality"
while read -r text; do # what else is said of a solver, and of a network
    for i in 1 2 3; do echo "step $i took 0.5$(((i * 2) % 5)) s, $text"; done >logs/solve.log
    is "$(proposed logs/solve.log | grep -c '^quality: ')" "$(grep -c network <<<"$text")" \
        "a quality, or a residual: $text"
done <<'EOT'
Final residual = 1e-06, No Iterations 2
Convergence accuracy 1e-06
estimated relative force accuracy = 3.3e-05
residual rmse 0.01
solver score 0.1
network Force RMSE 0.1
network accuracy 0.9
network val acc 0.9
EOT
printf 'step,time,scf_accuracy\n1,0.5,0.1\n2,0.6,0.01\n3,0.5,0.001\n' >logs/scf.csv
unlike <(proposed logs/scf.csv) '^quality: ' "a column of residuals is no quality"
printf 'train epoch %d loss 0.5 time 12.5\nval epoch 1 loss 0.6 time 1.%d\n' 1 1 2 2 3 1 >logs/both.log
is "$(proposed logs/both.log | sed -n 2p)" 'epoch 1: 12.5 s, loss 0.5' "trainings, not validations"
printf 'iter %d: 10%d.5 images/s per GPU\n' 1 1 2 3 3 2 >logs/each.log
like <(proposed logs/each.log) '^pattern .*images_per_s_per_gpu' "a rate of one GPU is named so"
printf 'step=%d0 tok/s=41%d tok/s/gpu=10%d step_time=0.1s\n' 1 1 1 2 3 2 3 2 3 >logs/both.log
like <(proposed logs/both.log) '^pattern .*tok_per_s>' "but not that of all beside it"
printf 'Epoch %d/2\r100/200 == 9s 52ms/step - accuracy: 0.5 - loss: 1.2\r200/200 == 1%ds 52ms/step - accuracy: '\
'0.5 - loss: 1.2\r200/200 == 1%ds 52ms/step - accuracy: 0.6 - loss: 1.2 - val_accuracy: 0.7%d - val_loss: 0.9\n' \
    1 2 2 1 2 1 1 2 >logs/keras.log
is "$(proposed logs/keras.log | sed -n '2,4p' | paste -sd'|')" 'epoch 1: 12 s, loss 1.2|epoch 2: 11 s, loss '\
'1.2|quality: val_accuracy 0.72' "Keras: an epoch's validation is behind its time, in one row"
for time in '11s 110ms/step' '11s - 110ms/step'; do
    for i in 1 2 3; do printf 'Epoch %d/3\n100/100 - %s - accuracy: 0.8%d - loss: 1.2\n' $i "$time" $i; done >logs/keras.log
    printf '25/25 - 1%s - accuracy: 0.75 - loss: 1.3\n' "${time#11}" >>logs/keras.log
    is "$(proposed logs/keras.log | sed -n '1p;4,5p' | paste -sd'|')" 'logs/keras.log: 3 epochs, such as|epoch 3: 11 s, '\
'loss 1.2|quality: accuracy 0.75' "and its evaluation behind the last epoch is none: $time"
done
printf 'step %d time 12.5 acc 0.5%d\nvalid | step %d acc 0.6%d\n' 1 1 1 1 2 2 2 2 >logs/both.log
is "$(proposed logs/both.log | sed -n '/^quality/p')" 'quality: val_acc 0.62' \
    "a quality of validation, not the one of training with its name"
printf '\t Train throughput/samples_per_sec: 450.%d\n' 1 2 >logs/long.log
is "$(proposed logs/long.log | sed -n 2p)" 'interval 1: 450.1 samples/s' "a name that is too long for a group"
printf 'E %d \033[1m9s\033[0m \033[1m28%dms/step\033[0m - loss: 0.5\n' 1 3 2 5 >logs/keras.log
is "$(proposed logs/keras.log | sed -n 2p)" 'interval 1: 9 s, loss 0.5' "lines with colours"
printf '[%5d/20000] loss 1 step_time: 0.2%d\n' 9990 1 10000 3 10010 2 >logs/wide.log
like <(proposed logs/wide.log | head -n 1) ' 3 intervals' "a counter that fills its width"
printf 'epoch: [%d] loss: 0.5 time: 0.3%d\n' 1 2 1 1 2 4 2 3 >logs/rows.log
bad "several rows of an epoch" 'epoch 1 is there twice: .*it has several rows' --try logs/rows.log \
    -- ./a.out
printf 'hello\nworld 3\n' >logs/none.log
printf '1epoch:train:%d: iter_time=0.01, forward_time=0.1, loss=3.1, backward_time=0.1, '\
'optim_step_time=0.1, train_time=0.3%d\n' 1 1 2 2 >logs/espnet.log
bad "a line with many times" "espnet.log: it has several times, such as that behind ': iter_time=0.01'; which one" \
    --try logs/espnet.log -- ./a.out
printf 'iter: %d time: 0.35 loss: 1.5\n' 20 40 60 >logs/apart.log
bad "a time of rows that are steps apart" "rows are 20 steps apart: is 'time' the time of a step" \
    --try logs/apart.log -- ./a.out
exits 0 "what it asks is an option" unetctl init st --site local --try logs/apart.log \
    --column time=time:step -- ./a.out
like "$OUT" '^interval 2: 7 s, loss 1.5' "by which the log is read"
like st/study.yaml '^  time: +"time:step"' "and which is written"
rm -rf st
printf '%s\n' step,dur,fid 1,0.5,9.3 2,0.5,9.2 3,0.5,9.1 >logs/own.csv
exits 0 "all columns may be named" unetctl init st --site local --try logs/own.csv --column time=dur:each \
    --column step=step --column quality=fid -- ./a.out
like "$OUT" '^quality: fid 9.1' "the quality is the one named"
is "$(sed -n 's/^  \(quality\|step\|time\|name\): *\([^ ]*\) .*/\1=\2/p' st/study.yaml | sort | xargs)" \
    'name=fid quality=fid step=step time=dur:each' "and study.yaml has all of them"
rm -rf st
exits 0 "a pattern of one's own is tried" unetctl init st --site local --try logs/none.log \
    --column 'pattern=world (?<epoch_time>[0-9]+)' -- ./a.out
like "$OUT" '^epoch 1: 3 s' "on the log"
rm -rf st
bad "a column that is not there" "there is no column 'sec' .--column time=NAME" --column time=sec \
    --try logs/apart.log -- ./a.out
code=2 bad "a column without a log" 'init: --column needs --try LOG' --column time=sec -- ./a.out
for i in 0 1; do
    printf "Epoch: [$i]  [%2d/21]  eta: 0:01:04  loss: 6.9 (6.9)  acc1: 0.1 (0.1)  time: 0.5  data: 0.1\n" 0 10 20
    printf 'Epoch: [%d] Total time: 0:00:10\nTest:   Acc@1 1%d.1 Acc@5 25.1\n' $i $i
done >logs/tv.log
is "$(proposed logs/tv.log | sed '/pattern/d;s/, loss.*//')" 'logs/tv.log: 6 intervals, such as
interval 1: 0.5 s
interval 2: 5 s
interval 3: 5 s
quality: acc_1 11.1
name acc_1' "rows of torchvision, which counts steps from 0"
{ printf 'layer rows columns\n1 2 3\n  epoch    train_loss    valid_loss    valid_acc     dur\n-------  ------------  ------------  -----------  ------\n'
  printf '      %d        0.6%d05        0.6749       0.6%d50  %d.1211\n' 1 9 1 3 2 8 2 1 3 7 4 2; } >logs/table.log
is "$(proposed logs/table.log | sed '/pattern/d;s/, loss.*//' | paste -sd'|')" 'logs/table.log: 3 epochs, such as|'\
'epoch 1: 3.1211 s|epoch 2: 1.1211 s|epoch 3: 2.1211 s|quality: valid_acc 0.645|name valid_acc' "a table of skorch"
{ echo 'epoch     train_loss  valid_loss  time    '
  printf '%d         0.%d1        0.41        01:1%d     \n' 0 9 1 1 6 2 2 5 4; } >logs/table.log
bad "a table of fastai whose times rise" "'time' rises: does it count from the start .* or for each row" \
    --try logs/table.log -- ./a.out
exits 0 "its answer" unetctl init st --site local --try logs/table.log --column time=time:each -- ./a.out
like "$OUT" '^epoch 2: 72 s, loss 0.61' "in minutes and seconds"
rm -rf st
printf ' step time temp\n %d00 0.%d 300.1\n' 1 1 2 2 | sed '3d' >logs/table.log
bad "a table of a simulation's time" 'no line has a time that is known' --try logs/table.log -- ./a.out
bad "a log without a time" 'none.log: no line has a time that is known' --try logs/none.log -- \
    ./a.out
code=7 bad "a log that is missing" 'missing.log.*No such file' --try logs/missing.log -- ./a.out
code=2 bad "a log without a program" 'try LOG is for a program' --try logs/none.log
rm -rf st
unetctl init st --site local --try logs/train.log -- ./a.out 2>"$ERR"
printf '#!/bin/sh\ncat %s/logs/train.log\n' "$TMP" >a.out
ok "a run whose output is such a log" unetctl submit -C st --gpus 1 --wait --timeout 60
ok "is collected" unetctl collect -C st
like st/logs/results.csv '^command-g01-s1,.*,done,3,' "and read as it was proposed"
rm -rf st
unetctl init st --site local -- ./a.out 2>"$ERR"
like st/study.yaml '^# log:$' "without --try study.yaml has a commented line of the log"
like st/study.yaml '^# quality:$' "and of the quality"
exits 0 "plan without a log" unetctl plan -C st --gpus 1
like "$ERR" 'no log is named: nothing will be read of a run unless' "says that nothing will be read"
unetctl submit -C st --gpus 1,2 --wait --timeout 60 2>"$ERR"
like <(unetctl status -C st) \
    '^2 ended; no log is named: set log.pattern or log.file in /.*/st/study.yaml' \
    "and so does status"

printf '#!/bin/sh\nexit 3\n' >a.out
unetctl submit -C st --gpus 3 --wait --timeout 60 2>"$ERR"
rm -rf "$XDG_STATE_HOME"
mkdir -p "$XDG_STATE_HOME"
like <(unetctl status -C st) '^command-g03-s1 +FAILED +[0-9]+ +3 +1 +0:00:[0-9]+ ' \
    "status keeps the time of a run whose job is not listed any more"
columns='{ print index($0, "COMPLETED"), index($0, "STATE") }'
is "$(unetctl status -C st | awk "$columns" | sort -u | paste -sd' ')" \
    "0 0 0 18 18 0" "its columns stand below each other"

# ---- what a run executes
listed() { # WORDS...: source.list of a run of them
    rm -rf st
    unetctl init st --site local "$@" >"$OUT" 2>&1
    unetctl generate -C st --gpus 1 >>"$OUT" 2>&1 || cat "$OUT"
    sed "s,$TMP,.," st/runs/*/source.list 2>/dev/null | paste -sd ' '
}
mkdir src && cp plain.py src/train.py && cp plain.py src/part.py && echo 1 >src/in.yaml
all='folder ./src file train.py file part.py' beside='file plain.py file seen.py file train.py'
while IFS='|' read -r words want; do
    eval "set -- $words"
    is "$(listed "$@")" "$want" "$words: the script and its folder"
done <<EOT
-- ./venv/bin/python src/train.py|$all
-- python3 -u -W ignore src/train.py|$all
-- env A=1 B=2 venv/bin/python src/train.py|$all
-- conda run -n x python3 src/train.py|$all
-- uv run --with numpy src/train.py|$all
-- apptainer exec --nv -B /a:/b img.sif python3 src/train.py|$all
-- nsys profile -o x -t cuda,nvtx python3 src/train.py|$all
-- numactl -N 0 -m 0 python3 src/train.py|$all
-- python3 -m src.train|$all
-- bin/accelerate python3 src/train.py|$all
--engine pytorch -- venv/bin/python src/train.py --in src/in.yaml|$all file ./src/in.yaml
-- torchrun --nproc_per_node 2 -m src.train|$all
-- ./a.out src/in.yaml|folder . file a.out $beside file ./src/in.yaml
EOT
dd if=/dev/zero of=src/big.py bs=1024 count=1025 2>"$ERR"
listed -- python3 src/train.py >"$ERR"
like "$OUT" 'a change of 1 file is not noticed: .*1 MiB each' \
    "a file above 1 MiB is left out by name"
rm src/big.py
if git -C src init -q 2>"$ERR"; then
    mkdir src/lib && cp plain.py src/lib/deep.py && git -C src add train.py lib/deep.py
    is "$(listed -- ./venv/bin/python src/train.py)" \
        "folder ./src file train.py file lib/deep.py" "of a Git tree what it tracks"
    rm -rf src/.git
fi
rm -rf st
unetctl init st --site local -- ./venv/bin/python src/train.py 2>"$ERR"
ok "runs behind a venv" unetctl submit -C st --gpus 1,2 --wait --timeout 60
echo "# edited" >>src/part.py && cp plain.py src/later.py
ok "a repeat after an edit" unetctl submit -C st --gpus 1,2 --seeds 2 --wait --timeout 60
is "$(cut -d' ' -f1 st/runs/command-g01-s*/attempt-1/source.sha256 | sort | uniq -d | wc -l)" 1 \
    "is known as another script by its hash, the rest as the same"
exits 0 "is collected" unetctl collect -C st
like <(paste -sd' ' "$OUT" | tr -s ' ') \
    's2: done, [^;]*; (later.py, part.py|part.py, later.py) differ from what command-g01-s1 exec' \
    "which files differ is said"
exits 0 "and reported" unetctl report -C st --text
like <(paste -sd' ' "$OUT" | tr -s ' ') \
    '2 runs executed other files, .* of a series of their own: of command-g01-s2, [^:]*part.py' \
    "so does the report"
done_testing
