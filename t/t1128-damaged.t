#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study in which the run.json of some runs is damaged or missing: each verb reports that and
# continues with the other runs.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

make_study s local
mkdir s/.unetctl && echo 1000000000009b8b >s/.unetctl/id # counts follow in their order
exits 0 "four runs succeed" unetctl submit -C s --gpus 1..4 --wait --timeout 120
echo '{"schema": 1, "half' >s/runs/unet-g02-s1/run.json
rm s/runs/unet-g03-s1/run.json

exits 7 "status reports damaged data" unetctl status -C s
is "$(awk '/^unet/ { print $1, $2, $4 }' "$OUT")" "unet-g01-s1 COMPLETED 1
unet-g02-s1 DAMAGED -
unet-g03-s1 DAMAGED -
unet-g04-s1 COMPLETED 4" "each run has its row"
like "$OUT" 'unet-g02-s1 .*unet-g02-s1/run.json:1: ' "it shows file and line"
like "$ERR" '2 runs.*unet-g02-s1/run.json:1: .*restore it from a copy.*resume' \
    "it says what to do"
exits 7 "status --json reports damaged data" unetctl status -C s --json
is "$(field "$OUT" '[r["state"] for r in d["runs"]]')" \
    "['COMPLETED', 'DAMAGED', 'DAMAGED', 'COMPLETED']" "states"
exits 1 "watch ends" unetctl watch -C s --timeout 60
like "$ERR" '2 of 4 runs have no result: unet-g02-s1 DAMAGED, unet-g03-s1 DAMAGED' \
    "it names the damaged runs"
exits 0 "logs of a run without run.json" unetctl logs -C s unet-g03-s1
like "$OUT" "trainer: good" "they are printed"
exits 0 "resume skips damaged runs" unetctl resume -C s
like "$ERR" 'unet-g02-s1 is left out: cannot read its plan' "it says so"
exits 7 "resume of a damaged run by name is refused" unetctl resume -C s unet-g02-s1
exits 2 "a run that never existed is refused" unetctl logs -C s unet-g09-s1
exits 3 "submit of damaged runs is refused" unetctl submit -C s --gpus 1..4
like "$ERR" 'unet-g02-s1 has begun, and its plan cannot be read.*run.json:1: ' "the error says why"
exits 0 "other runs can be submitted" unetctl submit -C s --gpus 5 --wait --timeout 60
exits 7 "collect without any valid run is refused" unetctl collect -C s
like "$OUT" 'unet-g02-s1: corrupt: runs/unet-g02-s1/run.json:1' "a damaged plan is reported as such"

# ---- a job goes on whatever happens to the plan
echo hang >s/behave
exits 0 "a run is submitted" unetctl submit -C s --gpus 6
ok "it is running" wait_until 30 test -e s/runs/unet-g06-s1/attempt-1/job
: >s/runs/unet-g06-s1/run.json
unetctl status -C s >"$OUT" 2>"$ERR"
like "$OUT" 'unet-g06-s1 +RUNNING .*damaged: .*unet-g06-s1/run.json' \
    "it is shown as running after its plan was damaged"
exits 0 "it can be cancelled" unetctl cancel -C s unet-g06-s1
ended() { unetctl status -C s 2>/dev/null | grep -q '^unet-g06-s1 *DAMAGED'; }
ok "it is shown as damaged then" wait_until 30 ended

# ---- what the message says to do
rm -r s/runs/unet-g02-s1 s/runs/unet-g03-s1 s/runs/unet-g06-s1 s/behave
exits 0 "submit writes missing files again" unetctl submit -C s --gpus 2,3,6
exits 0 \
    "resume trains the damaged runs again" unetctl resume -C s unet-g02-s1 unet-g03-s1 unet-g06-s1
exits 0 "they are done" unetctl watch -C s --timeout 120
exits 0 "status reports no damage" unetctl status -C s

