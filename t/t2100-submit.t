#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Submission to a real Slurm: every count 1..14 is submitted exactly once, whatever happens to
# unetctl.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2

jobs_of() { # STUDY: the tags of its jobs, finished ones too
    login squeue -h -a -t all -o %k | grep "^unetctl:$(cat "$1/.unetctl/id"):" | sort
}

# ---- all counts, as ranks see them
make_study all sandbox
exits 0 "submit --gpus 1..14 --wait" unetctl submit -C all --gpus 1..14 --wait --timeout 300
is "$(jobs_of all | uniq | wc -l)" 14 "there are 14 jobs"
ok "the runs are done" test -e all/runs/unet-g14-s1/attempt-1/DONE
is "$(grep -h -c 'trainer: good' all/runs/*/attempt-1/slurm-*.out | paste -sd' ')" \
    "1 1 3 4 5 6 7 8 9 10 11 12 13 14" "each run has as many ranks as planned"
like <(cat all/runs/unet-g03-s1/attempt-1/slurm-*.out) \
    '"node[0-9]:[0-9]+","node[0-9]:[0-9]+","node[0-9]:[0-9]+"' "every rank has all addresses"

# ---- by hand
make_study "by 'hand' %j é" sandbox
(cd "by 'hand' %j é" && unetctl generate --gpus 1,5 2>/dev/null)
ok "a script is submitted by sbatch" login sbatch "by 'hand' %j é/runs/unet-g05-s1/submit_file.sh"
exits 0 "submit after it adopts the job" unetctl submit -C "by 'hand' %j é" --gpus 1,5 \
    --wait --timeout 300
is "$(jobs_of "by 'hand' %j é" | wc -l)" 2 "each run has one job"
show() { # STUDY RUN: what Slurm knows of its job, without what differs from job to job
    local id
    id=$(cat "$1/runs/$2/attempt-1/job")
    login scontrol -o show job "$id" | tr ' ' '\n' |
        grep -E '^(NumNodes|NumCPUs|NumTasks|CPUs/Task|TresPerTask|TimeLimit|Partition|Requeue|Nice)='
}
is "$(show "by 'hand' %j é" unet-g05-s1)" "$(show all unet-g05-s1)" \
    "a job that was submitted by hand equals one that unetctl submits"

# A comment of the user's own stands behind unetctl's.
make_study commented-too sandbox
exits 0 "a comment is given" unetctl submit -C commented-too --gpus 1,2 -- --hold --comment='project 7'
is "$(login squeue -h -o %k | sed 's/^unetctl:[^ ]* //' | sort -u)" "project 7" "it is the job's, too"
is "$(states commented-too | sort -u | head -1)" "unet-g01-s1 PENDING" "the jobs are found by the tag"
exits 0 "cancel ends them" unetctl cancel --yes -C commented-too
exits 2 "a comment with | is refused" unetctl submit -C commented-too --gpus 1 -- --comment='a|b'
# A template with its own directives, whose jobs have nothing that unetctl would know them by.
make_study owned sandbox
mkdir T
# shellcheck disable=SC2016
unetctl template show submit_file.sh 2>"$ERR" |
    sed 's/{{directives}}/#SBATCH --nodes={{nodes}} --ntasks={{tasks}} --gpus-per-task=1\
#SBATCH --comment=ours --hold/' >T/submit_file.sh
echo 'templates: ../T' >>owned/study.yaml
exits 0 "a template with its own directives is generated" unetctl generate -C owned --gpus 1..3
id=$(login sbatch --parsable owned/runs/unet-g02-s1/submit_file.sh)
is "$(states owned | sed -n 2p)" "unet-g02-s1 PENDING" \
    "status knows a job that was submitted by hand while it waits"
exits 0 "the study is submitted" unetctl submit -C owned --gpus 1..3
like "$ERR" "unet-g02-s1 is job $id already" "the job submitted by hand is adopted"
is "$(jobs_of owned | wc -l) $(jobs_of owned | uniq | wc -l)" "3 3" "each run has one job"
is "$(login squeue -h -j "$id" -o %j)" demo-unet-g02-s1 "the job has unetctl's name"
login scancel -u "$(id -un)" >/dev/null
# A job with another comment is only recognised when it begins.
make_study commented sandbox
echo hang >commented/behave
exits 0 "a study is generated" unetctl generate -C commented --gpus 2
id=$(login sbatch --parsable --comment=mine commented/runs/unet-g02-s1/submit_file.sh)
ok "a job with another comment begins" wait_until 60 eval \
    'grep -q hang commented/runs/unet-g02-s1/attempt-1/*.out'
