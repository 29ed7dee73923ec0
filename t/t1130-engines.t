#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engines other than the embedded one, without Slurm: what their scripts get, and how their log.csv
# becomes a result.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"
without_pictures

engine_study() { # DIR PROGRAM LINES...
    local dir=$1 program=$2
    shift 2
    make_study "$dir" local --set train.epochs=2 --set train.global_batch=60
    { printf 'command:\n  script: %s\n' "$program"; printf '%s\n' "$@"; } >>"$dir/study.yaml"
}
submit() { # STUDY: one run, watched
    unetctl submit -C "$1" --engine command --gpus 1 --wait --timeout 60
}
told() { sed -n "s/^$2=//p" -- "$1/runs/command-g01-s1/attempt-1/told-0"; }

# ---- a good run
# shellcheck disable=SC2016 # what no shell may expand
engine_study one "$srcdir/t/engine.sh" \
    '  args: [--out, "{{attempt_dir}}", "it'"'"'s \"$HOME\" `id` é", "", "-x {{gpus}}"]' \
    '  env: {OWN: "a $b '"'c'"'", https_proxy: "http://proxy:3128"}'
exits 0 "a run of the engine command succeeds" env http_proxy=http://login:1 \
    unetctl submit -C one --engine command --gpus 1 --wait --timeout 60
attempt=$TMP/one/runs/command-g01-s1/attempt-1
ok "DONE is there" test -e "$attempt/DONE"
is "$(field "$attempt/DONE" '[d[k] for k in ("kind", "status", "training_time", "test_time", "iou")]')" \
    "['end', 'done', 1.0, 0.1, 0.75]" "the marker has the values of log.csv"
is "$(field one/runs/command-g01-s1/run.json 'd["engine"]')" command "run.json names the engine"
is "$(head -n 5 "$attempt/told-0")" "--out
$attempt
it's \"\$HOME\" \`id\` é

-x 1" "its words, each as it was written"
is "$(told one OMP_DISPLAY_AFFINITY)" TRUE "OpenMP prints where the threads of the first run are"
is "$(told one OWN)" "a \$b 'c'" "the program's environment has odd values unchanged"
is "$(grep proxy= "$attempt/told-0")" "https_proxy=http://proxy:3128" \
    "of proxies it has the one that env names, not that of the login node"
is "$(told one UNETCTL_ATTEMPT_DIR)" "$attempt" "the program gets UNETCTL_ATTEMPT_DIR"
is "$(told one UNETCTL_DATA_DIR) $(told one UNETCTL_SPLIT)" "$TMP/data $TMP/one/split.json" \
    "the program gets the data folder and the split"
is "$(for v in RUN ENGINE SEED GPUS NODES TASKS ATTEMPT TRAIN_EPOCHS; do told one UNETCTL_$v; done | paste -sd' ')" \
    "command-g01-s1 command 1 1 1 1 1 2" "the program gets the numbers of the run"
is "$(for v in RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE; do told one $v; done | paste -sd' ')" \
    "0 1 0 1" "the program gets its rank"
like <(unetctl status -C one) '^command-g01-s1 +COMPLETED' "status shows the run as COMPLETED"
exits 0 "submitting again does nothing" submit one
like "$ERR" '0 runs submitted; before: 0 active, 1 done' "the run counts as done"
exits 0 "collect works" unetctl collect -C one
like one/logs/results.csv \
    '^command-g01-s1,command,1,1,1,1,done,2,,0.500000,0.500000,.*,0.750000,.*,log_command_1.csv,' \
    "results.csv has the values of log.csv"
exits 0 "the embedded engine trains in the same study" \
    unetctl submit -C one --gpus 1 --wait --timeout 60
is "$(states one)" "command-g01-s1 COMPLETED
unet-g01-s1 COMPLETED" "both stand side by side"

# ---- a machine with more GPUs than a run has
mkdir smi
# shellcheck disable=SC2016 # the script expands it
printf '#!/bin/sh\nfor i in 0 1 2 3; do echo "GPU $i: fake"; done\n' >smi/nvidia-smi
chmod +x smi/nvidia-smi
engine_study seen "$srcdir/t/engine.sh" mpi: "  script: $srcdir/t/engine.sh" pytorch: \
    "  script: $srcdir/t/engine.sh" '  python: sh'
while read -r engine want; do
    exits 0 "$engine" env PATH="$TMP/smi:$PATH" unetctl submit -C seen \
        --engine "$engine" --gpus 1,2 \
        --wait --timeout 60
    is "$(sed -n 's/^CUDA_VISIBLE_DEVICES=//p' seen/runs/"$engine"-g0[12]-s1/attempt-1/told-* |
        paste -sd' ')" "$want" "$engine: ranks see only GPUs of their runs"
done <<'EOF'
command 0 0,1
mpi 0 0 1
pytorch 0 0,1 0,1
EOF

# ---- a program without images: what it writes is a result as any other
cat >plain.sh <<'EOF'
#!/bin/sh
echo "$@" >"$UNETCTL_ATTEMPT_DIR/words"
env | grep '^UNETCTL_' >"$UNETCTL_ATTEMPT_DIR/told"
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1; do echo "$i,0.5,0.4,0.01,1,0.1,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOF
chmod +x plain.sh
ok "a study of it" unetctl init plain --site local -- ./plain.sh \
    --of '{{gpus}} {{nodes}} {{tasks}} {{seed}} {{batch_per_gpu}} {{steps}} {{minutes}}' '{{attempt_dir}}'
