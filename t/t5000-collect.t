#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# collect: what counts as a result, what does not, and how that is reported.
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"

state_of() { awk -F, -v run="$1" '$1 == run { print $7 }' s/logs/results.csv; }

# All runs are good.
make_study s demo 1..2 1
add_run s 1 1 4 0.9
add_run s 2 1 2.5 0.9
exits 0 "a complete study is collected" unetctl collect -C s
like "$OUT" '2 of 2 runs collected' "it says how many runs were collected"
ok "log_1.csv is the run's log" cmp s/logs/log_1.csv s/runs/unet-g01-s1/attempt-1/log.csv
is "$(sed -n 's/^unet-g02-s1,\(.*\),n1,log_2.csv,,0,0,0,,,,,,,[a-z]*,0,,train.epochs=4,,0,,n1,2026-01-01T00:00:00Z,,,,no,,no,no,,,,,,,,,,,,0$/\1/p' s/logs/results.csv)" \
    "embedded,2,1,1,1,done,4,64.000000,7.500000,2.500000,2.500000,15.000000,0.500000,25.600000,0.125000,0.900000,0.900000,0.250000,0.625000,0.000000,no" \
    "results.csv has a row for the run"
before=$(ls -i s/logs/log_1.csv s/logs/log_2.csv)
exits 0 "collecting again changes nothing" unetctl collect -C s
is "$(ls -i s/logs/log_1.csv s/logs/log_2.csv)" "$before" "equal logs are not written again"
exits 0 "--json" unetctl collect --json -C s
like "$OUT" '"complete": true' "the JSON says complete"

# A file that collect did not write.
mv s/logs/log_1.csv kept.csv
echo mine >outside.csv
ln -s ../../outside.csv s/logs/log_1.csv
exits 3 "a link in place of a log is refused" unetctl collect -C s
like "$ERR" 's/logs/log_1.csv: it is a symbolic link, which is not followed; remove it' "the error says so"
is "$(cat outside.csv)" mine "the file that the link leads to is unchanged"
mv kept.csv s/logs/log_1.csv

# Several seeds.
add_run s 2 2 2.5 0.8
exits 0 "a further seed is collected" unetctl collect -C s
ok "its log's name has the seed" test -e s/logs/log_2_s2.csv

# Seed 1 failed on a count that is known not to run, so it is left out.
cp -r s known
rm -r known/logs known/runs/unet-g02-s1/attempt-1/DONE
echo '{"exit_code":1}' >known/runs/unet-g02-s1/attempt-1/FAILED
echo 'expect: {2: mostly runs out of memory}' >>known/study.yaml
exits 0 "a failed run on a count that is expected to fail is no fault" unetctl collect -C known
log=$(sed -n 's/^unet-g02-s2,.*,\(log_[^,]*\),.*/\1/p' known/logs/results.csv)
ok "results.csv names the log of the other seed" \
    cmp "known/logs/$log" known/runs/unet-g02-s2/attempt-1/log.csv
rm -r known s/runs/unet-g02-s2 s/logs/log_2_s2.csv

# Folders that are no run's.
mkdir -p s/runs/notes s/runs/unet-g08-s2/attempt-1
unetctl collect -C s >"$OUT" 2>"$ERR"
is "$? $(tail -n +2 s/logs/results.csv | cut -d, -f1,7 | paste -sd' ')" \
    "1 unet-g08-s2,corrupt unet-g01-s1,done unet-g02-s1,done" \
    "a folder of the user's is no run, and one without run.json makes none up"
rm -r s/runs/notes s/runs/unet-g08-s2

# Runs that are wanted and missing.
sed -i 's/^gpus: .*/gpus: 1..3/; s/^seeds: .*/seeds: 1/' s/study.yaml
exits 1 "a count that was never submitted is incomplete" unetctl collect -C s
like "$ERR" '1 of 3 runs have no result: unet-g03-s1 is missing' "the error names it"
is "$(state_of unet-g03-s1)" missing "it has a row"

