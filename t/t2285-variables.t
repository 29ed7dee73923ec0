#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Variables that sbatch(1) reads, by their rules in doc/SLURM.md: what is taken or passed makes the
# job that sbatch itself makes of it.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

rules() { # REGEX: the variables whose rule in the document matches
    sed -n "/^## Slurm's variables/,/^## MPI/p" "$srcdir/doc/SLURM.md" |
        awk -F'|' -v rule="$1" '$3 ~ "^ (" rule ")" { print $2 }' |
        grep -o 'S[A-Z]*_[A-Z0-9_]*[A-Z0-9]' | sort
}
is "$(diff <(rules 'taken|refused|not used') \
    <(sed -n 's/^    {"\(S[A-Z]*_[A-Z0-9_]*\)".*/\1/p' \
        "$srcdir/launcher/scheduler/job.c" | sort))" \
    "" "the document has the rules of the program"

sandbox_up --nodes 3
login scontrol update nodename=node[1-3] availablefeatures=fast activefeatures=fast
login scontrol create reservation=course users="$(id -un)" nodes=node1 starttime=now \
    duration=60 >/dev/null

# A site on the login node of the sandbox, which says nothing that a variable may say.
variable_study() { # DIR
    make_study "$1" generic
    sed -i '/^\(cpus_per_gpu\|time\|partition\|account\):/d' "$1/site.yaml"
    sed -i 's/^  time: .*/  time: ""/' "$1/study.yaml"
}
launch() { login env "$@"; } # VARIABLES... COMMAND...
# What a job is, one member a line, without what differs from job to job.
show_job() { # ID
    local own='JobId|Priority|Command|WorkDir|Comment|StdOut|StdErr|JobName|LastSchedEval|Requeue|Node'
    login scontrol show job "$1" | sed '/^ *SubmitLine=/d' | tr ' ' '\n' |
        grep -Ev "^($own|[A-Za-z]*Time)=|^$" | sort
}
# Sets expected to what the variables change in a job that sbatch makes, or to "refused".
sbatch_changes() { # VARIABLES...
    local id
    expected=refused
    if id=$(login env "$@" sbatch --parsable "${base[@]}" 2>/dev/null); then
        expected=$(diff <(printf '%s\n' "$plain") <(show_job "$id") | grep '^>')
    fi
}
base=(--hold -n1 -N1 -c1 --gpus-per-task=1 -o /dev/null --wrap true)
plain=$(show_job "$(login sbatch --parsable "${base[@]}")")
seed=0
# Sets changed likewise for a job of unetctl's: each is of another seed of the study.
unetctl_changes() { # VARIABLES...
    seed=$((seed + 1))
    changed=
    if launch "$@" unetctl submit -C "study" --gpus 1 -s seeds=$seed --parsable \
        -- --hold >"$OUT" 2>"$ERR"; then
        show_job "$(tail -n 1 "$OUT")" >job
        [ -s plain ] || cp job plain
        changed=$(diff plain job | grep '^>')
    else
        changed=refused
        seed=$((seed - 1))
    fi
}

declare -A values=([SBATCH_ACCOUNT]=lab [SBATCH_ACCTG_FREQ]=task=7 [SBATCH_BATCH]=fast
    [SBATCH_CONSTRAINT]=fast [SBATCH_CONTAINER]=/x [SBATCH_CONTAINER_ID]=x
    [SBATCH_CONTAINER_TYPE]=x [SBATCH_CORE_SPEC]=1 [SBATCH_DELAY_BOOT]=5
    [SBATCH_EXCLUSIVE]=user [SBATCH_EXPORT]=NONE [SBATCH_GET_USER_ENV]=''
    [SBATCH_GPU_BIND]=closest [SBATCH_GPU_FREQ]=low [SBATCH_GRES]=none
    [SBATCH_GRES_FLAGS]=enforce-binding [SBATCH_HINT]=nomultithread [SBATCH_INPUT]=/dev/zero
    [SBATCH_MEM_BIND]=local [SBATCH_MEM_PER_CPU]=77 [SBATCH_MEM_PER_GPU]=88
    [SBATCH_MEM_PER_NODE]=99 [SBATCH_NETWORK]=x [SBATCH_NO_KILL]=''
    [SBATCH_OVERCOMMIT]=1 [SBATCH_PARTITION]=short [SBATCH_PROFILE]=task [SBATCH_QOS]=normal
    [SBATCH_REQ_SWITCH]=2 [SBATCH_RESERVATION]=course [SBATCH_SEGMENT_SIZE]=1
    [SBATCH_THREADS_PER_CORE]=1 [SBATCH_THREAD_SPEC]=1 [SBATCH_TIMELIMIT]=7
    [SBATCH_TRES_BIND]=gres/gpu:closest [SBATCH_USE_MIN_NODES]=yes [SBATCH_WAIT_ALL_NODES]=1
    [SBATCH_WCKEY]=key [SLURM_HINT]=multithread)
