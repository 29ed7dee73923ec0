#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real time limits and real preemption: Slurm looks at both twice a minute, hence not in make check.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2
conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf
sed -i -e 's/^PartitionName=main .*/& PriorityTier=1 PreemptMode=REQUEUE/' \
    -e 's/^PartitionName=short .*/& PriorityTier=10 PreemptMode=OFF/' "$conf"
printf 'PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n' >>"$conf"
login pkill -x slurmctld
gone() { login bash -c '! pgrep -x slurmctld'; }
wait_until 20 gone
login slurmctld -i
idle() { [ "$(login sinfo -h -p main -t idle -o %D)" = 7 ]; }
ok "all nodes are back" wait_until 60 idle

make_study study sandbox
sed -i '/^licenses:/d' study/site.yaml
cd study || exit 255
echo "slow 400" >behave
epochs() { cat "runs/unet-g0$1-s1/attempt-${2:-1}/checkpoint/epoch" 2>/dev/null || echo 0; }
job() { cat "runs/unet-g0$1-s1/attempt-1/job"; }
is_state() { [ "$(states . | awk -v run="unet-g0$1-s1" '$1 == run { print $2 }')" = "$2" ]; }
trains() { [ "$(epochs "$1")" -ge 2 ]; }
later() { date -d "+$1 sec" +%Y-%m-%dT%H:%M:%S; }
restarts() { login scontrol -o show job "$1" | sed 's/.*Restarts=\([0-9]*\).*/\1/'; }
restarted() { [ "$(restarts "$1")" -ge 1 ]; }

# ---- the limit: USR1 120 s before it, requeue; and a run that has no time left at all
exits 0 "two runs" unetctl submit --gpus 1,2
ok "train" wait_until 60 eval 'trains 1 && trains 2'
login scontrol update job="$(job 1)" EndTime="$(later 100)"
login scontrol update job="$(job 2)" EndTime="$(later 1)"
ok "USR1 before its limit: requeued" wait_until 90 restarted "$(job 1)"
is "$(cat runs/unet-g01-s1/attempt-1/stopped)" USR1 "by itself"
ok "out of time: TIMEOUT" wait_until 90 is_state 2 TIMEOUT
like <(unetctl status) "unet-g02-s1 .*'unetctl resume' goes on" "and what to type"
exits 1 "watch: it has no result" unetctl watch unet-g02-s1
echo "slow 5" >behave
exits 0 "resume" unetctl resume unet-g02-s1
ok "runs again and ends" wait_until 120 is_state 1 COMPLETED
ok "the resumed one, too" wait_until 120 is_state 2 COMPLETED
is "$(find runs -name 'attempt-2' | wc -l)" 1 "only that one needed a second attempt"

# ---- preemption
echo "slow 400" >behave
exits 0 "a run" unetctl submit --gpus 3
ok "trains" wait_until 60 trains 3
before=$(epochs 3)
login sbatch -p short -N 7 --exclusive -o /dev/null --wrap 'sleep 2' >"$OUT"
ok "an urgent job preempts it: requeued" wait_until 120 restarted "$(job 3)"
echo "slow 5" >behave
ok "it comes back and ends" wait_until 180 is_state 3 COMPLETED
like <(cat runs/unet-g03-s1/attempt-1/slurm-*.out) "goes on after [0-9]+ epochs" "from its checkpoint"
ok "of the moment ($before epochs and more)" test "$(epochs 3)" -ge "$before"
is "$(login pgrep -fc '[t]rainer.sh')" 0 "no process is left"
done_testing
