#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A training that is cut off at any moment and goes on ends as the one that never was: the same
# weights to the last bit, the same curve. One process, threads, MPI ranks; killed, asked to leave,
# continued in another folder, with another number of replicas.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

mpi=
if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then mpi=yes; fi
RANDOM=20 # moments are random in what they hit, whatever the seed: no expectation rests on them

# 32 images, 8 steps in an epoch; a checkpoint after each step, so that most kills hit its writing.
train=(unet-train train --data data --set data.split=split.json --size 32x32 --set model.base=4 \
    --set model.depth=2 --threads 1
    --set train.lr_scaling=none --epochs 12 --set train.timeout_s=60)
often=(--set train.checkpoint_s=0.000001)
field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1; }
curve() { cut -d, -f1,3,4,7 "$1/log.csv"; }
result() { echo \
    "$(field "$1/DONE" weights_sha256) $(field "$1/DONE" intersection) $(curve "$1" | cksum)"; }
newest() { find "$1/checkpoint" -name 'state-*.safetensors' 2>/dev/null | sort | tail -n 1; }
moved_on() { [ -e "$1/DONE" ] || { [ -n "$(newest "$1")" ] && [ "$(newest "$1")" != "$2" ]; }; }
resumes() { cat "$1"/restart-*/record.jsonl "$1/record.jsonl" 2>/dev/null |
    grep -c '"kind":"resume","from":"'; }
unmarked() { [ ! -e "$1/DONE" ] && [ ! -e "$1/FAILED" ]; }
ranks_of() { # this test's MPI processes of a rank
    local f
    grep -slzx "OMPI_COMM_WORLD_RANK=$1" /proc/[0-9]*/environ | while read -r f; do
        grep -sqzx "HOME=$HOME" "$f" && basename "${f%/environ}"
    done
}
# Start COMMAND in the background, wait until it has got further than before.
start_and_wait() { # OUT COMMAND...
    local out=$1 before
    shift
    before=$(newest "$out")
    "$@" >"$OUT" 2>"$ERR" &
    pid=$!
    local end=$((SECONDS + 60))
    until moved_on "$out" "$before"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.01
    done
}
# Kill it again and again, then let it end.
kill_often() { # TIMES OUT COMMAND...
    local times=$1 out=$2 i
    shift 2
    for ((i = 0; i < times; i++)); do
        start_and_wait "$out" "$@" || return 1
        if [ "$i" -gt 0 ]; then sleep "0.0$((RANDOM % 100))"; fi
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        if [ -e "$out/DONE" ]; then return 0; fi
        : >"$out/log.csv.tmp-1-0"
        : >"$out/DONE.tmp-1" # as if it had been killed here
        : >"$out/checkpoint/weights.safetensors.tmp-1-0"
    done
    "$@"
}
leave() { # SIGNAL OUT COMMAND...: exit code of a run that is asked to leave
    local signal=$1 out=$2 code i
    shift
    for ((i = 0; i < 5; i++)); do
        start_and_wait "$@" || return 1
        kill -s "$signal" "$pid" 2>/dev/null
        wait "$pid"
        code=$?
        if [ ! -e "$out/DONE" ]; then break; fi
        rm -rf "$out" # it was faster than the signal
    done
    echo $code
}

ok "synthetic data" unet-train data synth --out data --count 40 --size 32x32 --seed 2
ok "its split" unet-train data split --data data --out split.json

# --- killed at any moment ---
one=("${train[@]}" --batch-size 4)
ok "a run that is not interrupted" "${one[@]}" --set train.checkpoint_s=0 --out one
is "$(find one/checkpoint -name 'state-*' | wc -l)" 1 "only its last state is kept"
ok "the same run, killed 6 times" kill_often 6 killed "${one[@]}" "${often[@]}" --out killed
is "$(result killed)" "$(result one)" "weights and curve are the same"
ok "it resumed from checkpoints" test "$(resumes killed)" -ge 1
is "$(find killed -name '*.tmp-*')" "" "files that were being written are removed"
is "$(find killed/checkpoint -name 'state-*' | sed 's/.*state-//')" \
    "0000012-0000000000.safetensors" \
    "only the last checkpoint is kept when the run is done"
is "$(sed -n 's/^{"kind":"epoch","epoch":\([0-9]*\).*/\1/p' killed/record.jsonl | tr '\n' ' ')" \
    "0 1 2 3 4 5 6 7 8 9 10 11 " "the record has every epoch once"

three=("${train[@]}" --batch-size 2 --gpus 3)
ok "a run of three threads that is not interrupted" "${three[@]}" --out three
ok "three threads killed twice" kill_often 2 three-k "${three[@]}" "${often[@]}" --out three-k
is "$(result three-k)" "$(result three)" "weights and curve are the same"

