#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Users' templates: markers that they must and may use, where they are found, and templates of the
# reference systems with their tag_* words.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

make_study study local
mkdir own
shows() { # NAME OPTION...
    unetctl template show "$@" 2>/dev/null
}
ok "template show prints the built-in one" cmp <(shows submit_file.sh) \
    "$srcdir/templates/embedded/submit_file.sh"
ok "template show prints that of another engine" cmp <(shows run_file.sh --engine pytorch) \
    "$srcdir/templates/command/run_file.sh"
exits 2 "an unknown template is refused" unetctl template show run.sh
unetctl template list >markers.txt
for name in directives launcher command attempt_dir tag_task setup.sh; do
    like markers.txt "^$name +(-|run_file.sh|submit_file.sh|both) +[a-z0-9]" \
        "template list has $name"
done
is "$(grep -ohE '\{\{[a-z_]+' "$srcdir"/templates/*/*.sh "$srcdir"/templates/sites/* | sort -u | tr -d '{' |
    grep -vxF -f <(cut -d' ' -f1 markers.txt))" "" "and every marker of our own templates"

# ---- a template of one's own
generate() { # OPTION...
    unetctl generate -C study --gpus 2 "$@"
}
result=study/runs/unet-g02-s1
{ shows submit_file.sh | sed 's/^set -u$/# mine: {{project|sh}} {{gpus}}/'; } >own/submit_file.sh
echo 'markers: {project: "it'"'"'s \"x\""}' >>study/study.yaml
exits 0 "a folder with a submit_file.sh" generate --templates own
like $result/submit_file.sh "^# mine: 'it'\\\\''s \"x\"' 2$" \
    "it is used, with the study's own marker"
ok "run_file.sh is the built-in one" diff <(head -n 3 $result/run_file.sh) \
    <(head -n 3 "$srcdir/templates/embedded/run_file.sh" |
    sed -e 's/{{run}}/unet-g02-s1/; s/{{study}}/demo/; s/{{attempt}}/1/')
exits 3 "a marker that no template uses is refused" generate
like "$ERR" 'study.yaml:[0-9]+: no template uses markers.project' "the error has its line"
cp own/submit_file.sh other.sh
sed -i 's/# mine/# other/' other.sh
sed 's/$/\r/' other.sh >windows.sh
exits 3 "a template with line ends of Windows is refused" generate --templates windows.sh
like "$ERR" "windows.sh:1: its lines end in CR LF.*sed -i 's/.r.//' windows.sh\$" \
    "it says what to type"
printf 'x\0' | cat other.sh - >binary.sh
exits 3 "a template with a zero byte is refused" generate --templates binary.sh
like "$ERR" 'binary.sh: a template is a text, but byte [0-9]+ is 0' "the error has the place"
exits 0 "--templates FILE is accepted" generate --templates other.sh
like $result/submit_file.sh '^# other' "the file is used as submit_file.sh"
mkdir study/here
sed 's/# mine/# here/' own/submit_file.sh >study/here/submit_file.sh
cp study/study.yaml kept.yaml
echo 'templates: ./here' >>study/study.yaml
exits 0 "templates in study.yaml are relative to its folder" generate
like $result/submit_file.sh '^# here' "they are used"
exits 0 "--templates is accepted with them" generate --templates own
like $result/submit_file.sh '^# mine' "it overrides study.yaml"
mkdir -p own/pytorch
shows run_file.sh --engine pytorch | sed 's/^set -eu$/# for pytorch/' >own/pytorch/run_file.sh
touch train.py
printf 'pytorch: {script: %s}\n' "$PWD/train.py" >>study/study.yaml
exits 0 \
    "a folder with a folder for the engine is accepted" generate --engine pytorch --templates own