exits 0 "doctor needs no images of it" unetctl doctor -C plain --gpus 1
unlike "$OUT" 'images' "and names none"
exits 0 "its runs" unetctl submit -C plain --gpus 1,2 --wait --timeout 60
attempt=$TMP/plain/runs/command-g02-s1/attempt-1
is "$(cat "$attempt/words")" "--of 2 1 1 1 16 100 10 $attempt" "the markers are those of the run"
is "$(grep -E 'GPUS|SEED|BATCH|STEPS|MINUTES|EPOCHS' "$attempt/told" | sort | paste -sd' ')" \
    "UNETCTL_GPUS=2 UNETCTL_MINUTES=10 UNETCTL_SEED=1 UNETCTL_STEPS=100 UNETCTL_TASK_GPUS=2 UNETCTL_TRAIN_BATCH_PER_GPU=16" \
    "the environment has them, too"
unlike "$attempt/told" 'DATA_DIR|SPLIT|EPOCHS|LR' "and nothing of images"
ok "there is no split" test ! -e plain/split.json
is "$(field plain/runs/command-g01-s1/run.json 'sorted(d), d["train"]')" \
    "(['engine', 'layout', 'limit', 'program', 'run', 'schema', 'seed', 'study', 'study_id', 'train'], {'batch_per_gpu': 16})" \
    "run.json has what the study sets"
mv plain moved
exits 0 "a study that was moved" unetctl submit -C moved --gpus 1
like "$ERR" '0 runs submitted; before: 0 active, 1 done' "knows its runs"
exits 0 "its report" unetctl report -C moved
like <(tr -s '\n ' ' ' <"$OUT") \
    'Every count takes the time of one: an epoch takes 0.5 s with 1 GPU and 0.5 s with 2\. Does '\
'one rank run' \
    "asks whether the ranks share their work"

# ---- variants: the same runs with a few other settings
cat >vary.sh <<'EOF'
#!/bin/sh
[ ! -e "$UNETCTL_STUDY_DIR/fail" ] || exit 3
echo "$* TWIST=$TWIST" >"$UNETCTL_ATTEMPT_DIR/words"
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1 2; do echo "$i,0.5,0.4,0.01,1.5,0.1,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOF
chmod +x vary.sh
ok "a study with variants" unetctl init varied --site local --set train.epochs=3 -- ./vary.sh '{{rate}}'
cat >>varied/study.yaml <<'EOF'
markers: {rate: 0.1}
variants:
  usual: {}
  fast: {markers.rate: 0.2}
  twisted: {command.env.TWIST: 7, train.batch_per_gpu: 4}
EOF
exits 0 "its plan" unetctl plan -C varied --gpus 1,2 --json
is "$(field "$OUT" 'len(d["runs"]), d["runs"][1]["run"]')" "(6, 'command-fast-g01-s1')" \
    "is the product of variants and counts"
touch varied/fail
exits 1 "runs of a variant that fail" unetctl submit -C varied --gpus 1 --wait --timeout 60
rm varied/fail
exits 0 "they are resumed" unetctl resume -C varied
ok "and end" wait_until 60 all_states varied COMPLETED
is "$(cat varied/runs/command-{usual,fast,twisted}-g01-s1/attempt-2/words | paste -sd,)" \
    "0.1 TWIST=,0.2 TWIST=,0.1 TWIST=7" "with the settings of their variants"
exits 0 "more counts" unetctl submit -C varied --gpus 1,2 --wait --timeout 60
like "$ERR" '3 runs submitted; before: 0 active, 3 done' "add to them"
exits 0 "their report" unetctl report -C varied
is "$(grep -c '^Undecided (' "$OUT")" 3 "each variant is a series"
like "$OUT" 'markers +rate=0.2' "which its settings describe"
is "$(cd varied/logs && echo log_*.csv)" \
    "log_command-fast_1.csv log_command-fast_2.csv log_command-twisted_1.csv log_command-twisted_2.csv log_command-usual_1.csv log_command-usual_2.csv" \
    "each has logs of its own"
sed -i -e '/^variants:/a\  late: {command.env.TWIST: 8}' -e 's/^gpus:.*/gpus: 1,2/' varied/study.yaml
exits 0 "a plan with one variant more" unetctl plan -C varied
like "$OUT" '^variant late: 2 runs$' "whose times are not measured by other variants"
like "$OUT" '^variant fast: 2 runs, 1 of them measured: 0.001 GPU-hours$' "those have their own (a resumed run gives no time)"
exits 0 "the same for programs" unetctl plan -C varied --json
is "$(field "$OUT" '[(v["name"], v["runs"], v["measured_runs"]) for v in d["variants"]]')" \
    "[('late', 2, 0), ('usual', 2, 1), ('fast', 2, 1), ('twisted', 2, 1)]" "each variant has its cost"
is "$(field "$OUT" '[k for k in ("train_images", "parameters", "cache_bytes") if k in d]')" "[]" \
    "a study without images has none"
exits 1 "collect" unetctl collect -C varied
like "$OUT" '^command-late-g01-s1: missing' "a run of a variant is missing though others have run"
is "$(grep -c ,missing, varied/logs/results.csv)" 2 "each count of it is"
unlike varied/logs/results.csv 'command.python=' "settings have no interpreter that no run has"
exits 0 "submit" unetctl submit -C varied --wait --timeout 60
like "$ERR" '2 runs submitted; before: 0 active, 6 done' "runs those that are missing"
exits 0 "then none is missing" unetctl collect -C varied
sed -i '/^variants:/,$d' varied/study.yaml
exits 0 "variants of --vary count by themselves, too" unetctl collect -C varied
rm -r varied/runs/command-late-g02-s1
exits 1 "also if one has a run less" unetctl collect -C varied
like "$OUT" '^command-late-g02-s1: missing' "its run is missing"
exits 0 "--vary" unetctl plan -C varied --gpus 1 --vary train.batch_per_gpu=4,8 \
    --vary limit.steps=0,10 --json
