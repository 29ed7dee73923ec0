#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Logs of other programs are read if they are complete; otherwise they are reported and excluded.
. "${srcdir:-.}/t/lib.sh"
without_pictures

exits 7 "logs of a folder that does not exist" unetctl report ./nothing
like "$ERR" 'the folder ./nothing does not exist$' "the folder is what is missing"

# log FILE SECONDS IOU [EPOCHS] writes a log in the reference's form whose epochs take the same
# time; no two logs are equal.
nlogs=0
log() {
    awk -v s="$2" -v iou="$3" -v n="${4:-4}" 'BEGIN {
        print ",time_per_epoch,loss,lr,training_time,test_time,iou"
        for (e = 0; e < n; e++) printf "%d,%.6f,%.6f,0.001000,%.6f,1.500000,%s\n", e, s, \
            (1 + '$((++nlogs))' / 1000) / (e + 1), n * s, iou
    }' >"$1"
}
keras() { # FILE SECONDS
    printf 'epoch,loss,time,val_iou\r\n0,1,%s,0.5\r\n1,0.5,%s,0.7\r\n2,0.4,%s,0.8\r\n' "$2" "$2" \
        "$2" >"$1"
}
event() { printf ':::MLLOG {"time_ms": %s, "key": "%s", "value": %s, "metadata": {%s}}\n' "$1" \
    "$2" "$3" "$4"; }
mllog() { # FILE RANKS MILLISECONDS
    {
        echo "some other output"
        event 0 number_of_ranks "$2" ''
        event 0 engine '"mx"' ''
        for e in 1 2 3; do
            event $(((e - 1) * $3)) epoch_start null "\"epoch_num\": $e"
            event $((e * $3)) epoch_stop null "\"epoch_num\": $e"
        done
        event $((3 * $3)) eval_accuracy 0.9 '"epoch_num": 3'
        event $((3 * $3)) run_stop null '"status": "success"'
    } >"$1"
}
json() { # FILE EXPRESSION of the report r
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2"
}
column() { # RUN COLUMN of out/results.csv
    python3 -c '
import csv, sys
for row in csv.DictReader(open("out/results.csv")):
    if row["run"] == sys.argv[1]: print(row[sys.argv[2]])' "$1" "$2"
}

# Several forms and engines in one folder.
mkdir good
log good/log_1.csv 8 0.9
log good/log_2.csv 4.5 0.9
log good/log_hvd_1.csv 8 0.9
log good/log_hvd_2_s3.csv 4.2 0.9
keras good/log_keras_1.csv 6
keras good/log_keras_2.csv 3
mllog good/any_name.txt 1 5000
mllog good/other.log 2 2500
echo "nothing to see" >good/README.txt
exits 0 "logs of four engines in three forms are collected" unetctl collect --logs good -o out
like "$OUT" '8 of 8 runs collected into out' "all are listed"
is "$(column log_hvd_2_s3 engine),$(column log_hvd_2_s3 gpus),$(column log_hvd_2_s3 seed)" \
    "horovod,2,3" "engine, GPUs and seed are taken from the name of the log"
is "$(column log_keras_2 iou),$(column log_keras_2 training_time)" "0.800000,9.000000" \
    "a table of Keras is read"
is "$(column other engine),$(column other gpus),$(column other median_epoch_s)" "mx,2,2.500000" \
    "lines of MLLOG are read"
is "$(column other metric),$(column other accuracy),$(column other iou)" "accuracy,0.900000," \
    "what they call accuracy is not shown as IoU"
like "$OUT" 'other: .*accuracy 0.9000' "nor is it printed so"
ok "copies equal the originals" cmp good/log_keras_1.csv out/log_keras_1.csv
exits 0 "the collected folder can be reported" unetctl report --logs out --json -
exits 0 "the original folder can be reported" unetctl report --logs good --json -
ok "several folders can be reported together" unetctl report good out --text
is "$(unetctl report --logs good --json - | python3 -c 'import json, sys
print([p for p in json.load(sys.stdin)["pairs"] if "mx" in (p["a"], p["b"])
       and any(d["quantity"] == "iou" for d in p["differences"])])')" "[]" \
    "an accuracy is not compared with IoU"
exits 2 "a study with --logs is refused" unetctl collect -C . --logs good
exits 2 "--output without --logs is refused" unetctl collect -o out

# Logs of all forms are read together, with what the options say of them.
mkdir mixed
for n in 1 2 4; do
    python3 - "$n" <<'END'
