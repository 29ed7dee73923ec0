#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec against TensorFlow: what its resolvers read from our TF_CONFIG, what its own resolver
# for Slurm makes of the same variables, and an all-reduce of two real workers on our specification.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/peers/peers.sh
. "$srcdir/t/peers/peers.sh"
need_python tensorflow

cat >compare.py <<'EOF'
# compare.py SEED COUNT: random steps; where one resolver refuses a step the other must too.
import json, os, random, subprocess, sys
import tensorflow as tf
Slurm = tf.distribute.cluster_resolver.SlurmClusterResolver
TFConfig = tf.distribute.cluster_resolver.TFConfigClusterResolver
seed, count = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
NAMES = "SLURM_PROCID SLURM_STEP_NUM_TASKS SLURM_STEP_TASKS_PER_NODE SLURM_STEP_NODELIST CUDA_VISIBLE_DEVICES TF_CONFIG".split()

def compressed(numbers):
    width = len(numbers[0])
    parts, i = [], 0
    while i < len(numbers):
        j = i
        while j + 1 < len(numbers) and int(numbers[j + 1]) == int(numbers[j]) + 1 and len(numbers[j + 1]) == len(numbers[i]):
            j += 1
        parts.append(numbers[i] if i == j else numbers[i] + "-" + numbers[j])
        i = j + 1
    return "[" + ",".join(parts) + "]"

def random_nodes():
    parts = []
    for prefix in random.sample(["n", "node", "gpu-", "t02n", "a.b", "x_", "r1c"], random.randint(1, 3)):
        width, numbers = random.choice([1, 1, 2, 3, 4]), random.sample(range(0, 130), random.randint(1, 9))
        if random.random() < .8:
            numbers.sort()
        texts = [str(v).zfill(width) for v in numbers]
        parts.append(prefix + (compressed(texts) if random.random() < .8 or len(texts) > 1 else texts[0]))
    return ",".join(parts)

def tasks_text(tasks):
    parts, i = [], 0
    while i < len(tasks):
        j = i
        while j < len(tasks) and tasks[j] == tasks[i]:
            j += 1
        parts.append("%d(x%d)" % (tasks[i], j - i) if j - i > 1 else str(tasks[i]))
        i = j
    return ",".join(parts)

