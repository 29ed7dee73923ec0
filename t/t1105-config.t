#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The order of the layers of a value: option, environment, study, site, the user's file, built-in.
# Also what init writes after it has examined the images.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p data/images data/masks "$XDG_CONFIG_HOME/unetctl"
user=$XDG_CONFIG_HOME/unetctl/config.yaml
value() { # KEY [OPTIONS]: its value and its layer
    unetctl config -C one --json "$@" 2>"$ERR" >"$OUT" &&
        field "$OUT" \
            '" ".join(str(x) for v in d["values"] for x in (v["value"], v["layer"], (v["where"] or "").split("/")[-1]))'
}

cat >mysite.yaml <<'Y'
gpus_per_node: 4
partition: gpu
time: 02:00:00
Y
ok "a study is made" unetctl init one --full --data data --site ./mysite.yaml
is "$(value site)" "$TMP/mysite.yaml study study.yaml:5" "init stores the absolute path of the site"

# One key is set in all its layers, from the lowest up.
sed -i '/^  lr:/d; /^  time:/d' one/study.yaml
is "$(value train.lr)" "0.001 built-in " "the lowest layer is built in"
printf 'train:\n  lr: 0.01\nslurm:\n  time: 1:00:00\n  account: me\n' >"$user"
is "$(value train.lr)" "0.01 user config.yaml:2" "the user's file overrides built-in values"
is "$(value slurm.time)" "02:00:00 site mysite.yaml:3" "the site overrides the user's file"
is "$(value slurm.account)" "me user config.yaml:5" \
    "the user's file applies where the site has no value"
line=$(($(wc -l <one/study.yaml) + 2))
printf '\n  time: 3:00:00\n' >>one/study.yaml
is "$(value slurm.time)" "3:00:00 study study.yaml:$line" "the study overrides the site"
export UNETCTL_SLURM_TIME=4:00:00
is "$(value slurm.time)" "4:00:00 environment \$UNETCTL_SLURM_TIME" \
    "the environment overrides the study"
is "$(value slurm.time --set slurm.time=5:00:00)" "5:00:00 command line --set" \
    "the command line overrides everything"
unset UNETCTL_SLURM_TIME
is "$(UNETCTL_GPUS=3 value gpus)" "3 environment \$UNETCTL_GPUS" "an option's variable is read"
is "$(UNETCTL_GPUS=3 value gpus --gpus 4)" "4 command line --gpus" \
    "an option overrides the variable of the same setting"
is "$(UNETCTL_MODEL=resnet20 value model.name)" "resnet20 command line --model" \
    "a variable sets what otherwise only an option sets"

# The effective values are used by runs.
exits 0 "generate uses the effective values" unetctl generate -C one --gpus 2 --set train.epochs=7
is "$(field one/runs/unet-g02-s1/run.json 'd["train"]["epochs"], d["train"]["lr"]')" "(7, 0.01)" \
    "run.json has the effective values"
like one/runs/unet-g02-s1/submit_file.sh '^#SBATCH --account=me' "the script has the user's account"
like one/runs/unet-g02-s1/submit_file.sh '^#SBATCH --partition=gpu' \
    "the script has the site's partition"
exits 0 "two adjacent sections are set" unetctl generate -C one --gpus 3 \
    --set augment.brightness=0.1 --set augment.shift=3
is "$(field one/runs/unet-g03-s1/run.json '(d["augment"]["brightness"], d["augment"]["shift"])')" \
    "(0.1, 3)" \
    "two adjacent sections do not overwrite each other"

exits 0 "config with another engine" unetctl config -C one --origin --engine pytorch
like "$OUT" '^engine: pytorch +# command line --engine' "the engine in use is shown"
like "$OUT" '^pytorch\.python: ' "its section is"
unlike "$OUT" '^(command|horovod)\.' "those of other engines are not"
exits 0 "config of another engine's section" unetctl config -C one command
like "$OUT" '^command\.script: ' "it is shown when it is named"
exits 0 "config --origin" unetctl config -C one --origin slurm
like "$OUT" '^slurm.partition: gpu +# site .*/mysite.yaml:2$' "config prints one line per value"
is "$(grep -vc '^slurm\.' "$OUT")" 0 "config prints only the requested section"
exits 2 "an unknown key is refused" unetctl config -C one train.epoch
like "$ERR" "did you mean 'train.epochs'" "the error names the nearest key"

