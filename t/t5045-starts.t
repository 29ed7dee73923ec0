#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How long a run took is how long its job ran, over all its starts: what the logs do not have is
# paid, too, and the wait between two starts is not.
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"
without_pictures

number() { # EXPRESSION of report.json d
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1] + "/report.json"))
points = {p["gpus"]: p for e in d["engines"] for p in e["points"]}
print(eval(sys.argv[2]))' "$1" "$2"
}
starts() { # DIR GPUS LINES...
    printf '%s\n' "${@:3}" >"$1/runs/$(run_name "$2" 1)/attempt-1/starts"
}
column() { # COLUMN of log results
    python3 -c 'import csv, sys
print(*[row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1]))])' "$1/logs/results.csv" "$2"
}

# ---- epochs print 24 s in all, and the jobs took 60 and 30 s
make_study s demo 1..2 1
add_run s 1 1 4 0.9
add_run s 2 1 2 0.9
exits 0 "a report of runs whose jobs are not known" unetctl report -C s -o r --text
flat() { tr -s '\n ' ' ' <"$OUT" >flat.txt; }
flat
like flat.txt 'Fastest whole run, as logged: 2 GPUs \(12.75 s' "has their times as logged"
like r/report.md 'whole run s, as logged' "and says so in the table"
starts s 1 'begin 7.0.1 1700000000.5' 'end 7.0.1 1700000060.5'
exits 0 "a report where one job is known" unetctl report -C s -o r --text
flat
like flat.txt 'Fastest whole run, as logged: 2 GPUs \(12.75 s' "compares what all have"
# three starts of a job: one ends, one is killed when it last writes, one says nothing at its end
starts s 2 'begin 8.0.1 1700000000.0 1699999999.0' 'end 8.0.1 1700000010.0' \
    'begin 8.1.2 1700000500.0 1700000010.0' 'end 8.0.1 1700000511.0' \
    'begin 8.2.3 1700009000 1700000515' \
    'end 8.2.3 1700009005'
exits 0 "a report where both are known" unetctl report -C s -o r --text
flat
like flat.txt 'Fastest whole run, start-up and evaluation included: 2 GPUs \(30 s, of which 12 s '\
'are training' \
    "has the time of the job, summed over its starts"
jobs='[(p["whole_s"]["median"], round(p["gpu_hours"] * 3600, 6)) for p in points.values()]'
is "$(number r "$jobs")" "[(60.0, 60.0), (30.0, 60.0)]" "GPU-hours are those of jobs"
exits 0 "collect" unetctl collect -C s
is "$(column s job_s) $(column s starts)" "60.000000 30.000000 1 3" "writes both to results.csv"

# ---- a program that a signal ends, and that its job starts again
cat >program.sh <<'END'
#!/bin/bash
echo start >>"$UNETCTL_ATTEMPT_DIR/begun"
first=$(($(wc -l <"$UNETCTL_ATTEMPT_DIR/begun") == 1)) from=$(date +%s.%N)
log=$UNETCTL_ATTEMPT_DIR/log.csv
trap 'exit 75' TERM
if [ "$first" = 1 ]; then echo step,elapsed,timestamp >"$log"; fi
for step in $([ "$first" = 1 ] && echo 1 2 3 4 || echo 3 4 5 6 7 8); do
    sleep 0.1
    awk -v from="$from" -v now="$(date +%s.%N)" -v step="$step" \
        'BEGIN { printf "%d,%.3f,%.3f\n", step, now - from, now }' >>"$log"
done
while [ "$first" = 1 ]; do sleep 0.1; done
END
chmod +x program.sh
exits 0 "a study of it" unetctl init st --site local -- ./program.sh
printf 'log:\n  time: timestamp\n' >>st/study.yaml
exits 0 "its script" unetctl generate -C st --gpus 1
run=st/runs/command-g01-s1 attempt=st/runs/command-g01-s1/attempt-1
job() { UNETCTL_JOB_ID=7 bash "$run/submit_file.sh" >>out 2>&1; }
job &
has_rows() { [ "$(wc -l <"$attempt/log.csv")" -ge "$1" ]; }
ok "it trains" wait_until 30 has_rows 5
kill -TERM "$(pgrep -P $! -f submit_file.sh || echo $!)"
wait $!
is "$?" 75 "a signal ends it"
# ... 1000 s ago
awk '{ $3 -= 1000; printf "%s %s %.3f\n", $1, $2, $3 }' "$attempt/starts" >x &&
    cp x "$attempt/starts"
awk -F, 'NR > 1 { $3 = sprintf("%.3f", $3 - 1000) } 1' OFS=, "$attempt/log.csv" >x &&
    cp x "$attempt/log.csv"
ok "its job starts again" job
exits 0 "its result is collected" unetctl collect -C st
like <(column st job_s) '^[1-9]\.' "its two starts took seconds, and not the 1000 s between them"
is "$(column st starts) $(column st epochs)" "2 7" "of ten rows two were done again"
like <(column st training_time) '^[1-9]\.' "the training took as long by the log's dates"
sed -i 's/time: timestamp/time: elapsed:total/' st/study.yaml
by_dates=$(column st training_time)
exits 0 "a clock that begins anew is read, too" unetctl collect -C st
is "$(column st epochs) $(awk -v a="$by_dates" -v b="$(column st training_time)" \
    'BEGIN { print (a - b < 1 && b - a < 1) }')" "8 1" "as long as by the log's dates"
sed -i '/^log:/,$d' st/study.yaml
sed -i '1s/.*/step,x,train_runtime/' "$attempt/log.csv"
exits 7 "a time of the last start alone is none of the run" unetctl collect -C st
like <(column st note) \
    "its job started 2 times, and 'train_runtime' is the time of the last start alone" \
    "and says so"
done_testing