# --- asked to leave ---
for signal in TERM USR1; do
    is "$(leave $signal "left-$signal" "${one[@]}" "${often[@]}" --out "left-$signal")" 75 \
        "SIG$signal: exit code 75"
    like "$ERR" ': stopped by a signal' "it is reported"
    unlike "$ERR" 'error' "it is not reported as an error"
    ok "there is no marker" unmarked "left-$signal"
    ok "there is a checkpoint" test -n "$(newest "left-$signal")"
done
is "$(leave INT left-INT "${one[@]}" "${often[@]}" --out left-INT)" 130 "SIGINT: exit code 130"
ok "there is no marker" unmarked left-INT
ok "the same command resumes" "${one[@]}" --out left-INT
is "$(result left-INT)" "$(result one)" "the result is the same"
cp -r left-USR1 torn && cp -r left-USR1 bits && cp -r left-USR1 lost && cp -r left-TERM again &&
    cp -r left-TERM own
ok "the same command resumes" "${one[@]}" --out left-TERM
is "$(result left-TERM)" "$(result one)" "the result is the same"
ok "--resume in another folder resumes" "${one[@]}" --resume left-USR1 --out next
is "$(result next)" "$(result one)" "the result is the same"
like next/record.jsonl \
    '"kind":"resume","from":".*left-USR1/checkpoint/state-.*","epoch":[0-9]+,"images":[0-9]+,"gpus":1' \
    "the record says from which checkpoint the run continues"
is "$(curve next | wc -l)" 13 "log.csv has the whole curve"
ok "the folder that it resumed from is unchanged" unmarked left-USR1
is "$(leave USR1 three-l "${three[@]}" "${often[@]}" --out three-l)" 75 "threads leave together"
ok "threads resume" "${three[@]}" --out three-l
is "$(result three-l)" "$(result three)" "the result is the same"

# --- damaged checkpoints ---
truncate -s -100 "$(newest torn)"
exits 0 "a truncated checkpoint is accepted" "${one[@]}" --out torn
like "$ERR" 'state-[0-9]+-[0-9]+.safetensors: .*; this checkpoint is not used' \
    "the truncated checkpoint is reported and skipped"
is "$(result torn)" "$(result one)" "the previous one is used"
printf '\001' | dd of="$(newest bits)" bs=1 seek="$(($(stat -c %s "$(newest bits)") - 4000))" \
    conv=notrunc 2>/dev/null
exits 0 "a checkpoint with a changed byte is accepted" "${one[@]}" --out bits
like "$ERR" 'its hash is not the recorded one; this checkpoint is not used' \
    "the changed checkpoint is reported and skipped"
is "$(result bits)" "$(result one)" "the result is the same"
rm lost/checkpoint/state-*
exits 0 "a folder without checkpoint is accepted" "${one[@]}" --out lost
like "$ERR" '.*lost has no checkpoint: the training starts at the beginning' "it is reported"
like lost/record.jsonl '"kind":"resume","from":null' "it is recorded"
is "$(result lost)" "$(result one)" "the result is the same"

# --- what does not fit ---
refused() { # REGEX TEXT OPTION...
    local regex=$1 text=$2
    shift 2
    exits 9 "$text" "${train[@]}" --batch-size 4 "$@" --resume again --out refused
    like "$ERR" "$regex" "the error has the reason"
    ok "the run is marked as failed" test -e refused/FAILED
    rm -rf refused
}
refused 'was made with model.base 4, but this run has 6' "another network" --set model.base=6
refused "was made with train.optimizer adam, but this run has sgd" "another training" \
    --set train.optimizer=sgd
refused 'was made with seed 1, but this run has 2' "another seed" --seed 2
cp -r data other
mapfile -t images < <(grep -o '"image":"[^"]*"' split.json | sed 's/.*:"//; s/"$//')
cp "other/${images[0]}" "other/${images[1]}"
ok "a split of other data" unet-train data split --data other --out other.json
refused 'was made with other images' "other data" --data other --set data.split=other.json
exits 3 "a folder where the run is done" "${one[@]}" --out one
exits 9 "another rate in its own folder" "${one[@]}" --lr 0.01 --out own
like "$ERR" 'was made with train.lr 0.001.*start in another folder with --resume' \
    "the error says which setting differs and what to do"
exits 9 "--resume of a folder without a run" "${one[@]}" --resume nowhere --out nothing
like "$ERR" '[-]-resume nowhere: this folder has no checkpoint' "the error says so"
ok "a refused resume makes no folder" test ! -e nothing
mkdir -p hollow/checkpoint && echo x >hollow/checkpoint/state-0000001-0000000000.safetensors
exits 9 "--resume of damaged checkpoints only" "${one[@]}" --resume hollow --out nothing
like "$ERR" 'hollow/checkpoint: has no intact checkpoint' "the error says so"

# --- a run that is done is continued ---
flat=("${one[@]}" --set train.lr_schedule=constant)
exits 0 "a completed run is continued with more epochs and another rate" \
    "${flat[@]}" --epochs 14 --lr 0.002 --resume one --out more