# Errors name the place of the value in every layer.
exits 2 "a bad value of --set is refused" unetctl plan -C one --set train.lr=x
like "$ERR" "error: --set train.lr: 'x' is not a number" "the error names the option"
exits 2 "a bad value of a variable is refused" env UNETCTL_TRAIN_LR=x unetctl plan -C one
like "$ERR" "UNETCTL_TRAIN_LR: 'x' is not a number" "the error names the variable"
exits 2 "a variable of a section without such a key is refused" \
    env UNETCTL_TRAIN_RATE=1 unetctl plan -C one
like "$ERR" 'UNETCTL_TRAIN_RATE is not the variable of a setting' "the error names the variable"
exits 2 "a misspelled variable is refused" env UNETCTL_TRIAN_LR=1 unetctl plan -C one
like "$ERR" 'did you mean .UNETCTL_TRAIN_LR\?' "the error names the nearest variable"
exits 2 "a list in a variable is refused" env UNETCTL_SLURM_OPTIONS=--exclusive unetctl plan -C one
like "$ERR" 'UNETCTL_SLURM_OPTIONS: .*is a list; set it in a file' \
    "the error says where lists can be set"
exits 0 "other variables with the prefix are ignored" \
    env UNETCTL_SHARED=/x UNETCTL_MINE=1 UNETCTL_TRAIN_LR= \
    UNETCTL_TRAIN_IMAGES=3 unetctl plan -C one
exits 2 "--set with an unknown key is refused" unetctl plan -C one --set train.epoch=3
like "$ERR" "did you mean 'train.epochs'" "the error names the nearest key"
printf 'trian:\n' >"$user"
exits 3 "a bad key in the user's file is refused" unetctl plan -C one
like "$ERR" "config.yaml:1: unknown key 'trian'; did you mean 'train'" \
    "the error has file, line and nearest key"
rm "$user"
sed -i 's/height: .*/height: 100/' one/study.yaml
exits 3 "contradictory values are refused" unetctl plan -C one
like "$ERR" 'study.yaml:[0-9]+: data.height 100 .* multiple of 16, such as 112 .*model.depth 4, .*study.yaml:[0-9]+' \
    "both settings are refused, each with its line"

# ---- relative paths: in study.yaml from its folder, on the command line and in variables from here
mkdir -p paths/in/m.yaml m.yaml
cp "$srcdir/templates/sites/local.yaml" paths/in/s.yaml
cp "$srcdir/templates/sites/local.yaml" s.yaml
cat >paths/study.yaml <<'Y'
name: paths
site: in/s.yaml
templates: ./in/t
data: {dir: ./in/d, height: 32, width: 32, classes: 3, class_file: in/k, cache: ././in/c}
model: {name: ./in/m.yaml}
command: {script: in/x}
Y
keys="site templates data.dir data.class_file data.cache model.name command.script"
# shellcheck disable=SC2086 # a list
where() { sed -n "s|^[a-z._]*: $1||p" < <(unetctl config -C paths "${@:2}" $keys 2>"$ERR") |
    tr '\n' ' '; }
is "$(where "$TMP/paths/in/")" "t s.yaml d k c m.yaml x " \
    "relative paths start at the study's folder"
is "$(where "$TMP/" -s site=./s.yaml -s templates=t -s data.dir=./d -s data.class_file=k -s data.cache=./c \
    -s model.name=./m.yaml -s command.script=./x)" "t s.yaml d k c m.yaml x " \
    "relative paths of the command line start at the current folder"