import json, sys
n = int(sys.argv[1])
def write(name, text): open("mixed/" + name, "w").write(text)
def rows(extra):
    return [dict(loss=1 / (k + 1), step=k + 1, took=8 / n + k % 2 / 100 + extra, tok=64, f1=k / 10)
            for k in range(5)]
write(f"log_lines_{n}.jsonl", "".join(json.dumps(r) + "\n" for r in rows(0)))
write(f"log_state_{n}.json", json.dumps({"log_history": rows(0.2), "max_steps": 5}))
write(f"log_lightning_{n}.csv", "step,took,tok,loss,f1\n" + "".join(
    f"{r['step']},,,,{r['f1']}\n{r['step']},{r['took']},64,{r['loss']},\n" for r in rows(0.4)))
END
done
exits 0 "logs of other forms are read" unetctl report --logs mixed --column time=took \
    --column units=tok --unit tokens --quality f1:lower --json mixed.json --text
is "$(json mixed.json 'sorted((e["engine"], [p["gpus"] for p in e["points"]]) for e in r["engines"])')" \
    "[('lightning', [1, 2, 4]), ('lines', [1, 2, 4]), ('state', [1, 2, 4])]" "as three engines"
exits 0 "collect reads them, too" unetctl collect --logs mixed -o mixed-out --column time=took \
    --column units=tok --unit tokens --quality f1:lower
like "$OUT" '^log_lines_1: done, 5 intervals, f1 0.4000, logs/log_lines_1.jsonl' "each is listed"
is "$(cut -d, -f1,7 mixed-out/results.csv | grep -c ,done)" 9 "all of them"
exits 7 "without the options they are unread" unetctl collect --logs mixed -o mixed-none
like "$OUT" 'log_lines_1: unread' "and not called corrupt"
like <(tr -s '\n ' ' ' <"$OUT") 'its columns are loss, step, took, tok, f1' "the columns are named"
exits 2 "an unknown role of a column is refused" unetctl report --logs mixed --column speed=took
rm mixed/*_2.* mixed/*state_[14]* mixed/*lines*
printf 'step,took,f1\n1,4,0\n2,4,0\n3,4,0\n' >mixed/log_lightning_2.csv
exits 1 "units that one log lacks" unetctl collect --logs mixed -o mixed-units \
    --column time=took --column units=tok
like <(tr -s '\n ' ' ' <"$OUT") "log_lightning_2.csv: there is no column 'tok'" "are reported of that file"
printf 'step,step_time,tokens\n1,4,9\n2,4,9\n3,4,9\n' >mixed/log_lightning_1.csv
printf 'step,step_time\n1,4\n2,4\n3,4\n' >mixed/log_lightning_2.csv
unetctl collect --logs mixed -o mixed-units --column time=step_time >"$OUT" 2>/dev/null
like <(tr -s '\n ' ' ' <"$OUT") 'log_lightning_2: unread: units are missing: that of log_lightning_1 counts tokens' \
    "also without naming them"

# Each bad file is reported with file, line and reason, and does not enter any number.
bad() { # WHAT REGEX COMMAND...: makes bad/log_4.csv worse
    local what=$1 regex=$2
    shift 2
    rm -rf bad out
    mkdir bad
    log bad/log_1.csv 8 0.9
    log bad/log_2.csv 4 0.9
    log bad/log_4.csv 2 0.9
    (cd bad && "$@")
    exits 1 "$what" unetctl collect --logs bad -o out
    like "$OUT" "log_4: ${state-corrupt}" "its row says ${state-corrupt}"
    like <(tr -s '\n ' ' ' <"$OUT") "$regex" "the reason is printed"
    ok "it is not copied" test ! -e out/log_4.csv
    unetctl report --logs bad --json - | python3 -c '
import json, sys
def counts(o):
    if isinstance(o, dict):
        if "points" in o: yield [p.get("gpus") for p in o["points"]]
        for v in o.values(): yield from counts(v)
    elif isinstance(o, list):
        for v in o: yield from counts(v)
assert list(counts(json.load(sys.stdin)))[0] == [1, 2]' || ok "and it is in no number" false
}
# shellcheck disable=SC2317 # called through bad
over_header() { printf '""\n' | dd of=log_4.csv conv=notrunc status=none; }
# shellcheck disable=SC2317
with_mark() { { printf '\357\273\277'; cat log_4.csv; } >x && mv x log_4.csv; }
bad "three bytes of another rank over the header" 'log_4.csv:1: the header is not' over_header
bad "a row cut off" 'log_4.csv:5:' truncate -s -10 log_4.csv
bad "NaN" "log_4.csv:3: loss is 'nan'" sed -i '3s/,0.5[0-9]*/,nan/' log_4.csv
bad "a negative time" 'log_4.csv:2: a time is negative' sed -i '2s/2.000000/-2.000000/' log_4.csv
bad "a cell too many" 'log_4.csv:4:.*more than 7 columns' sed -i '4s/$/,1/' log_4.csv
bad "line ends of Windows" 'log_4.csv:1: its lines end in CR LF' sed -i 's/$/\r/' log_4.csv
# shellcheck disable=SC2317
wide() { iconv -t UTF-16 log_4.csv >x && mv x log_4.csv; }
bad "UTF-16" 'log_4.csv: it is UTF-16: save it as UTF-8' wide
bad "a byte order mark" 'log_4.csv:1: it begins with a byte order mark' with_mark
bad "an empty file" 'log_4.csv:1: the file is empty' truncate -s 0 log_4.csv
bad "binary data" 'log_4.csv: it is not a log: it has binary data' dd if=/dev/zero of=log_4.csv bs=1k count=1 \
    status=none
