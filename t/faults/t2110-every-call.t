#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Like t2105-killed.t, at every system call that has an effect outside of the process (killat -e).
# FROM=N continues at the N-th; STEP=N uses every N-th only.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
LANES=${LANES:-12} BLOCK=100
sandbox_up --nodes 7 --gpus-per-node 2
# Slurm keeps ended jobs for MinJobAge, and at most MaxJobCount of them.
conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf
sed -i 's/^MinJobAge=.*/MinJobAge=2/' "$conf"
login scontrol reconfigure

sweep() { # TEXT SITE [KILLAT OPTIONS]
    local text=$1 site=$2 calls first last
    calls=$(count_calls "$site" -e "${@:3}")
    ok "$text: $calls system calls" test "$calls" -gt 20
    for ((first = ${FROM:-1}; first <= calls + 5; first += BLOCK)); do
        last=$((first + BLOCK - 1 < calls + 5 ? first + BLOCK - 1 : calls + 5))
        is "$(seq "$first" "${STEP:-1}" "$last" | kill_at_each "$site" "$LANES" -e "${@:3}")" "" \
            "$text: $first to $last"
        if [ "$site" != local ]; then login scancel -u "$(id -un)"; fi
    done
}
sweep "unetctl killed" sandbox
sweep "the helper killed" sandbox -p "$sandbox_helper"
sweep "unetctl killed with what it started" sandbox -a
sweep "sbatch killed" sandbox -p sbatch
sweep "sbatch killed with unetctl" sandbox -a -p sbatch
STEP=$((10 * ${STEP:-1})) sweep "sbatch stopped" sandbox -s -p sbatch # each takes UNETCTL_SBATCH_S

sweep "unetctl killed, one allocation" one
sweep "sbatch killed, one allocation" one -p sbatch

sweep "unetctl killed, local queue" local
sweep "unetctl killed with the process that runs the jobs, local queue" local -a
sweep "either killed, local queue" local -p unetctl
done_testing
