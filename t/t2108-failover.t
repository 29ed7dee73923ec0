#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A Slurm with two controllers, the first of which is killed in the middle of `submit --gpus 1..14`
# and while runs are watched. The second takes over, and no job is lost or duplicated, through
# libslurm and through Slurm's commands.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
sandbox_up --nodes 7 --gpus-per-node 2
login getent hosts node7 >"$OUT" ||
    skip_all "the sandbox's nodes share one name, and so would its controllers"

# Both keep their state in one folder; each kills the process that its pid file names.
conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf second=${sandbox_controller%/*}/second.pid
sed -i -e 's/^SlurmctldHost=.*/&\nSlurmctldHost=node7(10.77.0.17)/' \
    -e 's/^SlurmctldTimeout=.*/SlurmctldTimeout=5/' \
    -e 's/^MessageTimeout=.*/MessageTimeout=2/' "$conf"
sed -e "s|^SlurmctldPidFile=.*|SlurmctldPidFile=$second|" -e 's/slurmctld\.log/second.log/' \
    "$conf" >"${conf%/*}/second.conf"
second_is() { login scontrol ping | grep -q "backup) at node7 is $1"; }
first_is() { login scontrol ping | grep -q "primary) at ctl is $1"; }
start_first() { login slurmctld -i && wait_until 20 first_is UP; }
start_second() {
    login bash -c \
        "nsenter -t \$(cat ${second%/*}/node7.pid) -n -u -i slurmctld -i -f ${conf%/*}/second.conf" &&
        wait_until 20 second_is UP
}
# The first is not asked to hand over control: the second of 22.05 sometimes dies of that.
restore() {
    local process
    process=$(login cat "$second")
    login kill "$process" && wait_until 20 sandbox_is_gone "$process" && start_first && start_second
}
kill_first="unetctl sandbox exec -- pkill -KILL -F $sandbox_controller"
sandbox_stop_controller
ok "the first controller is started" start_first
login scontrol reconfigure
ok "the second controller is started" start_second

has_one_line() { [ "$(grep -Ec 'warning:|error:' "$1")" -le \
    1 ]; } # FILE: one about the outage at most

interfaces=(commands)
if [ -x "$builddir/unetctl-slurm" ]; then interfaces+=(library); fi
test_submit() { # INTERFACE
    export UNETCTL_SLURM_INTERFACE=$1
    local study=submitted-$1 helper=unetctl-slurm calls code
    [ "$1" = library ] || helper=squeue
    calls=$(count_calls sandbox -p $helper 2>"$ERR")
    if [ "$calls" = 0 ] && grep -q 'killat: ' "$ERR"; then skip_all \
        "programs cannot be traced here"; fi
    killed_study sandbox "$study"
    killed_submit sandbox "$study" "$builddir/t/killat" -p $helper -c "$kill_first" \
        $((calls * 9 / 10)) >"$OUT" 2>"$study.err"
    code=$?
    case $code in
    0) ok "$1: the first one dies amid a submission: the second takes it" second_is UP ;;
    *) like "$study.err" "^unetctl: error: .*type 'unetctl submit' again" \
        "$1: the first one dies amid a submission: what to type" ;;
    esac
    is "$((code == 0 || code == 4))" 1 "submit exits with 0 or 4 ($code)"
    ok "the failover is reported in one line" has_one_line "$study.err"
    exits 0 "submit again succeeds" killed_submit sandbox "$study"
    is "$(killed_jobs sandbox "$study" | wc -l) $(killed_jobs sandbox "$study" | uniq | wc -l)" \
        "14 14" "the study has exactly 14 jobs"
    ok "the second controller has the jobs" second_is UP
    ok "the first controller is back" restore
    is "$(killed_jobs sandbox "$study" | wc -l) $(killed_jobs sandbox "$study" | uniq | wc -l)" \
        "14 14" "the study of the other interface has exactly 14 jobs, too"
    login scancel -u "$(id -un)"
    unset UNETCTL_SLURM_INTERFACE
}
for interface in "${interfaces[@]}"; do test_submit "$interface"; done

make_study watched sandbox
echo slow 60 >watched/behave
sed -i '/licenses/d' watched/site.yaml
exits 0 "three runs are submitted" unetctl submit -C watched --gpus 1..3
watchers=()
for interface in "${interfaces[@]}"; do
    UNETCTL_SLURM_INTERFACE=$interface unetctl watch -C watched --timeout 120 >"$interface.out" \
        2>&1 &
    watchers+=($!)
done
ok "they are running" wait_until 60 all_states watched RUNNING
sleep 6 # the first one writes down what it knows every 5 s
$kill_first
for interface in "${interfaces[@]}"; do
    wait "${watchers[0]}"
    is "$?" 0 "$interface: watch sees the runs end although the first controller died"
    watchers=("${watchers[@]:1}")
    ok "the failover is reported in one line" has_one_line "$interface.out"
    is "$(grep -c ': RUNNING job ' "$interface.out") $(grep -c ': COMPLETED job ' "$interface.out")" "3 3" \
        "watch reports begin and end of each run once"
done
ok "the second controller has taken over" second_is UP
ok "all runs are done" all_states watched COMPLETED
is "$(compgen -G 'watched/runs/*/attempt-*' | wc -l)" 3 "each has one attempt"
done_testing