is "$(UNETCTL_DATA_CACHE=./c UNETCTL_COMMAND_SCRIPT=x unetctl config -C paths data.cache command.script | tr '\n' ' ')" \
    "data.cache: $TMP/c command.script: $TMP/x " \
    "relative paths of variables start at the current folder"
is "$(unetctl config -C paths -s data.cache=off -s model.name=fcnn -s site=local site data.cache model.name | tr '\n' ' ')" \
    "site: local data.cache: off model.name: fcnn " \
    "names of sites, models and switches are not taken for paths"
exits 0 "init takes paths from the current folder" \
    unetctl init paths/own --data data -s templates=./paths/own/t -s data.cache=./c \
    -s data.class_file=k \
    -s data.classes=3
is "$(grep -hoE '(templates|cache|class_file): [^ ]*' paths/own/study.yaml | tr '\n' ' ')" \
    "templates: ./t class_file: $TMP/k cache: $TMP/c " \
    "paths inside the study are kept relative to it"

# ---- init looks at the images
ok "images are made" unet-train data synth --out synth --count 12 --size 100x150
exits 0 "init examines the images" unetctl init two --data synth
is "$(cd two && unetctl config data.height data.width data.channels | tr '\n' ' ')" \
    "data.height: 96 data.width: 144 data.channels: 1 " "the images' size, made to fit"
like two/study.yaml '^# Data: 12 images, 12 masks; 100x150' "study.yaml describes them"
is "$(grep -c warning "$ERR")" 0 "there are no warnings"
exits 0 "generate works" unetctl generate -C two --gpus 1
like two/split.json '"train"' "generate freezes the split, which jobs submitted by hand need"
cp two/split.json kept.json
printf 'file,patient\n%s\n' "$(for i in 0{1..9} 1{0..2}; do echo "00$i,$((10#$i % 4))"; done)" >patients.csv
exits 0 "init with groups" unetctl init grouped --data synth --set data.group=patients.csv:patient
like grouped/study.yaml "group: \"?$TMP/patients.csv:patient" "the list's path is absolute"
exits 0 "generate with groups" unetctl generate -C grouped --gpus 1
like grouped/split.json "\"group\":\"$TMP/patients.csv:patient\"" "the split names the rule"
exits 0 "generate with groups after the split" unetctl generate -C two --gpus 2 --set 'data.group=(.)'
like "$ERR" 'two/split.json keeps its images, although data.group.* remove it to divide them anew' \
    "a warning says that an existing split stays"
ok "it does" cmp kept.json two/split.json
exits 0 "init for a deeper network" unetctl init deep --data synth --set model.depth=5
is "$(unetctl config -C deep data.width)" "data.width: 160" \
    "the width is a multiple of what the network needs"
ok "large images are made" unet-train data synth --out large --count 2 --size 1536x3072
mv large/images/*1.png synth/images/other.png
echo x >synth/images/broken.png
touch synth/images/Thumbs.db synth/masks/notes.txt
exits 0 "init accepts irregular data" unetctl init three --data synth
like "$ERR" 'warning: .*2 images or masks without a counterpart.*images/(broken|other).png' \
    "init warns of images and masks without a counterpart"
like "$ERR" 'warning: .*1 of 14 sampled images cannot be read' "it warns of unreadable images"
like "$ERR" 'warning: .*2 files are not read, such as images/Thumbs.db: the name ends in none of png tif' \
    "init warns of files that are no images"
like "$ERR" 'warning: .*differ in size, from 100x150 to 1536x3072' "it warns of mixed sizes"
exits 0 "init accepts large images" unetctl init four --data large
is "$(unetctl config -C four data.height data.width | tr '\n' ' ')" \
    "data.height: 512 data.width: 1024 " \
    "a large size is limited and keeps its aspect ratio"
printf 'site: local\ntrain:\n  epochs: 5\n' >"$user"
exits 0 "init uses the user's file" unetctl init five --data synth
is "$(unetctl config -C five site train.epochs | tr '\n' ' ')" "site: local train.epochs: 5 " \
    "values of the user's file are the defaults"
done_testing