is "$(states commented)" "unet-g02-s1 RUNNING" "status knows it"
exits 0 "submit skips it" unetctl submit -C commented --gpus 2
like "$ERR" "unet-g02-s1 is job $id already" "submit knows its id"
exits 0 "resume skips it" unetctl resume -C commented
is "$(login squeue -h -o %i)" "$id" "it is the only job"
exits 0 "cancel ends it" unetctl cancel --yes -C commented
ok "it has ended" wait_until 60 job_ended "$id"
sed -i 's/^#SBATCH --comment.*/{{directives}}\n#SBATCH --nice=5/; s/^#SBATCH --nodes.*/#SBATCH --mail-type=NONE/' T/submit_file.sh
make_study beside sandbox
echo 'templates: ../T' >>beside/study.yaml
exits 0 "directives beside {{directives}} are submitted" unetctl submit -C beside --gpus 5 -- --hold
id=$(unetctl status -C beside --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["job"])')
like <(login scontrol -o show job "$id") ' NumNodes=3-3 .* NumTasks=5 ' \
    "options of the command line are added to those of the run"
login scancel -u "$(id -un)" >/dev/null

# ---- kill -9 at any moment
seed=${SEED:-20261120}
RANDOM=$seed
echo "# seed $seed"
make_study killed sandbox
kills=0
for _ in $(seq 40); do
    unetctl submit -C killed --gpus 1..14 -- --hold 2>/dev/null &
    pid=$!
    sleep "0.$(printf %03d $((RANDOM % 200)))"
    kill -s KILL $pid 2>/dev/null && kills=$((kills + 1))
    wait $pid 2>/dev/null
done
echo "# $kills of 40 were killed; $(jobs_of killed | wc -l) jobs then"
exits 0 "a last submit completes the study" unetctl submit -C killed --gpus 1..14 -- --hold
is "$(jobs_of killed | wc -l)" 14 "there are 14 jobs"
is "$(jobs_of killed | uniq | wc -l)" 14 "each run has one"
is "$(unetctl status -C killed --json >"$OUT" && field "$OUT" 'sorted(set(r["state"] for r in d["runs"]))')" \
    "['PENDING']" "status says that the runs wait"

# Only the ledger is lost: existing jobs are found by their tags.
: >killed/.unetctl/ledger.jsonl
exits 0 "submit with an emptied ledger succeeds" unetctl submit -C killed --gpus 1..14 -- --hold
is "$(jobs_of killed | wc -l)" 14 "there are still 14 jobs"

# ---- files of jobs that wait were removed
before=$(cat killed/runs/unet-g0[1-5]-s1/{run.json,*_file.sh})
: >killed/runs/unet-g01-s1/run.json
rm -r killed/runs/unet-g02-s1
rm killed/runs/unet-g03-s1/run_file.sh killed/runs/unet-g04-s1/submit_file.sh
rmdir killed/runs/unet-g05-s1/attempt-1
exits 7 "status with missing files of waiting jobs fails" unetctl status -C killed
like "$OUT" 'unet-g02-s1 +PENDING .*damaged: cannot read .*unet-g02-s1/run.json' \
    "status names the run whose folder is missing"
exits 0 "submit with missing files of waiting jobs succeeds" \
    unetctl submit -C killed --gpus 1..14 -- --hold
for g in 1 2 3 4 5; do like "$ERR" "unet-g0$g-s1: writing its files again: " "says so"; done
is "$(cat killed/runs/unet-g0[1-5]-s1/{run.json,*_file.sh})" "$before" "the files are as before"
ok "the folder of the job's output is there" test -d killed/runs/unet-g02-s1/attempt-1 \
    -a -d killed/runs/unet-g05-s1/attempt-1
is "$(jobs_of killed | wc -l)" 14 "there are still 14 jobs"
exits 0 "status reports no damage" unetctl status -C killed --verbose
like "$ERR" '^unetctl: debug: starting [^ ]*(unetctl-slurm|squeue) ' \
    "and --verbose its questions to Slurm"
sed -i '1s/.*/# mine/' killed/runs/unet-g06-s1/run_file.sh
exits 0 "submit of a complete study succeeds" unetctl submit -C killed --gpus 1..14 -- --hold
unlike "$ERR" 'writing its files again' "no files are written again"
is "$(head -1 killed/runs/unet-g06-s1/run_file.sh)" "# mine" "a file that a user changed is kept"