state=unread bad "a huge file" 'log_4.csv' truncate -s 100M log_4.csv
# shellcheck disable=SC2317
long_line() { { head -n 3 log_4.csv && head -c 70M /dev/zero | tr '\0' 1 && echo; } >x &&
    mv x log_4.csv; }
state=unread bad "a line of 70 MB" 'log_4.csv: it has more than' long_line
bad "a row twice" 'log_4.csv:4: the row does not begin with epoch 2' sed -i 3p log_4.csv
bad "epochs in another order" 'log_4.csv:2: the row does not begin with epoch 0' sed \
    -i '2{h;d};3G' log_4.csv
bad "a link to nothing" 'log_4.csv: No such file' ln -sf nothing log_4.csv
bad "a link to itself" 'log_4.csv: Too many levels' sh \
    -c 'rm log_4.csv && ln -s log_4.csv log_4.csv'
bad "a pipe" 'log_4.csv: not a regular file' sh -c 'rm log_4.csv && mkfifo log_4.csv'
bad "no permission to read, a folder" 'log_4.csv' sh -c 'rm log_4.csv && mkdir log_4.csv'

# Of two different logs of one count it is unknown which is right; a copy is harmless.
mkdir twice
log twice/log_1.csv 8 0.9
log twice/log_2.csv 4 0.9
log twice/log_02.csv 3 0.9
mkdir theirs
echo mine >theirs/log_1.csv
exits 3 "a folder with other logs is refused" unetctl collect --logs good -o theirs
like "$ERR" 'theirs/log_1.csv exists already, and nothing is overwritten' "the error names the log"
mv theirs/log_1.csv theirs/results.csv
exits 3 "a folder with another table is refused" unetctl collect --logs good -o theirs
like "$ERR" 'theirs/results.csv exists and was not written by unetctl' "the error names the table"
is "$(cat theirs/* && ls theirs)" "mine
results.csv" "nothing has changed"
exits 1 "two logs of one count are incomplete" unetctl collect --logs twice -o out2
is "$(cut -d, -f1,7 out2/results.csv | sort | tr '\n' ' ')" \
    "log_02,corrupt log_1,done log_2,corrupt run,state " \
    "two different logs of one run are both refused"
cp twice/log_2.csv twice/log_02.csv
unetctl collect --logs twice -o out2 >/dev/null 2>&1
is "$(cut -d, -f1,7 out2/results.csv | sort | tr '\n' ' ')" \
    "log_02,done log_1,done log_2,corrupt run,state " "one of two equal logs is used"
log twice/history.csv 4 0.9
unetctl collect --logs twice -o out2 >/dev/null 2>&1
like out2/results.csv '^history,.*unread.*call it log_N.csv' \
    "a table without a number of GPUs in its name is refused"

# Copies under the names of other runs.
copies() { # WHAT NAMES-AND-STATES COMMAND...: makes copies of good logs of 1, 2 and 4 GPUs
    local what=$1 states=$2
    shift 2
    rm -rf copies out2
    mkdir copies
    log copies/log_1.csv 8 0.9
    log copies/log_2.csv 4 0.9
    log copies/log_4.csv 2 0.9
    (cd copies && "$@")
    exits 1 "$what" unetctl collect --logs copies -o out2
    is "$(cut -d, -f1,7 out2/results.csv | sed 1d | sort | tr '\n' ' ')" "$states" \
        "the states of all logs are as expected"
}
copies "a log under another count" "log_1,done log_2,done log_4,corrupt log_8,corrupt " cp \
    log_4.csv log_8.csv
