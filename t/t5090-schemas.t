#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each file between the programs and each --json is as its schema in logs/ says, which refuses what
# is not.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"
. "$srcdir/t/rounds.sh"

python3 -c 'import jsonschema' 2>/dev/null || skip_all "python3-jsonschema is not installed"
words=() seen=()
met() { # SCHEMA FILE...: all are checked at the end, by one process
    seen+=("$1")
    words+=(-- --mutate "$@")
}
also() { words+=(-- "$@"); } # without mutations
printed() { # SCHEMA COMMAND...: its output
    "${@:2}" >"$1.json" 2>"$ERR" || diag <"$ERR"
    met "$1" "$1.json"
}

# ---- a study of the embedded trainer
unet-train data synth --out data --count 12 --size 32x32 --seed 1 2>"$ERR"
unetctl init s --full --data data --site local -s data.height=32 -s data.width=32 \
    -s train.epochs=3 -s train.global_batch=4 -s model.base=2 -s model.depth=2 \
    -s train.eval_epochs=1 -s train.keep=best -s train.until='iou>=0.99' -s train.checkpoint_epochs=1 2>"$ERR"
printed plan unetctl plan -C s --gpus 1,2 --vary train.lr=0.1,0.2 --json
exits 0 "runs on 1 and 2 GPUs" unetctl submit -C s --gpus 1,2 --wait
met run s/runs/*/run.json
met record s/runs/*/attempt-1/record.jsonl
met 'done' s/runs/*/attempt-1/DONE
met model s/runs/*/attempt-1/checkpoint/model.json
met split s/split.json
met ledger s/.unetctl/ledger.jsonl
printed config unetctl config -C s --json
cp -r s other
printed status unetctl status --json s other
unetctl status -C s --json >one.json
also status one.json
printed watch unetctl watch -C s --json
printed logs unetctl logs -C s --json unet-g01-s1
printed collect unetctl collect -C s --json
exits 0 "report" unetctl report -C s
met report s/report/report.json
met extra-p s/report/extra-p.json
mkdir logs # of known times: those of a busy machine may contradict each other
for n in 1:10.0 2:5.25 4:2.75; do
    echo ",time_per_epoch,loss,lr,training_time,test_time,iou" >"logs/log_${n%:*}.csv"
    for i in 0 1 2 3; do echo "$i,${n#*:},0.5,0.001,40,1,0.9"; done >>"logs/log_${n%:*}.csv"
done
printed predict unetctl report --logs logs --train-images 1000 --batch-per-gpu 10 --predict 8 \
    --parameters 1000000 --gpus-per-node 2 --json -
printed doctor unetctl doctor -C s --json
unetctl doctor -C s --bandwidth --gpus 2 >"$OUT" 2>&1
met bandwidth s/bandwidth.json
mkdir probe
(cd other/runs/unet-g01-s1 && TF_CONFIG='{"cluster":{"worker":["localhost:23987"]},"task":{"type":"worker","index":0}}' \
    unetctl doctor --probe "$TMP/probe" >"$OUT" 2>&1)
met rank probe/rank-0.json
printed eval unet-train eval -c s/runs/unet-g01-s1 --data data --split s/split.json --json

# ---- its crate (python/test/test_crate.py)
exits 2 "collect --crate is refused" unetctl collect -C s --crate
command=$(sed -n "s/^unetctl: error: .*Python package writes it: type '\(.*\)'\$/\1/p" "$ERR")
ok "it says what to type: ${command#*&& }" eval "$command"
is "$(grep -c '"@type": "CreateAction"' s/ro-crate-metadata.json)" 2 "the crate has both runs"

# ---- one of a program that fails, and one in rounds
unetctl init f --site local -- false 2>"$ERR"
unetctl submit -C f --gpus 1 --wait >"$OUT" 2>&1
met failed f/runs/*/attempt-1/FAILED
met run f/runs/*/run.json
make_rounds r local 'slurm: {time: "10"}'
unetctl submit -C r --until-decided --gpus 1,2 --max-gpu-hours 9 --no-wait >"$OUT" 2>&1
met rounds r/.unetctl/rounds.json
cp r/.unetctl/left.json . # which cancel removes
met left left.json
unetctl plan -C r --until-decided --gpus 1,2 --json >rounds.plan.json
met plan rounds.plan.json
unetctl cancel -C r --yes >"$OUT" 2>&1

# ---- what needs no study
printed spec unetctl spec --nodelist 'n[1-2]' --tasks-per-node '2,1' --rank 2 --gpus-per-task 1 --json
printed nodelist unetctl nodelist expand 'n[1-3]' --json
printed site-list unetctl site list --json
printed template-list unetctl template list --json
printed sandbox-status unetctl sandbox status --json
printed devices unet-train devices --json
printed model-info unet-train model unet --size 32x32 --json
printed bench unet-train bench --size 32x32 --steps 2 --warmup 1 --batch-size 1 --json
printed data-check unet-train data check data/images --json
printed data-stats unet-train data stats --data data --json

# ---- the schemas themselves
if python3 -c 'import yaml' 2>/dev/null; then
    python3 - {s,r,f}/study.yaml "$srcdir"/t/golden/study-*/study.yaml "$srcdir"/examples/*/study.yaml \
        "$srcdir"/templates/sites/*.yaml <<'END'
import json, os, sys, yaml
for path in sys.argv[1:]:
    folder, file = os.path.split(path)
    name = f"{os.path.basename(folder)}.study" if file == "study.yaml" else f"{file[:-5]}.site"
    with open(path) as f, open(f"{name}.json", "w") as to:
        json.dump(yaml.safe_load(f), to, default=str)
END
    met study s.study.json
    also study ./*.study.json
    met site generic.site.json
    also site ./*.site.json
else
    seen+=(study site)
    skip "python3-yaml is not installed" "study.yaml and site files"
fi
for golden in "$srcdir"/t/golden/study-*; do
    also run "$golden"/runs/*/run.json
    also record "$golden"/runs/*/attempt-*/record.jsonl
    also 'done' "$golden"/runs/unet*/attempt-*/DONE # the others have no number
    also model "$golden"/runs/*/attempt-*/checkpoint/model.json
    also split "$golden/split.json"
    also ledger "$golden/.unetctl/ledger.jsonl"
done
also run "$srcdir"/t/golden/*.run.json
is "$(cd "$srcdir/logs" && printf '%s\n' *.schema.json | sed 's/\..*//' | sort)" \
    "$(printf '%s\n' "${seen[@]}" | sort -u)" "each schema is met"
ok "each JSON file that doc/FORMATS.md names has a schema" python3 - "$srcdir" <<'END'
import os, re, sys
os.chdir(sys.argv[1])
text = open("doc/FORMATS.md").read()
names = {name.partition(".")[0] for name in os.listdir("logs") if name.endswith(".schema.json")}
foreign = {"dataset", "log", "output_shape", "output_shapes", "output_types", "ro-crate-metadata",
           "trace-RANK", "trainer_state"}
files = {re.sub("-[K0-9]+$", "", f) for f in re.findall(r"(?<![.\w])([\w-]+)\.jsonl?\b", text)} - foreign
assert files <= names, files - names
END
ok "SETTINGS.md and SCHEMAS.md are those of the schemas" python3 "$srcdir/doc/generate.py" --check
ok "each document is as its schema says, which refuses mutations of it" \
    python3 "$srcdir/t/schemas.py" "${words[@]:1}"
done_testing
