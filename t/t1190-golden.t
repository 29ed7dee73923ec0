#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study of each released version (t/golden/study-VERSION, made by t/golden/study.sh) is read and
# continued by this one; files with a later schema are refused by name.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

copy_study() { # VERSION DIR: where it is not the study that was there before
    cp -r "$srcdir/t/golden/study-$1" "$2"
    chmod -R u+w "$2"
}
same_iou() { # EVAL DONE; other processors round otherwise
    python3 -c 'import json, sys
a, b = (json.load(open(p))["iou"] for p in sys.argv[1:])
sys.exit(abs(a - b) > 0.01 and f"{a} and {b}")' "$@"
}
resumed() { # RUN: its second attempt is done, and began where the checkpoint was written
    local attempt=runs/$1/attempt-2 made
    made=$(sed -n 's/.*"kind":"checkpoint".*"images":\([0-9]*\),.*/\1/p' \
        "runs/$1/attempt-1/record.jsonl")
    [ -e "$attempt/DONE" ] && [ -n "$made" ] &&
        grep -q "\"kind\":\"resume\".*\"images\":$made\>" "$attempt/record.jsonl"
}

for golden in "$srcdir"/t/golden/study-*; do
    version=${golden##*/study-}
    copy_study "$version" "study-$version"
    cd "study-$version" || exit 255
    exits 0 "$version: status" unetctl status
    is "$(states . | grep -c COMPLETED) $(states . | grep CANCELLED)" "5 unet-g04-s1 CANCELLED" \
        "$version: 5 runs are done, one was cancelled"
    exits 0 "$version: config" unetctl config --origin
    like "$OUT" 'train.loss: ce\+dice .*study.yaml' "$version: study.yaml is read"
    exits 0 "$version: plan" unetctl plan --gpus 1,2,4
    exits 1 "$version: collect" unetctl collect
    like "$OUT" '5 of 6 runs collected' "$version: takes what is done"
    is "$(cat logs/log_1.csv)" "$(cat runs/unet-g01-s1/attempt-1/log.csv)" "$version: its log"
    exits 0 "$version: report" unetctl report --text
    like "$OUT" '^ +2 +2 ' "$version: with 2 runs on 2 GPUs"
    exits 0 "$version: eval" unet-train eval -c runs/unet-g01-s1 --data data --split split.json \
        --json
    cp "$OUT" eval.json
    ok "$version: finds the IoU of the training" same_iou eval.json runs/unet-g01-s1/attempt-1/DONE

    unetctl resume --wait >"$OUT" 2>"$ERR"
    if [ "$version" = 0.1.0 ]; then # its plan had the ops, not the layers
        like <(unetctl status) "unet-g04-s1 +FAILED .*was made by unet-train $version with another" \
            "$version: status says that the network is planned otherwise"
    else
        ok "$version: resume continues from its checkpoint" resumed unet-g04-s1
    fi
    cd "$TMP" || exit 255
done

# ---- a later schema
refuses() { # CODE FILE TEXT COMMAND...
    local code=$1 file=$2 text=$3
    shift 3
    exits "$code" "$text: refused" "$@"
    like "$ERR" "$file.*schema 2 is of a later version.* use the version that wrote it" \
        "$text: the error has the file and what to do"
}
broken '*/command-*/DONE' # of version 0.1.0, without a number
later() { # FILE: the same with the next schema, within a fresh copy of the study
    rm -rf later
    copy_study "$version" later
    sed -i 's/"schema":\( *\)1/"schema":\12/' "later/$1"
    cmp -s "later/$1" "$golden/$1" && echo "Bail out! $1 has no schema" && exit 255
    cd later || exit 255
}
run=unet-g01-s1 attempt=runs/unet-g01-s1/attempt-1
later split.json
refuses 7 split.json "split.json" unet-train eval -c runs/$run --data data --split split.json
cd "$TMP" && later .unetctl/ledger.jsonl
refuses 3 'ledger.jsonl:1' "the ledger" unetctl status
cd "$TMP" && later runs/$run/run.json
refuses 7 "$run/run.json" "run.json, to unetctl" unetctl status
refuses 3 run.json "run.json, to unet-train" unet-train train --run runs/$run/run.json --out other
cd "$TMP" && later $attempt/record.jsonl
exits 1 "record.jsonl: collect" unetctl collect
like "$OUT" "corrupt: .*record.jsonl:1: schema 2 is of" "record.jsonl: is excluded, with why"
cd "$TMP" && later $attempt/DONE
exits 1 "DONE: collect" unetctl collect
like "$OUT" "corrupt: .*$run/attempt-1/DONE: schema 2 is of" "DONE: is excluded, with why"
cd "$TMP" && later $attempt/DONE && mv $attempt/DONE $attempt/FAILED
like <(unetctl status) "$run +FAILED .*FAILED: schema 2 is of a later version.* use the" \
    "FAILED: status has the reason"
cd "$TMP" && later split.json
refuses 7 split.json "split.json, to unetctl" unetctl generate --gpus 3
exits 0 "plan counts images otherwise" unetctl plan
like "$ERR" 'split.json: schema 2 is of a later version' "and says why"
cd "$TMP" && later .unetctl/ledger.jsonl && sed -i 's/"schema":2/"schema":1/' .unetctl/ledger.jsonl
echo '{"schema":2,"folder":"/","words":[]}' >.unetctl/left.json
refuses 7 left.json "left.json" unetctl watch
echo '{"schema":2,"design":{},"rounds":[]}' >.unetctl/rounds.json
refuses 7 rounds.json "rounds.json" unetctl submit --until-decided --max-gpu-hours 9
rm .unetctl/rounds.json
cd "$TMP" && later $attempt/checkpoint/model.json
refuses 9 model.json "model.json" unet-train eval -c runs/$run --data data --split split.json
cd "$TMP" && rm -rf later && copy_study "$version" later && cd later || exit 255
printf 'later: true\nschema: 2\n' >>study.yaml
refuses 3 'study.yaml:[0-9]+' "study.yaml" unetctl config
sed -i '/^later/d; s/^schema: 2/schema: 1/' study.yaml
exits 0 "study.yaml may have this one" unetctl config
unetctl site show local >site.yaml
echo 'schema: 2' >>site.yaml
refuses 3 'site.yaml:[0-9]+' "a site file" unetctl config --site ./site.yaml
unet-train model unet --print >model.yaml
printf 'later: true\nschema: 2\n' >>model.yaml
refuses 3 'model.yaml:[0-9]+' "the description of a model" unet-train model model.yaml --size 32x32
sed -i '/^later/d; s/^schema: 2/schema: 1/' model.yaml
exits 0 "which may have this one" unet-train model model.yaml --size 32x32
mkdir -p config/unetctl
echo 'schema: 2' >config/unetctl/config.yaml
refuses 3 'config.yaml:1' "config.yaml" env XDG_CONFIG_HOME="$PWD/config" unetctl config

# A checkpoint of a later version, as it would be: its own hash is right.
python3 - runs/unet-g04-s1/attempt-1/checkpoint/state-*.safetensors <<'END'
import hashlib, re, sys
data = open(sys.argv[1], "rb").read()
data, n = re.subn(rb'\\"schema\\":1', rb'\\"schema\\":2', data, count=1)
old = re.search(rb'"sha256":"([0-9a-f]{64})"', data)
assert n == 1 and old
data = data.replace(old[1], b"0" * 64)
data = data.replace(b"0" * 64, hashlib.sha256(data[8:]).hexdigest().encode(), 1)
open(sys.argv[1], "wb").write(data)
END
unetctl resume --wait >"$OUT" 2>"$ERR"
like <(unetctl status) 'unet-g04-s1 +FAILED .*schema 2 is of a later version' \
    "a checkpoint with a later schema is refused and not taken for damaged"
done_testing
