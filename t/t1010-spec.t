#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec takes its values from Slurm's environment or from options, and refuses to guess.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

STEP=(SLURM_JOB_ID=1234 'SLURM_STEP_NODELIST=node[1-2]' 'SLURM_STEP_TASKS_PER_NODE=2,1' \
    SLURM_STEP_NUM_TASKS=3
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

is "$(spec "${STEP[@]}")" "$(worker 2 node1:12234 node1:12235 node2:12234)" \
    "the step's variables are used, and the port depends on the job"
is "$(spec "${STEP[@]}" -- --port-base 13565)" "$(worker 2 node1:13565 node1:13566 node2:13565)" \
    '--port-base sets the port'
is "$(spec "${STEP[@]}" -- --port-base 20000 --port-count 10)" \
    "$(worker 2 node1:20001 node1:20002 node2:20001)" "the job's number selects ports of a range"
exits 5 'a range with fewer ports than tasks is refused' spec "${STEP[@]}" -- --port-base 20000 --port-count 1
is "$(spec SLURM_JOB_ID=5000 SLURM_JOB_NODELIST=node3 SLURM_TASKS_PER_NODE=1 SLURM_PROCID=0)" \
    "$(worker 0 node3:12000)" "the job's variables are used outside of any step"
is "$(spec -- --nodelist 'n[1-2]' --tasks-per-node 2 --rank 3)" \
    "$(worker 3 n1:8888 n1:8889 n2:8888 n2:8889)" 'a single number of tasks applies to every node'
is "$(spec "${STEP[@]}" -- --nodelist n9 --tasks-per-node 1 --rank 0)" "$(worker 0 n9:8888)" \
    'options replace the environment'
is "$(spec UNETCTL_JOB_ID=5 -- --nodelist n9 --tasks-per-node 1 --rank 0)" \
    "$(worker 0 "n9:$((12000 + (5 + $(id -u)) % 1000))")" "in the local queue the port depends on job and user"
is "$(spec "${STEP[@]}" SLURM_STEP_NODELIST='n[10,9]' -- --port-base 1)" \
    "$(worker 2 n10:1 n10:2 n9:1)" \
    "Slurm's order is the order of the list"
is "$(spec "${STEP[@]}" SLURM_STEP_NODELIST='n[9,10]' -- --resolver tf)" \
    "$(worker 2 n10:8888 n9:8888 n9:8889)" \
    "TensorFlow's order is by name, from port 8888"

while IFS='|' read -r distribution size want; do
    # shellcheck disable=SC2086 # a list of words
    is "$(spec "${STEP[@]}" SLURM_DISTRIBUTION="$distribution" SLURM_DIST_PLANESIZE="$size" \
        SLURM_STEP_TASKS_PER_NODE=4,2 SLURM_STEP_NUM_TASKS=6 -- --port-base 1)" \
        "$(worker 2 $want)" "the ranks of srun -m $distribution"
done <<'EOF'
block||node1:1 node1:2 node1:3 node1:4 node2:1 node2:2
block:cyclic,Pack||node1:1 node1:2 node1:3 node1:4 node2:1 node2:2
cyclic||node1:1 node2:1 node1:2 node2:2 node1:3 node1:4
cyclic:block||node1:1 node2:1 node1:2 node2:2 node1:3 node1:4
plane|3|node1:1 node1:2 node1:3 node2:1 node2:2 node1:4
EOF
is "$(spec "${STEP[@]}" -- --rank 0 --port-base 1)" "$(worker 0 node1:1 node1:2 node2:1)" \
    "a single option overrides the step's variable"
is "$(spec -- --tasks-per-node 'n[3-4]:2,m[7,1]:1' --rank 0)" \
    "$(worker 0 n3:8888 n3:8889 n4:8888 n4:8889 m7:8888 m1:8888)" \
    'tasks are given by node'
is "$(spec -- --nodelist 'jwb[01-02]' --tasks-per-node 1 --rank 0 --host-suffix i)" \
    "$(worker 0 jwb01i:8888 jwb02i:8888)" \
    'a suffix is added to hosts'
is "$(spec "${STEP[@]}" -- --jobs chief=1,worker=1,ps=1 --port-base 5)" \
    '{"cluster":{"chief":["node1:5"],"worker":["node1:6"],"ps":["node2:5"]},"task":{"type":"ps","index":0}}' \
    'types of tasks keep the order in which they are written'

# What a task sees of a list of GPUs where its node has two tasks, or one (task 2).
while read -r list rank words want; do
    # shellcheck disable=SC2086 # a list of words
    is "$(env "${STEP[@]}" SLURM_PROCID="$rank" CUDA_VISIBLE_DEVICES="$list" unetctl spec --format env \
        --gpus-per-task ${words//,/ } | grep VISIBLE)" "${want:+CUDA_VISIBLE_DEVICES=$want}" \
        "GPUs of task $rank, given $list: $words"
done <<'EOF'
4,5,6,7 0 1 4
4,5,6,7 1 1 5
4,5,6,7 2 1 4
4,5,6,7 1 1,--gpus-of-node 4,5
4,5,6,7 2 1,--gpus-of-node 4
4,5 1 1 5
5 1 1
4,5 1 1,--gpus-of-node
GPU-a,GPU-b,-1,4 1 1 GPU-b
4,5,6,7 1 2 6,7
EOF

# The cases of TensorFlow's slurm_cluster_resolver_test.py. lib.sh unsets CUDA_VISIBLE_DEVICES.
TF=(SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 'SLURM_STEP_TASKS_PER_NODE=1(x3)' \
    'SLURM_STEP_NODELIST=t02n13,t02n41,t02n43')
PS2='{"cluster":{"ps":["t02n13:8888"],"worker":["t02n41:8888","t02n43:8888"]},"task":{"type":"ps","index":0}}'
is "$(spec "${TF[@]}" CUDA_VISIBLE_DEVICES=0 -- --resolver tf)" \
    "$(worker 0 t02n13:8888 t02n41:8888 t02n43:8888)" \
    "TensorFlow's variables are read"
is "$(spec "${TF[@]}" CUDA_VISIBLE_DEVICES=0 -- --resolver tf --json | sed 's/.*"rank"/"rank"/')" \
    '"rank":0,"address":"t02n13:8888","master":"grpc://t02n13:8888","num_accelerators":{"GPU":1},"cuda_visible_devices":"0"}' \
    '... master, accelerators and device are printed'
GPUS1=(--resolver tf --jobs 'ps:1,worker:2' --gpus-per-node 1 --gpus-per-task 1)
is "$(spec "${TF[@]}" SLURM_STEP_TASKS_PER_NODE= -- "${GPUS1[@]}" --tasks-per-node 1)" "$PS2" \
    'the number of tasks per node is an option'
is "$(spec "${TF[@]}" -- "${GPUS1[@]}")" "$PS2" '... or taken from the step'
is "$(spec "${TF[@]}" SLURM_STEP_NODELIST= SLURM_STEP_TASKS_PER_NODE= -- "${GPUS1[@]}" --tasks-per-node t02n43:1,t02n13:1,t02n41:1)" \
    "$PS2" '... or given by node'
master() { spec "${TF[@]}" -- "${GPUS1[@]}" --json "$@" | sed 's/.*"master":"\([^"]*\)".*/\1/'; }
is "$(master --task worker:1)" grpc://t02n43:8888 'the master of a task is printed'
is "$(master --task ps:0 --rpc-layer ab)" ab://t02n13:8888 '... with a protocol'
exits 2 'the master of a task that does not exist is refused' \
    spec "${TF[@]}" -- "${GPUS1[@]}" --json --task worker:2
MULTI=(SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=5 'SLURM_STEP_TASKS_PER_NODE=2(x2),1' \
    CUDA_VISIBLE_DEVICES=
    'SLURM_STEP_NODELIST=t02n13,t02n41,t02n43')
MULTI_WANT='{"cluster":{"ps":["t02n13:8888"],"worker":["t02n13:8889","t02n41:8888","t02n41:8889","t02n43:8888"]},"task":{"type":"worker","index":0}}'
while read -r per_node per_task want; do
    # shellcheck disable=SC2016 # for the shell of the command
    is "$(env "${MULTI[@]}" unetctl spec --resolver tf --jobs ps:1,worker:4 --gpus-per-node "$per_node" \
        --gpus-per-task "$per_task" -- sh -c 'echo "$TF_CONFIG $CUDA_VISIBLE_DEVICES"')" \
        "$MULTI_WANT $want" "several tasks of $per_task GPUs on a node: the command's environment"
done <<'EOF'
2 1 1
4 2 2,3
EOF
is "$(env "${MULTI[@]}" unetctl spec --resolver tf --gpus-per-node 2 --no-auto-set-gpu -- printenv CUDA_VISIBLE_DEVICES)" '' \
    '--no-auto-set-gpu leaves CUDA_VISIBLE_DEVICES unset'
is "$(env "${MULTI[@]}" CUDA_VISIBLE_DEVICES=4,5,6,7 unetctl spec --resolver tf -- printenv CUDA_VISIBLE_DEVICES)" 2,3 \
    'GPUs of the environment are divided equally'
mkdir bin
# shellcheck disable=SC2016 # for the script
printf '#!/bin/sh\n[ "$1" = --list-gpus ] && printf "GPU 0: a\\nGPU 1: b\\nnote\\n"\n' \
    >bin/nvidia-smi
chmod +x bin/nvidia-smi
is "$(env PATH="$PWD/bin:$PATH" "${TF[@]}" unetctl spec --resolver tf -- printenv CUDA_VISIBLE_DEVICES)" 0,1 \
    '... without the variable, those of nvidia-smi'
is "$(spec "${TF[@]}" CUDA_VISIBLE_DEVICES= -- --resolver tf --json | grep -o '"num_acc.*')" \
    '"num_accelerators":{"GPU":0}}' \
    'an empty CUDA_VISIBLE_DEVICES means no GPUs'
