#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A Slurm with slurmdbd: accounts, limits, and jobs that only accounting knows, through libslurm and
# through Slurm's commands.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

for program in slurmdbd mariadbd; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip_all "$program is not installed"
done
sandbox_up --nodes 3 --accounting
interfaces=(commands)
if [ -x "$builddir/unetctl-slurm" ]; then interfaces+=(library); fi
past() { # ID...: see scheduler_slurm.c
    UNETCTL_LIBEXECDIR=$builddir "$builddir/launcher/scheduler/slurm/test/scheduler_slurm.t" "$@"
}
[ -x "$builddir/launcher/scheduler/slurm/test/scheduler_slurm.t" ] ||
    skip_all "TESTS leaves scheduler_slurm.t out, which shows what accounting answers"
me=$(id -un)
manage() { login sacctmgr -Q -i "$@" >/dev/null; }
may_use() { login sbatch --test-only -q "$1" --wrap true; }
allow_qos() { # QOS ...: lets the user have them, and waits until the controller accepts them
    manage modify user "$me" set qos+="$(paste -sd, <(printf '%s\n' "$@"))"
    for qos; do ok "the controller knows $qos" wait_until 60 may_use "$qos"; done
}
jobs_of() { # STUDY: the tags of its jobs, finished ones too
    login squeue -h -a -t all -o %k | grep "^unetctl:$(cat "$1/.unetctl/id"):" | sort
}
unique_jobs_of() { jobs_of "$1" | uniq | wc -l; }

like <(unetctl sandbox status --json) '"accounting": true' \
    "status says that the sandbox has accounting"
exits 4 "up without accounting counts as another shape" unetctl sandbox up --nodes 3
like <(login sacctmgr -n -P show assoc format=Account,User) "^sandbox\|$me$" \
    "the user has an account"

# ---- jobs that slurmctld has forgotten
make_study forgotten sandbox
echo hang >forgotten/behave
exits 0 "a run is submitted" unetctl submit -C forgotten --gpus 1
killed=$(unetctl status -C forgotten --json >"$OUT" && field "$OUT" 'd["runs"][0]["job"]')
ok "it begins" wait_until 60 all_states forgotten RUNNING
printf '#!/bin/bash\nsleep 1; exit 3\n' >script
failed=$(login sbatch --parsable -o /dev/null --nodes=2 --ntasks=3 --gpus-per-task=1 --mem=100 \
    script)
crashed=$(login sbatch --parsable -o /dev/null --wrap='kill -SEGV $$')
login scancel "$killed"
never=$(login sbatch --parsable -o /dev/null --hold --wrap true)
login scancel "$never"
for job in "$killed" "$failed" "$crashed"; do wait_job "$job" 60 >/dev/null; done
are_recorded() { \
    [ "$(login sacct -a -X -n -j "$killed,$failed,$crashed" -s CA,F -o JobID | wc -l)" = 3 ]; }
ok "accounting has the jobs" wait_until 30 are_recorded
sandbox_stop_controller
login slurmctld -i -c
ok "the controller is started without its jobs" wait_until 60 sandbox_is_idle 3
is "$(login squeue -h -t all)" "" "the controller knows no job"
past "$killed" "$failed" "$crashed" | sort -n >"$OUT"
is "$(cut -d' ' -f2-4 "$OUT" | xargs)" "answered CANCELLED 0 0 FAILED 3 0 FAILED 0 11" \
    "accounting knows how they ended"
is "$(awk -v id="$failed" '$1 == id { print ($6 >= 1) }' "$OUT")" 1 "it has the time"
is "$(awk -v id="$killed" '$1 == id { print $5 }' "$OUT")" node1 "it has the nodes"
is "$(past "$never" | sed 1d | cut -d' ' -f2,5)" "CANCELLED -" \
    "a job that never began has no nodes"
for interface in "${interfaces[@]}"; do
    is "$(UNETCTL_SLURM_INTERFACE=$interface states forgotten)" "unet-g01-s1 CANCELLED" \
        "$interface: status tells how the run ended"
done

