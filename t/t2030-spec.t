#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec in real Slurm steps: each task's address is on the node that it runs on, and all
# tasks see the same cluster.
# shellcheck disable=SC2016 # text for the shells of the tasks
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

sandbox_up --nodes 3 --gpus-per-node 2

# Each task prints its rank, its node and its specification. --immediate fails instead of waiting
# for a node.
tasks() { # SRUN OPTIONS...
    login srun --immediate=60 "$@" sh -c 'echo "$SLURM_PROCID $SLURMD_NODENAME $(unetctl spec)"' |
        sort -n
}
# Checks the lines of tasks: rank, node and place in the list agree, there is one cluster, and ports
# follow slots.
judge() {
    python3 -c '
import json, sys
clusters, seen, slots = set(), [], {}
for line in sys.stdin:
    rank, node, text = line.split(" ", 2)
    spec = json.loads(text)
    clusters.add(json.dumps(spec["cluster"]))
    seen.append(int(rank))
    host, port = spec["cluster"]["worker"][int(rank)].split(":")
    assert spec["task"] == {"type": "worker", "index": int(rank)}, spec["task"]
    assert host == node, (rank, host, node)
    base = int(port) - slots.get(host, 0)
    slots[host] = slots.get(host, 0) + 1
    slots.setdefault("base", base)
    assert base == slots["base"], (port, slots)
assert len(clusters) == 1, clusters
workers = json.loads(clusters.pop())["worker"]
assert seen == list(range(len(workers))), seen
assert len(set(workers)) == len(workers), workers
print(len(workers))'
}

is "$(tasks -N1 -n1 | judge)" 1 'one task has a correct specification'
is "$(tasks -N1 -n2 --ntasks-per-node=2 | judge)" 2 'two tasks on one node have'
is "$(tasks -N2 -n3 --ntasks-per-node=2 | judge)" 3 'three tasks on two nodes have'
is "$(tasks -N3 -n5 --ntasks-per-node=2 --distribution=block | judge)" 5 \
    'five tasks on three nodes have'
is "$(tasks -N3 -n3 | judge)" 3 'one task on each node has'
is "$(tasks -N2 -n2 -w 'node[2-3]' | judge)" 2 'tasks on chosen nodes have'
for m in cyclic plane=2; do
    is "$(tasks -N3 -n7 -m $m | judge)" 7 "tasks of srun -m $m have"
done
ok 'an arbitrary distribution is refused' sh \
    -c '! unetctl sandbox exec -- srun --immediate=60 -n2 -w node2,node1 \
    -m arbitrary unetctl spec'
like "$ERR" 'order of these tasks is unknown; start .* --distribution=block' \
    '... the error says how to start them'

# A step on a part of the job, and the batch script itself, which is outside of any step.
cat >"$TMP/job" <<'EOF'
#!/bin/sh
echo "$SLURM_PROCID $SLURMD_NODENAME $(unetctl spec)" >batch
srun -N1 -n1 -r1 sh -c 'echo "$SLURM_PROCID $SLURMD_NODENAME $(unetctl spec)"' >step
EOF
ok 'a batch job succeeds' \
    login sbatch --wait -N2 -n2 --ntasks-per-node=1 -D "$TMP" -o "$TMP/job.out" "$TMP/job"
is "$(cut -d' ' -f1 "$TMP/batch") $(grep -o '"node[0-9]*' "$TMP/batch" | wc -l)" '0 2' \
    'the batch script sees the tasks of the whole job'
is "$(judge <"$TMP/step")" 1 'a step on the second node sees only itself'
done_testing