exits 5 'fewer GPUs than tasks on a node are refused' \
    spec "${MULTI[@]}" CUDA_VISIBLE_DEVICES=0 -- --resolver tf
like "$ERR" '1 GPU for 2 tasks.*--gpus-per-task 0' '... the error says what to type'
ok '... typing that works' spec "${MULTI[@]}" -- --resolver tf --gpus-per-task 0
exits 5 'types of tasks that do not add up are refused' \
    spec "${TF[@]}" -- --resolver tf --jobs ps:1,worker:3
like "$ERR" 'requested 4 tasks but 3 were assigned' '... the error has both numbers'
exits 5 \
    'too few GPUs are refused' spec "${TF[@]}" -- --resolver tf --gpus-per-node 1 --gpus-per-task 2
like "$ERR" 'more GPUs per node than available' '... the error says so'
for missing in SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_STEP_NODELIST SLURM_STEP_TASKS_PER_NODE; do
    exits 5 "tf: $missing missing" spec "${TF[@]}" SLURM_JOB_NODELIST=n1 SLURM_TASKS_PER_NODE=1 \
        "$missing=" -- --resolver tf
    like "$ERR" "$missing is not set" '... the error names it'
done

exits 2 'a command that does not exist is refused' spec "${STEP[@]}" -- -- ./none
exits 3 'the exit code is that of the command' spec "${STEP[@]}" -- -- sh -c 'exit 3'
exits 5 'a specification that is too large for a variable is refused' \
    unetctl spec --nodelist 'n[1-10000]' --tasks-per-node 8 \
    --rank 0 -- true