like out2/results.csv '^log_8,.*it is a copy of log_4, and which of them' \
    "the note names the original"
copies "a log under another engine" "log_1,done log_2,done log_4,corrupt log_hvd_4,corrupt " cp \
    log_4.csv log_hvd_4.csv
copies "a log under another seed" "log_1,done log_2,done log_4,done log_4_s2,corrupt " cp \
    log_4.csv log_4_s2.csv
like out2/results.csv '^log_4_s2,.*it is a copy of log_4, no other run' \
    "the note says that a copy is not another run"

# Times that were logged in whole seconds are equal by chance.
mkdir coarse
for name in log_1 log_1_s2 log_1_s3 log_2 log_2_s2; do
    gpus=${name#log_}
    s=$((8 / ${gpus%%_*}))
    printf 'step,elapsed\n10,%s\n20,%s\n30,%s\n40,%s\n' $s $((2 * s)) $((3 * s)) $((4 * s)) \
        >coarse/$name.csv
done
exits 0 "equal times in whole seconds" unetctl collect --logs coarse -o coarse-out
is "$(cut -d, -f7 coarse-out/results.csv | sed 1d | sort -u)" "done" "are not taken for copies"

# A log cut off after a row is a valid table, but its training took longer.
copies "rows cut off" "log_1,done log_2,done log_4,corrupt " sed -i 3d log_4.csv
log copies/log_1.csv 8 0.9 40
log copies/log_2.csv 4 0.9 40
log copies/log_4.csv 2 0.9 40
sed -i '31,$d' copies/log_4.csv
exits 1 "a log that was cut at its end is incomplete" unetctl collect --logs copies -o out2
like out2/results.csv \
    '^log_4,.*corrupt.*its 29 epochs took 58 s of the 80 s of the training.*rows are missing' \
    "the table says why the log is corrupt"
log copies/log_4.csv 2 0.9 29
exits 0 "a training with fewer epochs is accepted" unetctl collect --logs copies -o out2

# Impossible times.
for cell in 0.000000 1e12; do
    log copies/log_4.csv 2 0.9 40
    sed -i "2,\$ s/^\([0-9]*\),[^,]*,\([^,]*,[^,]*\),[^,]*/\1,$cell,\2,1e15/" copies/log_4.csv
    exits 1 "epochs of $cell s are refused" unetctl collect --logs copies -o out2
    like out2/results.csv '^log_4,.*corrupt.*a time is wrong' "the note says that a time is wrong"
done

# Names that are similar to those of logs.
log copies/log_4.csv 2 0.9 40
gzip copies/log_4.csv
mv copies/log_2.csv copies/LOG_2.CSV
exits 1 "a compressed log and a name in capitals are reported" unetctl collect --logs copies -o out2
is "$(cut -d, -f1,7 out2/results.csv | sed 1d | sort | tr '\n' ' ')" \
    "LOG_2.CSV,unread log_1,done log_4.csv.gz,unread " \
    "the compressed log and the name in capitals are listed as unread"

# A results.csv that was edited.
mkdir table
log table/log_1.csv 8 0.9
log table/log_2.csv 4 0.9
log table/log_4.csv 2 0.9
unetctl collect --logs table -o changed >/dev/null
cp changed/results.csv whole.csv
# WHAT REGEX COMMAND...: the command edits changed/results.csv; of 4 GPUs no row is used, or one
changed() {
    local what=$1 regex=$2
    shift 2
    cp whole.csv changed/results.csv
    "$@"
    exits 0 "$what" unetctl report --logs changed --json changed.json --text
    like <(tr -s '\n ' ' ' <"$OUT") "$regex" "the reason is printed"
    is "$(json changed.json '[(p["gpus"], p["runs"]) for p in r["engines"][0]["points"]]')" \
        "${counts:-[(1, 1), (2, 1)]}" "the changed row is not used"
}
row4() { sed -i "/^log_4,/$1" changed/results.csv; }
changed "another median" 'differ in the median epoch' row4 \
    's/,2.000000,2.000000,2.000000,/,2.000000,2.000000,1.000000,/'
changed "other epochs" 'differ in the epochs' row4 's/,done,4,/,done,3,/'
changed "another count" 'differ in the number of GPUs' row4 's/,native,4,/,native,3,/'
changed "a negative time" 'impossible time or quality' row4 's/,1.500000,/,-1.500000,/'
changed "an impossible IoU" 'impossible time or quality' row4 's/,0.900000,/,1.900000,/'
counts="[(1, 1), (2, 1), (4, 1)]"
changed "a row twice" 'has this run twice' row4 p
changed "a row twice under another name" 'names its log twice' row4 'p;s/^log_4/other/'
unset counts

# Evaluation on two GPUs takes half the time: either of all images, or of half of them.
mkdir shared-eval
log shared-eval/log_1.csv 8 0.9
log shared-eval/log_2.csv 4 0.9
sed -i 's/,1.500000,/,0.750000,/' shared-eval/log_2.csv
unetctl report --logs shared-eval --text | tr -s '\n ' ' ' >words
like words 'either GPUs share this work or fewer were' \
    "without scores per image, the report says that the cause is unknown"
for n in 1 2; do
    printf 'image,class,iou\n' >shared-eval/images_$n.csv
    for i in 1 2 3 4 5 6 7 8; do echo "$i,all,0.9$((i % 3))$n" >>shared-eval/images_$n.csv; done
done
unetctl report --logs shared-eval --text | tr -s '\n ' ' ' >words
unlike words 'either GPUs share this work' "with scores of all images, the cause is known"
sed -i '6,$d' shared-eval/images_2.csv
unetctl report --logs shared-eval --text | tr -s '\n ' ' ' >words
like words 'different validation images: 8 with 1 GPU, 4 with 2' \
    "with scores of fewer images, the report says so"

# Weak scaling, with MLLOG lines: images per second are 10 (0.1 + 0.9 N), Gustafson's law.
grown() { # FILE RANKS SEED IMAGES GLOBAL-BATCH MILLISECONDS
    mllog "$1" "$2" "$6"
    {
        event 0 seed "$3" ''
        event 0 train_samples "$4" ''
        event 0 global_batch_size "$5" ''
    } >>"$1"
}
mkdir weak
for n in 1 2 4 8; do
    for s in 1 2 3; do
        grown weak/w${n}_$s.txt $n $s $((100 * n)) $((4 * n)) \
            $((10000 * 10 * n / (1 + 9 * n) + 3 * s + n))
    done
done
exits 0 "a report of weak scaling is made" unetctl report --logs weak --json weak.json --text
like "$OUT" '^Within reach by time: up to 8 GPUs, 7.30x the images per second' "more images are not called faster"
unlike "$OUT" 'Fastest|x faster than 1' "no sentence calls them faster"
is "$(json weak.json 'r["engines"][0]["model"]["usable"], r["engines"][0]["model"]["leave_one_out_error"] < 0.03')" \
    "(True, True)" "the model describes Gustafson's law"
for n in 2 4; do
    for s in 4 5; do
        grown weak/s${n}_$s.txt $n $s 100 4 $((10000 / n + 3 * s))
    done
done
exits 0 "a report of strong and weak scaling in one folder is made" \
    unetctl report --logs weak --json weak.json
is "$(json weak.json '[(e["scaling"], [p["gpus"] for p in e["points"]]) for e in r["engines"]]')" \
    "[('weak', [1, 2, 4, 8]), ('strong', [1, 2, 4])]" "the runs are two series"
is "$(json weak.json 'r["pairs"]')" "[]" "the two are not compared"

# Work that is neither images nor epochs, a quality of which less is better, and runs that ended at
# their limit. made DIR KIND GPUS... writes 3 seeds a count; ideal speed, 1 % of scatter.
made() {
    python3 - "$@" <<'EOF'
import csv, os, sys
folder, kind, *gpus = sys.argv[1:]
names = ("run engine gpus nodes seed attempt state epochs images first_epoch_s second_epoch_s "
         "median_epoch_s training_time test_time images_per_s loss iou dice startup_s comm_s data_s "
         "oversubscribed host log note metric quality lower unit limited stepped accuracy "
         "val_images").split()
os.makedirs(folder, exist_ok=True)
path = f"{folder}/results.csv"
new = not os.path.exists(path)
with open(path, "a") as f:
    w = csv.DictWriter(f, names, restval="")
    if new:
        w.writeheader()
    for n in map(int, gpus):
        for seed in range(1, 6 if kind == "lapse" else 4):
            epoch = 40 / n * (1 + 0.01 * ((seed * 5 + n) % 3 - 1))
            part = 1 if kind == "whole" else n * seed / 64  # of an epoch: what an interval has
            row = {"run": f"{kind}-{n}-{seed}", "engine": "x", "gpus": n, "nodes": 1, "seed": seed,
                   "attempt": 1, "state": "done", "epochs": round(20 / part),
                   "images": 6400 * part, "median_epoch_s": epoch * part,
                   "images_per_s": 6400 / epoch, "lower": "no", "limited": "no", "stepped": "no",
                   "val_images": 0}
            if kind == "whole":
                row.update(iou=0.9 + 0.001 * seed, training_time=20 * epoch, loss=0.1 + seed / 1e4)
            if kind == "lapse":
                row.update(iou=0.4 if seed == 2 and n > 1 else 0.9 + 1e-4 * seed,
                           training_time=20 * epoch, images=6400, epochs=20, median_epoch_s=epoch)
            if kind == "counted":
                row.update(metric="accuracy", accuracy=round((136 - seed) / 150, 6), val_images=150,
                           training_time=20 * epoch, images=6400, epochs=20, median_epoch_s=epoch)
            if kind == "limited":
                row.update(limited="yes", stepped="yes", iou=0.2, training_time=9, loss=5)
            if kind == "tokens":
                row.update(unit="tokens", stepped="yes", limited="yes")
            if kind == "loss":
                row.update(unit="tokens", stepped="yes", metric="val_loss", lower="yes",
                           training_time=20 * epoch,
                           quality=2.3 + 0.001 * seed + (0.2 if n == 8 else 0))
            w.writerow(row)
EOF
}
made both limited 1 2 3 4 5 6 7 8
made both whole 1 4
exits 0 "a report of limited and whole runs is made" unetctl report --logs both --text --json both.json
tr -s '\n ' ' ' <"$OUT" >words
like words '^Use 4 GPUs: 4.00x faster .*, and IoU holds\. IoU with 4 GPUs holds \(0.9020 against 0.9020' \
    "the quality is that of whole runs"
like words 'up to 8 GPUs \(8.00x\)\. IoU with 8 GPUs is not known, as these runs give the steady speed alone: this is by speed' \
    "of the other counts the speed is known"
like words 'Of the counts with whole runs: fastest whole run' "costs are those of whole runs"
is "$(json both.json '[(p["runs"], p["limited_runs"], p["iou"]["runs"], p["training_time"]["runs"], p["median_epoch_s"]["runs"]) for p in r["engines"][0]["points"] if p["gpus"] in (4, 8)]')" \
    "[(6, 3, 3, 3, 6), (3, 3, 0, 0, 3)]" "each number says how many runs it has"
made lapse lapse 1 2 4 8
exits 0 "a report of runs of which one in five collapses is made" unetctl report --logs lapse --text
tr -s '\n ' ' ' <"$OUT" >words
like words '^Within reach by time: up to 8 GPUs, 8.0.?x' "no count is used"
like words 'IoU with 8 GPUs is undecided .*; 1 of 5 runs collapsed, which does not show whether '\
'more than 10 % do\); about 33 seeds per count would decide it' \
    "nor shown not to keep its IoU"
made counted counted 1 2 4 8
exits 0 "a report of 135, 134 and 133 of 150 images is made" unetctl report --logs counted --text
tr -s '\n ' ' ' <"$OUT" >words
like words 'Accuracy with 8 GPUs is undecided \(0.8933 against 0.8933\): on these 150 images it '\
'changes in steps of 0.0067, and the margin is 0.01; that takes 500 images, or a margin of 0.034' \
    "it says which images or margin decide"
made loss loss 1 2 4 8
exits 0 "a report of a loss is made" unetctl report --logs loss -o loss-report --text
tr -s '\n ' ' ' <"$OUT" >words
like words '^Use 4 GPUs: 4.0x faster than with 1 GPU .*, and val_loss holds.*Limit: with 8 GPUs '\
'val_loss rises by 0.200' \
    "the count whose loss rises is not used"
like words 'Runs ended far worse \(val_loss more than 0.115 above the median of the base case, 2.30' \
    "runs whose loss is a little worse have not collapsed"
unlike words '[Cc]ollapse' "nor does a table say so"
made tokens tokens 1 2 4 8
exits 0 "a report without a quality is made" unetctl report --logs tokens -o tokens-report
tr -s '\n ' ' ' <"$OUT" >words
like words '^Use 8 GPUs: 8.0x faster .*, by speed alone\. All runs give the steady speed alone, so' \
    "without a quality the verdict is by speed, and says so"
like tokens-report/report.md 'tokens/s' "work has its unit"
for d in loss tokens; do
    unlike <(sed 's/epoch_time\.svg//' $d-report/report.md; sed '/<style>/,/<\/style>/d; s/<[^>]*>//g' \
        $d-report/report.html) '[Ee]poch|[Ii]mage|IoU|[Nn]etwork' "$d: nothing is said of images or epochs"
done

# A simulation prints its own rate; on 8 GPUs it is slower than on 1.
mkdir md
for run in "1 1 10.3" "1 2 10.2" "1 3 10.4" "2 1 19.1" "2 2 19.0" "2 3 19.2" "4 1 31.9" "4 2 30" \
    "4 3 35.5" \
    "8 1 6.8" "8 2 6.7" "8 3 6.9"; do
    read -r n s rate <<<"$run"
    printf 'Loop time of 83.2 on %s procs for 10000 steps with 32000 atoms\n\nPerformance: %s '\
'ns/day, %s\n' \
        "$n" "$rate" "2.330 hours/ns, 120.1 timesteps/s, 3.8 Matom-step/s" \
        >"md/log_lammps_${n}_s$s.log"
done
lammps=(--column "pattern=Performance: (?<ns_per_day>[0-9.]+) ns/day")
exits 0 "rates of a simulation are read" unetctl report --logs md "${lammps[@]}" --text -o md-report
tr -s '\n ' ' ' <"$OUT" >words
like words '1.85x faster than with 1 GPU \(95 % interval [^)]*\), 19.1 ns/day against 10.3' \
    "the verdict has the rates of the program"
like words '8 GPUs are slower than 1 \(0.66x\)' "what is slower is called so"
like words 'Limit: with 4 GPUs it is undecided' "4 GPUs are undecided"
like words 'Clearly not worth using: 8 GPUs \(efficiency 0.08, slower than with 1\)' \
    "and 8 GPUs are said to fail although 4 are undecided"
unlike <(sed 's/epoch_time\.svg//' md-report/report.md) \
    '[Ee]poch|[Ii]mage|IoU|[Nn]etwork|[Bb]atch|[0-9]{4} s|seconds' \
    "nothing is said of images, batches or seconds of intervals"
is "$(cd md-report/figures && echo *.svg)" "efficiency.svg speedup.svg" \
    "figures without a number are not drawn"
exits 0 "collect shows the rate, too" unetctl collect --logs md "${lammps[@]}" -o md-out
like "$OUT" 'log_lammps_2_s1: done, 19.1 ns/day' "in the words of the program"
cp md/log_lammps_2_s1.log md/log_lammps_16.log
echo 'Performance: 75.0 ns/day' >>md/log_lammps_16.log
exits 1 "two rates in a log" unetctl collect --logs md "${lammps[@]}" -o md-out
like <(tr -s '\n ' ' ' <"$OUT") \
    "log_lammps_16: unread: .*it has 2 rates 'ns_per_day', from 19.1 to 75" \
    "are asked for, and not taken"

# 1.05 s a step on 1 GPU and 0.62 s on 2, by clocks of whole seconds: the efficiency is 0.85.
mkdir whole
for run in "1 1 1.05" "1 2 1.05" "2 1 0.62" "2 2 0.62"; do
    read -r n s step <<<"$run"
    awk -v step="$step" -v s="$s" 'BEGIN { print "step,timestamp,loss"
        for (i = 0; i < 300; i++) {
            at = int(100 * s / 7 + step * i)
            printf "%d,2024/05/01 23:%02d:%02d,%.3f\n", i, 55 + int(at / 60), at % 60,
                1 / (i + 1) } }' |
        awk -F, -v OFS=, 'NR > 1 { split($2, t, ":")
            if (t[2] > 59) $2 = sprintf("2024/05/02 00:%02d:%s", t[2] - 60, t[3]) } 1' \
            >"whole/log_x_${n}_s$s.csv"
