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

# Runs --check on each rank, with its options changed by the script.
check() { # SCRIPT SRUN-OPTIONS...
    local script=$1
    shift
    # The whole step must end once rank 0 has compared the reports; a rank that waits for longer is
    # an error.
    login timeout 60 srun --immediate=60 "$@" sh -c "$script"
}
MIXED=(-N3 -n5) # 3 + 1 + 1
exits 0 'all ranks agree' check 'exec unetctl spec --check' "${MIXED[@]}"
is "$(wc -l <"$OUT")" 1 '... one line is printed'
like "$OUT" '^5 ranks on 3 nodes see the same cluster, rank 0 at node1:' '... the line says so'
exits 0 '... ranks of another distribution agree, with JSON' \
    check 'exec unetctl spec --check --json' -N3 -n7 \
    -m cyclic
like "$OUT" '^\{"schema":1,"ok":true,"ranks":7,"nodes":3,"sha256":"[0-9a-f]{64}","findings":\[\]\}$' \
    '... the JSON has its schema'
exits 0 '... a single rank agrees' check 'exec unetctl spec --check' -N1 -n1

exits 5 'a rank with another node list is an error' \
    check '[ $SLURM_PROCID != 3 ] || SLURM_STEP_NODELIST=node[1,3,2]
    exec unetctl spec --check' "${MIXED[@]}"
like "$ERR" 'rank 3 on node2: it sees another cluster: SLURM_STEP_NODELIST=node\[1,3,2\] .*rank 0 on node1 has SLURM_STEP_NODELIST=node\[1-3\].*; start all ranks as one step' \
    '... the error names rank and variables'
like "$ERR" 'rank 3 on node2: it runs on node2, but its address is node3:' \
    '... the error names the rank whose host is wrong'
exits 5 'a rank with other options is an error' \
    check '[ $SLURM_PROCID != 4 ] || set -- --jobs chief=1,worker=4
    exec unetctl spec --check "$@"' "${MIXED[@]}"
like "$ERR" 'rank 4 on node3: it has another specification of the same nodes' \
    '... the error names the rank whose specification differs'
exits 5 'a rank that looks for rank 0 elsewhere is an error' check \
    '[ $SLURM_PROCID != 4 ] || set -- --port-base 7000
    exec unetctl spec --check --timeout 3 "$@"' "${MIXED[@]}"
like "$ERR" 'rank 4 on node3: it did not report to node1:' '... rank 0 reports it as missing'
like "$ERR" 'rank 4 on node3: no answer from rank 0 at node1:7000: ' \
    '... the rank reports that rank 0 does not answer'
exits 5 'a missing rank is an error' check '[ $SLURM_PROCID != 1 ] || exit 0
    exec unetctl spec --check --timeout 3' "${MIXED[@]}"
like "$ERR" 'rank 1 on node1: it did not report to node1:[0-9]+ within 3 s' '... the error names it'
is "$(grep -c 'did not report' "$ERR")" 1 '... and no other rank'
exits 5 'two processes with one rank are an error' \
    check '[ $SLURM_PROCID != 4 ] || export SLURM_PROCID=3
    exec unetctl spec --check' "${MIXED[@]}"
like "$ERR" 'rank 3 on node[23]: a second process has rank 3; the first runs on node[23]' \
    '... the error names the rank that exists twice'
like "$ERR" 'rank 3 on node3: it runs on node3, but its address is node2:' \
    '... the error names the process on the wrong host'
like "$ERR" 'rank 4 on node3: it did not report' '... the error names the missing rank'
for other in 1 4; do
    exits 5 "rank $other that takes itself for rank 0 is an error" check \
        "[ \$SLURM_PROCID != $other ] || export SLURM_PROCID=0
        exec unetctl spec --check --timeout 10" "${MIXED[@]}"
    like "$ERR" 'rank 0 on node[13]: a second process has rank 0; the first runs on node1' \
        '... the error names both hosts'
done
exits 5 'an old TF_CONFIG is an error' check \
    '[ $SLURM_PROCID != 3 ] || export TF_CONFIG="{\"cluster\":{\"worker\":[\"old:1\"]}}"
    exec unetctl spec --check --json' "${MIXED[@]}"
like "$OUT" '"ok":false.*"rank":3,"node":"node2","problem":"its environment has another TF_CONFIG: .*"remedy":"unset TF_CONFIG' \
    '... the JSON has the rank and its problem'
exits 0 '... the correct TF_CONFIG is accepted' \
    check 'TF_CONFIG=$(unetctl spec) exec unetctl spec --check' \
    "${MIXED[@]}"
if command -v python3 >/dev/null; then
    cat >"$TMP/busy.py" <<'EOF'
import os, socket, subprocess, sys
s = socket.socket()
if os.environ["SLURM_PROCID"] == "2":
    s.bind(("127.0.1.3" if "UNETCTL_HOSTS" in os.environ else "", 9300)) # a flat node's own
    s.listen()
sys.exit(subprocess.call(["unetctl", "spec", "--check", "--port-base", "9300"]))
EOF
    exits 5 \
        'a port that is in use is an error' login timeout 60 srun --immediate=60 -N3 -n3 python3 \
        "$TMP/busy.py"
    like "$ERR" 'rank 2 on node3: it cannot listen at node3:9300: Address already in use' \
        '... the error names the rank whose port is in use'
else
    skip 'python3 is not installed' 'a port that is taken'
fi

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
