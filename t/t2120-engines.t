#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engines other than the embedded one on a real Slurm: a plain program, MPI ranks as Horovod has
# them, the reference's own templates, and all of them in one study.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 4 --gpus-per-node 2

make_study study sandbox --set train.epochs=2 --set train.global_batch=12
mkdir bin
export PATH=$PATH:$TMP/bin # of the jobs, too

# ---- command: any program
mkdir nvml
${CC:-cc} -I"$builddir" -shared -fPIC -w -o nvml/libnvidia-ml.so.1 "$srcdir/t/nvml.c"
printf 'command:\n  script: %s\n  env: {LD_LIBRARY_PATH: %s, UNET_GPUS: auto}\n' \
    "$srcdir/t/engine.sh" "$TMP/nvml" >>study/study.yaml
exits 0 "submit --engine command --gpus 1..3" unetctl submit -C study --engine command --gpus 1..3 \
    --wait --timeout 180
told() { # RUN NAME: of each rank
    local f
    for f in study/runs/"$1"/attempt-1/told-*; do sed -n "s/^$2=//p" "$f"; done | paste -sd' '
}
is "$(told command-g02-s1 WORLD_SIZE) of $(told command-g02-s1 UNETCTL_TASK_GPUS)" "1 of 2" \
    "2 GPUs of a node belong to one process"
is "$(told command-g03-s1 RANK), $(told command-g03-s1 LOCAL_RANK), $(told command-g03-s1 LOCAL_WORLD_SIZE), $(told command-g03-s1 GROUP_RANK)" \
    "0 1 2, 0 1 0, 2 2 1, 0 0 1" "3 GPUs have two ranks on a node and one on the next"
is "$(told command-g03-s1 MASTER_ADDR)" "node1 node1 node1" "all ranks know where rank 0 is"
is "$(states study)" "command-g01-s1 COMPLETED
command-g02-s1 COMPLETED
command-g03-s1 COMPLETED" "status"
# Its ranks do not use MPI, because an mpirun of Open MPI 6.0rc may not end with them
# (doc/SLURM.md).
make_step_study failing sandbox --set train.epochs=2 --set train.global_batch=12
sed -n '/^command:/,$p' study/study.yaml >>failing/study.yaml
echo exit3 >failing/behave
exits 1 "a program whose ranks fail is a failed run" \
    unetctl submit -C failing --engine command --gpus 4 \
    --wait --timeout 120
# If srun ends ranks before they fail by themselves, the code is 128 + TERM.
like <(field failing/runs/command-g04-s1/attempt-1/FAILED 'd["exit_code"]') '^(3|143)$' \
    "the marker has the exit code of the program"
echo killed >failing/behave
exits 1 "a rank is killed, and srun ends the others" unetctl submit -C failing --engine command \
    --gpus 3 --wait --timeout 120
is "$(field failing/runs/command-g03-s1/attempt-1/FAILED 'd["error"]' | cut -d, -f1)" \
    "task 0: Killed" "the marker names the rank that was killed"
like failing/runs/command-g03-s1/attempt-1/FAILED \
    "when memory runs out; 'unetctl resume' with more" \
    "and its likely cause"
echo hang >failing/behave
exits 0 "a run that hangs is resumed" unetctl resume -C failing command-g04-s1
ok "it is running" wait_until 90 test -e failing/runs/command-g04-s1/attempt-2/told-3
measured() { # a GPU of each rank
    [ "$(awk -F, '$3 + 0 > 0 { print $2 }' failing/runs/command-g04-s1/attempt-2/energy-* | sort -u |
        wc -l)" = 4 ]
}
if [ -e nvml/libnvidia-ml.so.1 ]; then
    ok "the energy of each rank's GPU is measured" wait_until 30 measured
else
    skip 'no C compiler' "the energy of each rank's GPU is measured"
fi
exits 0 "it is cancelled" unetctl cancel -C failing command-g04-s1
ok "it is CANCELLED" wait_until 60 eval "states failing | grep -q 'command-g04-s1 CANCELLED'"

