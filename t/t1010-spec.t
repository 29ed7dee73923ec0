#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec: from Slurm's environment, from options, and everything it must not guess.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

STEP=(SLURM_JOB_ID=1234 'SLURM_STEP_NODELIST=node[1-2]' 'SLURM_STEP_TASKS_PER_NODE=2,1' SLURM_STEP_NUM_TASKS=3
    SLURM_PROCID=2 'SLURM_JOB_NODELIST=node[1-7]' 'SLURM_TASKS_PER_NODE=2(x7)')
worker() { # INDEX ADDRESS...
    local index=$1
    shift
    printf '{"cluster":{"worker":["%s"' "$1"
    shift
    [ $# = 0 ] || printf ',"%s"' "$@"
    printf ']},"task":{"type":"worker","index":%s}}\n' "$index"
}
spec() { # [VARIABLE=VALUE...] [-- OPTION...]
    local v=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        v+=("$1")
        shift
    done
    [ $# = 0 ] || shift
    env ${v[@]+"${v[@]}"} unetctl spec "$@"
}

is "$(spec "${STEP[@]}")" "$(worker 2 node1:9122 node1:9123 node2:9122)" \
    'the step decides, and the port depends on the job'
is "$(spec "${STEP[@]}" -- --port-base 13565)" "$(worker 2 node1:13565 node1:13566 node2:13565)" '--port-base'
is "$(spec SLURM_JOB_ID=5000 SLURM_JOB_NODELIST=node3 SLURM_TASKS_PER_NODE=1 SLURM_PROCID=0)" \
    "$(worker 0 node3:8888)" 'a batch script outside of any step'
is "$(spec -- --nodelist 'n[1-2]' --tasks-per-node 2 --rank 3)" \
    "$(worker 3 n1:8888 n1:8889 n2:8888 n2:8889)" 'one number of tasks holds for every node'
is "$(spec "${STEP[@]}" -- --nodelist n9 --tasks-per-node 1 --rank 0)" "$(worker 0 n9:8888)" \
    'options leave the environment aside'
is "$(spec "${STEP[@]}" SLURM_STEP_NODELIST='n[10,9]' -- --port-base 1)" "$(worker 2 n10:1 n10:2 n9:1)" \
    'slurm: the order of the list'
is "$(spec "${STEP[@]}" SLURM_STEP_NODELIST='n[9,10]' -- --resolver tf)" "$(worker 2 n10:8888 n9:8888 n9:8889)" \
    'tf: by name, from 8888'

# TensorFlow's slurm_cluster_resolver_test.py
TF=(SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 'SLURM_STEP_TASKS_PER_NODE=1(x3)' 'SLURM_STEP_NODELIST=t02n13,t02n41,t02n43')
is "$(spec "${TF[@]}" -- --resolver tf)" "$(worker 0 t02n13:8888 t02n41:8888 t02n43:8888)" 'SimpleRetrievalFromEnv'
is "$(spec "${TF[@]}" -- --resolver tf --jobs ps:1,worker:2 --gpus-per-node 1 --gpus-per-task 1)" \
    '{"cluster":{"ps":["t02n13:8888"],"worker":["t02n41:8888","t02n43:8888"]},"task":{"type":"ps","index":0}}' \
    'SimpleSuccessfulRetrieval'
exits 5 'jobs that do not add up' spec "${TF[@]}" -- --resolver tf --jobs ps:1,worker:3
like "$ERR" 'requested 4 tasks but 3 were assigned' '... are told'
exits 5 'too few GPUs' spec "${TF[@]}" -- --resolver tf --gpus-per-node 1 --gpus-per-task 2
like "$ERR" 'more GPUs per node than available' '... are told'

for missing in SLURM_PROCID SLURM_STEP_TASKS_PER_NODE; do
    exits 5 "$missing missing" spec "${STEP[@]}" "$missing=" --
    like "$ERR" "$missing is not in the environment" '... is named'
    ok '... and nothing is printed' test ! -s "$OUT"
done
exits 5 'outside of Slurm' spec
like "$ERR" 'SLURM_JOB_NODELIST is not in the environment' '... no fallback to this host'

while IFS='|' read -r variable reason; do
    exits 5 "refused: $variable" spec "${STEP[@]}" "$variable" --
    like "$ERR" "$reason" "... $reason"
done <<'EOF'
SLURM_PROCID=3|rank 3: there are 3 tasks
SLURM_PROCID=-1|SLURM_PROCID=-1: not a number
SLURM_PROCID=1x|not a number
SLURM_STEP_NODELIST=node[1-|SLURM_STEP_NODELIST: .*position 8
SLURM_STEP_NODELIST=node[1-3]|has 3 nodes, but SLURM_STEP_TASKS_PER_NODE=2,1 is for 2
SLURM_STEP_NODELIST=node1,node1|node1 stands twice
SLURM_STEP_TASKS_PER_NODE=2(x2|SLURM_STEP_TASKS_PER_NODE: .*position 5
SLURM_STEP_NUM_TASKS=4|SLURM_STEP_NUM_TASKS=4
SLURM_DISTRIBUTION=cyclic|--distribution=block
SLURM_JOB_ID=x|SLURM_JOB_ID=x: not a number
EOF
ok 'the distribution of one task per node does not matter' \
    spec "${TF[@]}" SLURM_DISTRIBUTION=cyclic --
exits 5 'ports end at 65535' spec "${STEP[@]}" -- --port-base 65535

while IFS='|' read -r options reason; do
    # shellcheck disable=SC2086 # a list of words
    exits 2 "usage: $options" unetctl spec $options
    like "$ERR" "$reason" "... $reason"
done <<'EOF'
--nodelist n1|--tasks-per-node is missing
--nodelist n1 --tasks-per-node 1|--rank is missing
--rank 0|--nodelist is missing
--nodelist n[1 --tasks-per-node 1 --rank 0|not closed
--nodelist n[1-3] --tasks-per-node 1,1 --rank 0|has 3 nodes
--nodelist n1 --tasks-per-node 0 --rank 0|at least 1
--nodelist n1 --tasks-per-node 1 --rank 0 --jobs ps|write NAME:COUNT
--resolver tff|there are slurm and tf
--port-base 65536|from 1 to 65535
EOF
exits 1 'a full disk is told' sh -c 'exec unetctl spec --nodelist n1 --tasks-per-node 1 --rank 0 >/dev/full'
if command -v python3 >/dev/null; then
    ok 'it is JSON' sh -c 'unetctl spec --nodelist "n[1-500]" --tasks-per-node 8 --rank 3999 | python3 -m json.tool'
else
    skip 'python3 is not installed' 'it is JSON'
fi
done_testing