variable_study study
unetctl_changes
is "$seed $changed" "1 " "a job without variables"
for name in $(printf '%s\n' "${!values[@]}" | sort); do
    case $name in
    SBATCH_REQ_SWITCH) set -- "$name=${values[$name]}" SBATCH_WAIT4SWITCH=9 ;;
    *) set -- "$name=${values[$name]}" ;;
    esac
    sbatch_changes "$@"
    unetctl_changes "$@"
    is "$changed" "$expected" "$*"
done
is "$(comm -23 <(rules taken) <(printf '%s\n' "${!values[@]}" SBATCH_CPUS_PER_GPU | sort))" "" \
    "these are all that are taken"
unetctl_changes SBATCH_CPUS_PER_GPU=2
like job '^NumCPUs=2$' "SBATCH_CPUS_PER_GPU=2"

set --
for name in $(rules 'not used'); do set -- "$@" "$name=3"; done
unetctl_changes "$@" SBATCH_FUTURE=1 SLURM_NODEID=3 SLURM_UMASK=0777
is "$changed" "" "what is not used changes nothing"
for name in $(rules 'not used'); do
    like "$ERR" "^unetctl: not used: .*\\\$$name \(" "$name is named with the reason"
done
exits 2 "GPUs in SBATCH_GRES are refused" \
    launch SBATCH_GRES=gpu:2 unetctl plan -C study --gpus 1
like "$ERR" 'SBATCH_GRES is .*--gpus sets the GPUs' "the refusal names the variable"

njobs=$(login squeue -h | wc -l)
for wish in SLURM_CLUSTERS=gpucluster SBATCH_CLUSTERS=gpucluster "-M gpucluster" \
    --clusters=gpucluster,sandbox; do
    variable='' word=()
    if [ "${wish#-}" = "$wish" ]; then variable=$wish; else read -ra word <<<"$wish"; fi
    exits 4 "submit with $wish is refused" launch ${variable:+"$variable"} \
        unetctl submit -C study --gpus 2 -- ${word[@]+"${word[@]}"}
    like "$ERR" "cluster 'gpucluster.*, but this is 'sandbox'" "both clusters are named"
done
is "$(login squeue -h | wc -l)" "$njobs" "no job was submitted"
exits 0 "the cluster at hand may be named" launch SLURM_CLUSTERS=sandbox \
    unetctl submit -C study --gpus 2 -- --hold
exits 0 "and the one of an option overrides that of a variable" launch SLURM_CLUSTERS=other \
    unetctl submit -C study --gpus 3 -- --hold -M sandbox
login scancel -u "$(id -un)"

# ranks get the environment of the script, whatever that of the job is
make_step_study run generic
sed -i 's/^cpus_per_gpu: .*/cpus_per_gpu: 1/' run/site.yaml
exits 0 "several ranks with --export=NONE" \
    launch unetctl submit -C run --gpus 3 --wait --timeout 100 -- --export=NONE
exits 0 "and with --export=NIL, which leaves nothing but Slurm's variables" \
    launch unetctl submit -C run --gpus 3 -s seeds=2 --wait -- --export=NIL
