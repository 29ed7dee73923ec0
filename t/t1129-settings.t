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
like "$ERR" "train.lrr: unknown key; did you mean 'lr'" "the error names the nearest key"

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