is "$(field "$OUT" '[r["run"] for r in d["runs"]]')" \
    "['command-batch-per-gpu4-steps0-g01-s1', 'command-batch-per-gpu4-steps10-g01-s1', 'command-batch-per-gpu8-steps0-g01-s1', 'command-batch-per-gpu8-steps10-g01-s1']" \
    "its combinations are variants"
while IFS='|' read -r code words error; do
    # shellcheck disable=SC2086 # a list of words
    exits "$code" "refused: --vary $words" unetctl plan -C varied --vary $words
    like "$ERR" "^unetctl: error: .*$error" "one line says why"
done <<'EOF'
3|work.unit=a,b|the variants a and b have the same settings: .* a variant that two runs share
2|train.lr=1,1|two variants have the name lr1
2|seeds=1,2|seeds is not a setting of a variant: all runs of a study share it
2|slurm.time=1:00:00|slurm.time is not a setting of a variant
2|train.epochs=3,x|variant x: 'x' is not a whole number
2|trian.lr=3|unknown key 'trian.lr'; did you mean 'train.lr'
2|train.lr|--vary train.lr: must be KEY=VALUE,VALUE
EOF
cp varied/study.yaml varied.yaml
cat >>varied/study.yaml <<'EOF'
variants:
  one: {}
  two: {command.args: ["--lr", "a \"b\", {{rate}}"], command.env: {A: x y}}
EOF
exits 0 "a variant may have other arguments" unetctl generate -C varied --gpus 4
is "$(field varied/runs/command-two-g04-s1/run.json 'd["program"]["args"], d["program"]["env"]')" \
    "(['--lr', 'a \"b\", {{rate}}'], ['A=x y'])" "as a list or mapping"
is "$(field varied/runs/command-one-g04-s1/run.json 'd["program"]["args"]')" "['{{rate}}']" \
    "others keep those of the study"
cp varied.yaml varied/study.yaml
echo 'variants: {one: {command.args: --lr}}' >>varied/study.yaml
exits 3 "one that is a text" unetctl plan -C varied
like "$ERR" 'varied/study.yaml:[0-9]+: variant one: command.args is a list' "is refused"
cp varied.yaml varied/study.yaml
echo 'variants: {one: {train.lr: [1, 2]}}' >>varied/study.yaml
exits 3 "a list for one value" unetctl plan -C varied
like "$ERR" "variant one: .*is not a number" "is refused, too"
cp varied.yaml varied/study.yaml
echo 'variants: {fast: bf16}' >>varied/study.yaml
exits 3 "a variant that is a text" unetctl plan -C varied
like "$ERR" 'varied/study.yaml:[0-9]+: variants.fast: must be a mapping of keys' "the line is named"

# ---- a program that prints computed times: seeds are no repetitions
cat >computed.sh <<'EOF'
#!/bin/sh
[ ! -e "$UNETCTL_STUDY_DIR/coarse" ] || t=0.5
[ ! -e "$UNETCTL_STUDY_DIR/real" ] || s=$UNETCTL_SEED
awk -v n="$UNETCTL_GPUS" -v t="${t:-0}" -v s="${s:-0}" 'BEGIN {
    print ",time_per_epoch,loss,lr,training_time,test_time,iou"
    for (i = 0; i < 8; i++)
        printf "%d,%.7f,0.4,0.01,9.5,0.1,0.75\n", i, t ? t : (1 + s / 99 + i * i / 99) / n }
' >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOF
chmod +x computed.sh
while read -r kind left text; do
    exits 0 "init" unetctl init "$kind" --site local --set train.epochs=8 --set gpus=1,2 \
        --set seeds=2 -- ./computed.sh
    touch "$kind/$kind"
    exits 0 "a study of $kind times" unetctl submit -C "$kind" --wait --timeout 60
    exits 0 "collect" unetctl collect -C "$kind"
    is "$(grep -c 'g0[12]-s2: done: it has the times and scores of' "$OUT")" "$left" "$text"
    exits 0 "report" unetctl report -C "$kind" --json report.json
    is "$(field report.json '[p["runs"] for s in d["engines"] for p in s["points"]]')" \
        "[$((2 - left / 2)), $((2 - left / 2))]" "so many runs a count are used"
    is "$(tr -s '\n ' ' ' <"$OUT" | grep -c '2 runs with the times and scores of another seed')" \
        "$((left / 2))" "one sentence says so"
done <<'EOF'
computed 2 are copies
coarse 0 are equal by chance
real 0 are repetitions
EOF

# ---- another script is another series
mkdir scripts
cp "$srcdir/t/engine.sh" scripts/train.sh
echo 'rate = 1' >scripts/helper.py
echo 'not code' >scripts/notes.txt
engine_study changed ./scripts/train.sh
sed -i "s#script: ./scripts#script: $TMP/scripts#" changed/study.yaml
hash_of() { sha256sum "changed/runs/command-g0$1-s1/attempt-1/source.sha256" | cut -c 1-8; }
on() { unetctl submit -C changed --engine command --gpus "$1" --wait --timeout 60; }
exits 0 "a run on 1 GPU" on 1
is "$(sed 's/.*  //' changed/runs/command-g01-s1/attempt-1/source.sha256 | paste -sd' ')" \
    "train.sh helper.py" "the script and the *.py files beside it are hashed"
