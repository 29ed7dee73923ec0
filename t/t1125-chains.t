#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --max-in-flight, --after and chains of both with --scheduler local; watch --json.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
state() { states . | awk -v run="unet-g01-s$1" '$1 == run { print $2 }'; }
is_state() { [ "$(state "$1")" = "$2" ]; }
stays() { # SEED STATE: for as long as a waiting keeper looks at the queue several times
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
woken() { # how often the process that holds the third run's job has been
    sed -n 's/^voluntary.*:\t//p' \
        "/proc/$(field "$XDG_STATE_HOME/unetctl/local/3.json" 'd["keeper"]')/status"
}
ok "the third run is submitted" wait_until 20 test -s "$XDG_STATE_HOME/unetctl/local/3.json"
before=$(woken)
ok "it waits" stays 3 PENDING
ok "it still waits" stays 3 PENDING
ok "it looks at the queue more and more rarely" test $(($(woken) - before)) -lt 6
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
done_testing