# ---- energy of whole nodes
sql() { login mariadb -S "$XDG_STATE_HOME/unetctl/sandbox/run/mysql.sock" slurm_acct -e "$1"; }
cat >sim.sh <<'END'
#!/bin/sh
[ "${SLURM_PROCID:-0}" = 0 ] || exit 0
sleep 1
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1; do echo "$i,0.4$UNETCTL_GPUS$UNETCTL_SEED,0.$((5 - i)),0.01,1.0,0,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
END
chmod +x sim.sh
sed 's/ --mpi=pmix//; /^licenses/d' "$srcdir/templates/sites/sandbox.yaml" >step.yaml
unetctl init joules --site ./step.yaml --set train.epochs=2 --set gpus=1,2,3 -- ./sim.sh 2>/dev/null
exits 0 "runs that have their nodes for themselves" \
    unetctl submit -C joules --gpus 2,3 --wait --timeout 100 -- --exclusive
exits 0 "a run that has not" unetctl submit -C joules --gpus 1 --wait --timeout 100
are_accounted() { # the jobs, and the step of the one on two nodes
    [ "$(login sacct -a -X -n -o JobName%30,State | grep -c 'joules-.* COMPLETED')" = 3 ] &&
        login sacct -a -n -o JobID%30,State | grep -q '\.0 *COMPLETED'
}
ok "accounting has them" wait_until 30 are_accounted
# What an account has used of a grant, and how long the rest lasts.
grant=(plan -C joules --set slurm.account=sandbox --request 1 --until "$(date -d '+90 days' +%F)")
used() { # GPU-hours of the account, as sacct shows its jobs
    login sacct -a -X -n -P -A sandbox -o ElapsedRaw,AllocTRES | python3 -c '
import re, sys
jobs = [(int(s), re.search("gres/gpu=(\\d+)", t)) for s, t in (l.split("|") for l in sys.stdin)]
print("%.4g" % (sum(s * int(g[1]) for s, g in jobs if g) / 3600))'
}
exits 0 "a grant" unetctl "${grant[@]}"
like "$OUT" "^From .* jobs of account sandbox used $(used) of 1 GPU-hours .[0-9]+ %., .*; 3 completed" \
    "what is used is what sacct shows"
like "$OUT" '^1 GPU-hours: [0-9]+ whole runs on 3 GPUs, ' "and what the hours give"
like "$OUT" 'At the pace of the last 30 days, [0-9.e-]+ a day, [0-9.]+ of them will be left then' "the pace"
exits 0 "an account without jobs" unetctl "${grant[@]}" --set slurm.account=root
like "$OUT" ' 0 jobs of account root used 0 of 1 GPU-hours' "has used nothing"
exits 3 "no account" unetctl plan -C joules --request 1 --until 2027-01-01
like "$ERR" 'whose hours\? set slurm.account in ' "is asked for"
exits 2 "no day" unetctl plan -C joules --request 1
exits 2 "a grant that begins after it ends" unetctl "${grant[@]}" --since 2999-01-01
like "$ERR" '--since 2999-01-01 must be before --until and not after today' "is refused"
exits 2 "a day of another form" unetctl plan -C joules --request 1 --until 1.1.2027
exits 2 "a day that is none" unetctl plan -C joules --request 1 --until 2027-02-30
# What the plugins of acct_gather_energy, which need a counter of the machine, leave there.
sql "update sandbox_step_table set consumed_energy = if(id_step = 0, 40000, 50000)"
for interface in "${interfaces[@]}"; do
    rm -f joules/runs/*/attempt-1/node-energy
    UNETCTL_SLURM_INTERFACE=$interface exits 0 "$interface: collect" unetctl collect -C joules
    is "$(cat joules/runs/*/attempt-1/node-energy | sed 's/ of job.*//' | paste -sd' ')" "0 50000 40000" \
        "$interface: a shared node has no energy, and a step on all nodes counts"
done
like "$OUT" 'command-g02-s1: done.*, 50 kJ of whole nodes, by Slurm' "collect names it"
unlike "$OUT" 'command-g01-s1: .*kJ' "and none where it is not known"
sql "update sandbox_step_table set consumed_energy = 1"
exits 0 "report" unetctl report -C joules
like joules/report/report.md 'energy of whole nodes, by Slurm, was not recorded for 1 GPU' \
    "no verdict on joules where it is not known of each count"
like joules/report/report.md '\| whole nodes kWh, by Slurm \|' "a column of its own in the table of energy"
is "$(field joules/report/report.json '[round(p["node_energy_kwh"]["median"]*3.6e6) for p in d["engines"][0]["points"][1:]]')" \
    "[50000, 40000]" "from what the runs' folders keep"