done
exits 0 "clocks of whole seconds" unetctl report --logs whole --text --json whole.json
is "$(json whole.json '[round(p["efficiency"], 2) for p in r["engines"][0]["points"]]')" \
    "[1.0, 0.85]" "give the mean speed"
like <(tr -s '\n ' ' ' <"$OUT") 'The clock of 4 logs counts in steps of 1 s, up to 1[0-9][0-9] % of a '\
'steady interval: its time is a mean' \
    "and the report says that it is a mean"

# What a median does not show: with 4 GPUs each third epoch stalls.
law() { # DIR COUNTS TIME: logs of 30 epochs with 3 seeds, by the time of epoch e with n GPUs
    mkdir "$1"
    for n in $2; do for s in 1 2 3; do
        awk -v n="$n" -v s="$s" 'BEGIN { print "epoch,epoch_time,loss,val_accuracy"
            for (e = 0; e < 30; e++) printf "%d,%.4f,%.3f,%.4f\n", e, \
                ('"$3"') * (1 + .003 * s + .001 * (e % 7)), 2 / (e + 1) + s / 1000, \
                .9 - .3 / (e + 1) + s / 1000 }' \
            >"$1/log_${n}_s$s.csv"
    done; done
}
law stall "1 2 4" '10 / n + (n == 4 && e % 3 == 0 ? 47.5 : 0)'
exits 0 "epochs that stall" unetctl report --logs stall --text --json stall.json
tr -s '\n ' ' ' <"$OUT" >words
like words '^Use 2 GPUs: 2.00x faster' "a count whose epochs take longer in sum is not used"
like words 'But: With 4 GPUs the efficiency is 0.14 by the means of steady epochs, but 1.00 by their medians' \
    "and the report says why"
