#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The controller stops, dies or restarts, or the disk is full, in the middle of `submit --gpus
# 1..14`: after the next submit there are exactly 14 jobs.
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

calls=$(count_calls sandbox -p "$sandbox_helper" 2>"$ERR")
if [ "$calls" = 0 ] && grep -q 'killat: ' "$ERR"; then skip_all "programs cannot be traced here"; fi
middle=$((calls * 7 / 10)) # the helper submits then
in_the_middle() { # STUDY COMMAND: runs it while the helper of a submission waits in the middle
    killed_study sandbox "$1"
    killed_submit sandbox "$1" "$builddir/t/killat" -p "$sandbox_helper" -c "$2" $middle
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