like study/runs/pytorch-g02-s1/run_file.sh '^# for pytorch' "the engine's folder has precedence"
exits 3 "a folder that does not exist is refused" generate --templates nowhere
like "$ERR" 'nowhere' "the error names it"
mkdir empty
exits 3 "a folder without templates is refused" generate --templates empty
like "$ERR" 'empty has neither run_file.sh nor submit_file.sh' "the error says what it lacks"
cp kept.yaml study/study.yaml
{ echo 'templates: ../own'; cat study/site.yaml; } >study/mine.yaml
exits 0 "templates in a site file are accepted" generate --site ./study/mine.yaml
like $result/submit_file.sh '^# mine' "they are used"
sed -i 's/^markers: .*/markers: {gpus: 7}/' study/study.yaml
exits 3 "a marker with the name of a built-in one is refused" generate --templates own
like "$ERR" "markers.gpus is the name of a marker of unetctl" "the error names it"

# ---- init
mkdir -p data/images data/masks plain
shows submit_file.sh >plain/submit_file.sh
exits 0 "init --engine --templates" unetctl init fresh --data data --engine pytorch \
    --templates plain
is "$(sed -n 's/^  \(script\|args\|python\): *\([^ ]*\).*/\1=\2/p; s/^engine: *\([a-z]*\).*/\1/p' fresh/study.yaml | paste -sd' ')" \
    'pytorch script="" args=[] python=python3' "init writes a command section with empty values"
like fresh/study.yaml "^templates: $PWD/plain " "init writes the absolute folder of the templates"
exits 0 "the new study can be generated" unetctl generate -C fresh --gpus 2
like fresh/runs/pytorch-g02-s1/run_file.sh " python3 $srcdir/templates/pytorch/train.py\$" \
    "without command.script the template's own script is used"
exits 3 "init with an unknown engine is refused" unetctl init none --data data --engine pytroch
ok "it leaves no folder" test ! -e none

# ---- what a template must have
cp kept.yaml study/study.yaml
lacks() { # FILE SED-COMMAND WHAT REGEX: the built-in template changed so is refused
    rm -rf less
    mkdir less
    shows "$1" >less/"$1"
    sed -i "$2" less/"$1"
    sed -i '/^markers:/d' study/study.yaml
    exits 3 "$3" generate --templates less --site generic --gpus 3
    like "$ERR" "$4" "the error has file and line"
}
lacks submit_file.sh '/{{directives}}/d' "no directives" \
    "less/submit_file.sh:[0-9]+: the marker '\{\{directives\}\}' is missing"
lacks submit_file.sh 's/{{launcher}}//' "no launcher" \
    "submit_file.sh:[0-9]+: the marker '\{\{launcher\}\}' is missing"
lacks submit_file.sh 's/{{run_file|sh}}/true/' "no run_file" \
    "the marker '\{\{run_file\}\}' is missing"
lacks submit_file.sh '1d' "no first line" "submit_file.sh:1: a job script must start with #!"
lacks run_file.sh 's/exec .*/true/' "no trainer" \
    "run_file.sh:[0-9]+: the marker '\{\{command\}\}' is missing"
lacks run_file.sh 's/{{spec}}//' "no spec" "the marker '\{\{spec\}\}' is missing"
lacks run_file.sh 's/set -eu/{{set}}/' "an unknown marker" \
    "run_file.sh:14: unknown marker '\{\{set\}\}'"
lacks run_file.sh 's/set -eu/{{gpus/' "half a marker" "run_file.sh:14: '\{\{' has no '\}\}'"
lacks run_file.sh 's/set -eu/{{run|html}}/' "an unknown filter" \
    "run_file.sh:14: unknown filter '\|html'"
sed -e 's/^env: {}/env: {A: b}/' -e 's/^setup: \[\]/setup: [module load x]/' \
    "$srcdir/templates/sites/generic.yaml" >study/set.yaml
rm -rf less && mkdir less && shows run_file.sh | sed '/{{env}}/d' >less/run_file.sh
exits 3 "a template that would lose the environment is refused" \
    generate --templates less --site ./study/set.yaml
like "$ERR" "the marker '\{\{env\}\}' is missing: the site's environment would be lost" \
    "the error names the missing marker"
