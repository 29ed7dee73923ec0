#!{{shell}}
{{directives}}
# Run {{run}} of study {{study}}, attempt {{attempt}}:
# {{gpus}} GPU(s), {{nodes}} node(s), {{tasks}} rank(s). Written by `unetctl generate`.
# `sbatch submit_file.sh` by hand starts the very job that `unetctl submit` starts.

# Ranks get the environment of this script, also if sbatch's --export restricted that of the job.
export PATH SLURM_EXPORT_ENV=ALL # without PATH in its environment, the shell has one of its own
unset SRUN_EXPORT_ENV
# A line of setup that fails ends the run, unless it says "|| true". What happens in files that it
# sources does not count, but that one is missing does.
bad_setup=''
# shellcheck disable=SC2317,SC2329 # the trap calls it
note_setup() { # EXIT_CODE LINE SOURCED_FROM COMMAND
    local line why="exit code $1"
    if [ -n "$3" ]; then return; fi
    line=$(sed -n "$2s/^[ \t]*//p" "$0")
    case $line in
    'source <('* | '. <('*) return ;;
    'source '* | '. '*)
        eval "set -- ${4#* }"
        case $1 in */*) ;; *) set -- "$(type -P "$1" || echo "$1")" ;; esac
        if [ -r "$1" ]; then return; fi
        why="it is not there, seen from $PWD"
        ;;
    esac
    bad_setup=${bad_setup:-"${line:-a command} ($why)"}
}
if [ -n "${BASH_VERSION:-}" ]; then
    trap 'note_setup $? $LINENO "${BASH_SOURCE[1]:-}" "$BASH_COMMAND"' ERR
fi
{{setup}}
trap - ERR
{{env}}
{{shell_setup}}
set -u
cd {{run_dir|sh}} || exit 1
attempt="attempt-{{attempt}}"
# A job of an earlier attempt that is requeued leaves the run to the next attempt.
if [ -e "attempt-$(({{attempt}} + 1))" ]; then
    echo "{{run}}: $attempt was replaced by the next attempt; this job does nothing" >&2
    exit 1
fi

# Others may be able to write here: what this script writes and removes must not be elsewhere, nor
# let it wait.
for file in source.list "$attempt" "$attempt"/{job,nodes,step-nodes,starts,source.sha256,bad-nodes} \
    "$attempt"/{gpus-seen,stopped,DONE,FAILED,FAILED.before-restart}; do
    if [ -L "$file" ] || { [ -e "$file" ] && [ ! -f "$file" ] && [ ! -d "$file" ]; }; then
        echo "{{run}}: $PWD/$file is a symbolic link, or not a regular file; remove it" >&2
        exit 1
    fi
done

# An attempt belongs to one job, which comes back to it when it is requeued.
UNETCTL_JOB_ID=${UNETCTL_JOB_ID:-$$}
job=${SLURM_JOB_ID:-$UNETCTL_JOB_ID}
if ! (set -C && echo "$job" >"$attempt/job") 2>/dev/null &&
    [ "$(cat "$attempt/job")" != "$job" ]; then
    if [ -s "$attempt/job" ]; then
        echo "{{run}}: $attempt has begun before; 'unetctl resume' makes the next attempt" >&2
        exit 1
    fi
    echo "{{run}}: cannot write $attempt/job; is the disk full?" >&2
    exit 74 # says so where the job's output cannot be written, either
fi

# A job may start again while an earlier start still runs, unseen, on a node that Slurm has given
# up. The start that counts holds the file running-...; DONE and FAILED are that file, filled and
# renamed.
UNETCTL_START=$PWD/$attempt/running-$job.${SLURM_RESTART_COUNT:-0}.$$
export UNETCTL_START
if [ -z "${UNETCTL_ALLOCATION:-}" ]; then echo "${SLURM_JOB_NODELIST:-}" >"$attempt/nodes"; fi
UNETCTL_SLURM_VERSION=$(srun --version 2>/dev/null)
export UNETCTL_SLURM_VERSION
trap 'rm -f "$UNETCTL_START"' EXIT
rm -f "$UNETCTL_START"
if ! (set -C && : >"$UNETCTL_START"); then exit 74; fi
for other in attempt-*/running-*; do
    if [ "$PWD/$other" != "$UNETCTL_START" ]; then rm -f "$other"; fi
done
if [ -e "$attempt/FAILED" ]; then mv -T "$attempt/FAILED" "$attempt/FAILED.before-restart"; fi
if [ -e "$attempt/DONE" ]; then exit 0; fi
rm -f "$attempt/stopped"
output=$attempt/slurm-$job.out
# When the job ran: each start and its end, and at a start when the output was last written: then
# a start before it, which was killed, ended.
mark() { echo "$1 ${UNETCTL_START##*/running-} $(date +%s.%N) ${2:-}" >>"$attempt/starts"; }
mark begin "$(date -r "$output" +%s.%N 2>/dev/null)"
trap 'rm -f "$UNETCTL_START"; mark end' EXIT