like "$ERR" "train.lr changes from 0.001 to 0.002$" "the changes are reported"
like more/record.jsonl \
    '"kind":"resume",.*"epoch":12,.*"changed":"train.epochs 12 -> 14, train.lr 0.001 -> 0.002, train.lr_schedule step -> constant"' \
    "the changes are recorded"
is "$(cut -d, -f4 more/log.csv | sed -n '2p;13,15p' | tr '\n' ' ')" \
    "0.001000 0.000125 0.002000 0.002000 " \
    "twelve epochs have the old rate, and two have the new one"
ok "a whole run of constant rate" "${flat[@]}" --epochs 3 --out whole
ok "a shorter run" "${flat[@]}" --epochs 2 --out part
ok "it is continued with one more epoch" "${flat[@]}" --epochs 3 --resume part --out part-more
is "$(result part-more)" "$(result whole)" "the result is that of the whole run"
ok "it is continued without further epochs" \
    "${flat[@]}" --epochs 3 --resume part-more --out part-same
is "$(result part-same)" "$(result whole)" "the result is the same"
exits 9 "fewer epochs than completed are refused" \
    "${flat[@]}" --epochs 2 --resume part-more --out part-less
like "$ERR" 'has completed 3 epochs, but train.epochs is 2' "the error has both numbers"
ok "a corrected command in the folder of the failure" "${flat[@]}" --epochs 4 --resume part-more \
    --out part-less
ok "the failure is moved away" test -e part-less/restart-1/FAILED -a -e part-less/DONE
broken failed/restart-1/FAILED
mkdir failed && cp -r again/checkpoint again/record.jsonl failed && echo '{}' >failed/FAILED
exits 3 "a failed run is not resumed by itself" "${one[@]}" --out failed
like "$ERR" 'already holds FAILED .*--resume' "the error says how to resume it"
ok "it is resumed if Slurm restarted its job" env SLURM_RESTART_COUNT=1 "${one[@]}" --out failed
is "$(result failed)" "$(result one)" "the result is the same"
"${one[@]}" --epochs 100000 "${often[@]}" --out busy 2>/dev/null &
pid=$!
ok "a run is training" wait_until 60 test -n "$(newest busy)" -o -s busy/record.jsonl
exits 3 "a second run in its folder is refused" "${one[@]}" --epochs 100000 --out busy
kill -KILL $pid
wait $pid 2>/dev/null

# --- another number of replicas ---
two=("${train[@]}" --set model.batch_norm=none --batch-size 3)
is "$(leave USR1 wide "${two[@]}" --gpus 2 "${often[@]}" --out wide)" 75 "two replicas leave"
ok "three replicas resume" "${two[@]}" --gpus 3 --resume wide --out wider
is "$(sed -n 's/.*"kind":"epoch".*"images":\([0-9]*\).*/\1/p' wider/record.jsonl | tr '\n' ' ')" \
    "32 32 32 32 32 32 32 32 32 32 32 32 " "every epoch has every image"
like wider/record.jsonl '"kind":"resume",.*"gpus":2' "the record has the earlier number"
like wider/record.jsonl '"kind":"run".*"gpus":3' "the record has the new number"
is "$(curve wider | wc -l)" 13 "the curve is complete"

# --- MPI ranks ---
[ -n "$mpi" ] || { skip "no MPI" "MPI ranks go on"; done_testing; }
signal_rank() { # SIGNAL OUT: to rank 1 of two under way; their exit code
    local code i
    for ((i = 0; i < 5; i++)); do
        start_and_wait "$2" "${ranks[@]}" "${often[@]}" --out "$2" || return 1
        for victim in $(ranks_of 1); do kill -s "$1" "$victim" 2>/dev/null; done
        wait "$pid"
        code=$?
        if [ ! -e "$2/DONE" ]; then break; fi
        rm -rf "$2" # it was faster than the signal
    done
    echo $code
}
ranks=(mpirun -np 2 "${train[@]}" --batch-size 3)
ok "a run of two ranks that is not interrupted" "${ranks[@]}" --out ranks
signal_rank KILL ranks-k >/dev/null
rm -f ranks-k/FAILED # of the rank that was left; Slurm would restart the job
ok "a rank is killed and both resume" env SLURM_RESTART_COUNT=1 "${ranks[@]}" --out ranks-k
is "$(result ranks-k)" "$(result ranks)" "the result is the same"
is "$(leave USR1 ranks-l "${ranks[@]}" "${often[@]}" --out ranks-l)" 75 \
    "mpirun that gets SIGUSR1 ends with exit code 75"
ok "there is no marker" unmarked ranks-l
cp -r ranks-l ranks-m
ok "both resume" "${ranks[@]}" --out ranks-l
is "$(result ranks-l)" "$(result ranks)" "the result is the same"
is "$(signal_rank TERM ranks-m)" 75 "SIGTERM to one rank: both leave"
ok "there is no marker" unmarked ranks-m
ok "both resume" "${ranks[@]}" --out ranks-m
is "$(result ranks-m)" "$(result ranks)" "the result is the same"
done_testing
