#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What plan reports before anything is spent: GPU-hours and their limit, bytes on disk, warnings.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

ok "images are made" unet-train data synth --out synth --count 20 --size 32x48
exits 0 "a study is made" \
    unetctl init one --data synth --set train.batch_per_gpu=4 --set train.epochs=3 \
    --set model.base=4 --set model.depth=2
exits 0 "plan works" unetctl plan -C one --gpus 1..8
like "$OUT" '8 runs on site generic .*at most 156.0 GPU-hours at 4:00 h each, [0-9.]+ MiB on disk' \
    "plan prints the cost of the runs"
like "$OUT" 'about 16 training and 4 validation images' "plan prints the numbers of images"
like "$ERR" 'warning: 16 training images are not a multiple of the global batch \(4 x GPUs\) on 3 GPUs' \
    "plan warns of GPU counts by which the images cannot be divided evenly"
like "$ERR" 'warning: 16 training images do not fill a global batch .* on 5, 6, 7, 8 GPUs' \
    "plan warns of GPU counts with more places in a batch than images"
like "$ERR" 'warning: .*fewer validation images \(4\) than ranks on 5, 6, 7, 8 GPUs' \
    "plan warns of GPU counts with more ranks than validation images"
gpus='^the runs compute on GPUs \(backend cuda\): train.backend is auto; train.dtype is'
like "$OUT" "$gpus auto, tf32 on GPUs that have it, else f32$" \
    "plan says that the runs compute on GPUs, and in what"
mkdir -p one/runs/unet-g01-s1
printf '%s' '{"schema":1,"run":"unet-g01-s1","engine":"embedded","seed":1,"layout":{"gpus":1,"nodes":1,
    "tasks":1,"tasks_per_node":1,"gpus_per_task":1,"strategy":"mirrored"},"train":{}}' \
    >one/runs/unet-g01-s1/run.json
exits 0 "plan for a study with a run of an earlier version" unetctl plan -C one --gpus 2
like "$OUT" "$gpus f32$" "its runs stay f32"
rm -r one/runs
without_cuda=$(grep -c 'undef HAVE_CUDA' "$builddir/config.h")
is "$(grep -c 'warning: unet-train was built without CUDA' "$ERR")" "$without_cuda" \
    "plan warns if unet-train was built without CUDA"
exits 0 "plan for the CPU" unetctl plan -C one --gpus 1 --set train.backend=cpu
like "$OUT" '^the runs compute on the CPU \(backend [a-z]+\): train.backend is cpu$' \
    "plan says that the runs compute on the CPU"
like "$ERR" 'warning: runs take GPUs and compute on the CPU' "it warns that the GPUs are not used"
exits 0 "plan for bf16 on the CPU" unetctl plan -C one --gpus 1 --set train.backend=cpu \
    --set train.dtype=bf16
like "$OUT" 'train.backend is cpu; bf16 is slower there than f32$' "plan says that it is slower"
exits 0 "plan for the sandbox" unetctl plan -C one --gpus 1 --site sandbox \
    --set train.batch_per_gpu=16
like "$OUT" "^the runs compute on the CPU \\(backend [a-z]+\\): the site's GPUs are fake$" \
    "plan says that runs on fake GPUs compute on the CPU"
unlike "$ERR" 'warning' "there is no warning"
exits 0 "plan for GPUs that are not NVIDIA's" unetctl plan -C one --gpus 1 --site lumi
like "$ERR" "are not NVIDIA's.*exit code 5" "it warns what a run will do"
like "$ERR" "set train.backend: cpu" "it says what to set"
exits 0 \
    "plan for the CPU of such a site" unetctl plan -C one --gpus 1 --site lumi -s train.backend=cpu
unlike "$ERR" "train.backend: auto" "there is no warning about GPUs"
exits 0 "plan for this machine" env UNET_GPUS=fake unetctl plan -C one --gpus 1 --site local --json
is "$(field "$OUT" 'd["backend"] == "simd", "fake" in d["computes_on"]')" "(True, True)" \
    "the JSON says that the runs compute on the CPU in place of fake GPUs"
