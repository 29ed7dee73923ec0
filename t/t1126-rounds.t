#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# submit --until-decided with the local queue: the rounds, that they continue after anything, and
# what ends them.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/rounds.sh
. "$srcdir/t/rounds.sh"
without_pictures

score=('quality: {name: score, better: higher}' 'slurm: {time: "10"}')
until=(--until-decided --gpus '1,2,4')

# Studies that end without a verdict run meanwhile.
begin() { # DIR OPTIONS
    unetctl submit -C "$1" "${until[@]}" "${@:2}" >"$1.out" 2>"$1.err"
    echo $? >"$1.code"
}
ended() { # CODE TEXT DIR
    wait_until 120 test -s "$3.code"
    OUT=$TMP/$3.out ERR=$TMP/$3.err
    is "$(cat "$3.code")" "$1" "$2"
}
make_rounds slow local "${score[@]}" 'design: {max_gpu_hours: 9}'
echo serial >slow/behave
make_rounds poor local "${score[@]}"
make_rounds bad local
echo fail >bad/behave
make_rounds nan local "${score[@]}"
echo nan >nan/behave
make_rounds kept local "${score[@]}"
mkdir own
cp program own
sed -i "s#$TMP/program#$TMP/own/program#" kept/study.yaml
begin kept --max-gpu-hours 9 --no-wait &
begin slow &
begin poor --max-gpu-hours 2.2 &
begin bad --max-gpu-hours 9 &
begin nan --max-gpu-hours 9 &

# ---- before anything is submitted
make_rounds one local "${score[@]}"
exits 2 "rounds need a limit" unetctl submit -C one "${until[@]}"
like "$ERR" '^unetctl: error: --until-decided needs --max-gpu-hours H' "the reason is one line"
exits 2 "and several counts" unetctl submit -C one --until-decided --gpus 4 --max-gpu-hours 9
exits 2 "but no variants" unetctl submit -C one "${until[@]}" --max-gpu-hours 9 --vary limit.steps=1,2
exits 2 "nor in a plan" unetctl plan -C one "${until[@]}" --vary limit.steps=1,2
exits 2 "nor a plan of one count" unetctl plan -C one --gpus 1 --until-decided
exits 2 "--no-wait is of rounds" unetctl submit -C one --gpus 1 --no-wait
make_rounds untimed local "${score[0]}"
exits 3 "whole runs without a time limit" unetctl submit -C untimed "${until[@]}" --max-gpu-hours 9
like "$ERR" 'what a whole run costs is unknown' "the reason is one line"
exits 3 "a limit below the first round" unetctl submit -C one "${until[@]}" --max-gpu-hours 0.01
like "$ERR" 'nothing was submitted: the next round .* of 0.01 are left' "the error says so"
exits 0 "--dry-run" unetctl submit -C one "${until[@]}" --max-gpu-hours 9 --dry-run
is "$(sed -n 's,^==> runs/\(.*\)-s[0-9]*/run.json.*,\1,p' "$OUT" | uniq | tr '\n' ' ')" \
    "command-short-g01 command-short-g02 command-short-g04 " "it shows the runs of the first round"
ok "nothing was submitted or written" test ! -e one/runs -a ! -e one/.unetctl/rounds.json
exits 0 "plan" unetctl plan -C one "${until[@]}" --max-gpu-hours 99
like "$OUT" '^until decided: about [0-9.]+ GPU-hours in [0-9]+ rounds .* takes 10 min .its time limit' \
    "it prints the expected cost"
like "$OUT" '^[0-9]+ % of them decide within 99 GPU-hours' "and whether the limit suffices"

# ---- undisturbed
exits 0 "a study until it is decided" unetctl submit -C one "${until[@]}" --max-gpu-hours 9
like "$OUT" '^decided after 2 rounds .*: 4 GPUs are the fastest count measured that is shown to be efficient and whose quality is' \
    "it ends with the verdict"
like "$OUT" '^Use 4 GPUs: ' "and the report"
like "$ERR" '^unetctl: round 2 .*: quality: 5 pairs of 4 and 1 GPUs, look 1 of' "a round has a reason"
is "$(submissions one)" "" "each run was submitted once"
is "$(field one/.unetctl/rounds.json 'sum(len(r["runs"]) for r in d["rounds"])')" \
    "$(grep -c '"event":"submitting".*"reason":"[a-z]' one/.unetctl/ledger.jsonl)" \
    "in the ledger, each with the reason"