is "$(json stall.json '[round(p["efficiency"], 2) for p in r["engines"][0]["points"]]')" \
    "[1.0, 1.0, 0.14]" "its numbers are those of the verdict"
rm stall/*_s[23].csv
exits 0 "single runs whose epochs stall" unetctl report --logs stall --text
like <(tr -s '\n ' ' ' <"$OUT") '^Within reach by time: up to 2 GPUs, .* With 4 GPUs the efficiency is 0.14 by' \
    "get the same treatment"
law longer "1 2 4" '1 + .1 * (n > 1) + .1 * (n > 2)'
exits 0 "epochs that become longer" unetctl report --logs longer --text
tr -s '\n ' ' ' <"$OUT" >words
like words '^Use 1 GPU: .* But: 4 GPUs are slower than 1 \(0.83x\). If ranks do not share the data' \
    "may be those of ranks that all do the whole work"
law disturbed "1 2 4" '10 / n * (n == 1 && s == 2 ? 10 : 1)'
exits 0 "one run that was disturbed" unetctl report --logs disturbed --text
tr -s '\n ' ' ' <"$OUT" >words
like words 'But: log_1_s2 took 100.9 s per steady epoch, and the median of its count is 10.1' \
    "is named"
unlike words '[0-9]{3} (seeds|runs)' "and hundreds of seeds are not asked for"
law constant "1 2 4" '4 + s * n * 5 % 4 / 10'
exits 0 "a program that does not depend on N" unetctl report --logs constant --text
like <(tr -s '\n ' ' ' <"$OUT") 'Fastest whole run, not shown to be faster than all others, as logged' \
    "has no fastest count"
mkdir plain
for f in constant/*; do cut -d, -f1-3 "$f" >"plain/${f#*/}"; done
exits 0 "epochs without a quality" unetctl report --logs plain --json plain.json
is "$(json plain.json 'r["engines"][0]["quality"]')" None "have none in report.json"

# Too few runs.
mkdir empty one failed flat
exits 7 "an empty folder is an error" unetctl report --logs empty
like "$ERR" 'there is no log in it' "the error says so"
exits 7 "a folder that does not exist is an error" unetctl collect --logs nowhere
log one/log_1.csv 8 0.9
exits 8 "one run has no speed-up" unetctl report --logs one
echo x >failed/log_1.csv
echo x >failed/log_2.csv
exits 7 "a folder of bad logs is an error" unetctl report --logs failed
exits 7 "collect of bad logs is an error, too" unetctl collect --logs failed -o out3
for n in 1 2; do for s in 1 2 3; do log flat/log_${n}_s$s.csv 4 0.9; done; done
exits 0 "a report without any variance is made" unetctl report --logs flat --text
unlike "$OUT" '(nan|inf)' "it has no NaN"
log flat/log_2_s2.csv 4 nan
exits 0 "a report of a log with an IoU of NaN is made" unetctl report --logs flat --text
like "$OUT" 'log_2_s2.*corrupt' "that log is corrupt"

done_testing
