#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# container and container_runtime: what becomes of them in the scripts, and what is refused. Real
# containers: t/peers/p6020-containers.t.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

mkdir -p bin image mine fast && echo 1 >fast/in.nc
cp "$srcdir/t/engine.sh" mine/train.sh
echo image >tool.sif
make_study one generic --set slurm.time=1:00:00
printf 'command:\n  script: %s\n  args: [-x, %s/in.nc]\n' "$TMP/mine/train.sh" "$TMP/fast" \
    >>one/study.yaml
render() { unetctl generate -C one --engine command --gpus 1 --set "container=$1" "${@:2}"; }
script=one/runs/command-g01-s1/run_file.sh submit=one/runs/command-g01-s1/submit_file.sh
words="container.sh auto $TMP/tool.sif $TMP/one $TMP/data $builddir $TMP/mine"

# ---- the program of each rank alone
exits 0 "an image that is a file" render ./tool.sif
like "$script" "^.start bash .*/templates/$words ($srcdir )?$TMP/fast -- $TMP/mine/train.sh -x " \
    "starts around the program, with the folders of study, data, script and arguments"
like one/runs/command-g01-s1/source.list "^container $TMP/tool.sif$" "and counts as its source"
like "$submit" '^ *bash .*/run_file.sh &' "a single rank needs no launcher"
exits 0 "the embedded engine" unetctl generate -C one --gpus 3 --set container=tool.sif
like one/runs/unet-g03-s1/run_file.sh "^exec bash .*/container.sh auto $TMP/tool.sif .* -- .*t/trainer.sh train --run" \
    "has it around the trainer"
like one/runs/unet-g03-s1/submit_file.sh '^\[ ! -e source.list \] \|\| bash .*source.sh' "it is hashed"
like one/runs/unet-g03-s1/submit_file.sh '^ *srun --mpi=pmix .*--ntasks=3 [^/]*bash ' \
    "and the launcher starts the ranks outside"
ln -s "$TMP/fast" link
sed -i "s#$TMP/fast/#$TMP/link/#" one/study.yaml
exits 0 "an argument below a symbolic link" render ./tool.sif
like "$script" " $TMP/link $TMP/fast -- " "the link and its target are there"

# ---- Pyxis, in which all of the step is
exits 0 "an image of Enroot" render 'nvcr.io#nvidia/pytorch:25.01-py3'
like "$submit" "^ *srun --mpi=pmix .*--ntasks=1 .* --container-image='?nvcr.io#nvidia/pytorch:25.01-py3'? --container-mounts='?$TMP/one:$TMP/one,$TMP/data:$TMP/data,$builddir:$builddir,.*[^,] --container-workdir=$TMP/one/runs/command-g01-s1 bash " \
    "is an option of srun, also for a single rank"
unlike "$script" 'container.sh' "and the program starts as it is"
exits 0 "a name, by Pyxis" render nvcr.io/nvidia/pytorch:25.01-py3 --set container_runtime=pyxis
like "$submit" ' --container-image=.?nvcr.io/nvidia/pytorch:25.01-py3' "is left as it is"
exits 3 "Pyxis without Slurm" render x.sqsh --site local
like "$ERR" 'container .*x.sqsh: No such file' "an image that does not exist comes first"
exits 3 "Pyxis without srun" render 'a#b' --site local
like "$ERR" "srun starts containers of Pyxis, and the launcher of site local is" "one line says so"

# ---- site and study
printf 'container: ./tool.sif\ncontainer_runtime: singularity\n' >>one/site.yaml
cp tool.sif one
exits 0 "a site's image" unetctl generate -C one --engine command --gpus 1
like "$script" "container.sh singularity $TMP/one/tool.sif " "is started, from the folder of its file"
exits 0 "the study's has precedence" render ./image
like "$script" "container.sh singularity $TMP/image " "over the site's"
exits 0 "an empty one" render ''
like "$script" "^.start $TMP/mine/train.sh" "switches it off"
exits 0 "config" unetctl config -C one --origin
like "$OUT" "^container: $TMP/one/tool.sif +# site .*site.yaml:" "config says where it comes from"

exits 0 "images as variants" unetctl generate -C one --gpus 1 --vary container=./image,./tool.sif
like one/runs/unet-container.-tool.sif-g01-s1/source.list "^container $TMP/tool.sif$" "each is of its own runs"

# ---- what is refused before anything is submitted
refused() { # TEXT PATTERN OPTIONS...
    exits 3 "$1" unetctl submit -C one --dry-run --engine command --gpus 1 "${@:3}"
    like "$ERR" "$2" "$1: one line says so"
}
refused "an image that does not exist" 'container /nowhere.sif: No such file' \
    --set container=/nowhere.sif
exits 3 "it is refused by plan" unetctl plan -C one --gpus 1 --set container=/nowhere.sif
mkdir "a:b" own
refused "a folder with a colon" 'a:b has a colon or comma' --set "data.dir=$TMP/a:b"
sed 's/{{command}}/{{script}}/' "$srcdir/templates/command/run_file.sh" >own/run_file.sh
refused "a template without the container" "'\{\{command\}\}' is missing: the container would be left" \
    --templates own
sed -i "s/^launcher: srun/& --container-image=x/" one/site.yaml
refused "a launcher that names a container" "site.yaml: launcher: '--container-image': name the image by" \
    --set container=
exits 2 "an option of sbatch that does" unetctl submit -C one --gpus 1 -- --container-image=x
like "$ERR" 'set container: IMAGE in the study or its site' "says what to do instead"
exits 2 "a runtime that is not known" render ./tool.sif --set container_runtime=docker
like "$ERR" 'unknown word .docker. \(known: auto, pyxis, apptainer' "the known ones are listed"

# ---- templates/container.sh
start() { bash "$srcdir/templates/container.sh" "$@"; }
PATH=$TMP/bin:/usr/bin:/bin exits 3 "an image that is gone" start auto /nowhere.sif -- true
like "$ERR" '^unetctl: error: container /nowhere.sif: there is no such image' "is an error"
for program in bash hostname; do ln -s "$(command -v $program)" "bin/$program"; done
PATH=$TMP/bin exits 5 "no runtime" start auto "$TMP/image" -- true
like "$ERR" 'charliecloud or apptainer or singularity is not installed; load it in setup of the site' \
    "those for a folder are named"
# Apptainer's words; it is no part of Debian's releases.
# shellcheck disable=SC2016 # the program's
printf '#!/bin/sh\nprintf "%%s " "$@"\n' >bin/apptainer
chmod +x bin/apptainer
TMPDIR=/var/tmp PATH=$TMP/bin:/usr/bin:/bin exits 0 "Apptainer" start auto docker://a/b /srv/x "/srv/y z" -- p 'q r'
is "$(cat "$OUT")" \
    "exec --nv --bind /srv/x --bind /srv/y z --bind /var/tmp --pwd $TMP docker://a/b p q r " "its words"

# ---- doctor
rm -f one/site.yaml && make_study two local
exits 5 "doctor on an image that does not exist" unetctl doctor -C two --set container=/nowhere.sif
like "$OUT" '^error +container .*container /nowhere.sif: No such file' "one line says so"
PATH=$builddir:$TMP/bin:/usr/sbin:/usr/bin:/bin exits 5 "doctor without the runtime" unetctl doctor -C two \
    --set container=tool.sif --set container_runtime=singularity
like "$OUT" "^error +container .*tool.sif: .*(singularity is not installed|FATAL)" "names the runtime"
done_testing