unlike <(cat one/runs/command-g*/run.json) '"limit"' "whole runs have no limit"
exits 0 "status" unetctl status -C one
like <(tail -n 1 "$OUT") '^decided after 2 rounds' "status has the verdict"
exits 0 "report --json" unetctl report -C one --json -
like "$OUT" 'The study was sequential: 2 rounds, .*repeated confidence intervals' \
    "the report says how the study was made"
is "$(field "$OUT" 'd["problems"]')" "[]" "it asks for no other runs"
exits 0 "the chosen count becomes a study" unetctl report -C one --best next.yaml --text
mkdir next && cp next.yaml next/study.yaml
exits 0 "which can be planned" unetctl plan -C next
is "$(sed -n '/^command-/s/ .*//p' "$OUT" | sed 's/-s.*//' | sort -u)" command-g04 "it has 4 GPUs"
is "$(unetctl config -C next command | sort)" "$(unetctl config -C one command | sort)" \
    "and the same program"
exits 3 "a grant, of no account" unetctl plan -C one --request 10 --until "$(date -d +90days +%F)"
like "$OUT" '^10 GPU-hours: [0-9]+ whole runs on 4 GPUs, .* each, the number that the report chooses$' \
    "gives runs on the number that the rounds chose"
exits 3 "a file is not replaced" unetctl report -C one --best next.yaml --text
like "$ERR" 'next.yaml' "the error names it"
exits 0 "once more" unetctl submit -C one --until-decided
is "$(rounds one | md5sum) $(submissions one)" "$(rounds one | md5sum) " "it adds nothing"
exits 2 "another rule" unetctl submit -C one --until-decided --set quality.margin=0.02
like "$ERR" '--set: quality.margin is 0.02, but the rounds began with 0.01' "is refused"

# ---- killed
RANDOM=${SEED:-7}
make_rounds two local "${score[@]}"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    unetctl submit -C two "${until[@]}" --max-gpu-hours 9 >killed.out 2>&1 &
    sleep 0.$((RANDOM % 8))$((RANDOM % 10))
    kill -s KILL $!
    wait $! 2>/dev/null
done
exits 0 "killed ten times, it continues" unetctl submit -C two "${until[@]}" --max-gpu-hours 9
is "$(rounds two)" "$(rounds one)" "with the same rounds"
is "$(submissions two)" "" "no run was submitted twice"
all_states two COMPLETED
is $? 0 "or lost"

# ---- by watch
make_rounds three local "${score[@]}" 'design: {max_gpu_hours: 9}'
sed -i 's/^gpus: 1 /gpus: [1, 2, 4]/' three/study.yaml
exits 0 "--no-wait, and rounds by study.yaml" unetctl submit -C three --no-wait
like <(unetctl status -C three) '^round 1 .about .*: speed: the base case, the largest count' \
    "status has the round"
python3 - three/.unetctl/left.json <<'EOF'
import json, sys
left = json.load(open(sys.argv[1]))["left"][0]
json.dump({"schema": 1, "pid": 1, "folder": left["folder"], "words": left["words"]}, open(sys.argv[1], "w"))
EOF
exits 0 "watch continues what an earlier version has noted" unetctl watch -C three --html three.html
like "$ERR" "^unetctl: the rounds are continued: 'unetctl submit --until-decided --study=three" \
    "it says what it submits"
like three.html '<p>decided after 2 rounds and .*: 4 GPUs are the fastest' "its page says so at last"
like "$ERR" '^unetctl: round 2 .*: quality: 5 pairs' "it says which round follows"
like "$OUT" '^Use 4 GPUs: ' "it ends with the report"
is "$(rounds three | grep -v max_gpu_hours)" "$(rounds one | grep -v max_gpu_hours)" \
    "the rounds are the same"

