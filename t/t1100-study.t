#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# init, study.yaml and plan for a new user: errors say what is wrong, where, and what to type next.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p data/images data/masks
exits 0 "init makes a study" unetctl init one --full --data data --site local
like "$ERR" 'cd one && unetctl plan' "it says what to type next"
like one/study.yaml 'lr: 0.001' "the file has every key with its value"
cp one/study.yaml kept
exits 3 "init overwrites nothing" unetctl init one --data data
ok "the file is unchanged" cmp one/study.yaml kept
exits 2 "init without --data is refused" unetctl init two
exits 7 "a folder without images is refused" unetctl init two --data one
like "$ERR" 'images/' "the error names the missing folder"
mkdir -p broken/images broken/masks
for i in 1 2 3; do echo "no image" | tee broken/images/$i.png >broken/masks/$i.png; done
exits 7 "a folder of which nothing can be read is refused" unetctl init two --data broken
like "$ERR" "none of 3 images can be read \\('unet-train data check" "the error says what to type"
ok "no study is made" test ! -e two/study.yaml
exits 2 "--set with an unknown key is refused" unetctl init two --data data --set train.epoch=3
like "$ERR" "'train.epochs'" "the error names the nearest key"
exits 3 "--set with a bad value is refused" unetctl init two --data data --set train.epochs=many
exits 3 "an unknown site is refused" unetctl init two --data data --site lcal
like "$ERR" "did you mean 'local'" "the error names the nearest site"
unet-train data synth --out several --count 6 --size 32x32 && cp -r several/masks several/truth
exits 3 "data whose masks may be in two folders is refused" unetctl init two --data several
like "$ERR" 'masks/ or in truth/: choose with data.masks=masks or data.masks=truth' \
    "... both are named"
ok "a refused init leaves no folder" test ! -e two
exits 0 "... one is chosen" unetctl init three --data several --set data.masks=truth
exits 0 "... and planned" unetctl plan -C three
exits 0 "... and split" unetctl generate -C three
ok "... with these masks" grep -q '"mask":"truth/' three/split.json

# Paths of a file may have variables; init writes those of a folder's name as they are.
sed -i "s|^\( *dir: \).*|\1\$WHERE/several|" three/study.yaml
exits 3 "a variable that is not set is refused" unetctl plan -C three
# shellcheck disable=SC2016
like "$ERR" 'study.yaml:[0-9]+: data.dir: \$WHERE is not set' "the error names the line"
exits 0 "a path with a variable is found" env WHERE="$PWD" unetctl plan -C three
# shellcheck disable=SC2016 # a folder of this name
mv several '$HOME'
# shellcheck disable=SC2016
exits 0 "a folder has a name like a variable" unetctl init four --data '$HOME' --set data.masks=truth
exits 0 "... and is planned" unetctl plan -C four