constant=(--set train.batch_per_gpu=0 --set train.global_batch=4)

# ---- a program of the user's, without images
printf '#!/bin/sh\nexit 0\n' >simulate
chmod +x simulate
touch train.py plain.sh
exits 0 "a study of a program" unetctl init sim -- ./simulate --steps '{{steps}}' --seed '{{seed}}' train.py
is "$(grep -cv '^#' sim/study.yaml)" 9 "study.yaml has what is needed"
like sim/study.yaml "^  args: \\[\"--steps\", \"\{\{steps\}\}\", .*, \"$TMP/train.py\"\\]" "its words, files by their path"
like sim/study.yaml '^  steps: 100 ' "and a number of steps, which they use"
unlike sim/study.yaml '^(data|model|train|augment):' "nothing of images"
exits 0 "a study of an MPI program" unetctl init ranks --engine mpi -- ./simulate '{{gpus}}'
like ranks/study.yaml '^engine: mpi ' "has a rank per GPU"
exits 0 "its plan" unetctl plan -C sim --gpus 1..3
like "$OUT" '^command-g03-s1 ' "the runs"
unlike <(cat "$OUT" "$ERR") 'image|parameter|U-Net' "nothing of images or a network"
exits 0 "its settings" unetctl config -C sim
unlike "$OUT" '^(data|model|train|augment)\.' "no setting of the trainer"
exits 0 "a setting that it sets is one" unetctl config -C sim --set train.batch_per_gpu=8
like "$OUT" '^train.batch_per_gpu: 8$' "with its value"
exits 0 "without the trainer's network no size is wrong" \
    unetctl plan -C one --engine command --set command.script="$TMP/simulate" --set data.height=1 --gpus 1
while IFS='#' read -r pattern error; do
    exits 3 "a bad log.pattern is refused" unetctl plan -C sim --set log.pattern="$pattern"
    like "$ERR" "log.pattern: '.*' $error" "one line says why"