# The trainer writes DONE or FAILED itself; this speaks for one that could not.
write_failed() { # EXIT_CODE TEXT
    if ! printf '{"schema":1,"exit_code":%d,"error":"%s"}\n' "$1" "$2" |
        dd of="$UNETCTL_START" conv=nocreat,fsync status=none; then exit 74; fi
    mv -T "$UNETCTL_START" "$attempt/FAILED"
}

quote() { # for JSON
    LC_ALL=C tr '\001-\011\013-\037\177-\377' '?' | cut -c 1-400 | sed 's/["\\]/\\&/g'
}

# ": TEXT", for JSON: the error of the rank that failed first, from what this start wrote. That is
# the trainer's, or srun's when it started no rank; or the last line of a Python traceback, of the
# first one where ranks share the output; or that of a shell or loader that cannot start the
# program; or the last line that speaks of an error.
reason() {
    tail -c "+$((said_before + 1))" "$output" 2>/dev/null | tail -c 4000000 |
        LC_ALL=C awk -v ranks={{tasks}} '
            { # without the rank, which PyTorch, srun --label and mpirun --tag-output write first
                label = ""
                if (match($0, /^(\[rank[0-9]+\]:|[0-9]+:|\[[0-9]+,[0-9]+\]<std(err|out)>:) ?/))
                    label = substr($0, 1, RLENGTH)
                $0 = substr($0, length(label) + 1)
            }
            sub(/.*(unet-train|unetctl): error: /, "") { own = $0; exit }
            sub(/.* Invalid MPI type ./, "") {
                sub(/\047.*/, "")
                own = "this cluster\047s srun has no MPI type " $0
                own = own "; \047unetctl doctor\047 says what to set in the site\047s file"
                exit
            }
            /^Traceback \(most recent call last\)/ {
                if (raised == "" && !inside) first = label
                if (label == first && (!raised || ranks == 1 || label != "" || again)) inside = 1
                again = 0
                next
            }
            inside && label == first && /^[^ \t]/ { raised = $0; inside = 0; next }
            label == first && /^(During handling of|The above exception was)/ { again = 1 }
            !python && /^[A-Za-z_][A-Za-z0-9_.]*(Error|Exception|Interrupt)(:|$)/ { python = $0 }
            /: command not found$|loading shared libraries: |execve\(\): |cannot execute/ ||
            /run_file\.sh: line [0-9]+: .*: (No such file or directory|Permission denied)$/ {
                sub(/.*: line [0-9]+: /, "")
                if (!missing) missing = $0
            }
            /(^|[^A-Za-z])([Ee]rror|ERROR|[Ff]atal|FATAL): *[^0-9. -]/ &&
            !/(^|[] ])(srun|slurmstepd[^:]*|mpirun|prterun):/ { other = $0 }
            /srun: Job step aborted/ { aborted = "Slurm aborted the step of the ranks" }
            END {
                text = other ? other : aborted
                if (missing) text = missing
                if (python) text = python
                if (raised) text = raised
                if (own) text = own
                if (text) print ": " text
            }' | quote
}

# Sets too_much: why a rank had too little memory, and killed: that one was killed, as happens then;
# or "". Of ranks in a step, on this node or another, the launcher says so in the output only. The
# rank that ended first counts: the launcher kills the others, and all where one does not answer.
more="'unetctl resume' with more (slurm.mem), or a new study with a smaller train.batch_per_gpu"
find_too_much() {
    too_much=$(tail -c "+$((said_before + 1))" "$output" 2>/dev/null | tail -c 4000000 |
        LC_ALL=C awk '
            / oom[-_]kill event.* in |: Out Of Memory$/ { oom = 1 }
            /unet-train: error: rank [0-9]+ on .*: (no answer for|alive, but) / { ended = 1 }
            ended { next }
            /^srun: error: (.*: tasks? [0-9,-]+: |Node failure on )/ ||
            /slurmstepd[^:]*: error: \*\*\* .* CANCELLED AT / || /srun: Job step aborted/ ||
            /process rank [0-9]+ .* exited on signal [0-9]+ / ||
            /failed \(exitcode: -?[0-9]+\) local_rank: [0-9]+ / {
                ended = 1
                if (match($0, /task [0-9]+: Killed/))
                    killed = substr($0, RSTART, RLENGTH)
                else if (/ on signal 9 |exitcode: -9\)/ && match($0, /rank:? [0-9]+/))
                    killed = substr($0, RSTART, RLENGTH) ": Killed"
            }
            END {
                if (oom) print "a rank used more memory than the job asked for"
                else if (killed) print killed ", as the kernel does when memory runs out"
            }')
    too_much=${too_much:+$too_much; $more} killed=''
    case $too_much in *': Killed, as '*) killed=$too_much too_much='' ;; esac
}

