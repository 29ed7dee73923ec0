#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every state of a job that a private Slurm can produce, as `unetctl status` shows and explains it.
# Elsewhere: OUT_OF_MEMORY (exhaustive/t2250-memory.t), time limits, which take minutes (t/faults).
# BOOT_FAIL and REVOKED would need power saving and a second cluster;
# launcher/scheduler/slurm/test/slurm_words.c and launcher/status/test/run_status.c have them.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 4 --gpus-per-node 2
ok "the controller preempts jobs" sandbox_preempts CANCEL 4

make_study study sandbox
sed -i '/^licenses:/d' study/site.yaml
cd study || exit 255
echo hang >behave
line() { unetctl status 2>/dev/null | grep "^unet-g0$1-s1 "; }
shows() { line "$1" | grep -Eq "$2"; }
shown() { # GPUS REGEX TEXT
    wait_until 100 shows "$1" "$2"
    like <(line "$1") "$2" "$3"
}
job() { unetctl status --json | python3 -c 'import json, sys
print([r["job"] for r in json.load(sys.stdin)["runs"] if r["gpus"] == int(sys.argv[1])][0])' "$1"; }
hangs() { grep -qs 'trainer: hang' "runs/unet-g0$1-s1/attempt-1"/slurm-*.out; }
submit() { # GPUS [WORDS]
    exits 0 "$1 GPUs${2:+, ${*:2}}" unetctl submit --gpus "$1" -- "${@:2}"
}

# ---- running jobs that end
submit 1
submit 2 --no-requeue
submit 3
both() { hangs 1 && hangs 2 && hangs 3; }
ok "both jobs are running" wait_until 60 both
login scancel "$(job 1)"
shown 1 "CANCELLED .*'unetctl resume' continues" "cancelled by somebody else"
node=$(login scontrol -o show job "$(job 2)" | sed 's/.*BatchHost=\([^ ]*\).*/\1/')
login scontrol update nodename="$node" state=down reason=test
login scontrol update nodename="$node" state=resume 2>"$ERR" # unless it came back by itself
login sbatch -Q -p short -N 4 --exclusive -o /dev/null --wrap 'sleep 0' >"$OUT"
shown 2 "NODE_FAIL .*a node failed; 'unetctl resume' continues elsewhere" "a node that went down"
shown 3 "PREEMPTED .*higher priority took its nodes; 'unetctl resume' continues" "preempted"
exits 1 "watch ends, as nothing is active" unetctl watch --timeout 20
exits 0 "the runs are resumed" unetctl resume -- --hold
is "$(unetctl status | grep -c 'attempt\|PENDING .*JobHeldUser: held by you')" 3 \
    "resume submits all three runs again"
exits 0 "cancel ends them" unetctl cancel --yes
empty() { [ -z "$(login squeue -h)" ]; }
ok "the queue is empty" wait_until 60 empty

# ---- jobs that wait
login sbatch -Q -N 4 --exclusive -o /dev/null --wrap 'sleep 1000' >"$OUT"
full() { [ -z "$(login sinfo -h -p main -t idle -o %n)" ]; }
ok "all nodes are busy" wait_until 30 full
submit 5
submit 8 "--deadline=now+1day"
login scontrol update jobid="$(job 8)" \
    deadline=now+8 # which 24.11 refuses in a submission: less than its time limit
login scontrol update nodename=node4 state=drain reason=test
submit 4 --nodelist=node4
submit 6 "--begin=now+1hour"
submit 7 "--dependency=afterok:$(job 1)"
shown 5 'PENDING .*(Resources: no free nodes|Priority: jobs of higher)' "no room"
shown 4 'PENDING .*(ReqNodeNotAvail.*: a node that it needs is down, drained|Nodes required.*: too few)' \
    "status says that the job waits for a drained node"
shown 6 'PENDING .*BeginTime: its begin time is not reached' "not before a time"
shown 7 'PENDING .*DependencyNeverSatisfied: the job it depends on failed, so it never starts' \
    "status says that the job waits for a job that failed"
login scontrol hold "$(job 5)"
shown 5 'PENDING .*JobHeld(Admin: held by an admin|User: held by you)' "held"
exits 2 "a job that is not held is not released" unetctl release unet-g08-s1
exits 0 "the held jobs are released" unetctl release
login scontrol update partitionname=main state=down
shown 5 'PENDING .*PartitionDown: the partition is closed' "for a closed partition"
login scontrol update partitionname=main state=up
shown 8 'DEADLINE .*--deadline passed' "too late"
exits 0 "status --json" unetctl status --json
like "$OUT" '"state": "DEADLINE"' "the JSON has the state"
exits 0 "the runs are cancelled" unetctl cancel --yes
login scancel -u "$(id -un)"
done_testing