is "$(cat changed/runs/command-g01-s1/source-"$(hash_of 1)"/helper.py)" 'rate = 1' "and copied"
echo 'other' >scripts/notes.txt
exits 0 "a run on 2 GPUs" on 2
is "$(hash_of 2)" "$(hash_of 1)" "other files do not count"
echo 'rate = 2' >scripts/helper.py
exits 0 "a run of changed code on 3 GPUs" on 3
ok "it has another hash" test "$(hash_of 3)" != "$(hash_of 1)"
exits 0 "a report" unetctl report -C changed --json report.json --text
like "$OUT" "train.sh, script $(hash_of 3)" "the series is named by its script"
is "$(field report.json '[[p["gpus"] for p in s["points"]] for s in d["engines"]]')" \
    "[[1, 2], [3]]" "runs of another script are not compared"
if ! command -v git >/dev/null; then
    skip "git is not installed" "tracked files"
else
    git -C scripts init -q
    git -C scripts add train.sh notes.txt
    exits 0 "a run where Git tracks files" on 4
    is "$(sed 's/.*  //' changed/runs/command-g04-s1/attempt-1/source.sha256 | paste -sd' ')" \
        "train.sh notes.txt" "those are hashed"
fi
make_study python local --set train.epochs=2
printf 'command:\n  script: /bin/sh\n  args: ["{{study_dir}}/train.sh"]\n' >>python/study.yaml
cp scripts/train.sh python
exits 0 "a script that an interpreter of the system runs" submit python
is "$(sed 's/.*  //' python/runs/command-g01-s1/attempt-1/source.sha256)" train.sh "is found"
head -c 1100000 /dev/zero >scripts/large.py
rm -rf scripts/.git
printf 'container: %s\ncontainer_runtime: podman\n' "$TMP/scripts/tool.sif" >>changed/study.yaml
echo image >scripts/tool.sif
exits 1 "a run with a large file and a container that no runtime can start" on 5
like "$ERR" 'warning: .*/scripts: a change of 1 file is not noticed' "the large file is named"
like changed/runs/command-g05-s1/attempt-1/source.sha256 '^[0-9a-f]{64}  container .*tool.sif$' \
    "the container is hashed"
rm -rf changed/runs/command-g0[2345]-s1/attempt-1/source.sha256 \
    changed/runs/command-g01-s1/attempt-1/source.sha256
exits 0 "a report on runs of an earlier version" unetctl report -C changed --json report.json --text
unlike "$OUT" 'script [0-9a-f]{8}' "they stay one series"

# ---- a run that failed before it trained takes other settings
printf '#!/bin/sh\necho "Error: no such option" >&2\nexit 3\n' >refuse.sh
chmod +x refuse.sh
engine_study anew "$TMP/refuse.sh"
exits 1 "a script that refuses its settings" submit anew
sed -i "s#script: .*#script: $srcdir/t/engine.sh#; s/ lr: 0.001/ lr: 0.003/" anew/study.yaml
exits 1 "submit does not speak of other settings" submit anew
like "$ERR" "'unetctl resume command-g01-s1' tries again" "it says what to type"
exits 0 "resume takes the new settings" unetctl resume -C anew --wait
is "$(field anew/runs/command-g01-s1/run.json 'd["train"]["lr"], d["program"]["script"]')" \
    "(0.003, '$srcdir/t/engine.sh')" "run.json has them"
is "$(field anew/runs/command-g01-s1/attempt-2/DONE 'd["status"]')" "done" "the run is done"
sed -i "s/ lr: 0.003/ lr: 0.004/" anew/study.yaml
exits 3 "one that has trained keeps its settings" submit anew
like "$ERR" 'has begun with other settings: train.lr is 0.003' "as before"

# ---- what comes with unetctl
exits 0 "init --engine pytorch" unetctl init shipped --data data --engine pytorch --site local \
    --set data.height=96 --set data.width=128
is "$(unetctl config -C shipped model.batch_norm)" "model.batch_norm: local" \
    "writes what its script accepts"
exits 0 "its runs can be planned" unetctl plan -C shipped --gpus 1
exits 3 "sync is refused before the job" unetctl plan -C shipped --gpus 1 -s model.batch_norm=sync
like "$ERR" 'model.batch_norm sync: the script of unetctl for the engine pytorch has local or none' \
    "with what to type"
exits 3 "so is augmentation, which it has not" unetctl plan -C shipped \
    --gpus 1 -s augment.hflip=true
like "$ERR" 'augment.hflip: the script of unetctl for the engine pytorch does not augment images' \
    "with what to do"
printf 'import json, os.path\nfrom helper import rate\ntry:\n    import no_such_option\nexcept ImportError:\n    pass\n' \
    >scripts/imports.py
