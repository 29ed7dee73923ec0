#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 1 to 14 GPUs on nodes with two: tasks are 2, 2, ..., 1 in block order, with a GPU each.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

[ -x "$builddir/unetctl-slurm" ] || skip_all "built without libslurm"
sandbox_up --nodes 7

# Each rank prints its rank, the number of its node in the job, and its GPU.
cat >"$TMP/rank" <<'END'
#!/bin/bash
echo "$SLURM_PROCID $SLURM_NODEID $CUDA_VISIBLE_DEVICES"
END
chmod +x "$TMP/rank"

job() { # GPUS
    local nodes=$((($1 + 1) / 2)) exclusive=false
    [ $(($1 % nodes)) = 0 ] || exclusive=true # job_needs_whole_nodes
    printf '#!/bin/bash\nsrun --kill-on-bad-exit=1 --nodes=%d --ntasks=%d --gpus-per-task=1 --cpus-per-task=1 ./rank\n' \
        "$nodes" "$1" >"$TMP/g$1.sh"
    printf '{"op":"submit","jobs":[{"tag":"layout:%d","comment":"layout:%d","name":"g%d","script":"%s","work_dir":"%s","output":"%s","nodes":%d,"tasks":%d,"gpus_per_task":1,"cpus_per_task":1,"exclusive":%s}]}\n' \
        "$1" "$1" "$1" "$TMP/g$1.sh" "$TMP" "$TMP/g$1.out" "$nodes" "$1" "$exclusive"
}
want() { # GPUS
    local rank
    for ((rank = 0; rank < $1; rank++)); do echo "$rank $((rank / 2)) $((rank % 2))"; done
}
queue_empty() { [ -z "$(login squeue -h -t pending,running,completing -n "$1")" ]; }

# Another user's job has one GPU of the first node. No job may begin with the other half of that
# node.
login sbatch -w node1 -n1 --gpus-per-task=1 -J stranger -o /dev/null --wrap 'sleep 1000' >/dev/null
ok "another user's job runs" wait_until 60 bash \
    -c "[ \"\$(unetctl sandbox exec -- squeue -h -t running -n stranger -o %N)\" = node1 ]"
for n in 3 5; do job $n; done | login "$builddir/unetctl-slurm" >"$OUT"
ok "the jobs with 3 and 5 GPUs end" wait_until 120 queue_empty g3,g5
for n in 3 5; do is "$(sort -n "$TMP/g$n.out")" "$(want $n)" "$n GPUs beside a stranger"; done
login scancel -n stranger
rm "$TMP"/g*.out # jobs append

for ((n = 1; n <= 14; n++)); do job $n; done | login "$builddir/unetctl-slurm" >"$OUT"
is "$(grep -c '"results":\[{.*"id":' "$OUT")" 14 "1 to 14 GPUs are accepted"
ok "all jobs end" wait_until 240 queue_empty "$(echo g{1..14} | tr ' ' ,)"
for ((n = 1; n <= 14; n++)); do is "$(sort -n "$TMP/g$n.out")" "$(want $n)" "$n GPUs"; done
done_testing
