# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by tests that need a study.
#
#   make_study DIR SITE [UNETCTL INIT OPTIONS]   a study whose trainer is t/trainer.sh; SITE is the
#                                                profile that its site file starts from; no data is
#                                                read
#   make_step_study DIR SITE [...]               likewise, with ranks that srun starts also where
#                                                Slurm has no PMIx: the stand-in for the trainer
#                                                needs none
#   states STUDY                                 "RUN STATE" of each run, by run
#   all_states STUDY STATE                       true when every run has it
#   signal_run SIGNAL RUN                        sends it to the trainers of a run without Slurm,
#                                                given by its folder
#   field FILE EXPRESSION                        a value of a JSON file, as Python writes it

make_study() {
    local dir=$1 site=$2
    shift 2
    mkdir -p "$TMP/data/images" "$TMP/data/masks" "$dir"
    {
        cat "${srcdir:?}/templates/sites/$site.yaml"
        echo "trainer: $srcdir/t/trainer.sh"
    } >"$dir/site.yaml"
    unetctl init "$dir" --full --data "$TMP/data" --name demo --site "$dir/site.yaml" \
        --set data.height=96 \
        --set data.width=128 "$@" 2>"$ERR" || { diag <"$ERR"; echo "Bail out! no study"; exit 255; }
    echo '{"schema":1}' >"$dir/split.json"
    # The stand-in for the trainer records little.
    dir=$(basename -- "$dir")
    dir="*${dir//[^a-zA-Z0-9._-]/*}"
    broken "$dir/runs/*/record.jsonl" "$dir/runs/*/DONE"
}
make_step_study() {
    make_study "$@"
    login srun --mpi=list 2>&1 | grep -q '\<pmix$' ||
        sed -i 's/^launcher: srun --mpi=pmix/launcher: srun/' "$1/site.yaml"
}
states() { unetctl status -C "$1" 2>/dev/null | awk '$2 ~ /^[A-Z]/ && NR > 1 { print $1, $2 }'; }
all_states() {
    states "$1" | awk -v want="$2" '$2 != want { bad = 1 } END { exit bad || NR == 0 }'
}
signal_run() {
    local p
    for p in $(pgrep -x unet-train); do
        if [ "/proc/$p/cwd" -ef "$2" ]; then kill -s "$1" "$p"; fi
    done
}
field() {
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"
}