looks() { unetctl doctor -C "${1:-shipped}" "${@:2}" --json >"$OUT" 2>"$ERR"; }
found() { python3 -c 'import json, sys
for f in json.load(open(sys.argv[1]))["findings"]:
    if f["check"] == "python": print(f["level"], f["text"], "|", f.get("remedy", ""))' "$OUT"; }
looks shipped --set pytorch.script="$TMP/scripts/imports.py"
like <(found) '^ok python3 \([0-9.]*\) has the modules that .*/scripts/imports.py imports' \
    "doctor imports what the script does, with files beside it"
echo 'import no_such_module.part' >>scripts/imports.py
looks one --engine pytorch --set pytorch.script="$TMP/scripts/imports.py"
like <(found) "^error .*/scripts/imports.py: python3 has no module 'no_such_module' . type 'python3 -m pip install no_such_module'" \
    "doctor --engine names a module that is missing, and what to type"
echo 'def (' >>scripts/imports.py
looks shipped --set pytorch.script="$TMP/scripts/imports.py"
like <(found) '^error .*imports.py: .*invalid syntax' "doctor says that the script is none"
looks shipped --set model.batch_norm=sync
like "$OUT" 'model.batch_norm sync: the script of unetctl' "doctor says what its script refuses"
looks shipped --set pytorch.python="accelerate launch --num_processes=1"
like <(found) "^ok not checked: 'accelerate launch --num_processes=1' starts the script" \
    "doctor does not take a launcher for an interpreter"
looks shipped --set pytorch.python="$TMP/no-python"
like <(found) '^error the interpreter .*/no-python does not start' \
    "doctor says that the interpreter does not start"

# ---- names with all that a shell could trip over, each a word of its own
odd="-it's \"x\" \$(id) \`id\` é *? & ; # {{gpus}}"
mkdir -p "./$odd/data/images" "./$odd/data/masks"
cp "$srcdir/t/engine.sh" "./$odd/-my tool's.sh"
make_study "$TMP/$odd" local --set train.epochs=2 --set "data.dir=$TMP/$odd/data"
# shellcheck disable=SC2016 # what no shell may expand
printf 'command:\n  script: "./-my tool'"'"'s.sh"\n  args: ["-x", "$(id)", "{{data_dir}}"]\n' \
    >>"./$odd/study.yaml"
exits 0 "a run with odd names of study, data and program succeeds" submit "$TMP/$odd"
is "$(head -n 3 "./$odd/runs/command-g01-s1/attempt-1/told-0")" "-x
\$(id)
$TMP/$odd/data" "the program got its words"
is "$(told "$TMP/$odd" UNETCTL_DATA_DIR)" "$TMP/$odd/data" "the variables have the odd names"
exits 2 "words with a newline are refused" unetctl generate -C one --engine command --gpus 2 -- \
    $'--mail-user=a\nb'

# ---- results that are none: a log fails no run that ended with 0
engine_study bad "$srcdir/t/engine.sh"
behaves() { # BEHAVIOUR EXIT_CODE: a run of it, anew
    rm -rf bad/runs bad/.unetctl
    echo "$1" >bad/behave
    exits "$2" "$1: submit --wait exits $2" submit bad
}
while read -r behaviour state reason; do
    behaves "$behaviour" 0
    like bad/runs/command-g01-s1/attempt-1/DONE "\"unread\":\"[^\"]*$reason" \
        "$behaviour: DONE has why the log is unread"
    exits 7 "$behaviour: collect has no result" unetctl collect -C bad
    like <(tr -s '\n ' ' ' <"$OUT") "command-g01-s1: $state: .*$reason" "$behaviour: it is $state"
done <<'EOF'
nothing unread the program did not write .*log.csv
race corrupt log.csv:1:
short corrupt 1 epoch, but train.epochs asks for 2
nan corrupt log.csv:2: .*(nan|loss|number)
clock corrupt log.csv: its epochs take 1 s together, but training_time is 0.1 s
unended corrupt record.jsonl: it has no end line that says done
EOF
like <(unetctl status -C bad) \
    'command-g01-s1 +COMPLETED .*its log is unread: record.jsonl: .*'\
"'unetctl resume command-g01-s1' runs it" \
    "status says why, and what to type"
exits 0 "resume without its name" unetctl resume -C bad
like "$ERR" 'no run needs to be resumed' "leaves it as it is"
rm bad/behave
exits 0 "resume with its name" unetctl resume -C bad command-g01-s1 --wait
ok "runs it again" test -e bad/runs/command-g01-s1/attempt-2/DONE
behaves exit3 1
is "$(field bad/runs/command-g01-s1/attempt-1/FAILED 'd["exit_code"], d["error"]')" \
    "(3, 'the program ended with exit code 3')" "a program that fails has failed"
behaves killed 1
like bad/runs/command-g01-s1/attempt-1/FAILED \
    "killed by signal 9; the kernel does that when memory runs out: 'unetctl resume' with more" \
    "FAILED has the likely cause of a KILL"
rm bad/behave
exits 0 "the run is resumed" unetctl resume -C bad --wait
ok "the second attempt is done" test -e bad/runs/command-g01-s1/attempt-2/DONE
is "$(states bad)" "command-g01-s1 COMPLETED" "it keeps the engine that it began with"
exits 0 "finishing again is not an error" unetctl finish bad/runs/command-g01-s1/attempt-2
exits 2 "the run's folder is not an attempt" unetctl finish bad/runs/command-g01-s1
like "$ERR" 'runs/command-g01-s1 is not the folder of an attempt' "the error says so"
ok "no marker is written there" test ! -e bad/runs/command-g01-s1/FAILED

# ---- logs as they are
cat >writes.sh <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || exit 0
cd "$UNETCTL_ATTEMPT_DIR"
case $(cat "$UNETCTL_STUDY_DIR/form") in
json)
    for step in 10 20 30 40; do
        echo "{\"step\": $step, \"took\": $((300 / step)).5, \"loss\": 0.$step}"
        echo "{\"step\": $step, \"score\": 1$step}"
    done >steps.jsonl ;;
lightning)
    mkdir -p lightning_logs/version_0
    printf 'epoch,epoch_time,step,train_loss,val_acc\n0,,9,0.9,\n0,5,9,,0.5\n1,4,19,,0.6\n' \
        >lightning_logs/version_0/metrics.csv ;;
output)
    for step in 10 20 30 40; do echo "at $step after $((step / 10 * 7)) s"; done ;;
short) printf 'epoch,epoch_time,val_acc\n0,5,0.5\n' >metrics.csv ;;
cut) printf 'epoch,epoch_time,loss\n0,5,1\n1,5' >metrics.csv ;;
esac
END
chmod +x writes.sh
engine_study forms "$TMP/writes.sh"
cp forms/study.yaml forms.yaml
written() { # FORM LINES...: runs the study again
    local form=$1
    shift
    rm -rf forms/runs forms/.unetctl forms/logs
    { cat forms.yaml && printf '%s\n' "$@"; } >forms/study.yaml
    echo "$form" >forms/form
    submit forms
}
collected() { # COLUMN... of its row
    unetctl collect -C forms >"$OUT" 2>"$ERR"
    python3 -c '
import csv, sys
for row in csv.DictReader(open("forms/logs/results.csv")): print(*[row[c] for c in sys.argv[1:]])' "$@"
}
exits 0 "a program that writes Lightning's metrics.csv succeeds" written lightning
is "$(collected state epochs training_time accuracy log)" \
    "done 2 9.000000 0.600000 log_command_1.csv" "its log is found and read"
