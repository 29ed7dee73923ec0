#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The controller stops, dies or restarts, or the disk is full, in the middle of `submit --gpus
# 1..14`, or what sbatch says is lost: after the next submit there are exactly 14 jobs.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
# Mounted before the sandbox starts, because its nodes do not see later mounts.
mkdir disk
if mount -t tmpfs -o size=4M tmpfs disk 2>"$ERR"; then disk=yes; else disk=''; fi
sandbox_up --nodes 7 --gpus-per-node 2
unmount() { [ -z "$disk" ] || umount -l "$TMP/disk"; }
cleanup_hooks+=(unmount)
# Programs that wait for an answer give up soon.
sed -i 's/^MessageTimeout=.*/MessageTimeout=2/' "$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf"

calls=$(count_calls sandbox -p sbatch 2>"$ERR")
if [ "$calls" = 0 ] && grep -q 'killat: ' "$ERR"; then skip_all "programs cannot be traced here"; fi
in_the_middle() { # STUDY COMMAND: runs it while an sbatch of a submission waits in the middle
    killed_study sandbox "$1"
    killed_submit sandbox "$1" "$builddir/t/killat" -p sbatch -c "$2" $((calls / 2))
}
control() { echo "unetctl sandbox exec -- $*"; }
count_is() { # STUDY WHAT
    local jobs
    jobs=$(killed_jobs sandbox "$1")
    is "$(wc -l <<<"$jobs") $(uniq <<<"$jobs" | wc -l)" "14 14" "$2: exactly 14 jobs"
}

exits 4 "submit fails when the controller is stopped" in_the_middle stopped \
    "$(control pkill -STOP -F "$sandbox_controller")"
like "$ERR" "the answer was lost; type 'unetctl submit' again" "the message says what to type"
exits 4 "submit again fails while it is stopped" killed_submit sandbox stopped
login pkill -CONT -F "$sandbox_controller"
exits 0 "submit again succeeds when it continues" killed_submit sandbox stopped
count_is stopped "its queue carried out what was sent"

restart=$(control \
    "bash -c 'pkill -KILL -F $sandbox_controller; while pgrep -F $sandbox_controller; do sleep 0.05; done; slurmctld -i'")
in_the_middle restarted "$restart >/dev/null" >"$OUT" 2>"$ERR"
echo "# exit code of the submission that saw a restart: $?"
exits 0 "submit again succeeds after the controller was killed and started" \
    killed_submit sandbox restarted
count_is restarted "restart"

exits 4 "submit fails when the controller dies" \
    in_the_middle dead "$(control pkill -KILL -F "$sandbox_controller")"
login slurmctld -i
exits 0 "submit again succeeds after it was started" killed_submit sandbox dead
count_is dead "death"

# ---- an sbatch whose answer is lost: a script that calls the real one
mkdir bin
nlost=0
sbatch=$(login sh -c 'command -v sbatch')
# shellcheck disable=SC2016 # expanded there
answers() { # BEHAVIOUR: what sbatch does instead of submitting the 3rd job
    printf '#!/bin/bash\n[ "$1" = --test-only ] || echo >>%q\n' "$TMP/calls" >bin/sbatch
    printf 'submit() { %s "$@" 2>&1; }\nfailed="sbatch: error: Batch job submission failed:"\n' \
        "$sbatch" >>bin/sbatch
    printf 'if [ "$(wc -l <%q)" = 3 ] && [ "$1" != --test-only ]; then\n%s\nfi\nexec %s "$@"\n' \
        "$TMP/calls" "$1" "$sbatch" >>bin/sbatch
    chmod +x bin/sbatch
    : >calls
}
lost() { # TEXT BEHAVIOUR [EXIT CODE]: of the submission; it is repeated if it fails
    local study=lost$((nlost += 1)) code=${3:-4}
    killed_study sandbox $study
    answers "$2"
    UNETCTL_SBATCH_S=${limit:-30} PATH=$TMP/bin:$PATH \
        exits "$code" "$1" killed_submit sandbox $study
    if [ "$code" != 0 ]; then
        is "$(wc -l <calls)" 3 "$1: no other job is submitted"
        cp "$ERR" error
        exits 0 "$1: submit again succeeds" killed_submit sandbox $study
    fi
    count_is $study "$1"
}
again="the answer was lost; type 'unetctl submit' again"
# shellcheck disable=SC2016 # expanded there
{
    lost "a timeout after the job was submitted" \
        'submit "$@" >/dev/null; echo "$failed Socket timed out on send/recv operation" >&2; exit 1' 0
    lost "a signal after that" 'submit "$@" >/dev/null; kill -KILL $$' 0
    lost "no id after that" 'submit "$@" >/dev/null; exit 0' 0
    lost "a timeout without a job" \
        'echo "$failed Socket timed out on send/recv operation" >&2; exit 1'
    like error "$again.*Socket timed out" "the error says so"
    lost "a reason that is unknown" 'echo "$failed Something of Slurm 99.11" >&2; exit 1'
    like error "$again.*Something of Slurm 99.11" "it counts as lost"
    lost "a job that comes while the next submit waits" \
        '(sleep 3; submit "$@" >/dev/null) >&- 2>&- & echo "$failed Unexpected message received" >&2; exit 1'
    lost "an answer that refuses" 'echo "$failed Unspecified error" >&2; exit 1'
    unlike error "the answer was lost" "is not lost"
    lost "a failure before the submission" 'echo "sbatch: error: Unable to open file" >&2; exit 1'
    unlike error "the answer was lost" "is not lost"
    printf '#!/bin/bash\ncase "$*" in\n*MaxSubmit*) echo "Account|User|MaxSubmit"; echo "lab|me|3" ;;\n*) echo lab ;;\nesac\n' >bin/sacctmgr
    chmod +x bin/sacctmgr
    lost "a limit on the number of jobs" \
        'echo "sbatch: error: AssocMaxSubmitJobLimit" >&2; echo "$failed Job violates accounting/QOS policy (job submit limit)" >&2; exit 1'
    like error 'left for later.*AssocMaxSubmitJobLimit; .*policy.*AssocMaxSubmitJobLimit: account lab, user me: MaxSubmit=3' \
        "is explained, and leaves the rest for later"
    rm bin/sacctmgr
    lost "a full queue" 'echo "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying" >&2; sleep 100'
    like error 'left for later.*unable to accept job.*MaxJobCount' "is left for later at once"
    lost "a full queue that takes the job after all" \
        'submit "$@" >/dev/null; echo "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying" >&2; sleep 100' 0
    limit=2 lost "an sbatch that takes too long" 'sleep 1000'
    like error "$again.*sbatch was ended because it took too long" "the error says so"
    is "$(login pgrep -cf 'sleep 1000')" 0 "no process is left of it"
}

# ---- a full disk
if [ -n "$disk" ]; then
    for kib in 24 60 120 180 240 272 300; do
        rm -rf disk/* disk/.[a-z]*
        killed_study sandbox disk/study
        mount -o remount,size=${kib}k disk
        killed_submit sandbox disk/study >"$OUT" 2>"$ERR"
        rc=$?
        [ $rc = 0 ] || like "$ERR" 'No space left on device' \
            "a disk of $kib KiB: exit $rc, and the reason"
        mount -o remount,size=4M disk
        exits 0 "submit again succeeds with room on the disk" killed_submit sandbox disk/study
        count_is disk/study "a disk of $kib KiB"
    done
else
    skip "tmpfs cannot be mounted here" "a full disk"
fi
done_testing