# ---- whole nodes: a rank sees the GPUs of its run, all of those on its node or its own
# shellcheck disable=SC2016 # expanded there
printf '%s\n' '#!/bin/bash' '# python3, whose torch.distributed.run starts the ranks of a node' \
    'if [ "$1 $2" != "-m torch.distributed.run" ]; then exec "$@"; fi' \
    'shift 7' 'for ((LOCAL_RANK = 0; LOCAL_RANK < LOCAL_WORLD_SIZE; LOCAL_RANK++)); do' \
    '    LOCAL_RANK=$LOCAL_RANK RANK=$((RANK + LOCAL_RANK)) "$@" &' 'done' 'wait' >bin/torch-python
chmod +x bin/torch-python
for site in exclusive listed; do # as with --exclusive; as on JUWELS, which exports a list of all
    make_step_study $site sandbox --set train.epochs=2 --set train.global_batch=12
    sed -i '/^licenses:/d' $site/site.yaml
    for engine in command mpi jax pytorch torchrun horovod; do
        printf '%s:\n  script: %s\n' $engine "$srcdir/t/engine.sh"
        case $engine in command | mpi) ;; *) echo "  python: $TMP/bin/torch-python" ;; esac
    done >>$site/study.yaml
    printf 'options: [--exclusive]\n' >>$site/site.yaml
done
sed -i -e \
    's/^launcher: .*/launcher: srun --kill-on-bad-exit=1 --nodes={{nodes}} --ntasks={{tasks}}/' \
    -e 's/^env:/&\n  CUDA_VISIBLE_DEVICES: 0,1/' listed/site.yaml
echo 'gpu_request: gres' >>listed/site.yaml
for site in exclusive listed; do
    for engine in command mpi jax pytorch torchrun horovod; do
        exits 0 "$site $engine" unetctl submit -C $site --engine $engine --gpus 1..3
    done
    ok "all end" wait_until 240 all_states $site COMPLETED
    while read -r engine want; do
        is "$(for n in 1 2 3; do
            for rank in "$site/runs/$engine-g0$n-s1/attempt-1"/told-*; do
                sed -n 's/^CUDA_VISIBLE_DEVICES=//p' "$rank"
            done | paste -sd'|'
        done | paste -sd' ')" "$want" "$site $engine: what the ranks of 1, 2 and 3 GPUs see"
    done <<'EOF'
command 0 0,1 0|1|0
mpi 0 0|1 0|1|0
jax 0 0|1 0|1|0
pytorch 0 0,1|0,1 0,1|0,1|0
torchrun 0 0,1|0,1 0,1|0,1|0
horovod 0 0,1|0,1 0,1|0,1|0
EOF
done
exits 0 "a job by hand" unetctl generate -C exclusive --engine command --gpus 1 --seeds 2
login sbatch -W exclusive/runs/command-g01-s2/submit_file.sh >"$OUT" 2>&1
like exclusive/runs/command-g01-s2/attempt-1/told-0 '^CUDA_VISIBLE_DEVICES=0$' \
    "sees its own GPU, too"

# ---- a site whose setup hides the list: how many GPUs a rank sees is noted, and reported
make_step_study unlisted sandbox --set train.epochs=2 --set train.global_batch=12
sed -i '/^licenses:/d' unlisted/site.yaml
printf 'options: [--exclusive]\n' >>unlisted/site.yaml
printf 'command:\n  script: %s\n  setup: [unset CUDA_VISIBLE_DEVICES]\n' "$srcdir/t/engine.sh" \
    >>unlisted/study.yaml
printf '#!/bin/sh\necho "GPU 0: a"\necho "GPU 1: b"\n' >bin/nvidia-smi
chmod +x bin/nvidia-smi
exits 0 "runs of it" unetctl submit -C unlisted --engine command --gpus 1,2 --wait --timeout 120
is "$(grep -h . unlisted/runs/*/attempt-1/gpus-seen)" "2 1" "a rank of the run on 1 GPU sees 2"
exits 0 "is reported" unetctl report -C unlisted --text
like <(tr -s '\n ' ' ' <"$OUT") 'In 1 of 2 runs a rank sees more GPUs than its run was given .command-g01-s1: a '\
'rank sees 2 GPUs of its node, and the run was given 1 there' \
    "with both numbers"
rm bin/nvidia-smi

