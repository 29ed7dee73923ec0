#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --max-in-flight, --after and chains of both with --scheduler local; watch --json; whatever is
# killed, no run runs twice and none is lost.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
state() { states . | awk -v run="unet-g01-s$1" '$1 == run { print $2 }'; }
is_state() { [ "$(state "$1")" = "$2" ]; }
stays() { # SEED STATE: for as long as a runner looks at the queue once
    for _ in 1 2 3 4 5; do
        is_state "$1" "$2" || return 1
        sleep 0.2
    done
}

make_study study local
cd study || exit 255
echo hang >behave
exits 0 "--max-in-flight 2" unetctl submit --gpus 1 --seeds 3 --max-in-flight 2
two_run() { is_state 1 RUNNING && is_state 2 RUNNING; }
ok "two runs are running" wait_until 60 two_run
ok "the third run waits" stays 3 PENDING
is "$(sed -n 's/.*"keeper": //p' "$XDG_STATE_HOME"/unetctl/local/[1-3].json | uniq -c | awk '{ print $1 }')" \
    3 "one process runs all jobs of the submission"
exits 0 "the first run ends" unetctl cancel unet-g01-s1
ok "the third run starts" wait_until 60 is_state 3 RUNNING

exits 0 \
    "a run is submitted --after a run" unetctl submit --gpus 1 --seeds 4 --max-in-flight 9 --after unet-g01-s3
exits 0 "another is submitted --after that one" \
    unetctl submit --gpus 1 --seeds 5 --max-in-flight 9 --after unet-g01-s4
exits 0 "another is submitted --after a run and a job" unetctl submit --gpus 1 --seeds 6 --max-in-flight 9 \
    --after unet-g01-s2 --after "$(cat runs/unet-g01-s3/attempt-1/job)"
ok "the chain waits" stays 4 PENDING
exits 0 "the first of the chain is cancelled" unetctl cancel unet-g01-s3
ok "the next run starts, however the first ended" wait_until 60 is_state 4 RUNNING
ok "the run after it waits" stays 5 PENDING
ok "the run that depends on another run waits, too" stays 6 PENDING
exits 0 "that other run is cancelled" unetctl cancel unet-g01-s2
ok "the dependent run starts" wait_until 60 is_state 6 RUNNING
rm behave
exits 0 "the middle of the chain is cancelled" unetctl cancel unet-g01-s4 unet-g01-s6
exits 0 "the last run starts" unetctl watch unet-g01-s5 --timeout 60
is "$(state 5)" COMPLETED "it is done"

# ---- another study
make_study ../other local
echo hang >../other/behave
exits 0 "another study is running" unetctl submit -C ../other --gpus 1
exits 0 "a run is submitted --after that study" \
    unetctl submit --gpus 1 --seeds 7 --max-in-flight 9 --after ../other
ok "it waits for all runs of the study" stays 7 PENDING
unetctl cancel --yes -C ../other 2>"$ERR"
exits 0 "it starts when they have ended" unetctl watch unet-g01-s7 --timeout 60
exits 0 "a run is submitted --after a study that has ended" unetctl submit --gpus 1 --seeds 8 --after ../other
like "$ERR" 'none of its jobs is pending or running' "it is reported that it waits for nothing"
exits 0 "it starts" unetctl watch unet-g01-s8 --timeout 60
exits 2 "--after a run that does not exist is refused" unetctl submit --gpus 1 --seeds 9 --after unet-g77-s1
like "$ERR" 'must be a job number, a submitted run of this study, or a folder' \
    "the error says what is accepted"
exits 2 "--after a job that does not exist is refused" unetctl submit --gpus 1 --seeds 9 --after 999999
like "$ERR" 'error: --after 999999: the job does not exist' "the error names the job"

# ---- watch --json
echo "slow 8" >behave
exits 0 "a run of several epochs is submitted" unetctl submit --gpus 1 --seeds 9
exits 0 "watch --json" unetctl watch --json unet-g01-s9 --timeout 60
cp "$OUT" stream
is "$(python3 -c 'import json
rows = [json.loads(line) for line in open("stream")]
print(sorted(set((r["schema"], r["run"]) for r in rows)), rows[-1]["state"], rows[-1]["iou"])
epochs = [r["epoch"] for r in rows]
print(epochs == sorted(epochs), len(epochs) > 2, rows[0]["time"] <= rows[-1]["time"])')" \
    "[(1, 'unet-g01-s9')] COMPLETED 0.5
True True True" "a line per change, in order, up to the result"
unlike "$ERR" 'unet-g01-s9: ' "stderr has no lines about the run"
exits 1 "watch --json of a run without a result exits with 1" unetctl watch --json unet-g01-s4
is "$(field "$OUT" 'd["state"], d["phase"]')" "('CANCELLED', 'failed')" \
    "one line about the cancelled run is printed"