exits 0 "a program that writes JSON succeeds, though its times are not known" written json
like <(unetctl logs -C forms command-g01-s1) "none of its columns is known as a time" \
    "finish warns in the job's output"
is "$(collected state | cut -d' ' -f1)" unread "its log is unread, not corrupt"
like forms/logs/results.csv 'steps.jsonl: none of its columns is known as a time.*its columns are step, took, loss, score' \
    "the note names its columns"
printf 'log: {time: "took:each", quality: score}\nquality: {name: score, better: lower}\n%s\n' \
    'work: {unit: tokens, per_step: 64}' >>forms/study.yaml
is "$(collected state metric quality lower unit images stepped log)" \
    "done score 140.000000 yes tokens 640.000000 yes log_command_1.jsonl" "study.yaml says what is in it"
ok "its log is copied" cmp forms/logs/log_command_1.jsonl \
    forms/runs/command-g01-s1/attempt-1/steps.jsonl
ok "the copies can be read without the study" unetctl collect --logs forms/logs -o again
exits 0 "lines of the job's output are read by a pattern" written output \
    "log: {pattern: '^at (?<step>[0-9]+) after (?<elapsed>[0-9]+) s'}"
is "$(collected state epochs training_time images log)" \
    "done 4 28.000000 600.000000 log_command_1.txt" "its groups are the columns"
exits 0 "a program that ignores the steps that it is asked for succeeds" written output \
    "log: {pattern: '^at (?<step>[0-9]+) after (?<elapsed>[0-9]+) s'}" 'limit: {steps: 20}'
is "$(collected state limited)" "done yes" "its speed counts"
like "$ERR" ':4: step 40, but limit.steps is 20: the program ignores UNETCTL_STEPS' "a line says so"
exits 0 "a program that only prints succeeds" written output
is "$(collected state)" unread "what it printed is not read yet"
echo 'log: {pattern: "at (?<step>x)"}' >>forms/study.yaml
is "$(collected state)" unread "a pattern that matches nothing leaves the run unread"
like forms/logs/results.csv "none of its [0-9]+ lines matches the pattern 'at " "the note says so"
exits 0 "a log that lacks an epoch" written short
is "$(collected state)" corrupt "is no result"
exits 0 "unless the run is limited" written short 'limit: {steps: 20}'
is "$(collected state epochs limited)" "done 1 yes" "which collect knows"
exits 0 "a log that was cut" written cut
is "$(collected state)" corrupt "is none, either"
like forms/logs/results.csv 'metrics.csv:3' "with file and line"
# A pattern that matches the wrong words: the runs have results when it is corrected.
exits 0 "a wrong pattern fails no run" written output \
    "log: {pattern: '^at (?<step>[0-9]+) after (?<elapsed>[0-9]+ s)'}"
exits 0 "of several" unetctl submit -C forms --engine command --gpus 2..4 --wait --timeout 60
like <(unetctl status -C forms) 'g04-s1 +COMPLETED .*its log is unread: .*not a finite number' \
    "status says that their logs are unread"
exits 7 "collect" unetctl collect -C forms
like "$OUT" '^0 of 4 runs collected' "has none of them"
like "$ERR" \
    '4 of 4 runs have no result: .* is unread.*correct log in study.yaml, then type this again' \
    "and says what to type"
exits 7 "a report" unetctl report -C forms
like "$ERR" 'unread' "says so, too"
sed -i 's/^log: .*/log: {pattern: "^at (?<step>[0-9]+) after (?<elapsed>[0-9]+) s"}/' \
    forms/study.yaml
exits 0 "the corrected pattern" unetctl collect -C forms
like "$OUT" '^4 of 4 runs collected' "reads all of them"
unlike <(unetctl status -C forms) 'unread' "status has no complaint"
exits 0 "the report" unetctl report -C forms
# Of a program, too, fake GPUs are named everywhere.
like "$OUT" 'No GPU was used' "says that its GPUs are fake, as those of the sandbox"
like forms/report/figures/speedup.svg '>fake GPUs .CPU cores.<' "so do its figures"
exits 0 "its paragraph" unetctl report -C forms --paragraph
like <(tr '\n' ' ' <"$OUT") 'GPUs, which were groups of CPU cores, ' "says it"
exits 0 "its prediction" unetctl report -C forms --predict 8
like <(tr -s '\n ' ' ' <"$OUT") 'from its runs on 1 to 4 GPUs, which were groups of CPU cores' \
    "says it"
exits 0 "its proposal" unetctl report -C forms --proposal forms-proposal
like forms-proposal/proposal.md 'No GPU was used' "says it"
like <(cat forms-proposal/*.svg forms-proposal/*/*.svg 2>/dev/null) '>fake GPUs' "with its figure"

# ---- why a program failed, as its output says
# shellcheck disable=SC2016 # expanded there
printf '%s\n' '#!/bin/bash' 'if [ "$RANK" = 0 ]; then sleep "${LATE:-0}"; fi' \
    'if [ -x ./program ]; then exec ./program; fi' \
    'cat "$UNETCTL_STUDY_DIR/says-$RANK" >&2' 'exit 9' >tell.sh
