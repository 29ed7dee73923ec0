#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of settings (src/settings/settings.def): files of earlier versions are read, and a
# setting that is added to the table in a copy of the tree appears everywhere.
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'
json() { python3 -c 'import json, sys; d = json.loads(open(sys.argv[1]).readline() if sys.argv[1].endswith("l") else open(sys.argv[1]).read()); print(eval(sys.argv[2]))' "$@"; }

# ---- old files
ok "a data set is made" unet-train data synth --out data --count 12 --size 32x32 --seed 1
mkdir -p s/.unetctl s/runs/unet-g01-s1/attempt-1
echo 74bed0850214bc45 >s/.unetctl/id
echo '{"schema":1,"exit_code":1,"error":"old"}' >s/runs/unet-g01-s1/attempt-1/FAILED
sed "s#TMP#$TMP#" "$srcdir/t/golden/old.study.yaml" >s/study.yaml
sed "s#TMP#$TMP#" "$srcdir/t/golden/old.run.json" >s/runs/unet-g01-s1/run.json
ok "a split is made" unet-train data split --data data --out s/split.json
exits 0 "an old study.yaml is read" unetctl config -C s augment train
like "$OUT" '^augment.hflip: true$' "its values are kept"
like "$OUT" '^train.lr: 0.1$' "values of every section are kept"
exits 0 "an old run.json agrees with its study" unetctl generate -C s --gpus 1
exits 3 "an old run.json does not agree with another value" \
    unetctl generate -C s --gpus 1 --set augment.crop=0.5
like "$ERR" 'augment.crop is 0(\.0)?, and --set says 0.5' "the error names the value"
exits 0 "an old run.json is trained" unet-train train --run s/runs/unet-g01-s1/run.json --out run
is "$(json run/record.jsonl 'd["lr"], d["epochs"], d["augment"]["hflip"], d["augment"]["crop"], d["rate_gpus"]')" \
    "(0.1, 3, True, 0, 0)" "the training uses the old values, and its record has all settings"
sed 's/"lr": /"lrr": /' s/runs/unet-g01-s1/run.json >slip.json
exits 3 "a key that never existed is refused" unet-train train --run slip.json --out no
like "$ERR" "unknown key 'train.lrr'; did you mean 'train.lr'" "the error names the nearest key"

# ---- keys that are gone: old.study.yaml and old.run.json have them with their presets
run=s/runs/unet-g01-s1/run.json
is "$(json $run 'sorted(set(d["train"]) & {"allreduce", "fusion_mib", "cycle_ms", "compress"})')" \
    "['allreduce', 'compress', 'cycle_ms', 'fusion_mib']" "the old run.json has them"
unlike run/record.jsonl 'allreduce|cycle_ms' "the record has none of them"
gone='is no longer a setting: .*; leave it out'
exits 0 "the preset is accepted everywhere" env UNETCTL_TRAIN_CYCLE_MS=1.0 \
    unetctl generate -C s --gpus 1 --set train.allreduce=bucketed
exits 2 "another value on the command line" unetctl generate -C s --gpus 1 --set train.compress=bf16
like "$ERR" "^unetctl: error: --set: train.compress $gone" "one line says what holds instead"
exits 2 "in the environment" env UNETCTL_TRAIN_CYCLE_MS=2 unetctl plan -C s
# shellcheck disable=SC2016 # the name with its $
like "$ERR" '\$UNETCTL_TRAIN_CYCLE_MS: train.cycle_ms is no longer' "with its name"
exits 2 "in a list of the trainer" unet-train train --data data --size 32x32 --out no \
    --set train.allreduce=native
like "$ERR" "train.allreduce $gone" "with the same words"
exits 2 "a value that is gone" unet-train train --data data --size 32x32 --out no \
    --set train.backend=dnnl
