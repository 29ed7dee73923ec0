#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that the list of the study's jobs does not show: those of a colleague in the same folder, of
# a squeue that is some seconds old, with another comment, and with a number that was used again.
# No run is submitted twice or called LOST before that is sure, through libslurm and through
# Slurm's commands.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 3 --gpus-per-node 2
conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf
log=$XDG_STATE_HOME/unetctl/sandbox/log

interfaces=(commands)
if [ -x "$builddir/unetctl-slurm" ]; then interfaces+=(library); fi
jobs_of() { login squeue -h -a -t PENDING,RUNNING -o '%i %u %j' | grep -c "$1"; } # REGEX
job_of() { unetctl status -C "$1" --json >"$OUT" && field "$OUT" \
    '[r["job"] for r in d["runs"] if r["run"] == "'"$2"'"][0]'; } # STUDY RUN
begins() { [ "$(sed 's/ .*//' "$1"/runs/*/attempt-1/job 2>/dev/null | wc -l)" = "$2" ]; }
me=$(id -un)

# ---- another comment on a pending job
for interface in "${interfaces[@]}"; do
    export UNETCTL_SLURM_INTERFACE=$interface UNETCTL_ABSENT_S=0
    make_step_study "comment-$interface" sandbox --name "comment-$interface"
    exits 0 "$interface: runs are submitted" unetctl submit -C "comment-$interface" --gpus 1,2 -- --hold
    for run in unet-g01-s1 unet-g02-s1; do
        login scontrol update job="$(job_of "comment-$interface" $run)" comment=x
    done
    ok "$interface: with other comments both are PENDING" all_states "comment-$interface" PENDING
    exits 0 "$interface: submit again" unetctl submit -C "comment-$interface" --gpus 1,2
    is "$(jobs_of "comment-$interface-unet")" 2 "$interface: no run is submitted again"
    like "$ERR" '0 runs submitted; before: 2 active' "$interface: it finds both"
    exits 2 "$interface: resume" unetctl resume -C "comment-$interface" unet-g01-s1
    exits 0 "$interface: cancel" unetctl cancel --yes -C "comment-$interface"
    is "$(jobs_of "comment-$interface-unet")" 0 "$interface: cancel ends both"
done
make_step_study whole sandbox --name whole
exits 0 "an allocation is submitted" unetctl submit -C whole --gpus 1,2 --one-allocation -- --hold
login scontrol update job="$(job_of whole unet-g01-s1)" comment=x
ok "with another comment its runs are PENDING" all_states whole PENDING
exits 0 "submit again" unetctl submit -C whole --gpus 1,2 --one-allocation
is "$(jobs_of whole-)" 1 "there is one job"
exits 0 "cancel" unetctl cancel --yes -C whole
unset UNETCTL_SLURM_INTERFACE UNETCTL_ABSENT_S

# ---- a squeue that is some seconds old, whatever it is asked
mkdir stale cached
real=$(login bash -c 'command -v squeue')
cat >stale/squeue <<END
#!/bin/bash
format=\$(printf '%s\n' "\$@" | sed -n '/^-O\$/{n;p;}' | md5sum | cut -c 1-16)
file=$TMP/cached/\$format
if [ -e "\$file" ] && [ \$((EPOCHSECONDS - \$(stat -c %Y "\$file"))) -lt 10 ]; then
    cat "\$file"
    exit 0
