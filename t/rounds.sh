# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh and study.sh by tests of submit --until-decided.
#
#   make_rounds DIR SITE [LINES OF study.yaml]   a study of a program that computes its own speed
#                                                and quality from the GPUs and the seed
#   rounds DIR                                   its rounds, without times and GPU-hours
#   submissions DIR                              RUN and how often it was submitted, unless once
#
# The file behave of the study says what its runs do: serial (no speed-up), nan (seed 2 of more than
# one GPU), fail (runs on 4 GPUs), hang.

cat >"${TMP:?}/program" <<'END'
#!/bin/sh
# program GPUS SEED STEPS DIR
[ "${SLURM_PROCID:-0}" = 0 ] || exit 0
behave=
[ ! -e "$UNETCTL_STUDY_DIR/behave" ] || read -r behave <"$UNETCTL_STUDY_DIR/behave"
case $behave in
hang) sleep 60 ;;
fail) [ "$1" != 4 ] || exit 3 ;;
esac
awk -v n="$1" -v seed="$2" -v limit="$3" -v behave="$behave" 'BEGIN {
    srand(1000 * seed + n)
    print "step,step_time,samples,score"
    last = limit > 0 && limit < 400 ? limit : 400
    time = behave == "serial" ? 1 : 0.02 + 0.98 / n
    for (s = 10; s <= last; s += 10) {
        score = s == 400 ? 0.8 + 0.002 * rand() : ""
        if (behave == "nan" && seed == 2 && n > 1 && s == 400) score = "nan"
        printf "%d,%.6f,160,%s\n", s, time * (0.99 + 0.02 * rand()), score
    }
}' >"$4/log.csv"
END
chmod +x "$TMP/program"
make_rounds() {
    unetctl init "$1" --site "$2" --name sim -- "$TMP/program" '{{gpus}}' '{{seed}}' '{{steps}}' \
        '{{attempt_dir}}' 2>"$ERR" || { diag <"$ERR"; echo "Bail out! no study"; exit 255; }
    printf '%s\n' "${@:3}" >>"$1/study.yaml"
}
rounds() { grep -v -e '"time":' -e '"gpu_hours":' "$1/.unetctl/rounds.json"; }
submissions() {
    sed -n 's/.*"event":"submitted","run":"\([^"]*\)".*/\1/p' "$1/.unetctl/ledger.jsonl" | sort |
        uniq -c | awk '$1 != 1 { print $2, $1 }'
}