like "$ERR" "train.backend: 'dnnl': oneDNN is no longer used" "it is named"
cp s/study.yaml was.yaml
sed -i 's/allreduce: bucketed/allreduce: native/' s/study.yaml
exits 3 "in study.yaml" unetctl plan -C s
like "$ERR" "s/study.yaml:[0-9]+: train.allreduce $gone" "with the line"
mv was.yaml s/study.yaml
sed 's/"compress": "none"/"compress": "bf16"/' $run >bf16.json
exits 3 "in run.json" unet-train train --run bf16.json --out no
like "$ERR" "bf16.json: train.compress $gone" "with the file"
cp $run was.json
cp bf16.json $run
exits 3 "a run that began with it is another one" unetctl generate -C s --gpus 1
like "$ERR" 'train.compress is "?bf16"?, and .* says "?none"?' "both values are named"
exits 3 "it cannot be resumed" unetctl resume -C s unet-g01-s1
like "$ERR" "unet-g01-s1: run.json: train.compress $gone" "with the run"
mv was.json $run
exits 0 "a study may have the preset of report.margin" unetctl plan -C s --set report.margin=0.01
exits 2 "another margin" unetctl plan -C s --set report.margin=0.02
like "$ERR" "report.margin is no longer a setting: use quality.margin" "what has its meaning is named"
exits 2 "a margin that is none" unetctl plan -C s --set quality.margin=-2%
like "$ERR" "quality.margin: '-2%' is not a margin above 0" "and what one looks like"

# ---- keys that run.json has only if they are set
is "$(json $run '"limit" in d')" False "the old run.json has no limit"
exits 3 "it began without" unetctl generate -C s --gpus 1 --set limit.steps=9
like "$ERR" 'limit.steps is missing, and --set says 9' "a limit is another value"
ok "a run with a limit" unetctl generate -C s --gpus 2 --set limit.steps=9 --set quality.margin='2 %'
is "$(json s/runs/unet-g02-s1/run.json 'd["limit"], "quality" in d')" "({'steps': 9}, False)" \
    "run.json has what is set of it, and nothing that only the report reads"
touch s/runs/unet-g02-s1/attempt-1/record.jsonl
exits 3 "it began with it" unetctl generate -C s --gpus 2
like "$ERR" 'limit.steps is 9, and .* says 0' "no limit is another value"
rm -r s/runs/unet-g02-s1

# ---- a value that no run can use
ok "a study" unetctl init new --full --data data --site local --set data.height=32 --set data.width=32 \
    --set model.depth=2
while IFS='|' read -r words need; do
    # shellcheck disable=SC2086 # a list of words
    exits 3 "refused: $words" unetctl plan -C new $words
    like "$ERR" "has no effect: it needs $need; leave .* out, or change" "its need is named"