shows submit_file.sh | sed 's/{{directives}}/#SBATCH --nodes=1\n#SBATCH --ntasks=2/' \
    >less/submit_file.sh
rm less/run_file.sh
exits 3 "directives that are equal for all runs are refused" generate --templates less
like "$ERR" "less/submit_file.sh: the #SBATCH lines ask for the same nodes" "the error says so"
sed -i 's/--nodes=1/--nodes={{nodes}}/; s/--ntasks=2/--ntasks={{tasks}}/' less/submit_file.sh
exits 0 "the template's own directives are accepted" generate --templates less --site generic
like $result/submit_file.sh '^#SBATCH --ntasks=1$' "they have the run's numbers"
is "$(grep -A1 '^#SBATCH --ntasks=1' $result/submit_file.sh | tail -1)" \
    "# Added by unetctl, which finds the job again by its comment." \
    "the comment of unetctl follows the template's own directives"
like $result/submit_file.sh '^#SBATCH --comment=unetctl:[0-9a-f]*:unet-g02-s1:1$' \
    "the job has unetctl's comment"
shows submit_file.sh | sed 's/{{directives}}/#SBATCH --mail-type=END\n&\n#SBATCH --nice=5/' \
    >less/submit_file.sh
exits 0 "the template's own directives beside {{directives}} are accepted" \
    generate --templates less --site generic
is "$(grep -c -e '--nodes=1' -e '--ntasks=1' -e '--gpus-per-task=' -e '--comment=' $result/submit_file.sh)" 4 \
    "the directives of the run are kept beside those of the template"

# ---- the reference's templates: tag_* words
mkdir tags
cat >tags/run_file.sh <<'END'
#!/usr/bin/env bash
export TF_CPP_MIN_LOG_LEVEL=1
export TF_CONFIG=$(python3 tag_program1)
END
printf '%s %s\n' 'python3 -W ignore tag_program2 --global_batch_size=tag_batch --augment=tag_aug' \
    '--epoch=tag_epoch 2>&1' >>tags/run_file.sh
cat >tags/submit_file.sh <<'END'
#!/usr/local_rwth/bin/zsh
#SBATCH --time=2:30:00
#SBATCH --partition=c18g
#SBATCH --nodes=tag_node
#SBATCH --ntasks-per-node=tag_task
#SBATCH --cpus-per-task=12
#SBATCH --gres=gpu:tag_task
#SBATCH --account=lab
# mytag_node /x/setup.sh setup.sh.bak stay
comm_1="${MPIEXEC} ${FLAGS_MPI_BATCH} zsh -c 'source setup.sh && bash script.sh'"
comm_2="source setup.sh && bash script.sh"
command=tag_command
if [ "$command" = 1 ]; then eval "${comm_1}"; else eval "${comm_2}"; fi
cp log.csv ../../logs/log_${SLURM_NTASKS}.csv
END
sed -e '/TF_CONFIG/d' -e 's/tag_program2/tag_program/' tags/run_file.sh >tags/run_file_hvd.sh
# shellcheck disable=SC2016
sed -e '/^comm\|^if/d' -e 's/^cp.*/${MPIEXEC} ${FLAGS_MPI_BATCH} zsh -c "bash script.sh"/' \
    tags/submit_file.sh >tags/submit_file_hvd.sh
printf '%s:\n  script: %s\n' tensorflow "$PWD/train.py" horovod "$PWD/train.py" >>study/study.yaml
tags() { # OPTION...
    unetctl generate -C study --site generic --templates tags --set train.batch_per_gpu=16 "$@"
}
exits 0 "templates with tags are accepted for the reference's counts" tags --engine tensorflow \
    --gpus 1,2..14:2 --set train.epochs=200
line() { # COUNT SED-COMMAND FILE
    sed -n "$2" "$(printf 'study/runs/tensorflow-g%02d-s1/%s' "$1" "$3")"
}
is "$(for n in 1 2 4 6 8 10 12 14; do
    echo "$n $(line $n 's/.*--nodes=//p' submit_file.sh) $(line $n 's/.*--ntasks-per-node=//p' submit_file.sh)" \
        "$(line $n 's/.*--gres=gpu://p' submit_file.sh) $(line $n 's/^command=//p' submit_file.sh)" \
        "$(line $n 's/.*_batch_size=\([0-9]*\).*/\1/p' run_file.sh)"