exits 0 "and with SBATCH_EXPORT=NONE" launch SBATCH_EXPORT=NONE \
    unetctl submit -C run --gpus 4 --wait --timeout 100

# ---- layers
variable_study layers
origin() { launch "$@" unetctl config -C layers --origin slurm | sed 's/  */ /g'; }
origin SBATCH_ACCOUNT=lab SBATCH_PARTITION=short SBATCH_RESERVATION=course >"$OUT"
# shellcheck disable=SC2016 # the name with its $
like "$OUT" '^slurm.account: lab # sbatch \$SBATCH_ACCOUNT' "config shows a setting's variable"
# shellcheck disable=SC2016 # the name with its $
like "$OUT" '^slurm.partition: short # sbatch \$SBATCH_PARTITION' "and another's"
echo 'account: sites' >>layers/site.yaml
origin SBATCH_ACCOUNT=lab >"$OUT"
like "$OUT" '^slurm.account: sites # site' "the site overrides a variable"
mkdir -p "$XDG_CONFIG_HOME/unetctl"
printf 'slurm:\n  partition: main\n' >"$XDG_CONFIG_HOME/unetctl/config.yaml"
origin SBATCH_PARTITION=short >"$OUT"
like "$OUT" '^slurm.partition: main # user' "the user's file overrides a variable"
rm "$XDG_CONFIG_HOME/unetctl/config.yaml"
words() { # VARIABLES... -- WORDS...: the job's options
    local variables=()
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    rm -rf layers/runs
    launch "${variables[@]}" unetctl generate -C layers --gpus 1 "$@" >"$OUT" 2>"$ERR" || cat "$ERR"
    grep -o '^#SBATCH -\(-mem\|-reservation\|-core\|S\).*' layers/runs/*/submit_file.sh | xargs
}
is "$(words SBATCH_RESERVATION=course -- -S 2)" "#SBATCH -S 2" "what is passed is not in the script"
unetctl_changes SBATCH_MEM_PER_CPU=7 SBATCH_MEM_PER_NODE=8
is "$(grep ^MinMemory job)" MinMemoryNode=8M "slurm.mem overrides SBATCH_MEM_PER_CPU"
is "$(words SBATCH_MEM_PER_NODE=7 -- --mem-per-gpu=8)" "#SBATCH --mem-per-gpu=8" \
    "--mem-per-gpu overrides SBATCH_MEM_PER_NODE"
is "$(words SBATCH_MEM_PER_NODE=7 --)" "#SBATCH --mem=7" "SBATCH_MEM_PER_NODE alone"
unetctl_changes SBATCH_MEM_BIND=local SLURM_HINT=nomultithread SLURM_JOB_ID=7
is "$changed" "" "a variable of the job at hand is not read"
make_study private sandbox
exits 0 "for a sandbox, variables are not read" \
    env SBATCH_PARTITION=gpu SLURM_CLUSTERS=gpucluster SBATCH_GPUS=3 \
    unetctl submit -C private --gpus 1
unlike "$ERR" 'not used' "nor named"
mkdir templates
# shellcheck disable=SC2016 # the template's
sed 's/^{{directives}}/#SBATCH --nodes={{nodes}} --ntasks={{tasks}} --gpus-per-task=1 --hold\n#SBATCH --partition=main/' \
    "$srcdir/templates/embedded/submit_file.sh" >templates/submit_file.sh
variable_study owned
exits 0 "a template with lines of its own is submitted" launch SBATCH_PARTITION=short SBATCH_GPUS=3 \
    unetctl submit -C owned --gpus 1 --parsable --templates templates
is "$(login squeue -h -o %P -j "$(tail -n 1 "$OUT")")" short "a variable overrides them"
sed '1a #SBATCH -M gpucluster' "$srcdir/templates/embedded/submit_file.sh" >templates/submit_file.sh
exits 3 "a template that names another cluster is refused" \
    unetctl generate -C layers --gpus 1 --templates templates
like "$ERR" "-M gpucluster'.*run unetctl on that cluster" "the refusal shows the line"

done_testing