done <<'EOF'
(#is not a regular expression; byte 1: missing closing parenthesis
epoch ([0-9]+)#has no named group, so that nothing would be read of a log; write one such as
EOF
exits 2 "watch of a study that was never submitted" unetctl watch -C sim
like "$ERR" "sim has no runs to watch; type 'unetctl submit" "says what to type"
exits 0 "a study of a script" unetctl init py --engine pytorch --script train.py
is "$(grep -cv '^#' py/study.yaml)" 8 "study.yaml has what is needed"
exits 0 "its plan" unetctl plan -C py --gpus 1..3
exits 3 "the scripts of unetctl need images" unetctl plan -C py --set pytorch.script=
like "$ERR" "py/study.yaml: the key 'data.dir' is missing" "which are named"
while IFS='|' read -r code words error; do
    # shellcheck disable=SC2086 # a list of words
    exits "$code" "refused: init $words" unetctl init no $words
    like "$ERR" "$error" "one line says why"
    is "$(wc -l <"$ERR") $(ls -d no 2>/dev/null)" "1 " "and nothing is left"
done <<'EOF'
3|--engine pytorch --script none.py|init: none.py: No such file
3|-- ./plain.sh|init: ./plain.sh \(it must be a program, or a script with #! and chmod \+x\)
3|-- no-such-program|no folder of PATH .*, or give its path, such as ./no-such-program
3|--engine pytorch -- ./simulate|engine pytorch runs a script of Python: '-- python3 SCRIPT ARGS'
2|--script train.py -- ./simulate|leave one of --script and PROGRAM out
2|--script train.py|--script needs the engine that runs it
2|--data synth -- ./simulate|--data DIR is of the engines that train on images
2|--engine pytorch|--data DIR is missing; .* For a program of yours: init STUDY -- PROGRAM ARGS
EOF
while IFS='|' read -r marker error; do
    exits 0 "a study with {{$marker}}" unetctl init odd -- ./simulate "{{$marker}}"
    exits 3 "its plan" unetctl plan -C odd
    like "$ERR" "odd/study.yaml: command.args:? ?1?: .*$error" "one line says why"
    rm -r odd
done <<'EOF'
stepz|unknown marker '\{\{stepz\}\}'; did you mean '\{\{steps\}\}'
epochs|the marker '\{\{epochs\}\}' has no value: set train.epochs in study.yaml
data_dir|set data.dir in study.yaml
EOF

exits 0 "plan with a constant global batch" unetctl plan -C one --gpus 1,2,3 "${constant[@]}"
unlike "$ERR" 'training images' "no warning, as it is divided among any number of GPUs"
exits 0 "plan for more GPUs than images" unetctl plan -C one --gpus 4,8 "${constant[@]}"
like "$ERR" 'steps of fewer images than GPUs on 8 GPUs: some GPUs idle' "it warns of idle GPUs"
exits 3 "plan for an engine with equal shares" unetctl plan -C one --gpus 1..4 --engine pytorch \
    --set model.batch_norm=local "${constant[@]}"
like "$ERR" 'set: 3 GPUs cannot share train.global_batch 4 equally, as engine pytorch needs; type '\
'--gpus 1,2,4, or' \
    "plan names the counts that share the batch"
exits 0 "plan for one GPU" unetctl plan -C one --gpus 1 --set train.batch_per_gpu=5
like "$ERR" '\(5 x GPUs\) on 1 GPU: ' "the warning is in the singular"
exits 0 "plan with data.remainder drop" unetctl plan -C one --gpus 5 --set data.remainder=drop
like "$ERR" 'nothing would be trained' "it warns that nothing would be trained"
exits 0 "plan with a batch that divides the images" \
    unetctl plan -C one --gpus 1 --set train.batch_per_gpu=16
is "$(grep -c warning "$ERR")" "$without_cuda" "there is no warning"
sed '/^time:/d' "$srcdir/templates/sites/generic.yaml" >unlimited.yaml
exits 0 "plan without a time limit" unetctl plan -C one --gpus 1 --site ./unlimited.yaml
like "$ERR" 'warning: no time limit' "it warns of that"
exits 3 "a budget without a time limit is refused" \
    unetctl plan -C one --gpus 1 --site ./unlimited.yaml \
    --max-gpu-hours 1
like "$ERR" 'no time limit.*--time' "the error says what to type"

exits 0 "plan with a time limit that signal_s uses up" unetctl plan -C one --gpus 1 -- --time=2
like "$ERR" 'warning: the time limit \(2 min\) is not longer than slurm.signal_s \(120 s\)' \
    "plan warns of a time limit that is shorter than the time of the signal"
exits 0 \
    "the same for an engine that does not resume" unetctl plan -C one --gpus 1 --engine pytorch \
    --set model.batch_norm=local -- --time=2
unlike "$ERR" 'signal_s' "there is no such warning"
exits 0 "plan for two minutes on a GPU" unetctl plan -C one --gpus 1 -- --time=2
like "$OUT" '^1 run on .*at most 0.033 GPU-hours' "small costs are not printed as 0.0 GPU-hours"

exits 0 "a plan within the budget is accepted" unetctl plan -C one --gpus 1..4 --max-gpu-hours 44
exits 3 "a plan above the budget is refused" unetctl plan -C one --gpus 1..4 --max-gpu-hours 30
like "$OUT" 'unet-g04-s1' "the plan is printed nevertheless"
like "$ERR" '44.0 GPU-hours.* 14.0 more than --max-gpu-hours 30; --gpus 1..3 \(28.0\) would fit' \
    "the error names the GPU counts that fit the limit"
exits 0 "options of sbatch count for the budget" \
    unetctl plan -C one --gpus 1..4 --max-gpu-hours 33 -- --time=3:00:00
exits 3 "submit above the budget is refused" unetctl submit -C one --gpus 1..4 --max-gpu-hours 30 \
    --scheduler dry
like "$ERR" 'error: nothing was submitted' "nothing was submitted"
ok "nothing was written" test ! -e one/runs -a ! -e one/split.json
exits 3 "the budget can be set in the environment" \
    env UNETCTL_MAX_GPU_HOURS=30 unetctl submit -C one --gpus 1..4 \
    --scheduler dry

exits 0 "plan --json" unetctl plan -C one --gpus 8 --json
cp "$OUT" plan.json
ok "stdout is JSON and nothing else" python3 -m json.tool plan.json
is "$(field plan.json 'd["train_images"], d["val_images"], len(d["warnings"]), d["runs"][0]["gpu_hours"]')" \
    "(16, 4, $((2 + without_cuda)), 32.0)" "the JSON has the numbers of images and the warnings"

{ cat "$srcdir/templates/sites/generic.yaml"; echo "trainer: $TMP/away/unet-train"; } >away.yaml
exits 0 \
    "plan with a trainer that is not on this host" unetctl plan -C one --gpus 1 --site ./away.yaml
like "$ERR" 'warning: .*away.yaml: trainer: .*/away/unet-train: No such file or directory; unless the nodes' \
    "plan warns that unet-train cannot be started"

# The bytes are an upper bound, and not much above the real number.
exits 0 "a run is submitted" unetctl submit -C one --gpus 1 --scheduler local --wait --timeout 120
bytes=$(du -s --apparent-size -B1 one/runs/unet-g01-s1 | cut -f1)
blocks=$(du -s -B1 one/runs/unet-g01-s1 | cut -f1)
exits 0 "plan after the split" unetctl plan -C one --gpus 1 --json --set slurm.time=1
is "$(field "$OUT" "$blocks <= d['disk_bytes'] + 4096 <= 16 * $bytes + 65536")" True \
    "the planned disk space is that of a real run ($bytes, $blocks)"
exits 0 "plan with decoded images that do not fit in memory" unetctl plan -C one --gpus 1 \
    --set data.cache="$TMP/cache"
like "$OUT" ' MiB on disk and 0.2 MiB of decoded images' "the cache is counted"
unetctl plan -C one --gpus 1 --json --set slurm.time=1 >"$OUT" 2>"$ERR"
is "$(field "$OUT" 'd["parameters"]')" \
    "$(grep -o '"parameters":[0-9]*' one/runs/*/attempt-1/record.jsonl | cut -d: -f2)" \
    "plan counts as many parameters as the trainer"

# --- what the masks hold --------------------------------------------------------------------------
PYTHONPATH=$srcdir/t python3 - <<'EOP'
from png import *
dataset("m/half", [squares((0, 128), i) for i in range(10)])
dataset("m/twelve", [squares(tuple(range(12)), i) for i in range(10)], "img", "label")
dataset("m/numbered", [squares(tuple(range(4 + i)), i) for i in range(10)])
dataset("m/grey", [squares((0, 85, 170, 255), i) for i in range(10)])
dataset("m/nothing", [squares((0,), i) for i in range(10)])
dataset("m/listed", [squares((0, 1), i) for i in range(10)], mask_end="_mask")
for name, of in ("train", range(6)), ("val", range(6, 8)):
    open("m/listed/%s.txt" % name, "w").write("".join("%02d.png\n" % i for i in of))
EOP
small=(--site local -s model.base=2 -s model.depth=1 -s train.epochs=2 -s train.global_batch=4)
settings() { unetctl config -C "$1" data.classes data.ignore data.class_file | tr '\n' ' '; }
exits 0 "init with masks of 0 and 128" unetctl init half --data m/half "${small[@]}"
is "$(settings half)" "data.classes: 1 data.ignore:  data.class_file: $TMP/half/classes.txt " \
    "init names the class file in study.yaml"
is "$(tr '\n' , <half/classes.txt)" "0 background,128 foreground," "it writes the class file"
exits 0 "generate accepts it" unetctl generate -C half --gpus 1
exits 0 "init with masks of classes" unetctl init twelve --data m/twelve "${small[@]}"
is "$(settings twelve)" 'data.classes: 12 data.ignore:  data.class_file:  ' "it counts the classes"
like twelve/study.yaml '^# Masks: the masks contain 12 values' "study.yaml describes the masks"
exits 7 \
    "init with numbered objects is refused" unetctl init numbered --data m/numbered "${small[@]}"
like "$ERR" "instance masks.*printf '0 background.n1-65535 foreground.n' >classes.txt, then -s data.class_file=classes.txt" \
    "the error asks for a class file and shows how to make one"
ok "no folder is left" test ! -e numbered
printf '0 background\n1-65535 foreground\n' >classes.txt
exits 0 "init with the suggested class file" unetctl init numbered --data m/numbered "${small[@]}" \
    -s data.class_file=classes.txt
exits 0 "generate accepts it" unetctl generate -C numbered --gpus 1
exits 0 "init with lists and names with a suffix" unetctl init listed --data m/listed "${small[@]}"
is "$(grep -c warning "$ERR")" 0 "there are no warnings"
exits 0 "plan works" unetctl plan -C listed --gpus 1
like "$OUT" 'about 6 training and 2 validation images' "it counts the images of the lists"

exits 0 "init with a setting that does not fit the masks" \
    unetctl init wrong --data m/twelve "${small[@]}" \
    -s data.classes=1
exits 0 "plan works" unetctl plan -C wrong --gpus 1
like "$ERR" 'warning: .*m/twelve: the masks contain 12 values' "it warns what the masks contain"
for set in data.soft_masks=true data.classes=3; do
    exits 0 "plan with $set works" unetctl plan -C wrong --gpus 1 -s $set
    like "$ERR" 'warning: .*m/twelve: the masks contain 12 values' "it warns, too"
done
exits 0 "plan with a class to ignore" unetctl plan -C wrong --gpus 1 -s data.classes=11 \
    -s data.ignore=11
is "$(grep -c but "$ERR")" 0 "there is no such warning"
exits 7 "generate fails at the split" unetctl generate -C wrong --gpus 1
like "$ERR" 'the mask contains the value .*To use them so: -s data.classes=12' \
    "the error says what the mask contains"
exits 5 "doctor fails" unetctl doctor -C wrong
like "$OUT" 'the masks contain 12 values' "it reports what the masks contain"

exits 0 "init with four greys as soft masks" \
    unetctl init grey --data m/grey "${small[@]}" -s data.soft_masks=true
exits 0 "plan works" unetctl plan -C grey --gpus 1
is "$(grep -c but "$ERR")" 0 "there is no such warning"

. "$srcdir/t/classes.sh"
make_cifar m/tests 0 20 && rm m/tests/data_batch_1.bin
exits 7 "init with test images only is refused" unetctl init tests --data m/tests
like "$ERR" 'the data set has no training images' "the error says that there are no training images"
exits 0 "plan with test images only" unetctl plan -C half --gpus 1 -s data.dir="$TMP/m/tests"
like "$ERR" 'none of its images trains' "it warns that no image trains"
mkdir tests && sed "s|dir: .*m/half|dir: $TMP/m/tests|; s|class_file: [^ ]*|class_file: \"\"|" \
    half/study.yaml >tests/study.yaml
exits 5 "doctor with test images only fails" unetctl doctor -C tests
like "$OUT" 'none of its images trains' "it reports that no image trains"

exits 0 "init with masks of background only" unetctl init nothing --data m/nothing "${small[@]}"
like "$ERR" 'warning: .*all masks contain only the value 0' "it warns of that"
exits 0 "plan works" unetctl plan -C nothing --gpus 1
like "$ERR" 'warning: .*all masks contain only the value 0: there is nothing to learn' \
    "it warns that there is nothing to learn"
exits 0 "the runs succeed" unetctl submit -C nothing --gpus 1,2 --wait --timeout 120
exits 0 "the report is made" unetctl report -C nothing --text
like "$OUT" 'But: The quality is meaningless: every validation image has the same single' \
    "it says that the quality is meaningless"
done_testing