done <<'EOF'
-s train.momentum=0.5|train.optimizer sgd or lars, and train.optimizer is adam
-s train.nesterov=true -s train.optimizer=lars|train.optimizer sgd, and .*
-s train.nesterov=true -s train.optimizer=sgd -s train.momentum=0|train.momentum above 0, and .*
-s train.momentum_correction=false|train.optimizer sgd, and .*
-s train.class_weights=1,2 -s train.loss=dice|train.loss ce or ce\+dice, or data.classes above 1.*
-s train.focal_gamma=2 -s train.loss=dice|train.loss ce or ce\+dice, and train.loss is dice
-s train.tversky=0.3,0.7|train.loss dice or ce\+dice, and train.loss is ce
-s train.lr_scaling=sqrt|train.batch_per_gpu above 0, and train.batch_per_gpu is 0
-s train.global_batch=8 -s train.batch_per_gpu=2|train.batch_per_gpu 0, and .*
-s train.warmup=epoch|train.warmup_epochs above 0, and .*
-s train.warmup_epochs=3 -s train.batch_per_gpu=2 -g 1|more than 1 GPU, or .*lr_scaling none.*
-s train.lr_schedule=step-tf -s train.lr_steps=2:0.5|no train.lr_steps, and train.lr_steps is 2:0.5
-s train.lr_schedule=step-tf -s train.lr_plateau=2:0.5|no train.lr_plateau, and .*
-s augment.six=true|data.repeat in multiples of 6, and data.repeat is 1
-s augment.six=true -s data.repeat=6 -s augment.rot90=true|augment.six false, and .*
-s model.name=resnet20 -s model.depth=3|model.name unet or nnunet or FILE.yaml, and .*
-s model.name=resnet20 -s data.soft_masks=true|model.name unet\* or nnunet or fcnn or FILE.yaml, .*
-s model.name=resnet20 -s data.ignore=255|model.name unet\* or nnunet or fcnn or FILE.yaml, and .*
-s model.name=chips -s model.batch_norm=local|model.name unet\* or resnet\* or FILE.yaml, and .*
EOF
for words in "train.momentum=0.9" "train.lr_scaling=none" \
    "train.momentum=0.5 -s train.optimizer=sgd" \
    "train.warmup_epochs=3 -s train.batch_per_gpu=2 -g 1,2" "train.warmup_epochs=3" \
    "train.warmup_epochs=3 -s train.batch_per_gpu=2 -s train.lr_scaling=none -g 1" \
    "train.class_weights=1,2 -s train.loss=dice -s data.classes=2" \
    "train.focal_gamma=2" "train.tversky=0.3,0.7 -s train.loss=ce+dice" \
    "train.lr_plateau=2:0.5 -s train.lr_schedule=constant"; do
    # shellcheck disable=SC2086 # a list of words
    exits 0 "not refused: $words" unetctl plan -C new -s $words
done
ok "a study with a focal and a Tversky loss" unetctl init lossy --data data --site local \
    --set data.height=32 --set data.width=32 --set train.loss=ce+dice --set train.focal_gamma=1.5 \
    --set train.tversky=0.3,0.7
sed -i 's/tversky: 0.3,0.7/tversky: [0.3, 0.7]/' lossy/study.yaml
ok "its runs" unetctl generate -C lossy
like <(tr -d '\n' <lossy/runs/unet-g01-s1/run.json) '"focal_gamma": 1.5, +"tversky": "0.3,0.7"' \
    "run.json has both"
exits 3 "the environment is refused, too" env UNETCTL_TRAIN_NESTEROV=true unetctl plan -C new
# shellcheck disable=SC2016 # the name with its $
like "$ERR" '\$UNETCTL_TRAIN_NESTEROV: train.nesterov true has no effect' "with its name"
exits 3 "init refuses it" unetctl init no --data data --set data.height=32 --set data.width=32 \
    --set train.momentum=0.5
like "$ERR" 'no/study.yaml:[0-9]+: train.momentum 0.5 has no effect' "with the line"
sed -i 's/optimizer: adam/optimizer: sgd/; s/momentum: 0.9/momentum: 0.5/' new/study.yaml
exits 0 "what acts in the study as written is not refused where --set switches it off" \
    unetctl plan -C new -s train.optimizer=adam
sed -i 's/optimizer: sgd/optimizer: adam/' new/study.yaml
exits 3 "study.yaml is refused" unetctl generate -C new
like "$ERR" 'new/study.yaml:[0-9]+: train.momentum 0.5 has no effect' "with the line"
exits 0 "another engine may read it" \
    unetctl plan -C new --engine pytorch --set model.batch_norm=local
cp -r new begun
mkdir -p begun/.unetctl
cp -r "$srcdir"/t/golden/study-0.1.0/.unetctl/. begun/.unetctl
chmod -R u+w begun/.unetctl
exits 0 "in a study with a ledger it is a warning" unetctl plan -C begun --gpus 1
like "$ERR" 'warning: .*begun/study.yaml:[0-9]+: train.momentum 0.5 has no effect' "of the same words"
train=(unet-train train --data data --size 32x32 --set model.base=2 --set model.depth=2 --epochs 1)
exits 3 "unet-train refuses it" "${train[@]}" --set train.momentum=0.5 --out bad
like "$ERR" 'train: --set: train.momentum 0.5 has no effect: it needs train.optimizer sgd or lars' \
    "with its need"