# ---- what a script writes into FAILED stays in its row
failed=s/runs/unet-g04-s1/attempt-1/FAILED
printf '{"schema":1,"exit_code":3,"error":"a\\nb \\u001b[31mc"}' >$failed
like <(unetctl status -C s) '^unet-g04-s1 .*\(a b  \[31mc\)$' "status replaces control characters"
rm $failed

# ---- a FIFO in the place of any file that users write, or runs leave
refuses() { # FILE EXIT-CODE REGEX COMMAND...
    local file=$1 code=$2 regex=$3
    shift 3
    if [ -e "$file" ]; then mv "$file" kept; fi
    mkfifo "$file"
    exits "$code" "a FIFO as ${file##*/}: ${*:2:1}" timeout 20 "$@"
    cat "$OUT" >>"$ERR"
    like "$ERR" "$regex" "it is reported at once as not a regular file"
    rm "$file"
    if [ -e kept ]; then mv kept "$file"; fi
}
run=s/runs/unet-g01-s1 none='not a regular file'
mkdir -p own "$XDG_CONFIG_HOME/unetctl"
refuses s/study.yaml 3 "study.yaml: $none" unetctl plan -C s
refuses s/site.yaml 3 "site.yaml: $none" unetctl plan -C s
refuses "$XDG_CONFIG_HOME/unetctl/config.yaml" 3 "config.yaml: $none" unetctl plan -C s
refuses s/split.json 0 '1 run ' unetctl plan -C s
refuses own/submit_file.sh 3 "submit_file.sh: $none" unetctl generate -C s --templates own --gpus 9
refuses m.yaml 3 "m.yaml: $none" unet-train model ./m.yaml
refuses $run/run.json 7 "run.json: $none" unetctl status -C s
refuses $run/attempt-1/FAILED 1 'cannot read FAILED' unetctl watch -C s unet-g01-s1
refuses "$(echo $run/attempt-1/*.out)" 7 'no output' unetctl logs -C s unet-g01-s1
refuses s/.unetctl/ledger.jsonl 7 "ledger.jsonl: $none" unetctl status -C s

# ---- YAML that takes libyaml minutes
printf 'gpus: %0200000d' 0 | tr 0 '[' >deep.yaml
exits 3 "200,000 nested lists are refused" timeout 20 unetctl plan -C s --site ./deep.yaml
like "$ERR" 'deep.yaml:1: lists and mappings are nested more than 32 deep' "the error has the limit"
seq -f 'k%.0f: 1' 2000 >many.yaml
exits 3 "2,000 keys are refused" timeout 20 unetctl plan -C s --site ./many.yaml
like "$ERR" 'many.yaml:1: a mapping has more than 1000 keys' "the error has the limit"

# ---- jobs on a full disk can be cancelled, all of them
mkdir disk
if mount -t tmpfs -o size=2m none disk 2>/dev/null; then
    unmount() { umount -l "$TMP/disk"; }
    cleanup_hooks+=(unmount)
    make_study disk/s local
    echo hang >disk/s/behave
    exits 0 "three runs are submitted" unetctl submit -C disk/s --gpus 1..3
    running() { unetctl status -C disk/s | grep -q RUNNING; }
    ok "the first is running" wait_until 30 running
    ledger=disk/s/.unetctl/ledger.jsonl
    broken $ledger
    size=$(wc -c <$ledger)
    head -c $((4095 - size % 4096)) /dev/zero | tr '\0' x >>$ledger
    echo >>$ledger
    cat /dev/zero >disk/fill 2>/dev/null
    exits 1 "cancel reports that it cannot note this" unetctl cancel --yes -C disk/s
    like "$ERR" 'error: the jobs were cancelled, but .*ledger.jsonl: No space left' "it says why"
    is "$(grep -c 'job [0-9]* was cancelled' "$ERR")" 3 "each job was cancelled"
    rm disk/fill
    none_runs() { ! states disk/s | grep -qE ' (RUNNING|PENDING|COMPLETING)$'; }
    ok "none runs" wait_until 30 none_runs
else
    skip "no right to mount a file system" "a full disk"
fi
done_testing