# A run that failed, then succeeded in a second attempt.
make_run s unet-g03-s1 3 1
exits 1 "a run that was generated and never submitted is incomplete" unetctl collect -C s
is "$(state_of unet-g03-s1)" "not started" "its row says that it was not started"
mkdir s/runs/unet-g03-s1/attempt-1
echo '{"schema":1,"exit_code":5,"error":"rank 1 lost, \"n2\""}' >s/runs/unet-g03-s1/attempt-1/FAILED
exits 1 "a failed run is incomplete" unetctl collect -C s
like "$OUT" 'exit code 5: rank 1 lost, "n2"' "the reason is printed"
is "$(state_of unet-g03-s1)" failed "its row says failed"
ok "it has no log" test ! -e s/logs/log_3.csv
exits 1 "--json" unetctl collect --json -C s
like "$OUT" '"complete": false' "the JSON says incomplete"
# A text from a file gives no orders to a spreadsheet, a terminal or a browser.
printf '{"exit_code":5,"error":"=HYPERLINK(1)\\u001b[31m \\u202egnp.exe\\u009b"}' \
    >s/runs/unet-g03-s1/attempt-1/FAILED
sed -i 's/"host":"n1"/"host":"@SUM(1)\\u202e"/' s/runs/unet-g02-s1/attempt-1/record.jsonl
orders=$(printf '\033|\302\233|\342\200\256')
for command in "collect" "status" "report --format text" "report --output page"; do
    # shellcheck disable=SC2086 # words
    unetctl $command -C s >"$OUT" 2>"$ERR"
    unlike "$OUT" "$orders" "$command prints none to the terminal"
    unlike "$ERR" "$orders" "nor in its messages"
done
like s/logs/results.csv ",'@SUM\(1\) ," "a formula is a text in results.csv"
unlike s/logs/results.csv "$orders" "results.csv has no such characters"
for file in report.html report.md results.csv report.json; do
    unlike "page/$file" "$orders" "$file neither"
done
unlike page/report.md "'@SUM" "the report has the text without the apostrophe"
make_attempt s unet-g03-s1 3 1 2 2 0.9
exits 0 "the newest attempt counts" unetctl collect -C s
ok "its log is collected" test -e s/logs/log_3.csv

# A killed run has no marker, and its log of an earlier collect is removed.
rm s/runs/unet-g03-s1/attempt-2/DONE
printf '{"kind":"epo' >>s/runs/unet-g03-s1/attempt-2/record.jsonl
exits 1 "a run without a marker is incomplete" unetctl collect -C s
is "$(state_of unet-g03-s1)" unfinished "its row says unfinished"
ok "the log of an earlier collect is removed" test ! -e s/logs/log_3.csv

# Files with invalid contents.
corrupt() { # WHAT REGEX COMMAND...
    local what=$1 regex=$2
    shift 2
    rm -rf s/runs/unet-g03-s1
    add_run s 3 1 2 0.9
    (cd s/runs/unet-g03-s1/attempt-1 && "$@")
    exits 1 "$what" unetctl collect -C s
    is "$(state_of unet-g03-s1)" corrupt "its row says corrupt"
    like s/logs/results.csv "^unet-g03-s1,.*$regex" "the note has the place"
    ok "its log is not collected" test ! -e s/logs/log_3.csv
}
at=runs/unet-g03-s1/attempt-1
# shellcheck disable=SC2317 # called through corrupt
drop_last() { head -n -1 "$1" >"$1.new" && mv "$1.new" "$1"; }
# shellcheck disable=SC2317
header_overwritten() { printf '""\n' | dd of=log.csv conv=notrunc status=none; }
corrupt "three bytes of another rank over the header" "$at/log.csv:1:" header_overwritten
corrupt "a row cut off" "$at/log.csv:5:" truncate -s -10 log.csv
corrupt "a row missing" "$at/log.csv:4: 3 epochs, but record.jsonl has 4" drop_last log.csv
corrupt "NaN" "$at/log.csv:3:" sed -i '3s/0.250000/nan/' log.csv
corrupt "an empty log" "$at/log.csv" truncate -s 0 log.csv
corrupt "no log" "$at/log.csv" rm log.csv
corrupt "the log of another run" "$at/log.csv:2: time or loss" sed \
    -i 's/,2.000000,/,1.000000,/; s/,6.000000,/,3.000000,/' log.csv