# ---- submit is killed before its jobs have records
python3 -c 'import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR); fcntl.lockf(fd, fcntl.LOCK_EX); open("locked", "w")
while os.path.exists("locked"): time.sleep(0.1)' "$XDG_STATE_HOME/unetctl/local/last" &
ok "the queue is locked" wait_until 60 test -e locked
unetctl submit --gpus 2 --seeds 2 2>first.err &
pid=$!
ok "submit waits for it" wait_until 60 grep 'another unetctl that submits' first.err
kill -KILL $pid
unetctl submit --gpus 2 --seeds 2 2>second.err &
pid=$!
ok "the next one waits for what it began" wait_until 60 grep 'waiting for' second.err
rm locked
ok "and succeeds" wait $pid
like second.err '0 runs submitted; before: [0-9]+ active' "without jobs of its own"
is "$(grep -h '"tag": .*unet-g02' "$XDG_STATE_HOME"/unetctl/local/*.json | sort | uniq -c | awk '{ print $1 }' | paste -sd ' ')" \
    "1 1" "each run has one job"

# ---- submit, or the process that runs its jobs, is killed
cat >../once.sh <<'EOF'
#!/bin/bash
run=${UNETCTL_ATTEMPT_DIR%/*}
echo "$UNETCTL_ATTEMPT_DIR" >>"$UNETCTL_STUDY_DIR/begun"
mkdir "$run/busy" || echo "$run" >>"$UNETCTL_STUDY_DIR/twice"
sleep 0.$((RANDOM % 6 + 2))
rmdir "$run/busy"
printf ',time_per_epoch,loss,lr,training_time,test_time,iou\n0,0.5,0.4,0.01,1,0.1,0.75\n' \
    >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOF
chmod +x ../once.sh
runners() { # DIR: the processes that run its jobs
    sed -n 's/.*"keeper": \([0-9]*\),$/\1/p' "$1"/state/unetctl/local/[0-9]*.json | sort -u
}
idle() { ! unetctl status -C "$1" | grep -E 'RUNNING|PENDING'; }
swept() { # MILLISECONDS submit|runner [cancel]: kills one after so long; says what is wrong
    local dir=$TMP/swept-$1-$2 pid marker
    local -x XDG_STATE_HOME=$dir/state
    unetctl init "$dir" --name demo --site local -- "$TMP/once.sh" '{{attempt_dir}}'
    unetctl submit -C "$dir" --gpus 1..6 --max-in-flight 2 &
    pid=$!
    sleep "$(printf %d.%03d $(($1 / 1000)) $(($1 % 1000)))" # the moment is what is tested
    if [ "$2" = runner ]; then wait $pid; fi
    for pid in $(if [ "$2" = submit ]; then echo $pid; else runners "$dir"; fi); do
        kill -KILL "$pid"
    done
    wait
    if [ "${3:-}" = cancel ]; then
        unetctl cancel -C "$dir" --yes || echo "cancel: $?"
        wait_until 30 idle "$dir" || echo "runs are active after cancel"
        if pgrep -f "once.sh $dir/"; then echo "scripts are left after cancel"; fi
        rm -rf "$dir"/runs/*/busy
    fi
    for _ in 1 2; do # the second time there is nothing to do
        unetctl submit -C "$dir" --gpus 1..6 --max-in-flight 2 || echo "submit: $?"
        wait_until 60 idle "$dir" || echo "runs are still active"
        unetctl resume -C "$dir" --wait || echo "resume: $?"
    done
    [ ! -e "$dir/twice" ] || cat "$dir/twice"
    sort "$dir/begun" | uniq -d
    [ "$(states "$dir" | grep -c COMPLETED)" = 6 ] || unetctl status -C "$dir"
    for marker in "$dir"/runs/*/attempt-1/DONE; do
        [ ! -e "${marker%1/DONE}2" ] || echo "${marker%1/DONE}2 was not needed"
    done
} 2>>"$TMP/swept.err"
RANDOM=${SEED:-$((EPOCHSECONDS % 32768))}
echo "# SEED=${SEED:-$((EPOCHSECONDS % 32768))}"
for n in 0 1 2 3; do
    swept $((RANDOM % 100 + 100 * n)) submit >"$TMP/swept-submit-$n" &
    swept $((RANDOM % 400 + 400 * n)) runner >"$TMP/swept-runner-$n" &
done
swept $((RANDOM % 400 + 2000)) runner cancel >"$TMP/swept-cancel" &
wait
is "$(cat "$TMP"/swept-*-[0-3])" "" "submit, or the process that runs its jobs, is killed"
is "$(cat "$TMP/swept-cancel")" "" "what is left can be cancelled"
done_testing