# ---- a program that goes on from its own checkpoints
make_study slow sandbox --set train.epochs=50
sed -i '/^licenses:/d' slow/site.yaml
printf 'command:\n  script: %s\n  resumes: true\n' "$srcdir/t/engine.sh" >>slow/study.yaml
echo slow >slow/behave
exits 0 "two runs that can resume are submitted" unetctl submit -C slow --engine command --gpus 1,2
like slow/runs/command-g01-s1/submit_file.sh '^#SBATCH --signal=B:USR1@120' \
    "jobs that can resume get a signal before their time limit"
like slow/runs/command-g01-s1/submit_file.sh '^#SBATCH --requeue' "they can be requeued"
unlike study/runs/command-g01-s1/submit_file.sh 'signal=|--requeue' \
    "jobs that cannot resume get no signal and are not requeued"
both_train() { [ -e slow/runs/command-g01-s1/attempt-1/checkpoint/epoch ] &&
    [ -e slow/runs/command-g02-s1/attempt-1/checkpoint/epoch ]; }
ok "both train" wait_until 60 both_train
login scancel --signal=USR1 --batch "$(cat slow/runs/command-g01-s1/attempt-1/job)"
exits 0 "the other run is cancelled" unetctl cancel -C slow command-g02-s1
ok "it is CANCELLED, with a checkpoint" wait_until 60 eval \
    "states slow | grep -q 'command-g02-s1 CANCELLED'"
exits 0 "it is resumed" unetctl resume -C slow command-g02-s1

# ---- horovod: ranks of MPI, without horovodrun
if command -v mpicc >/dev/null; then
    cat >ranks.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int rank, size, sum;
    char path[4096];
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank != atoi(getenv("RANK")) || size != atoi(getenv("WORLD_SIZE")) || size != atoi(getenv("UNETCTL_GPUS")) ||
        sum != size * (size - 1) / 2)
        return 4;
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/log.csv", getenv("UNETCTL_ATTEMPT_DIR"));
        FILE *f = fopen(path, "w");
        fprintf(f, ",time_per_epoch,loss,lr,training_time,test_time,iou\n");
        for (int i = 0; i < 2; i++)
            fprintf(f, "%d,1.0,0.5,0.001,2.0,0.1,0.5\n", i);
        fclose(f);
    }
    MPI_Finalize();
    return 0;
}
END
    ok "an MPI program is built" mpicc -o bin/ranks ranks.c
    echo "exec ranks" >ranks.sh
    printf 'horovod:\n  script: %s\n  python: sh\n' "$TMP/ranks.sh" >>study/study.yaml
    exits 0 "submit --engine horovod --gpus 1,2,3" unetctl submit -C study --engine horovod \
        --gpus 1,2,3 --wait --timeout 180
    is "$(states study | grep -c 'horovod.* COMPLETED')" 3 \
        "all runs of Horovod are done, also that of a single rank"
    like study/runs/horovod-g01-s1/submit_file.sh '^ *env .*(srun .*--ntasks=1|mpirun .*-np 1) ' \
        "a single rank is started by the MPI launcher as well"
    # ---- mpi: a program with its own output, without images; 3 ranks as 2+1
    cp -r "$srcdir/examples/mpi-heat" heat
    ok "the example is built" mpicc -O2 -o heat/heat heat/heat.c -lm
    sed -i 's/"600", "800"/"60", "80"/' heat/study.yaml
    exits 0 "submit --engine mpi --gpus 1..3" unetctl submit -C heat --site sandbox --gpus 1..3 \
        --wait --timeout 180
    exits 0 "its speed is reported" unetctl report -C heat --json heat.json --text
    unlike "$OUT" 'IoU|[Ii]mages' "without images"
    is "$(field heat.json '[p["gpus"] for s in d["engines"] for p in s["points"]]')" \
        "[1, 2, 3]" "as one series"
    exits 0 "it is collected" unetctl collect -C heat
    like "$OUT" '^mpi-g03-s1: done, ended at its limit, .* an interval, logs.log_mpi_3' "without a quality"
    is "$(grep -c ',cells' heat/logs/results.csv)" 3 "in the unit of the study"
    mkdir weak
    sed 's/"60", "80"/"+60", "80"/; s/mode: strong/mode: weak/' heat/study.yaml >weak/study.yaml
    cp heat/heat weak
    exits 0 "with as many rows on each rank" unetctl submit -C weak --site sandbox --gpus 1,2 \
        --wait --timeout 180
    exits 0 "it is reported" unetctl report -C weak --text --json weak.json
    like "$OUT" 'The work grows with the GPUs .weak scaling.' "as weak scaling"
