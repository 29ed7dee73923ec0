#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# init, study.yaml and plan as a user meets them: what is wrong, where, and what to type next.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p data/images data/masks
exits 0 "init makes a study" unetctl init one --data data --site local
like "$ERR" 'cd one && unetctl plan' "it says what comes next"
like one/study.yaml 'lr: 0.001' "the file has every key with its value"
cp one/study.yaml kept
exits 3 "init overwrites nothing" unetctl init one --data data
ok "the file is as before" cmp one/study.yaml kept
exits 2 "init without --data" unetctl init two
exits 7 "init with a folder that has no images" unetctl init two --data one
like "$ERR" 'images/' "it names the folder that is missing"
exits 2 "init --set with an unknown key" unetctl init two --data data --set train.epoch=3
like "$ERR" "'train.epochs'" "the nearest key"
exits 3 "init --set with a bad value" unetctl init two --data data --set train.epochs=many
exits 3 "init with an unknown site" unetctl init two --data data --site lcal
like "$ERR" "did you mean 'local'" "the nearest site"
ok "a refused init leaves no folder behind" test ! -e two

bad() { # TEXT LINE REGEX EXIT-TEXT: study.yaml gets one more line
    { cat kept; printf '%b\n' "$1"; } >one/study.yaml
    exits 3 "$3" unetctl plan -C one
    like "$ERR" "study.yaml:$2: .*$3" "file, line and reason: $3"
}
next=$(($(wc -l <kept) + 1))
bad 'trian: 1' "$next" "unknown key 'trian'; did you mean 'train'"
bad 'seeds: 2' "$next" 'seeds is given twice'
bad '\tx: 1' "$next" 'a tab'
sed 's/epochs: 200/epochs: "x"/' kept >one/study.yaml
exits 3 "wrong type" unetctl plan -C one
like "$ERR" 'study.yaml:[0-9]+: train.epochs: .x. is not a whole number' "is told with its line"
grep -v '^name:' kept >one/study.yaml
exits 3 "missing key" unetctl plan -C one
like "$ERR" "the key 'name' is missing" "is named"
cp kept one/study.yaml

sed 's/^gpus: .*/gpus: [1, 2..3]/; s/^train:/&\n  class_weights: [1, 2.5]/' kept |
    sed '0,/class_weights: ""/{/class_weights: ""/d}' >one/study.yaml
is "$(unetctl config -C one gpus train.class_weights | tr '\n' ' ')" \
    "gpus: 1,2..3 train.class_weights: 1,2.5 " \
    "YAML's lists are lists with commas"
sed 's/^gpus: .*/gpus: [1, x]/' kept >one/study.yaml
exits 3 "a wrong one" unetctl plan -C one
like "$ERR" "study.yaml:[0-9]+: gpus: '1,x' is not a list of GPU counts" "is refused"
cp kept one/study.yaml
exits 2 "steps of the rate that no run would take" unetctl plan -C one -s train.lr_steps=5:1e9
like "$ERR" "train.lr_steps: '5:1e9' is not a list of EPOCH:FACTOR.*at most 1e6" "are refused"

exits 3 "no study here" unetctl plan
like "$ERR" 'unetctl init' "says how to make one"
mkdir -p one/sub/folder
cd one/sub/folder || exit 255
exits 0 "the study is found upwards" unetctl plan --gpus 1..3
cd "$TMP" || exit 255
for list in 0 1.. 14..1 1..99999999 x ''; do
    exits 2 "--gpus '$list' is refused" unetctl plan -C one --gpus "$list"
done
exits 2 "--seeds 0 is refused" unetctl plan -C one --seeds 0
exits 3 "an unknown engine" unetctl plan -C one --engine embeded
like "$ERR" "did you mean 'embedded'.*known: embedded" "lists the known ones"
exits 2 "an unknown scheduler" unetctl plan -C one --scheduler slrum
like "$ERR" "did you mean 'slurm'" "the nearest"
exits 3 "a site for another scheduler" unetctl plan -C one --scheduler slurm

exits 0 "plan --json" unetctl plan -C one --site generic --gpus 1..14 --json
is "$(field "$OUT" '[(r["nodes"], r["tasks"], r["strategy"]) for r in d["runs"][:3]]')" \
    "[(1, 1, 'mirrored'), (1, 1, 'mirrored'), (2, 3, 'multi-worker')]" "layouts of 1, 2 and 3 GPUs"
is "$(field "$OUT" 'd["schema"], len(d["runs"]), d["gpu_hours"]')" "(1, 14, 420.0)" "and the cost"
exits 0 "the environment stands below the command line" env UNETCTL_GPUS=5 unetctl plan -C one
like "$OUT" 'unet-g05-s1' "UNETCTL_GPUS is taken over the study's"
exits 0 "the command line wins" env UNETCTL_GPUS=5 unetctl plan -C one --gpus 6
unlike "$OUT" 'unet-g05-s1' "over the environment"
sed -i 's/strategy: auto/strategy: mirrored/' one/study.yaml
exits 3 "mirrored on several nodes" unetctl plan -C one --gpus 1..5 --site generic
like "$ERR" '3 GPUs on site generic' "names the count"
exits 0 "data passes its words on" unetctl data --help
like "$OUT" 'unet-train data' "to unet-train"
mkdir -p $'new\nline' $'latin\xe9'
cp one/study.yaml $'new\nline' && cp one/study.yaml $'latin\xe9'
exits 3 "a folder with a newline in its name" unetctl plan -C $'new\nline'
like "$ERR" 'newline or control character; rename it' "says what to do"
exits 3 "a folder whose name is not UTF-8" unetctl plan -C $'latin\xe9'
like "$ERR" 'is not UTF-8; rename it' "likewise"
done_testing