# ---- limits: what is allowed is submitted, once; the rest is left and follows
test_limits() { # INTERFACE
    local study=limited-$1
    export UNETCTL_SLURM_INTERFACE=$1 UNETCTL_ABSENT_S=5 # jobs beyond the limit never come
    make_study "$study" sandbox
    manage modify user "$me" set MaxSubmitJobs=3
    for moment in 02 05 08 11 14; do
        unetctl submit -C "$study" --gpus 1..6 2>/dev/null -- --hold &
        sleep "0.$moment"
        kill -s KILL $! 2>/dev/null
        wait $! 2>/dev/null
    done
    exits 4 "$1: submit beyond a limit fails" unetctl submit -C "$study" --gpus 1..6 -- --hold
    like "$ERR" "3 runs are left for later.*AssocMaxSubmitJobLimit: account sandbox, user $me: MaxSubmit=3" \
        "the error names the limit, its owner and its value"
    is "$(jobs_of "$study" | wc -l)" 3 "three jobs were submitted"
    is "$(states "$study" | grep -c PLANNED)" 3 "three runs are left"
    exits 4 "$1: submit again fails" unetctl submit -C "$study" --gpus 1..6 -- --hold
    is "$(jobs_of "$study" | wc -l)" 3 "it submits no other job"
    login scontrol release "$(login squeue -h -o %i | paste -sd,)"
    exits 0 "$1: submit --wait" unetctl submit -C "$study" --gpus 1..6 --wait --timeout 120
    ok "all runs are done" all_states "$study" COMPLETED
    is "$(jobs_of "$study" | wc -l) $(unique_jobs_of "$study")" "6 6" "each run has one job"

    make_study "watched-$1" sandbox
    login scontrol update partitionname=main state=down # so that no job ends before the last one
    exits 4 "$1: submit with its own options fails beyond the limit" \
        unetctl submit -C "watched-$1" --gpus 1..4 -- --nice=7
    login scontrol update partitionname=main state=up
    exits 0 "$1: watch submits the rest" unetctl watch -C "watched-$1" --timeout 120
    ok "all runs are done" all_states "watched-$1" COMPLETED
    is "$(jobs_of "watched-$1" | wc -l) $(unique_jobs_of "watched-$1")" "4 4" "each run has one job"
    is "$(login scontrol -o show job | grep -F "$(cat "watched-$1/.unetctl/id"):" | grep -c 'Nice=7 ')" 4 \
        "all jobs have the options of submit"
    manage modify user "$me" set MaxSubmitJobs=-1
    manage add qos small-"$1" set MaxSubmitJobsPerUser=1
    manage add qos gpuless-"$1" set MaxTRESPerJob=gres/gpu=0 Flags=DenyOnLimit
    allow_qos small-"$1" gpuless-"$1"
    make_study "qos-$1" sandbox
    exits 4 "$1: submit beyond a limit of a QOS fails" \
        unetctl submit -C "qos-$1" --gpus 1,2 -s slurm.qos=small-"$1" \
        -- --hold
    like "$ERR" "QOSMaxSubmitJobPerUserLimit: QOS small-$1: MaxSubmitPU=1" \
        "the error names the limit"
    is "$(jobs_of "qos-$1" | wc -l)" 1 "one job was submitted"
    login scancel -u "$me"
    make_study "bad-$1" sandbox
    exits 4 "$1: a QOS without GPUs is refused" \
        unetctl submit -C "bad-$1" --gpus 1,2 -s slurm.qos=gpuless-"$1"
    like "$ERR" "QOSMaxGRESPerJob: QOS gpuless-$1: MaxTRES=gres/gpu=0" "the error names the limit"
    is "$(grep -c . "$ERR")" 1 "the error is one line"
    exits 4 "$1: an unknown account is refused" \
        unetctl submit -C "bad-$1" --gpus 1,2 -s slurm.account=nope
    like "$ERR" "Invalid account.*accounts of user $me: .*sandbox \(QOS" \
        "the error lists the accounts of the user"
    is "$(login squeue -h)" "" "no such job is queued"
    manage add qos idle-"$1" set MaxTRESPerJob=gres/gpu=0
    allow_qos idle-"$1"
    make_study "never-$1" sandbox
    # Slurm says that it never starts when it has considered the job, perhaps before submit ends.
    unetctl submit -C "never-$1" --gpus 1 -s slurm.qos=idle-"$1" >"$OUT" 2>"$ERR"
    code=$?
    like <(echo "$code $(tr "\n" " " <"$ERR")") '^0 |^4 .*: job [0-9]+ could never start: QOSMaxGRESPerJob' \
        "$1: submit with such a QOS without DenyOnLimit succeeds, or withdraws the job"
    never() { [ "$code" = 4 ] || unetctl status -C "never-$1" |
        grep -q 'PENDING .*QOSMaxGRESPerJob: more than the QOS allows a job; it never starts: .unetctl cancel. it'; }
    ok "status says that the job will wait for ever" wait_until 30 never "$1"
    unetctl cancel --yes -C "never-$1" 2>/dev/null
    manage modify user "$me" set MaxJobs=1
    make_study "waits-$1" sandbox
    echo hang >"waits-$1/behave"
    sed -i '/licenses/d' "waits-$1/site.yaml"
    exits 0 \
        "$1: submit beyond a limit of running jobs succeeds" unetctl submit -C "waits-$1" --gpus 1,2
    waits() { unetctl status -C "waits-$1" |
        grep -q 'PENDING .*AssocMaxJobsLimit: a limit of the account is used up'; }
    ok "status says why the other job waits" wait_until 30 waits "$1"
    unetctl cancel --yes -C "waits-$1" 2>/dev/null
    manage modify user "$me" set MaxJobs=-1
    unset UNETCTL_SLURM_INTERFACE UNETCTL_ABSENT_S
}
for interface in "${interfaces[@]}"; do test_limits "$interface"; done

