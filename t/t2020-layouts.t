#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 1 to 14 GPUs on nodes with two: tasks are 2, 2, ..., 1 in block order, with a GPU each; on one
# node there is one task with all of them.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

sandbox_up --nodes 7
make_step_study layouts sandbox
# Each rank prints its rank, the number of its node in the job, and its GPU.
cat >"$TMP/rank" <<END
#!/bin/bash
echo "rank: \$SLURM_PROCID \$SLURM_NODEID \$CUDA_VISIBLE_DEVICES"
exec $srcdir/t/trainer.sh "\$@"
END
chmod +x "$TMP/rank"
sed -i "s|^trainer: .*|trainer: $TMP/rank|" layouts/site.yaml

ranks() { # GPUS
    sed -n 's/^rank: //p' "layouts/runs/$(printf unet-g%02d "$1")-s1"/attempt-1/slurm-*.out | sort -n
}
want() { # GPUS
    local rank
    if [ "$1" -le 2 ]; then seq -s , 0 $(($1 - 1)) | sed 's/^/0 0 /'; return; fi
    for ((rank = 0; rank < $1; rank++)); do echo "$rank $((rank / 2)) $((rank % 2))"; done
}

# Another user's job has one GPU of the first node. No job may begin with the other half of that
# node.
login sbatch -w node1 -n1 --gpus-per-task=1 -J stranger -o /dev/null --wrap 'sleep 1000' >/dev/null
ok "another user's job runs" wait_until 60 bash \
    -c "[ \"\$(unetctl sandbox exec -- squeue -h -t running -n stranger -o %N)\" = node1 ]"
exits 0 "the jobs with 3 and 5 GPUs end" unetctl submit -C layouts --gpus 3,5 --wait --timeout 120
for n in 3 5; do is "$(ranks $n)" "$(want $n)" "$n GPUs beside a stranger"; done
login scancel -n stranger

exits 0 "1 to 14 GPUs end" unetctl submit -C layouts --gpus 1..14 --wait --timeout 240
for ((n = 1; n <= 14; n++)); do is "$(ranks $n)" "$(want $n)" "$n GPUs"; done
done_testing