def ours(options):
    run = subprocess.run(["unetctl", "spec", "--resolver", "tf", "--json"] + options, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return run.returncode, json.loads(run.stdout) if run.returncode == 0 else run.stderr

def theirs(keys):
    try:
        r = Slurm(**keys)
        spec = r.cluster_spec().as_dict()
    except (RuntimeError, ValueError, IndexError) as e:
        return None, str(e)
    return r, spec

agreed = refused = 0
for i in range(count):
    for name in NAMES:
        os.environ.pop(name, None)
    nodes = random_nodes()
    n = len(subprocess.run(["unetctl", "nodelist", "expand", nodes], check=True, stdout=subprocess.PIPE).stdout.split())
    tasks = [random.choice([1, 1, 1, 2, 2, 4]) for _ in range(n)]
    total = sum(tasks)
    rank = random.randrange(total)
    os.environ.update(SLURM_PROCID=str(rank), SLURM_STEP_NODELIST=nodes, SLURM_STEP_TASKS_PER_NODE=tasks_text(tasks),
                      SLURM_STEP_NUM_TASKS=str(total))
    keys, options = {}, []
    if random.random() < .5:
        # Not the empty list, in which TensorFlow counts a device that CUDA does not see.
        os.environ["CUDA_VISIBLE_DEVICES"] = random.choice(["0,1,2,3", "0,1,2,3", "4,5,6,7", "0,1"])
    else:
        keys["gpus_per_node"] = random.choice([2, 4, 8, 8])
        options += ["--gpus-per-node", str(keys["gpus_per_node"])]
    if random.random() < .4:
        keys["gpus_per_task"] = random.choice([1, 2])
        options += ["--gpus-per-task", str(keys["gpus_per_task"])]
    if random.random() < .3:
        keys["port_base"] = random.choice([1337, 13565])
        options += ["--port-base", str(keys["port_base"])]
    if random.random() < .5:
        ps = random.randrange(0, total + (random.random() < .2))
        jobs = {"worker": total - ps, "ps": ps} if random.random() < .9 else {"worker": total + 1}
        keys["jobs"] = jobs
        options += ["--jobs", ",".join("%s:%d" % kv for kv in jobs.items())]
    if random.random() < .3:
        if random.random() < .5:
            keys["tasks_per_node"] = 1
            options += ["--tasks-per-node", "1"]
            os.environ["SLURM_STEP_NUM_TASKS"] = str(n)
            os.environ["SLURM_PROCID"] = str(random.randrange(n))
            keys.setdefault("jobs", {"worker": n})
        else:
            names = subprocess.run(["unetctl", "nodelist", "expand", nodes], stdout=subprocess.PIPE, text=True).stdout.split()
            pairs = list(zip(names, tasks))
            random.shuffle(pairs)
            keys["tasks_per_node"] = dict(pairs)
            options += ["--tasks-per-node", ",".join("%s:%d" % p for p in pairs)]
    code, mine = ours(options)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    resolver, spec = theirs(keys)
    what = "step %d (seed %d): %s %s %s" % (i, seed, {k: os.environ.get(k) for k in NAMES[:4]}, visible, options)
    if resolver is None:
        assert code == 5, (what, spec, mine)
        refused += 1
        continue
    assert code == 0, (what, mine)
    listed = {k: v if v != {} else [] for k, v in spec.items()}
    assert mine["cluster"] == listed, (what, mine["cluster"], listed)
    assert (mine["task"]["type"], mine["task"]["index"]) == resolver.get_task_info(), what
    assert mine["master"] == resolver.master(), (what, mine["master"], resolver.master())
    assert mine["num_accelerators"] == resolver.num_accelerators(), what
    assert mine["cuda_visible_devices"] == os.environ["CUDA_VISIBLE_DEVICES"], what
    # TF_CONFIG proper, and what TensorFlow reads from it
    os.environ["TF_CONFIG"] = json.dumps({"cluster": mine["cluster"], "task": mine["task"]})
    r = TFConfig(rpc_layer="grpc")
    assert r.cluster_spec().as_dict() == spec, what
    assert (r.task_type, r.task_id) == resolver.get_task_info(), what
    # A lone worker needs no server: that resolver says '' then.
    alone = sum(len(v) for v in listed.values()) == 1
    assert r.master() == resolver.master() or alone and r.master() == "", (what, r.master())
    agreed += 1
print(agreed, "agree,", refused, "refused by both")
assert agreed > count * .4 and refused > count * .05
EOF
ok 'SlurmClusterResolver and TFConfigClusterResolver agree on 300 random steps (seed 1244)' \
    python3 compare.py 1244 300
diag <"$OUT"

cat >worker.py <<'EOF'
# One worker: sums rank + 1 and a vector over all workers, and trains a step on them.
import json, os, sys
import tensorflow as tf
task = json.loads(os.environ["TF_CONFIG"])["task"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()
assert strategy.num_replicas_in_sync == int(sys.argv[1]), strategy.num_replicas_in_sync

@tf.function
def sums():
    def replica():
        mine = tf.distribute.get_replica_context()
        x = tf.ones([1000]) * (task["index"] + 1.0)
        return mine.all_reduce(tf.distribute.ReduceOp.SUM, x)
    return strategy.run(replica)

x = strategy.experimental_local_results(sums())[0].numpy()
n = int(sys.argv[1])
assert (x == n * (n + 1) / 2).all(), x[:5]
print("rank %d: sum %g" % (task["index"], x[0]))
EOF
# Two ports that are free now.
ports() { python3 -c 'import socket
while True:
    with socket.socket() as a, socket.socket() as b:
        a.bind(("", 0)); p = a.getsockname()[1]
        try: b.bind(("", p + 1)); print(p); break
        except OSError: pass'; }
two_workers() {
    local base pids=() rc=0 r
    base=$(ports)
    for r in 0 1; do
        timeout 120 unetctl spec --nodelist localhost --tasks-per-node 2 --rank "$r" \
            --port-base "$base" \
            -- python3 worker.py 2 >"worker.$r" 2>&1 &
        pids+=($!)
    done
    for r in "${pids[@]}"; do wait "$r" || rc=1; done
    cat worker.0 worker.1
    return "$rc"
}
ok 'two workers of MultiWorkerMirroredStrategy sum over our specification' two_workers
is "$(grep -h '^rank' worker.0 worker.1)" $'rank 0: sum 3\nrank 1: sum 3' '... and get the sum'

if command -v slurmctld >/dev/null || [ -x /usr/sbin/slurmctld ]; then
    # shellcheck source=t/sandbox.sh
    . "$srcdir/t/sandbox.sh"
    sandbox_up --nodes 2
    if unetctl sandbox status | grep -q 'is up: netns'; then
        ok '... and so do the ranks of srun on two nodes' \
            login timeout 180 srun -N2 -n2 unetctl spec -- python3 "$PWD/worker.py" 2
        is "$(grep -h '^rank' "$OUT" | sort)" $'rank 0: sum 3\nrank 1: sum 3' \
            '... with the same sum'
    else
        skip 'the nodes of this sandbox have no networks of their own' \
            '... and so do the ranks of srun on two nodes'
    fi
else
    skip 'slurmctld is not installed' '... and so do the ranks of srun on two nodes'
fi
done_testing