corrupt "another schema" "$at/record.jsonl:1:.*schema" sed -i '1s/"schema":1/"schema":2/' \
    record.jsonl
corrupt "the record of another run" "$at/record.jsonl:1:.*unet-g09" sed \
    -i '1s/unet-g03-s1/unet-g09-s1/' record.jsonl
corrupt "a record without its end" "$at/record.jsonl: it has no end line" drop_last record.jsonl
corrupt "garbage in a record" "$at/record.jsonl:3:" sed -i '3s/.*/\xff\xfe{/' record.jsonl
corrupt "a DONE of another run" "$at/DONE" sed -i 's/0.900000/0.100000/' DONE
corrupt "both markers" "both a DONE and a FAILED" touch FAILED
rm -rf s/runs/unet-g03-s1
add_run s 3 1 2 0.9
echo '{' >s/runs/unet-g03-s1/run.json
exits 1 "a run.json that cannot be read is incomplete" unetctl collect -C s
is "$(state_of unet-g03-s1)" corrupt "its row says corrupt"

# A collect is killed while it writes: files with their final names in logs/ are complete, and the
# next collect completes the rest.
make_study killed killed 1..6 1
for n in 1 2 3 4 5 6; do add_run killed "$n" 1 "$((12 / n))" 0.9; done
exits 0 "a collect that is not disturbed succeeds" unetctl collect -C killed
mv killed/logs whole
"$builddir/t/killat" -l calls 0 unetctl collect -C killed >"$OUT" 2>"$ERR"
if [ -s calls ] && [ "$(cut -d' ' -f1 calls)" -gt 0 ]; then
    halves=0 fresh=0
    last=$(cut -d' ' -f1 calls)
    for ((at_call = last; at_call > last - 160; at_call -= 4)); do
        rm -rf killed/logs
        "$builddir/t/killat" "$at_call" unetctl collect -C killed >"$OUT" 2>"$ERR"
        for f in killed/logs/*.csv; do
            if [ -e "$f" ]; then
                cmp -s "$f" "whole/${f##*/}" || halves=$((halves + 1))
                fresh=$((fresh + 1))
            fi
        done
    done
    is $halves 0 "a collect that is killed leaves no incomplete file ($fresh whole ones)"
    ok "some of the whole files are new" test $fresh -gt 0
    mkdir -p killed/logs
    touch killed/logs/results.csv.tmp-{1-0,mine}
    unetctl collect --logs killed/logs -o from-killed >"$OUT" 2>&1
    unlike <(cat "$OUT" from-killed/results.csv) 'tmp-' "temporary files do not count as results"
    exits 0 "the next collect succeeds" unetctl collect -C killed
    ok "it leaves files of others" rm killed/logs/results.csv.tmp-mine
    ok "it completes the results and removes temporary files" diff -r killed/logs whole
else
    skip "programs cannot be traced here" "a collect that is killed"
fi

# No usable run.
make_study empty empty 1..2 1
exits 7 "a study without results is an error" unetctl collect -C empty
like "$ERR" '2 of 2 runs have no result' "the error says how many runs have none"
sed -i 's/^gpus: .*/gpus: 1..60000/; s/^seeds: .*/seeds: 1000/' empty/study.yaml
exits 3 "too many wanted runs are refused" unetctl collect -C empty
like "$ERR" '60000 counts with 1000 seeds' "the error has their number"
exits 3 "a folder without a study is an error" unetctl collect -C "$TMP/nowhere"
exits 2 "an unknown option is refused" unetctl collect --jsn -C s

done_testing