exits 0 "a value with an effect" \
    "${train[@]}" --set train.rate_gpus=2 --set train.lr_scaling=sqrt --out counted
like <(unet-train train --help) 'train.momentum=0.9 +for sgd, lars: ' "help has the same need"

# ---- a setting more: one row and its use
if ! [ "$srcdir" -ef "$builddir" ] || ! [ -f "$builddir/libtrainer.a" ]; then
    skip 1 "the build is not in the source tree" 2>/dev/null || echo "ok - # SKIP no build in the source tree"
    done_testing
    exit
fi
mkdir tree
tar -C "$builddir" -cf - --exclude='*.t' --exclude='test/*.o' --exclude=./t --exclude=./.git \
    --exclude=./distros . | tar -xf - -C tree
tar -C "$builddir" -cf - --exclude='*.o' t | tar -xf - -C tree
sed -i '/^SETTING(train, weight_decay/i SETTING(train, blur, INT, "3", RESULT, FIXED, RANGE(0, 9),\
        UNIT("pixels"), HELP("a setting of this test"))' tree/src/settings/settings.def
sed -i '/model_find(c->model.name);/a \    log_info("blurred by %d", c->train.blur);' tree/trainer/cmd/cmd_train.c
ok "both programs build" make -s -C tree CFLAGS=-O0 WARN_CFLAGS= unetctl unet-train
PATH=$TMP/tree:$PATH
broken 'tree/*' 'more*' 'by-hand/*' 'other/*' # no schema of this tree has the setting
exits 0 "init accepts the new setting" unetctl init more --full --data data --site local \
    --set train.epochs=1 --set model.base=1 --set train.threads=1
like more/study.yaml '^  blur: 3 +# a setting of this test$' "study.yaml has it"
exits 0 "config accepts it" unetctl config -C more --origin train.blur
like "$OUT" '^train.blur: 3 +# study .*study.yaml:[0-9]+$' "config shows it"
exits 0 "generate --set accepts it" unetctl generate -C more --gpus 1 --set train.blur=5
run=more/runs/unet-g01-s1/run.json
is "$(json $run 'd["train"]["blur"]')" 5 "run.json has it"
exits 2 "a value out of range is refused" unetctl generate -C more --gpus 1 --set train.blur=10
like "$ERR" "train.blur: '10' must be from 0 to 9" "the error has the range"
cp s/split.json more/
exits 0 "train --run accepts it" unet-train train --run $run --out more-run
like "$ERR" 'blurred by 5$' "the trainer uses it"
is "$(json more-run/record.jsonl 'd["blur"]')" 5 "the record has it"
exits 0 "train --set accepts it" unet-train train --data data --size 32x32 --set model.base=1 \
    --epochs 1 --set data.split=s/split.json --set train.blur=7 --out by-hand
is "$(json by-hand/record.jsonl 'd["blur"]')" 7 "the record has the value of --set"
exits 9 "resuming with another value is refused" unet-train train --data data --size 32x32 \
    --set model.base=1 --epochs 1 --set data.split=s/split.json --resume by-hand --out other
like "$ERR" 'was made with train.blur 7, but this run has 3' "the error has both values"
exits 0 "a run that is older agrees with its study" unetctl generate -C s --gpus 1
exits 3 "a run that is older does not agree with another value" \
    unetctl generate -C s --gpus 1 --set train.blur=4
like "$ERR" 'train.blur is missing, and --set says 4' "the error says that it lacks the setting"
exits 0 "the help is printed" unet-train train --help
like "$OUT" 'train.blur=3 +a setting of this test \(0 to 9 pixels\)$' "the help lists it"
is "$(unetctl completion words keys | grep -c '^train.blur$')" 1 "completion offers it"
done_testing