# ---- by several, of which one is killed as it continues the rounds
make_rounds many local "${score[@]}"
exits 0 "a round" unetctl submit -C many "${until[@]}" --max-gpu-hours 9 --no-wait
exits 0 "an ordinary submission beside it" unetctl submit -C many --gpus 8
watchers=()
for i in 0 1 2 3; do
    unetctl watch -C many >"watch$i.out" 2>"watch$i.err" &
    watchers+=($!)
done
ok "it continues them" wait_until 60 grep -q 'the rounds are continued' watch0.err
kill -s KILL "${watchers[0]}"
for i in 1 2 3; do
    wait "${watchers[i]}"
    echo "$? $(grep -c '^decided after 2 rounds' "watch$i.out")"
done >watchers
is "$(xargs <watchers)" "0 1 0 1 0 1" "the others end with the verdict"
is "$(rounds many)" "$(rounds one)" "the rounds are the same"
is "$(submissions many)" "" "no run was submitted twice"

# ---- what cannot be decided
ended 8 "no count is efficient" slow
like "$ERR" '^unetctl: error: no verdict: unreachable after .*: no count above 1 is shown to be faster with an efficiency of at least 0.80' \
    "the reason is one line"
ended 8 "the limit is reached" poor
like "$ERR" '^unetctl: round 1 .*: speed: one run of the base case, as' "one run shows what it takes first"
like "$ERR" '^unetctl: error: no verdict: budget after 2 rounds .*quality.* are left: raise --max-gpu-hours, or see .unetctl plan --until-decided.$' \
    "the reason is one line"
like "$OUT" '^Within reach by time: up to 4 GPUs|by speed' "what was learnt is printed"
OUT=$TMP/.out ERR=$TMP/.err
exits 0 "a larger limit" unetctl submit -C poor "${until[@]}" --max-gpu-hours 9
like "$OUT" '^decided after 3 rounds .* is shown to hold, but for runs that collapse or end far worse .at most 46 %.' "continues"
is "$(submissions poor)" "" "no run was submitted twice"
ended 1 "runs fail" bad
like "$ERR" '^unetctl: warning: command-short-g04-s1: FAILED' "each has a line"
like "$ERR" "^unetctl: error: round 1: [0-9] runs ended without a result; type 'unetctl resume'" \
    "the error says what to type"
like "$OUT" '^Use 2 GPUs' "what was learnt is printed"
OUT=$TMP/.out ERR=$TMP/.err
exits 0 "they are counted" unetctl submit -C bad "${until[@]}" --max-gpu-hours 9 --count-failed
like "$OUT" '^decided after .*: 2 GPUs are the fastest' "the verdict is without them"
ended 7 "a seed diverges" nan
like "$ERR" '^unetctl: error: command-g04-s2 has no score .did it diverge..; --count-failed' \
    "the reason is one line"
like "$OUT" '^But: 1 run has no score' "what was learnt is printed"
unlike "$OUT" '^Use 4' "but the round that tests a count is not judged"
like "$OUT" 'score with 4 GPUs is not judged, as the round that tests it is not over or' "as it says"
OUT=$TMP/.out ERR=$TMP/.err
exits 8 "it is counted" unetctl submit -C nan "${until[@]}" --max-gpu-hours 9 --count-failed
like "$ERR" '^unetctl: error: no verdict: undecided after .*: the quality of 4 GPUs is not shown to hold, as runs collapsed' \
    "as a run that collapsed, which is not enough"
like <(tr -s '\n ' ' ' <"$OUT") '1 of 5 runs ended far worse, which does not show whether' "and the report agrees"
make_rounds long local "${score[@]}"
echo hang >long/behave
exits 6 "runs that do not end" unetctl submit -C long "${until[@]}" --max-gpu-hours 9 --timeout 1
like "$OUT" '^round 1 .about' "the round is named"
unetctl submit -C long "${until[@]}" --max-gpu-hours 9 >long.out 2>long.err &
ok "it waits again" wait_until 20 grep -q 'command-short' long.err
kill -s INT $!
wait $!
is $? 130 "Ctrl-C ends the waiting"
unetctl watch -C long >watch.out 2>watch.err &
ok "another watches" wait_until 20 grep -q 'the rounds are continued' watch.err
exits 0 "the runs are cancelled" unetctl cancel -C long --yes
like "$ERR" 'what a submission left for later is given up; .unetctl submit. submits it after all' \
    "and the rounds are not continued"