else
    skip "mpicc is not installed" "horovod"
    skip "mpicc is not installed" "mpi"
fi

# ---- the reference's templates, as they are but for the shell of their site
mkdir tags
cat >tags/run_file.sh <<'END'
#!/usr/bin/env bash
TF_CONFIG=$(python3 tag_program1) RANK=$RANK python3 -W ignore tag_program2 \
    --global_batch_size=tag_batch --augment=tag_aug --epoch=tag_epoch 2>&1
END
cat >tags/submit_file.sh <<'END'
#!/bin/bash
#SBATCH --time=0:08:00
#SBATCH --partition=short
#SBATCH --nodes=tag_node
#SBATCH --ntasks-per-node=tag_task
#SBATCH --gres=gpu:tag_task
comm_1="${MPIEXEC} ${FLAGS_MPI_BATCH} bash -c 'source setup.sh && bash script.sh'"
comm_2="source setup.sh && bash script.sh"
command=tag_command
if [ "$command" = 1 ]; then eval "${comm_1}"; else eval "${comm_2}"; fi
cp log.csv ../../logs/log_${SLURM_NTASKS}.csv
END
cat >train.py <<'END'
import json, os, sys
spec, rank = json.loads(os.environ["TF_CONFIG"]), int(os.environ["RANK"])
words = dict(w[2:].split("=") for w in sys.argv[1:])
print("train", rank, spec["task"]["index"], len(spec["cluster"]["worker"]), spec["cluster"]["worker"][0], words)
if rank == 0:
    with open("log.csv", "w") as f:
        f.write(",time_per_epoch,loss,lr,training_time,test_time,iou\n")
        for i in range(int(words["epoch"])):
            f.write(f"{i},1.0,0.5,0.001,2.0,0.1,0.25\n")
END
printf 'tensorflow:\n  script: %s\n' "$TMP/train.py" >>study/study.yaml
export MPIEXEC=srun FLAGS_MPI_BATCH=--kill-on-bad-exit=1
exits 0 "submit --engine tensorflow --templates tags --gpus 1,4" \
    unetctl submit -C study --engine tensorflow --templates tags --gpus 1,4 --wait --timeout 180 \
    -- --nice=7
is "$(cat study/runs/tensorflow-g04-s1/attempt-1/*.out | sed -n 's/^train //p' | cut -d' ' -f1-3 | sort | tr '\n' ,)" \
    "0 0 4,1 1 4,2 2 4,3 3 4," "there are 4 ranks, each with its own place in TF_CONFIG"
is "$(field study/runs/tensorflow-g04-s1/attempt-1/DONE 'd["iou"]')" 0.25 \
    "the result is that of log.csv"
like study/logs/log_4.csv '^1,1.0,0.5' "log.csv is copied to where the template says"
job=$(sed -n 's/.*"submitted".*tensorflow-g04.*"job":"\([0-9]*\)".*/\1/p' \
    study/.unetctl/ledger.jsonl)
like <(login scontrol show job "$job") 'Partition=short' "the template's own directives take effect"
like <(login scontrol show job "$job") 'TimeLimit=00:08:00' "its time limit takes effect, too"
like <(login scontrol show job "$job") 'Nice=7' "options after -- override them"
exits 0 "submit again" unetctl submit -C study --engine tensorflow --templates tags --gpus 1,4
like "$ERR" '0 runs submitted; before: 0 active, 2 done' "submitting again does nothing"

# ---- those that resume have ended
ok "both runs are done" wait_until 120 all_states slow COMPLETED
like <(cat slow/runs/command-g01-s1/attempt-1/*.out) \
    'engine: resumes after [0-9]+ epochs of attempt-1' \
    "the job continued in the same attempt after USR1"
like <(cat slow/runs/command-g02-s1/attempt-2/*.out) \
    'engine: resumes after [0-9]+ epochs of attempt-1' \
    "the resumed job continued from the previous attempt"
is "$(cat slow/runs/*/attempt-*/log.csv | grep -c '^[0-9]')" 100 "both have all epochs"
done_testing
