#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The scripts that generate writes for 1..14 GPUs on 2-GPU nodes are compared with t/golden
# (UPDATE_GOLDEN=1 writes it again). Also names that could break the scripts.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

# The study's id and its folders differ between machines.
plain() {
    sed -e "s|$(cat study/.unetctl/id)|STUDY_ID|g" -e "s|$TMP|TMP|g" \
        -e "s|$builddir/unetctl|BIN/unetctl|" -e "s|$srcdir/t/|SRC/t/|" "$1"
}
golden() { # NAME: standard input must be t/golden/NAME
    cat >got
    if [ -n "${UPDATE_GOLDEN:-}" ]; then cp got "$srcdir/t/golden/$1"; fi
    ok "$1 is as in t/golden" diff "$srcdir/t/golden/$1" got
}

make_study study sandbox
exits 0 "generate --gpus 1..14" unetctl generate -C study --gpus 1..14
is "$(find study/runs -name submit_file.sh | wc -l)" 14 "one folder for each count"
layouts() {
    local f
    for f in study/runs/*/submit_file.sh; do
        plain "$f" | grep -E '^#SBATCH|run_file.sh &$'
    done
}
golden layouts.txt < <(layouts)
for run in unet-g02-s1 unet-g03-s1; do
    for f in run.json run_file.sh submit_file.sh; do
        golden "$run.${f%.sh}" < <(plain "study/runs/$run/$f")
    done
done
unlike <(cat study/runs/*/*.sh) '\{\{|\}\}' "no marker is left"
if command -v shellcheck >/dev/null; then
    find study/runs -name '*.sh' -print0 >scripts
    ok "the scripts are shellcheck-clean" xargs -0 -a scripts shellcheck
else
    skip "shellcheck is not installed" "the scripts are shellcheck-clean"
fi

# Files that are executed.
cp -r study open && rm -r open/runs open/.unetctl
free() { (umask 000 && unetctl generate -C open --gpus 1,2); }
exits 0 "generate with umask 000" free
is "$(find open/runs open/.unetctl -perm /002 ! -type l)" "" "leaves nothing that others may write"
is "$(find open/runs -name '*.sh' ! -type l -perm /020)" "" "and no script that the group may write"
limited() { (ulimit -f 1 && unetctl generate -C open --gpus 3); }
exits 1 "generate with ulimit -f" limited
like "$ERR" '^unetctl: error: cannot write .*\.sh: File too large$' "has one line"
limited() { (ulimit -f 1 && unetctl submit -C open --gpus 3,4 --scheduler local); }
exits 1 "so has submit" limited
is "$(cd open/runs && echo unet*)" "unet-g01-s1 unet-g02-s1" "neither leaves a folder of a run"

# Folders with every character that a shell, sbatch or YAML could misinterpret.
odd="$TMP/it's \"a\" \$HOME \`id\` é #50% \\ (x) & ;"
make_study "$odd" local --set data.dir="$TMP/data"
exits 0 "generate in a folder with an odd name" unetctl generate -C "$odd" --gpus 1
ok "run_file.sh is valid shell" bash -n "$odd/runs/unet-g01-s1/run_file.sh"
ok "submit_file.sh runs there" bash "$odd/runs/unet-g01-s1/submit_file.sh"
ok "the trainer wrote its marker" test -e "$odd/runs/unet-g01-s1/attempt-1/DONE"
exits 1 "an attempt cannot run twice" bash "$odd/runs/unet-g01-s1/submit_file.sh"
like "$ERR" 'has begun before' "the second start says so"
mkdir $'new\nline'
cp study/study.yaml study/site.yaml $'new\nline'
exits 3 "a folder with a newline is refused" unetctl generate -C $'new\nline'

# The files of a run that has begun are not written again.
touch study/runs/unet-g01-s1/attempt-1/job
cp study/runs/unet-g01-s1/submit_file.sh kept
sed -i 's/time: 01:00:00/time: 02:00:00/' study/site.yaml
exits 0 "generate with another time limit" unetctl generate -C study --gpus 1..2
ok "the script of the run that has begun is unchanged" \
    cmp kept study/runs/unet-g01-s1/submit_file.sh
like study/runs/unet-g02-s1/submit_file.sh 'time=120' \
    "the script of the other run has the new limit"
sed -i 's/lr: 0.001/lr: 0.01/' study/study.yaml
exits 3 "other settings are refused for a run that has begun" unetctl generate -C study --gpus 1
like "$ERR" 'train.lr is 0.001, and .*study.yaml:[0-9]+ says 0.01 ' "the error names the difference"
exits 0 "other settings are accepted for the other run" unetctl generate -C study --gpus 2

sed -i 's/tasks}} -/tsks}} -/' study/site.yaml
exits 3 "an unknown marker in the site's launcher is refused" unetctl generate -C study --gpus 3
like "$ERR" "site.yaml.*unknown marker '\{\{tsks\}\}'; did you mean '\{\{tasks\}\}'" \
    "the error names the nearest marker"
mkdir data2
cp -r --no-preserve=mode "$srcdir/templates" data2
echo 'echo {{attmpt}}' >>data2/templates/embedded/run_file.sh
exits 3 "an unknown marker in a template is refused" \
    env UNETCTL_DATADIR="$TMP/data2" unetctl generate -C study \
    --gpus 2
like "$ERR" "run_file.sh:[0-9]+: unknown marker '\{\{attmpt\}\}'" "the error has file and line"
grep -v 'TF_CONFIG=' "$srcdir/templates/embedded/run_file.sh" >data2/templates/embedded/run_file.sh
exits 3 "a template without a required marker is refused" \
    env UNETCTL_DATADIR="$TMP/data2" unetctl generate -C \
    study \
    --gpus 2
like "$ERR" "run_file.sh:[0-9]+: the marker '\{\{(unetctl|spec)\}\}' is missing" \
    "the error names the missing marker"
# ---- how sites want to be asked, and no limit
make_study asked generic
for word in per-node:gpus-per-node=2 gpus:gpus=4 gres:gres=gpu:2; do
    { sed '/^gpu_request/d; /^gpus_per_node/d' asked/site.yaml &&
        printf 'gpus_per_node: 2\ngpu_request: %s\n' "${word%%:*}"; } >asked/own.yaml
    rm -rf asked/runs
    exits 0 "gpu_request: ${word%%:*}" unetctl generate -C asked --site asked/own.yaml --gpus 3,4 \
        --set slurm.time=UNLIMITED
    like asked/runs/unet-g04-s1/submit_file.sh "^#SBATCH --${word#*:}$" "is how GPUs are asked for"
    like asked/runs/unet-g03-s1/submit_file.sh '^#SBATCH --gpus-per-task=1$' \
        "unless the nodes differ, as 2+1"
done
like asked/runs/unet-g04-s1/submit_file.sh '^#SBATCH --time=UNLIMITED$' \
    "slurm.time may be UNLIMITED"
exits 0 "plan without a limit" unetctl plan -C asked --gpus 2 --set slurm.time=UNLIMITED
like "$ERR" 'the time limit is UNLIMITED, and the cost of the runs is unknown' "says so"
exits 2 "a limit that is none" unetctl plan -C asked --gpus 2 --set slurm.time=UNLIMITEDD
like "$ERR" 'such as 01:30:00, 2-00:00:00 or UNLIMITED' "is refused"
done_testing