# ---- two at once
make_study twice sandbox
unetctl submit -C twice --gpus 1..14 -- --hold 2>first.err &
pid=$!
exits 0 "the second of two submits" unetctl submit -C twice --gpus 1..14 -- --hold
wait $pid
is $? 0 "the first of two submits"
is "$(jobs_of twice | wc -l)" 14 "both together submit 14 jobs"

# ---- ends that only Slurm knows
exits 0 "all runs are cancelled" unetctl cancel --yes -C killed
ok "all are CANCELLED" wait_until 60 all_states killed CANCELLED
login scancel -u "$(id -un)" >/dev/null
ok "runs are CANCELLED after scancel by hand" wait_until 60 all_states twice CANCELLED
make_study stopped sandbox
echo hang >stopped/behave
exits 0 "a run that hangs is submitted" unetctl submit -C stopped --gpus 3
ok "it is running" wait_until 60 eval 'grep -q hang stopped/runs/unet-g03-s1/attempt-1/*.out'
login scancel "$(cat stopped/runs/unet-g03-s1/attempt-1/job)"
exits 1 "watch reports its end as a failure" unetctl watch -C stopped --timeout 120
is "$(states stopped)" "unet-g03-s1 CANCELLED" "status shows it as CANCELLED"
exits 0 "it is resumed" unetctl resume -C stopped -- --hold
ok "the run continues as attempt 2" test -d stopped/runs/unet-g03-s1/attempt-2

# ---- a user's options for Slurm's commands: squeue would hide the jobs, scancel spare them
make_study hidden sandbox
options=(env UNETCTL_SLURM_INTERFACE=commands SQUEUE_PARTITION=short SQUEUE_STATES=RUNNING
    SQUEUE_FORMAT=%i SINFO_PARTITION=short SINFO_FORMAT=%n SCANCEL_PARTITION=short
    SCANCEL_STATE=RUNNING)
exits 0 "a run is submitted" "${options[@]}" unetctl submit -C hidden --gpus 1 -- --hold
exits 0 "submit again" "${options[@]}" unetctl submit -C hidden --gpus 1 -- --hold
like "$ERR" '^unetctl: 0 runs submitted; before: 1 active' "its job is seen"
is "$(jobs_of hidden | wc -l)" 1 "there is one job"
exits 0 "it is cancelled" "${options[@]}" unetctl cancel --yes -C hidden
is "$(login squeue -h -o %k | grep -c "$(cat hidden/.unetctl/id)")" 0 "no job is left"

# ---- many runs: 64 jobs are cancelled by one request, and noted together
make_study many sandbox
exits 0 "130 runs are submitted" unetctl submit -C many --gpus 1 --set seeds=130 -- --hold
mkdir logging
printf '#!/bin/sh\necho x >>"%s"\nexec "%s" "$@"\n' "$TMP/scancels" "$(command -v scancel)" \
    >logging/scancel
chmod +x logging/scancel
exits 0 "they are cancelled" env UNETCTL_SLURM_INTERFACE=commands PATH="$TMP/logging:$PATH" \
    unetctl cancel --yes -C many
is "$(wc -l <scancels)" 3 "by three calls of scancel"
is "$(login squeue -h -o %k | grep -c "$(cat many/.unetctl/id)")" 0 "no job is left"
is "$(grep -c '"event":"cancelled"' many/.unetctl/ledger.jsonl)" 130 "each is noted"

# ---- what is refused before anything is submitted
make_study large sandbox
exits 4 "more GPUs than the partition has are refused" unetctl submit -C large --gpus 1..15
like "$ERR" 'nothing was submitted: unet-g15-s1 .*8 nodes .* has 7, which is enough for 14 GPUs' \
    "the error names the largest number that fits"
is "$(jobs_of large 2>/dev/null | wc -l)" 0 "nothing was submitted"
exits 4 "an unknown partition is refused" unetctl submit -C large --gpus 1 -- --partition=nowhere
exits 4 "an unknown option of sbatch is refused" unetctl submit -C large --gpus 1 -- --frobnicate
exits 0 "submit --scheduler dry succeeds" unetctl submit -C large --gpus 1..3 --scheduler dry
ok "it does not write to the ledger" test ! -e large/.unetctl/ledger.jsonl

# ---- no Slurm
ok "the sandbox is stopped" unetctl sandbox down
exits 4 "submit without Slurm fails" unetctl submit -C large --gpus 1
ok "the ledger is unchanged" test ! -e large/.unetctl/ledger.jsonl
exits 4 "status of runs that need Slurm fails" unetctl status -C stopped
like "$OUT" 'UNKNOWN' "it shows them as UNKNOWN"
exits 0 "status of finished runs succeeds" unetctl status -C all
done_testing