# USR1: time is almost up. TERM: cancelled, preempted, requeued or out of time. Both go to the
# ranks, which write a checkpoint and exit with 75. They run in the background: so the shell hears
# at once.
stopped_by='' heard='' ranks=''
trap 'stopped_by=USR1 heard=yes; kill -s USR1 $ranks 2>/dev/null' USR1
trap 'stopped_by=TERM heard=yes; kill -s TERM $ranks 2>/dev/null' TERM INT
run_ranks() { # sets code
    said_before=$(wc -c 2>/dev/null <"$output" || echo 0)
    {{launcher}}bash {{run_file|sh}} &
    ranks=$!
    if [ -n "$stopped_by" ]; then kill -s "$stopped_by" "$ranks"; fi
    while :; do # a signal ends wait before the ranks have ended
        heard=''
        wait "$ranks"
        code=$?
        if [ -z "$heard" ]; then break; fi
    done
}
if [ -n "$bad_setup" ]; then
    write_failed 1 "setup failed: $(echo "$bad_setup" | quote); correct the setup of site or study,\
 or let '|| true' follow a command that may fail"
    exit 1
fi
{{source}}
run_ranks
# Ranks that Slurm starts beside another step sometimes miss each other's messages in MPI_Init: the
# ranks start once more, and the record has the reason.
mpi_error=$(sed -n 's/.*"error": *"\(.*MPI did not come up.*\)".*/\1/p' "$attempt/FAILED" \
    2>/dev/null)
if [ -n "$mpi_error" ] && [ -z "$stopped_by" ] && [ ! -e "$attempt/.cancel" ]; then
    echo "{{run}}: the ranks start once more: $mpi_error" >&2
    mv "$attempt/FAILED" "$UNETCTL_START"
    export UNETCTL_RESTART_REASON=$mpi_error
    run_ranks
fi
{{finish}}
{{unstage}}

# Nodes that end runs are left out of later jobs (slurm.exclude_after). srun names them in the
# output only. A rank that used too much memory was not lost because of its node.
tail -c "+$((said_before + 1))" "$output" 2>/dev/null |
    sed -n "s/^srun: error: Node failure on \([^ ]*\)\$/$(date +%s) \1 Slurm: node failure/p" |
    head -n 1 >>"$attempt/bad-nodes"
find_too_much
if [ -n "$too_much" ] || ! [ -s "$attempt/bad-nodes" ]; then rm -f "$attempt/bad-nodes"; fi
if [ -e "$attempt/DONE" ]; then exit 0; fi
if [ -e "$attempt/FAILED" ]; then
    # By another rank, which saw only that this one was gone.
    if [ -n "$too_much" ]; then sed -i "s/\"error\": *\"/&$too_much; /" "$attempt/FAILED"; fi
    exit "$((code ? code : 1))"
fi
if [ ! -e "$UNETCTL_START" ]; then
    echo "{{run}}: a later start of this job has taken over $attempt" >&2
    exit 1
fi
if [ -n "$stopped_by" ] || [ "$code" = 75 ]; then
    # Neither done nor failed: this job, or the next attempt, resumes from the checkpoint.
    echo "${stopped_by:-itself}" >"$attempt/stopped"
    if [ "$stopped_by" = USR1 ] && [ -n "${SLURM_JOB_ID:-}" ] &&
        [ -z "${UNETCTL_ALLOCATION:-}" ]; then
        if [ "${SLURM_RESTART_COUNT:-0}" -ge {{requeues}} ]; then
            echo "{{run}}: restarted ${SLURM_RESTART_COUNT:-0} times, slurm.requeues allows" \
                "{{requeues}}; 'unetctl resume' continues" >&2
        elif ! scontrol requeue "$SLURM_JOB_ID"; then
            echo "{{run}}: Slurm does not requeue this job; 'unetctl resume' continues" >&2
        fi
        exit 75
    fi
elif [ "$code" != 0 ] && [ -n "$too_much$killed" ]; then
    write_failed "$code" "$too_much$killed"
elif [ "$code" -gt 128 ]; then
    why="the program was killed by signal $((code - 128))$(reason)"
    if [ "$code" = 137 ]; then why+="; the kernel does that when memory runs out: $more"; fi
    write_failed "$code" "$why"
elif [ "$code" != 0 ]; then
    write_failed "$code" "the program ended with exit code $code$(reason)"
else
    write_failed 1 "the program ended without writing DONE"
fi
exit "$((code ? code : 1))"