done)" "1 1 1 1 2 16
2 1 2 2 2 32
4 2 2 2 1 64
6 3 2 2 1 96
8 4 2 2 1 128
10 5 2 2 1 160
12 6 2 2 1 192
14 7 2 2 1 224" "nodes, tasks, GPUs, command and batch of each"
run=study/runs/tensorflow-g04-s1
like $run/run_file.sh \
    "^python3 -W ignore $PWD/train.py --global_batch_size=64 --augment=0 --epoch=200 2>&1\$" \
    "tag_program is replaced by the script and its options"
like $run/run_file.sh "TF_CONFIG=.*python3 $srcdir/templates/tags/tensorflow_create_tfconfig.py" \
    "the tag of TF_CONFIG is replaced by the script that prints it"
like $run/submit_file.sh \
    "zsh -c 'source $srcdir/templates/tags/setup_dist_env.sh && bash script.sh'" \
    "the word setup.sh is replaced by the script with the environment"
like $run/submit_file.sh '^# mytag_node /x/setup.sh setup.sh.bak stay$' \
    "only whole words are replaced"
is "$(readlink $run/script.sh) $(readlink $run/sub_2.sh)" "run_file.sh submit_file.sh" \
    "the folder has script.sh and sub_N.sh as links"
like <(tail -n 1 $run/submit_file.sh) "^exec $builddir/unetctl finish --from " \
    "the script ends with unetctl finish, which checks the result"
ok "log.csv can be copied to ../../logs and ../logs" test -d study/logs -a -d study/runs/logs
if command -v zsh >/dev/null; then ok "valid in zsh" zsh -n $run/submit_file.sh; else skip \
    "zsh is not installed" "valid in zsh"; fi
exits 0 "the names of Horovod's templates are accepted" tags --engine horovod --gpus 4
like study/runs/horovod-g04-s1/run_file.sh "ignore $PWD/train.py --global" "tag_program is replaced"
like study/runs/horovod-g04-s1/submit_file.sh 'zsh -c "bash script.sh"' \
    "the submit_file of the other engine is used"
exits 3 \
    "an odd number of GPUs, which tags cannot express, is refused" tags --engine tensorflow --gpus 3
like "$ERR" 'submit_file.sh: 3 GPUs on 2 nodes: tag_node and tag_task ask for the same' \
    "the error names the tags that disagree"
exits 3 "templates with tags are refused with --one-allocation" \
    unetctl submit -C study --site generic --templates tags \
    --engine tensorflow \
    --gpus 2 --set train.batch_per_gpu=16 --one-allocation --dry-run
like "$ERR" 'tags: templates with the .* tags start their own ranks, .* use \{\{launcher\}\}' \
    "the error says which templates to use"
echo 'markers: {tag_aug: 1}' >>study/study.yaml
exits 0 "tag_aug is taken from study.yaml" tags --engine tensorflow --gpus 2
like study/runs/tensorflow-g02-s1/run_file.sh 'augment=1 ' "it has that value"
echo '# tag_nodes' >>tags/submit_file.sh
exits 3 "an unknown tag is refused" tags --engine tensorflow --gpus 2
like "$ERR" "submit_file.sh:15: unknown tag 'tag_nodes'; did you mean 'tag_node'" \
    "the error has the line and the nearest tag"
sed -i '$d' tags/submit_file.sh
cp train.py "my train.py"
sed -i "s|script: $PWD/train.py|script: \"$PWD/my train.py\"|" study/study.yaml
exits 3 "a path that a tag cannot quote is refused" tags --engine tensorflow --gpus 2
like "$ERR" "run_file.sh:4: 'tag_program2' would become '$PWD/my train.py', which needs quotes" \
    "the error names the tag and the path that needs quotes"
done_testing