fi
$real "\$@" >"\$file.\$\$" || exit
mv "\$file.\$\$" "\$file"
cat "\$file"
END
chmod +x stale/squeue
make_step_study old sandbox --name old --set slurm.interface=commands
exits 0 "a run is submitted" unetctl submit -C old --gpus 1 -- --hold
old() { PATH=$TMP/stale:$PATH "$@"; }
rm -f cached/*
old unetctl status -C old >"$OUT"
exits 0 "another run is submitted" old unetctl submit -C old --gpus 1,2 -- --hold
is "$(states old | xargs)" "unet-g01-s1 PENDING unet-g02-s1 PENDING" "Slurm has both jobs"
old unetctl status -C old >"$OUT"
like "$OUT" 'g02-s1 +UNSEEN .*Slurm does not show job [0-9]+.*lost after 120 s' \
    "an old list does not make the new one LOST"
exits 0 "submit again" old unetctl submit -C old --gpus 1,2 -- --hold
like "$ERR" 'waiting: unet-g02-s1: ' "submit waits until a newer list shows the job"
like "$ERR" '0 runs submitted; before: 2 active' "it finds both"
is "$(jobs_of old-unet)" 2 "no run is submitted again"
exits 0 "a third run is submitted" old unetctl submit -C old --gpus 1..3 -- --hold
exits 0 "cancel, while the list does not show its job" old unetctl cancel --yes -C old
is "$(jobs_of old-unet)" 0 "cancel ends all three"

# ---- a colleague in the same folder
games() { login setpriv --reuid=games --regid=games --clear-groups "$@"; }
if games true 2>/dev/null; then
    chmod a+rx "$TMP" "$TMP"/.o* "$HOME" 2>/dev/null
    sandbox_open
    for interface in "${interfaces[@]}"; do
        export UNETCTL_SLURM_INTERFACE=$interface
        study=shared-$interface
        make_step_study "$study" sandbox --name "$study"
        sed -i '/^licenses:/d' "$study/site.yaml"
        echo hang >"$study/behave"
        exits 0 "$interface: the owner submits two runs" unetctl submit -C "$study" --gpus 2,3
        ok "$interface: they begin" wait_until 60 begins "$study" 2
        chmod -R a+rwX "$study"
        export UNETCTL_ABSENT_S=0
        games unetctl status -C "$study" >"$OUT"
        is "$(grep -Ec ' RUNNING .*submitted by '"$me" "$OUT")" 2 \
            "$interface: a colleague sees whose jobs run"
        cp "$study/.unetctl/ledger.jsonl" ledger
        sed -i 's/,"uid":[0-9]*,"user":"[^"]*"//' "$study/.unetctl/ledger.jsonl"
        unlike "$study/.unetctl/ledger.jsonl" uid "a ledger of an earlier version has no users"
        games unetctl status -C "$study" >"$OUT"
        is "$(grep -Ec ' RUNNING .*submitted by '"$me" "$OUT")" 2 \
            "$interface: then Slurm says whose jobs run"
        cat ledger >"$study/.unetctl/ledger.jsonl"
        exits 0 "$interface: a colleague's submit" games unetctl submit -C "$study" --gpus 2,3
        like "$ERR" '0 runs submitted; before: 2 active' "$interface: it finds both"
        exits 0 "$interface: a colleague's resume" games unetctl resume -C "$study"
        is "$(jobs_of "$study-unet")" 2 "$interface: neither doubles a run"
        exits 0 "$interface: a colleague's cancel" games unetctl cancel --yes -C "$study"
        like "$ERR" "g02-s1 is left alone: it was submitted by $me" "$interface: it says whose they are"
        exits 2 "$interface: a colleague's cancel of a run" games unetctl cancel -C "$study" unet-g02-s1
        is "$(jobs_of "$study-unet")" 2 "$interface: neither cancels a job"

        echo PrivateData=jobs >>"$conf"
        login scontrol reconfigure
        hidden() { [ -z "$(games squeue -h)" ]; }
        ok "$interface: Slurm hides the jobs of other users" wait_until 20 hidden
        games unetctl status -C "$study" >"$OUT"
        is "$(grep -Ec ' UNKNOWN .*submitted by '"$me"'; its state is hidden: .*PrivateData=jobs' "$OUT")" 2 \
            "$interface: what a colleague cannot see is not LOST"
        exits 0 "$interface: submit --take-over" \
            games unetctl submit -C "$study" --gpus 2,3 --take-over
        exits 0 "$interface: resume --take-over" games unetctl resume -C "$study" --take-over
        is "$(jobs_of "$study-unet")" 2 "$interface: neither doubles a run"
        sed -i '/^PrivateData=/d' "$conf"
        login scontrol reconfigure

        exits 0 "$interface: the owner cancels a run" unetctl cancel -C "$study" unet-g03-s1
        ended() { states "$study" | grep -q 'g03-s1 CANCELLED'; }
        ok "$interface: it ends" wait_until 30 ended
        chmod -R a+rwX "$study"
        exits 0 "$interface: a colleague's resume" games unetctl resume -C "$study"
        like "$ERR" "g03-s1 is left alone: it is CANCELLED, submitted by $me \('--take-over'" \
            "$interface: it says what to type"
        exits 2 "$interface: a colleague's resume of a run" games unetctl resume -C "$study" unet-g03-s1
        exits 0 "$interface: with --take-over" \
            games unetctl resume -C "$study" --take-over unet-g03-s1 -- --hold
        is "$(jobs_of "games $study-unet-g03")" 1 "$interface: it has one job of the colleague"
        unetctl status -C "$study" >"$OUT"
        like "$OUT" 'g03-s1 +PENDING .*submitted by games; ' "$interface: the owner sees that"
        is "$(tail -n 1 "$study/.unetctl/ledger.jsonl" >"$OUT" && field "$OUT" \
            'd["event"], d["attempt"], d["user"], d["uid"]')" \
            "('submitted', 2, 'games', $(id -u games))" "$interface: so does the ledger"
        exits 0 "$interface: the owner's cancel" unetctl cancel --yes -C "$study"
        login scancel -u games
        unset UNETCTL_ABSENT_S
    done
    unset UNETCTL_SLURM_INTERFACE
    other=$(games sbatch --parsable -D / -H -J other -o /dev/null --wrap true)
else
    skip "$me cannot become another user in the sandbox" "a colleague in the same folder"
    other=''
fi

# ---- jobs that are gone, and numbers that were used again
make_step_study gone sandbox --name gone
submitted=$SECONDS
submitted=$SECONDS
exits 0 "two runs are submitted" unetctl submit -C gone --gpus 1,2 -- --hold
job=$(job_of gone unet-g01-s1)
login scancel -u "$me"
sandbox_stop_controller
rm -f "$log/jobcomp.log"
login slurmctld -i -c
ok "the controller is started without its jobs" wait_until 60 sandbox_is_idle 3
if [ -n "$other" ]; then
    login bash -c "echo FirstJobId=$job >>$conf"
fi
is "$(states gone | xargs)" "unet-g01-s1 UNSEEN unet-g02-s1 UNSEEN" \
    "jobs that were submitted just now are not LOST"
is "$(UNETCTL_ABSENT_S=0 states gone | xargs)" "unet-g01-s1 LOST unet-g02-s1 LOST" \
    "later they are"
echo "JobId=$job UserId=games(5) GroupId=games(60) Name=other thing JobState=COMPLETED Partition=main" \
    "TimeLimit=UNLIMITED StartTime=$(date -d -1min +%FT%T) EndTime=$(date +%FT%T) NodeList=node1 NodeCnt=1" \
    "ProcCnt=1 WorkDir=/ SubmitTime=$(date -d -1min +%FT%T) ExitCode=0:0 " >>"$log/jobcomp.log"
is "$(UNETCTL_ABSENT_S=0 states gone | xargs)" "unet-g01-s1 LOST unet-g02-s1 LOST" \
    "another user's job of the same number in the accounting is not the run's"
UNETCTL_ABSENT_S=$((SECONDS - submitted + 6)) exits 0 "submit" unetctl submit -C gone --gpus 1,2 -- --hold
like "$ERR" 'waiting: unet-g0[12]-s1: ' "submit waits until it is sure"
is "$(jobs_of gone-unet)" 2 "then each run has one new job"
done_testing
