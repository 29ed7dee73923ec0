#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A stand-in for unet-train that obeys the contract of the run directory (doc/FORMATS.md): tests of
# the launcher name it in their site file. Called as `trainer.sh train --run run.json --out DIR
# [--resume DIR]` in the run's folder. The file behave of the study, or of the run, says what it
# does:
#   (none)     writes record.jsonl, log.csv and DONE    fail    writes FAILED, exits 5
#   silent     exits 0 without a marker                 crash   says why, is killed
#   nompi      the first time as a rank whose MPI does not come up, then as if nothing were said
#   hang       waits for a signal, and leaves nothing
#   slow N     N epochs of 0.2 s, each with a checkpoint, from which it resumes; on USR1 and TERM it
#              writes one and exits 75
set -eu
[ "$1 $2 $3 $4" = "train --run run.json --out" ]
out=$5 from=
if [ $# -gt 5 ]; then
    [ "$6 $#" = "--resume 7" ]
    from=$7
fi
behave=good epochs=2
for file in ../../behave behave; do # the run's own last
    if [ -e "$file" ]; then read -r behave epochs <"$file" || true; fi
done
if [ "$behave" = nompi ] && [ -n "${UNETCTL_RESTART_REASON:-}" ]; then behave=good; fi
index=${TF_CONFIG##*\"index\":}
index=${index%%[!0-9]*}
exec 3<> <(:)
pause() { read -rt "$1" -u 3 || true; } # as sleep, of which each would be a process; a signal ends it
echo "trainer: $behave, rank $index, $TF_CONFIG"

case $behave in
silent) exit 0 ;;
crash)
    printf '%s\n' "unet-train: error: rank 0 of \"C:\\x\" is gone" "unet-train: error: left" >&2
    kill -s KILL $$
    ;;
hang)
    trap 'exit 143' TERM
    while :; do pause 1; done
    ;;
esac
if [ "$behave" = nompi ]; then
    if [ "$index" != 0 ]; then # the first rank that exits takes the others along
        while [ ! -e "$out/FAILED" ]; do sleep 0.1; done
        exit 5
    fi
    behave=fail text="rank 0 of 3 on node1: MPI did not come up within 60 s: a test"
fi
finish() { # MARKER TEXT
    local file=${UNETCTL_START:-$out/$1.tmp}
    if [ -z "${UNETCTL_START:-}" ]; then : >"$file"; fi
    printf '%s\n' "$2" | dd of="$file" conv=nocreat status=none
    mv "$file" "$out/$1"
}
row() { printf '{"kind":"epoch","epoch":%d,"seconds":0.5,"loss":0.4,"lr":0.001,"images":4}\n' \
    "$1"; }
end='{"kind":"end","status":"done","iou":0.5,"training_time":1.0}'

if [ "$behave" = slow ]; then
    stop='' epoch=0 saved=checkpoint/epoch
    trap 'stop=yes' USR1 TERM
    # The first rank that exits ends the others, so all wait for the checkpoint.
    if [ "$index" != 0 ]; then
        while [ ! -e "$out/DONE" ]; do
            if [ -n "$stop" ] && [ -e "$out/checkpoint/final" ]; then exit 75; fi
            pause 0.1
        done
        exit 0
    fi
    mkdir -p "$out/checkpoint"
    rm -f "$out/checkpoint/final"
    for dir in "$out" ${from:+"$from"}; do
        if [ -e "$dir/$saved" ]; then
            epoch=$(cat "$dir/$saved")
            echo "trainer: resumes after $epoch epochs of $dir"
            break
        fi
    done
    echo "{\"kind\":\"run\",\"schema\":1,\"epochs\":$epochs}" >>"$out/record.jsonl"
    while [ "$epoch" -lt "$epochs" ]; do
        pause 0.2
        row "$epoch" >>"$out/record.jsonl"
        epoch=$((epoch + 1))
        echo "$epoch" >"$out/$saved.tmp" && mv "$out/$saved.tmp" "$out/$saved"
        if [ -n "$stop" ]; then
            touch "$out/checkpoint/final"
            pause 0.3
            exit 75
        fi
    done
    echo "$end" >>"$out/record.jsonl"
    finish DONE "$end"
    exit 0
fi
[ "$index" = 0 ] || exit 0
if [ "$behave" = fail ]; then
    finish FAILED '{"schema":1,"exit_code":5,"error":"'"${text:-told to fail}"'"}'
    exit 5
fi
{
    echo '{"kind":"run","schema":1,"epochs":2}'
    row 0
    row 1
    echo "$end"
} >"$out/record.jsonl"
finish DONE "$end"