chmod +x tell.sh
engine_study told "$TMP/tell.sh"
why() { # REASON TEXT
    rm -rf told/runs told/.unetctl
    exits 1 "$2: the run has no result" submit told
    is "$(field told/runs/command-g01-s1/attempt-1/FAILED 'd["error"]')" \
        "the program ended with exit code $1" "$2 is in FAILED"
}
says() { printf '%s\n' "$@" >told/says-0; } # LINES
frame='  File "train.py", line 1, in <module>'
trace='Traceback (most recent call last):'
says "starts" "$trace" "$frame" "    import torch" "ModuleNotFoundError: No module named 'torch'"
why "9: ModuleNotFoundError: No module named 'torch'" "a traceback's last line"
says "$trace" "$frame" "KeyError: 'handled'" "goes on" "$trace" "$frame" "KeyError: 'x'" "" \
    "During handling of the above exception, another exception occurred:" "" "$trace" "$frame" \
    'RuntimeError: no "data"' "Error: later"
why '9: RuntimeError: no "data"' "the last traceback of one rank"
says "[rank1]: $trace" "[rank1]: $frame" "[rank0]: $trace" "[rank0]: $frame" \
    "[rank0]: ConnectionError: rank 1 is gone" "[rank1]: ValueError: first"
why "9: ValueError: first" "the first rank's traceback"
says '  File "train.py", line 1' "    x = = 1" "SyntaxError: invalid syntax" "Error: later"
why "9: SyntaxError: invalid syntax" "a Python error without traceback"
says "$TMP/x: error while loading shared libraries: libcudart.so.11: cannot open shared object file"
why "9: $TMP/x: error while loading shared libraries: libcudart.so.11: cannot open shared object file" \
    "a missing library"
says "tell.sh: line 3: julia: command not found" "cleanup"
why "9: julia: command not found" "a command that is not found"
says "ERROR: LoadError: UndefVarError" "validation error: 0.3" "srun: error: node1: task 0: Exited"
why "9: ERROR: LoadError: UndefVarError" "a line that speaks of an error"
says "epoch 1" "error: 0.5"
why "9" "an output without an error"
silent='rank 0 on n3: no answer for 4 s: stopped'
says "unet-train: error: $silent" "srun: error: n4: task 2: Killed"
why "9: $silent" "a rank that does not answer, before the launcher killed the others,"
says "epoch 1" \
    "[n1][btl_tcp.c:127] slurmstepd-n1: error: *** STEP 9.0 ON n1 CANCELLED AT 2026-11-30T11:19 ***" \
    "srun: Job step aborted: Waiting up to 7 seconds for job step to finish." \
    "srun: error: n3: task 4: Killed" "srun: error: n1: tasks 0-1: Killed"
why "9: Slurm aborted the step of the ranks" "a step whose ranks Slurm has killed, not memory,"
says "srun: Job step aborted: Waiting up to 7 seconds for job step to finish." \
    "slurmstepd-n1: error: Detected 1 oom_kill event in StepId=9.0. Some of the step tasks have been "
rm -rf told/runs told/.unetctl
exits 1 "a rank that ran out of memory" submit told
like told/runs/command-g01-s1/attempt-1/FAILED 'a rank used more memory than the job asked for' \
    "is known by the words of newer releases"
rm -rf told/runs told/.unetctl
echo "$trace
$frame
ConnectionResetError: by rank 1" >told/says-0
echo "$trace
$frame
MemoryError: rank 1" >told/says-1
printf '  env: {LATE: "1"}\n' >>told/study.yaml
exits 1 "two ranks fail, rank 1 first" unetctl submit -C told --engine command --gpus 2 \
    --set strategy=multi-worker --wait --timeout 60
like told/runs/command-g02-s1/attempt-1/FAILED 'MemoryError: rank 1' \
    "the reason is that of the rank that failed first"

# ---- a command of setup that fails
engine_study setup "$srcdir/t/engine.sh" \
    "  setup: ['. $TMP/setup/fails.sh', 'source <(echo false)', 'false || true', 'if false; then :; fi', 'module() { return 3; }', 'module load cuda/99', 'true']"
echo 'false; return 1' >setup/fails.sh
exits 1 "a failing command of setup fails the run" submit setup
error=$(field setup/runs/command-g01-s1/attempt-1/FAILED 'd["error"]')
like <(echo "$error") "^setup failed: module load cuda/99 \(exit code 3\); correct the setup.*\|\| true" \
    "FAILED has the command"
ok "no rank was started" test ! -e setup/runs/command-g01-s1/attempt-1/told-0
sed -i "s/'module load cuda.99'/'module load cuda || true'/" setup/study.yaml
exits 0 "with || true it does not" unetctl submit -C setup --engine command --gpus 2 --wait
sed -i "s,'[^']*fails.sh',&\, 'source \"./no such\"'," setup/study.yaml
exits 1 "a file to source that is missing fails the run" \
    unetctl submit -C setup --engine command --gpus 3 --wait
like setup/runs/command-g03-s1/attempt-1/FAILED 'setup failed: source .*no such.* \(it is not there, seen from /.*\)' \
    "FAILED has the line"

# ---- a script that knows no attempt leaves log.csv in the run's folder
unetctl generate -C bad --engine command --gpus 2 2>"$ERR" || diag <"$ERR"
run=bad/runs/command-g02-s1
cp bad/runs/command-g01-s1/attempt-2/log.csv $run
touch -d '1 hour ago' $run/log.csv
exits 7 "a log.csv of an earlier attempt is refused" unetctl finish --from $run $run/attempt-1
like "$ERR" 'log.csv is older than this attempt' "the error says so"
rm $run/attempt-1/FAILED
touch -d '1 second' $run/log.csv
exits 0 "a log.csv of this attempt is accepted" unetctl finish --from $run $run/attempt-1
ok "it is moved into the attempt's folder" test -e $run/attempt-1/log.csv -a ! -e $run/log.csv
is "$(field <(tail -n 1 $run/attempt-1/record.jsonl) 'd["iou"]')" 0.75 "it becomes a record"