wait $!
is "$? $(submissions long)" "1 " "the one that watches ends, and submits nothing"
exits 1 "cancelled runs have no result" unetctl submit -C long "${until[@]}" --max-gpu-hours 9
rm long/behave
exits 0 "they are resumed" unetctl resume -C long --wait
unlike <(cat long/runs/*/attempt-2/run.json 2>/dev/null) . "as the short runs that they were"
exits 0 "the rounds are given up once more" unetctl cancel -C long --yes
exits 8 "to watch them is not a verdict" unetctl watch -C long
like "$ERR" '^unetctl: error: no verdict yet: round 1 .*; type .unetctl submit --until-decided.' \
    "the reason is one line"
exits 0 "the rounds continue" unetctl submit -C long "${until[@]}" --max-gpu-hours 9
is "$(rounds long)" "$(rounds one)" "as if undisturbed"
ok "a data set is made" unetctl data synth --out data --count 8 --size 32x32 --seed 1
ok "a study of it is made" unetctl init tiny --data data --site local --set train.epochs=2 \
    --set model.base=2 --set model.depth=2 --set data.height=32 --set data.width=32
exits 3 "short runs that are whole" unetctl submit -C tiny --until-decided --gpus 1,2 \
    --max-gpu-hours 9
like "$ERR" '^unetctl: error: unet-short-g01-s1 was a whole training' "the reason is one line"

# ---- another program
on() { unetctl submit -C kept "${until[@]}" --max-gpu-hours 9 "$@"; }
ok "its first round ends" wait_until 60 all_states kept COMPLETED
jobs=$(grep -c submitting kept/.unetctl/ledger.jsonl)
echo '# edited' >>own/program
exits 3 "the script is another before round 2" on
is "$(grep -c submitting kept/.unetctl/ledger.jsonl)" "$jobs" "nothing is submitted"
like "$ERR" '^unetctl: error: nothing more of round 2 .* has the hash [0-9a-f]{8}, and command-short-g01-s1 executed [0-9a-f]{8}; restore that .(/.*/source-[0-9a-f]{8}) is a copy' \
    "the reason is one line with both hashes"
cp "$(sed -n 's/.*; restore that (\([^ ]*\) is a copy.*/\1/p' "$ERR")/program" own
echo 'x = 1' >own/beside.py
exits 3 "a file beside the script is new" on
rm own/beside.py
sed -i.bak 's/"{{steps}}"/"{{steps}}0"/' kept/study.yaml
exits 3 "the settings are others" on
like "$ERR" 'nothing more of round 2 .* has begun with other settings: command.args is' "it names one"
mv kept/study.yaml.bak kept/study.yaml
exits 0 "all is as before" on
is "$(rounds kept)" "$(rounds one)" "the rounds continue"
hash() { sha256sum "kept/runs/$1/attempt-1/source.sha256" | cut -c 1-8; }
echo "${jobs}" >>kept/runs/command-g04-s1/attempt-1/source.sha256 # as if edited while it waited
exits 0 "a report on rounds that were mixed nevertheless" unetctl report -C kept --text
like "$OUT" "^program, script $(hash command-g04-s1) ran on 4 GPUs only" "they are two series"
like <(tr -s '\n ' ' ' <"$OUT") "sequential, but the rounds have no verdict, .* some are command, script $(hash command-g01-s1), others command, script $(hash command-g04-s1);" \
    "and have no verdict"
unlike "$OUT" 'it holds at look|[0-9] runs collapsed' "of which nothing is said, nor that the other program collapsed"
sed -i 's/"state": "decided"/"state": "continue"/' kept/.unetctl/rounds.json
exits 3 "and no round follows" on
like "$ERR" '^unetctl: error: the rounds have no verdict' "the reason is one line"

# ---- a damaged record
sed -i 's/"gpus": 4/"gpus": 0/' slow/.unetctl/rounds.json
broken slow/.unetctl/rounds.json
for verb in submit report; do
    exits 7 "rounds.json is damaged: $verb" unetctl $verb -C slow
    like "$ERR" '^unetctl: error: .*/rounds.json: round 1 is not complete' "the reason is one line"
done
done_testing