# ---- without an association, and without slurmdbd
manage modify user "$me" set DefaultAccount=root
manage delete user "$me" where account=sandbox
make_study gone sandbox
exits 4 "an account that was removed is refused" \
    unetctl submit -C gone --gpus 1 -s slurm.account=sandbox
like "$ERR" "Invalid account.*accounts of user $me: root" "the error names the other account"
manage delete user "$me"
for interface in "${interfaces[@]}"; do
    UNETCTL_SLURM_INTERFACE=$interface exits 4 "$interface: a user without any account" unetctl \
        submit -C gone --gpus 1
    like "$ERR" "^unetctl: error: .*Invalid account.*; user $me has no account on this cluster; its administrators" \
        "the error says that the user has no account"
    is "$(grep -c . "$ERR")" 1 "the error is one line"
done
manage add user "$me" Account=root DefaultAccount=root

slurmdbd=$XDG_STATE_HOME/unetctl/sandbox/run/slurmdbd.pid
port=$(sed -n 's/^AccountingStoragePort=//p' "$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf")
connections() { login ss -Hnt state established "( dport = :$port )" | wc -l; }
is_asked() { [ "$(connections)" -gt "$1" ]; }
die_amid_question() { # INTERFACE TEXT: status asks a slurmdbd that is stopped, and then killed
    local before asker
    login pkill -STOP -F "$slurmdbd"
    before=$(connections)
    UNETCTL_ABSENT_S=0 UNETCTL_SLURM_INTERFACE=$1 unetctl status -C forgotten >"asked-$1" 2>&1 &
    asker=$!
    ok "$1: slurmdbd is queried" wait_until 20 is_asked "$before"
    login pkill -KILL -F "$slurmdbd"
    wait $asker
    is "$?" 0 "status succeeds although slurmdbd was killed"
    like "asked-$1" "^unet-g01-s1 .*$2" "status shows the state of the run"
    is "$(grep -c '^unet-' "asked-$1")" 1 "the output has one line for it"
}
start_slurmdbd() {
    login env MYSQL_UNIX_PORT="${slurmdbd%/*}/mysql.sock" slurmdbd && wait_until 20 login sacctmgr \
        -n show cluster
}
for interface in "${interfaces[@]}"; do
    die_amid_question "$interface" CANCELLED # as the controller's own file has it
    is "$(past "$killed" | head -n 1)" answered \
        "$interface: without slurmdbd the controller's own file answers"
    start_slurmdbd
done
sed -i '/^JobComp/d' "$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf"
ok "the controller is started without that file" sandbox_restart_controller 3
for interface in "${interfaces[@]}"; do
    die_amid_question "$interface" \
        'LOST .*the scheduler no longer knows it \(this cluster has no accounting that answers\)'
    start_slurmdbd
    is "$(UNETCTL_SLURM_INTERFACE=$interface states forgotten)" "unet-g01-s1 CANCELLED" \
        "status tells how the run ended when accounting answers again"
done
login pkill -KILL -F "$slurmdbd"
exits 0 "without accounting jobs are accepted" \
    unetctl submit -C gone --gpus 1 -s slurm.account=root -- --hold
done_testing