# A folder whose path leaves no room for the files of runs.
deep() { # COMMAND...: in such a folder
    (
        mkdir -p deep && cd deep || exit 255
        while [ $((4034 - ${#PWD})) -gt 101 ]; do
            mkdir -p "$(printf 'd%.0s' {1..100})" && cd d* || exit 255
        done
        "$@"
    )
}
exits 3 "init in a folder of 4,000 bytes is refused" deep \
    unetctl init . --data "$PWD/data"
like "$ERR" '^unetctl: error: study .*: the path of the folder has 39[0-9]+ bytes, .*shorter' \
    "the error says why"
deep cp "$PWD/one/study.yaml" .
for verb in "plan --gpus 1" "submit --gpus 1"; do
    # shellcheck disable=SC2086 # words
    exits 3 "so is $verb" deep unetctl $verb
    like "$ERR" 'bytes, and only 38[0-9]+ leave room' "the error says why"
done
ok "nothing was written there" deep test ! -e runs -a ! -e .unetctl
exits 3 "an init whose path is longer than a path can be" \
    unetctl init "$(printf '/x%.0s' {1..3000})" --data data
like "$ERR" 'has 6000 bytes.*choose a shorter' "the error says why"

bad() { # TEXT LINE REGEX EXIT-TEXT: study.yaml gets one more line
    { cat kept; printf '%b\n' "$1"; } >one/study.yaml
    exits 3 "$3" unetctl plan -C one
    like "$ERR" "study.yaml:$2: .*$3" "file, line and reason: $3"
}
next=$(($(wc -l <kept) + 1))
bad 'trian: 1' "$next" "unknown key 'trian'; did you mean 'train'"
bad 'seeds: 2' "$next" 'seeds is given twice'
bad '\tx: 1' "$next" 'a tab'
bad '---\nseeds: 2' "$next" 'a second document begins here'
{ grep -v '^name:' kept; printf 'name: %02000d\n' 0; } >one/study.yaml
exits 3 "a name of 2000 characters is refused" unetctl plan -C one
like "$ERR" "000' must be 1 to 64 of a-z" "the error shows the beginning, and says why"
sed 's/epochs: 200/epochs: "x"/' kept >one/study.yaml
exits 3 "a value of the wrong type is refused" unetctl plan -C one
like "$ERR" 'study.yaml:[0-9]+: train.epochs: .x. is not a whole number' "the error has the line"
grep -v '^name:' kept >one/study.yaml
exits 3 "a missing key is refused" unetctl plan -C one
like "$ERR" "the key 'name' is missing" "the error names it"
cp kept one/study.yaml

sed 's/^gpus: .*/gpus: [1, 2..3]/; s/^train:/&\n  class_weights: [1, 2.5]/' kept |
    sed '0,/class_weights: ""/{/class_weights: ""/d}' >one/study.yaml
is "$(unetctl config -C one gpus train.class_weights | tr '\n' ' ')" \
    "gpus: 1,2..3 train.class_weights: 1,2.5 " \
    "YAML lists become lists with commas"
sed 's/^gpus: .*/gpus: [1, x]/' kept >one/study.yaml
exits 3 "an invalid list is refused" unetctl plan -C one
like "$ERR" "study.yaml:[0-9]+: gpus: '1,x' is not a list of GPU counts" \
    "the error says what is expected"
cp kept one/study.yaml
exits 2 "a count beyond the largest is refused" unetctl plan -C one --gpus 1..100000
like "$ERR" "'1..100000' is not a list of GPU counts .*from 1 to 65536" "with the largest"
exits 2 "learning-rate steps with an impossible factor are refused" \
    unetctl plan -C one -s train.lr_steps=5:1e9
like "$ERR" "train.lr_steps: '5:1e9' is not a list of EPOCH:FACTOR.*at most 1e6" \
    "the error names the largest factor"

exits 3 "a folder without a study is an error" unetctl plan
like "$ERR" 'unetctl init' "the error says how to make a study"
mkdir -p one/sub/folder
cd one/sub/folder || exit 255
exits 0 "a study is found from a folder below it" unetctl plan --gpus 1..3
cd "$TMP" || exit 255
for list in 0 1.. 14..1 1..99999999 x ''; do
    exits 2 "--gpus '$list' is refused" unetctl plan -C one --gpus "$list"
done
exits 2 "--seeds 0 is refused" unetctl plan -C one --seeds 0
exits 3 "an unknown engine is refused" unetctl plan -C one --engine embeded
like "$ERR" "did you mean 'embedded'.*known: embedded" "the error lists the known engines"
exits 2 "an unknown scheduler is refused" unetctl plan -C one --scheduler slrum
like "$ERR" "did you mean 'slurm'" "the error names the nearest scheduler"
exits 3 "a site with another scheduler is refused" unetctl plan -C one --scheduler slurm

exits 0 "plan --json" unetctl plan -C one --site generic --gpus 1..14 --json
# Without python3, which a machine may lack: a key is on a line of its own.
values() { sed -nE "s/^ {$1}\"($2)\": \"?([^\",]*)\"?,?\$/\\2/p" "$OUT"; } # INDENT KEYS
is "$(values 6 'nodes|tasks|strategy' | head -n 9 | xargs)" \
    "1 1 mirrored 1 1 mirrored 2 3 multi-worker" "the study has the layouts of 1, 2 and 3 GPUs"
is "$(values 2 'schema|gpu_hours' | xargs) $(values 6 run | wc -l)" "1 444.0 14" \
    "the JSON of the plan has its cost"
exits 0 "UNETCTL_GPUS is accepted" env UNETCTL_GPUS=5 unetctl plan -C one
like "$OUT" 'unet-g05-s1' "UNETCTL_GPUS overrides study.yaml"
exits 0 "--gpus is accepted with UNETCTL_GPUS" env UNETCTL_GPUS=5 unetctl plan -C one --gpus 6
unlike "$OUT" 'unet-g05-s1' "--gpus overrides UNETCTL_GPUS"
sed -i 's/strategy: auto/strategy: mirrored/' one/study.yaml
exits 3 "the strategy mirrored on several nodes is refused" \
    unetctl plan -C one --gpus 1..5 --site generic
like "$ERR" '3 GPUs on site generic' "the error names the number of GPUs"
exits 0 "unetctl data runs unet-train" unetctl data --help
like "$OUT" 'unet-train data' "the help is that of unet-train"
mkdir -p $'new\nline' $'latin\xe9'
cp one/study.yaml $'new\nline' && cp one/study.yaml $'latin\xe9'
exits 3 "a folder with a newline in its name is refused" unetctl plan -C $'new\nline'
like "$ERR" 'newline or control character; rename it' "the error says what to do"
exits 3 "a folder whose name is not UTF-8 is refused" unetctl plan -C $'latin\xe9'
like "$ERR" 'is not UTF-8; rename it' "the error says what to do"
done_testing