# ---- what the study must say
make_study none local
exits 3 "an engine without a script is refused" unetctl generate -C none --engine command --gpus 1
like "$ERR" 'engine command needs a script of yours; set it there \(command: \{script: ./PROGRAM\}\)' \
    "the error says where to set the script"
engine_study missing ./nowhere.sh
exits 3 \
    "a script that does not exist is refused" unetctl generate -C missing --engine command --gpus 1
like "$ERR" 'command.script: .*/missing/(./)?nowhere.sh' "the error names it"
# ---- words that start the program
words_of() { # ENGINE LINES...: the last lines of the scripts of a run on 1 GPU
    local engine=$1
    shift
    rm -rf words
    engine_study words "$srcdir/t/engine.sh"
    printf '%s\n' "$@" >>words/study.yaml
    unetctl generate -C words --engine "$engine" --gpus 1 2>"$ERR" || cat "$ERR"
}
printf '#!/bin/sh\n' >accelerate && chmod +x accelerate
PATH=$TMP:$PATH words_of pytorch 'pytorch:' "  script: $srcdir/t/engine.sh" \
    '  python: accelerate launch --num_processes=1'
like words/runs/pytorch-g01-s1/run_file.sh "^.start accelerate launch --num_processes=1 .*engine.sh" \
    "python: may have several words"
words_of torchrun 'torchrun:' "  script: $srcdir/t/engine.sh" '  args: [--seed, "{{seed}}"]'
like words/runs/torchrun-g01-s1/run_file.sh \
    "^.start python3 -m torch.distributed.run .*--nproc_per_node=.LOCAL_WORLD_SIZE .*engine.sh --seed 1" \
    "torchrun starts the ranks of a node"
exits 0 "torchrun on several nodes" unetctl generate -C words --engine torchrun --site generic --gpus 3 \
    --set slurm.time=1:00:00
like words/runs/torchrun-g03-s1/submit_file.sh \
    '^ *env -u SLURM_GPUS_PER_TASK .* SLURM_GPUS_PER_NODE=[0-9]+ srun .*--ntasks=3 '\
'--cpus-per-task=[0-9]+ bash ' \
    "is started by ranks that see all GPUs of their node"
for engine in jax torchrun mpi; do
    exits 3 "$engine needs a script" unetctl generate -C none --engine $engine --gpus 1
    like "$ERR" "engine $engine needs a script of yours" "$engine: the error says so"
    exits 3 "$engine has a process per GPU" unetctl plan -C none --engine $engine --gpus 2 \
        --set strategy=mirrored
done
mkdir -p "a b"
ln -s "$(command -v python3)" "a b/python3"
words_of pytorch 'pytorch:' "  script: $srcdir/t/engine.sh" "  python: $TMP/a b/python3"
like words/runs/pytorch-g01-s1/run_file.sh "^.start '$TMP/a b/python3' " "or be a path with a blank"
engine_study marker "$srcdir/t/engine.sh" '  args: ["{{atempt_dir}}"]'
exits 3 "an unknown marker in the arguments is refused" \
    unetctl generate -C marker --engine command --gpus 1
like "$ERR" "study.yaml: command.args.*unknown marker '\{\{atempt_dir\}\}'; did you mean '\{\{attempt_dir\}\}'" \
    "the error names the nearest marker"
exits 3 "an unknown engine is refused" unetctl plan -C none --engine pytorhc
like "$ERR" "did you mean 'pytorch'.*known: embedded, tensorflow, .*jax, mpi, command" \
    "the error lists the known engines"
is "$(unetctl plan -C none --engine pytorch --set model.batch_norm=local --site generic \
    --gpus 2 --json |
    python3 -c 'import json, sys
r = json.load(sys.stdin)["runs"][0]; print(r["run"], r["nodes"], r["tasks"], r["strategy"])')" \
    "pytorch-g02-s1 1 2 multi-worker" "PyTorch has a process per GPU on one node, too"
sed -i "s/^strategy: .*/strategy: mirrored/" none/study.yaml
exits 3 \
    "PyTorch with one device for all GPUs is refused" unetctl plan -C none --engine pytorch --gpus 2 \
    --set model.batch_norm=local
# ---- a count that is known not to run
cat >memory.sh <<'EOT'
[ "$UNETCTL_GPUS" != 1 ] || { echo "out of memory" >&2; exit 1; }
for i in 1 2 3; do echo "epoch $i time 0.4"; done
EOT
unetctl init known --site local --set gpus=1,2 \
    --set 'log.pattern=epoch (?<epoch>\d+) time (?<epoch_time>\S+)' -- bash "$PWD/memory.sh" 2>"$ERR"
exits 1 "a run that fails, and one that does not" unetctl submit -C known --wait --timeout 60
echo 'expect: {1: ""}' >>known/study.yaml
exits 3 "a count that is expected to fail for no reason" unetctl plan -C known
like "$ERR" 'study.yaml:[0-9]+: expect: 1 has no reason' "is refused"
sed -i 's/^expect: .*/expect: {1: does not fit in memory}/' known/study.yaml
exits 0 "is no failure once it is expected" unetctl watch -C known --timeout 60
is "$(states known)" "command-g02-s1 COMPLETED" "status leaves it out"
exits 0 "so does collect" unetctl collect -C known
like "$OUT" '^1 of 1 runs collected' "of which nothing is missing"
exits 0 "resume" unetctl resume -C known
like "$ERR" 'no run needs to be resumed' "does not start it again"
done_testing
