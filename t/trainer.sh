#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A stand-in for unet-train that obeys the contract of the run directory (doc/FORMATS.md): tests of
# the launcher name it in their site file. Called as `trainer.sh train --run run.json --out DIR` in
# the run's folder. The file STUDY/behave says what it does:
#   (none)  writes record.jsonl, log.csv and DONE     fail    writes FAILED, exits 5
#   silent  exits 0 without a marker                  crash   is killed
#   hang    waits for a signal
set -eu
[ "$1 $2 $3 $4" = "train --run run.json --out" ]
out=$5
behave=good
if [ -e ../../behave ]; then behave=$(cat ../../behave); fi
index=${TF_CONFIG##*\"index\":}
index=${index%%[!0-9]*}
echo "trainer: $behave, rank $index, $TF_CONFIG"

case $behave in
silent) exit 0 ;;
crash) kill -s KILL $$ ;;
hang)
    trap 'exit 143' TERM
    while :; do sleep 0.2; done
    ;;
esac
[ "$index" = 0 ] || exit 0
finish() { # MARKER TEXT
    printf '%s\n' "$2" >"$out/$1.tmp"
    mv "$out/$1.tmp" "$out/$1"
}
if [ "$behave" = fail ]; then
    finish FAILED '{"schema":1,"exit_code":5,"error":"told to fail"}'
    exit 5
fi
end='{"kind":"end","status":"done","iou":0.5,"training_time":1.0}'
{
    echo '{"kind":"run","schema":1,"epochs":2}'
    echo '{"kind":"epoch","epoch":0,"seconds":0.5,"loss":0.4,"lr":0.001,"images":4}'
    echo '{"kind":"epoch","epoch":1,"seconds":0.5,"loss":0.3,"lr":0.001,"images":4}'
    echo "$end"
} >"$out/record.jsonl"
finish DONE "$end"