like "$ERR" 'TF_CONFIG has [0-9]* bytes, but Linux allows' '... the error has its size'
exits 5 'more tasks than fit in memory are refused' unetctl spec --nodelist 'n[1-1000000]' \
    --tasks-per-node 65536 --rank 0

for missing in SLURM_PROCID SLURM_STEP_TASKS_PER_NODE; do
    exits 5 "$missing missing" spec "${STEP[@]}" "$missing=" --
    like "$ERR" "$missing is not set" '... the error names it'
    ok '... nothing is printed' test ! -s "$OUT"
done
exits 5 'spec outside of Slurm is refused' spec
like "$ERR" 'SLURM_JOB_NODELIST is not set' '... it does not assume this host'

while IFS='|' read -r variable reason; do
    exits 5 "refused: $variable" spec "${STEP[@]}" "$variable" --
    like "$ERR" "$reason" "... $reason"
done <<'EOF'
SLURM_PROCID=3|rank 3: there are 3 tasks
SLURM_PROCID=-1|SLURM_PROCID=-1: not a number
SLURM_PROCID=1x|not a number
SLURM_STEP_NODELIST=node[1-|SLURM_STEP_NODELIST: .*position 8
SLURM_STEP_NODELIST=node[1-3]|has 3 nodes, but SLURM_STEP_TASKS_PER_NODE=2,1 has 2
SLURM_STEP_NODELIST=node1,node1|node1 is listed twice
SLURM_STEP_TASKS_PER_NODE=2(x2|SLURM_STEP_TASKS_PER_NODE: .*position 5
SLURM_STEP_NUM_TASKS=4|SLURM_STEP_NUM_TASKS=4
SLURM_DISTRIBUTION=arbitrary|unknown; start the tasks with srun --distribution=block
SLURM_DISTRIBUTION=plane|SLURM_DIST_PLANESIZE is not
SLURM_JOB_ID=x|SLURM_JOB_ID=x: not a number
EOF
ok 'the distribution of one task per node does not matter' \
    spec "${TF[@]}" SLURM_DISTRIBUTION=cyclic --
exits 5 'ports above 65535 are refused' spec "${STEP[@]}" -- --port-base 65535

while IFS='|' read -r options reason; do
    # shellcheck disable=SC2086 # a list of words
    exits 2 "usage: $options" unetctl spec $options
    like "$ERR" "$reason" "... $reason"
done <<'EOF'
--nodelist n1|--tasks-per-node is missing
--nodelist n1 --tasks-per-node 1|--rank is missing, and SLURM_PROCID
--rank 0|--nodelist is missing
--nodelist n1 --tasks-per-node n1:2 --rank 0|leave --nodelist out
--tasks-per-node n1:,n2:1 --rank 0|a number is missing
--tasks-per-node n[1-2 --rank 0|--nodelist is missing
--tasks-per-node n1:1,n2 --rank 0|the number of tasks is missing
--nodelist n1 --tasks-per-node 1 --rank 0 --host-suffix i;x|--host-suffix
--nodelist n[1 --tasks-per-node 1 --rank 0|not closed
--nodelist n[1-3] --tasks-per-node 1,1 --rank 0|has 3 nodes
--nodelist n1 --tasks-per-node 0 --rank 0|at least 1
--nodelist n1 --tasks-per-node 1 --rank 0 --jobs ps|write NAME:COUNT
--resolver tff|unknown resolver 'tff'
--port-base 65536|from 1 to 65535
EOF
exits 1 'a full disk is reported' sh \
    -c 'exec unetctl spec --nodelist n1 --tasks-per-node 1 --rank 0 >/dev/full'
if command -v python3 >/dev/null; then
    ok 'the output is JSON' sh \
        -c 'unetctl spec --nodelist "n[1-500]" --tasks-per-node 8 --rank 3999 | python3 -m json.tool'
else
    skip 'python3 is not installed' 'it is JSON'
fi
done_testing
