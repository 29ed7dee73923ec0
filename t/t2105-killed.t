#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl, its helper or sbatch is killed by kill -9 at a system call of `submit --gpus 1..14`, or
# sbatch is stopped, and the command is repeated: there are exactly 14 jobs. This test uses some
# system calls, spread over all, with EXHAUSTIVE twice as many; make check-faults uses every one.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
sandbox_up --nodes 7 --gpus-per-node 2
times=${EXHAUSTIVE:+2}
some() { strata "$calls" $(($1 * ${times:-1})); }

RANDOM=${SEED:-$((EPOCHSECONDS % 32768))}
echo "# SEED=${SEED:-$((EPOCHSECONDS % 32768))}"
calls=$(count_calls sandbox 2>"$ERR")
if [ "$calls" = 0 ] && grep -q 'killat: ' "$ERR"; then skip_all "programs cannot be traced here"; fi
ok "unetctl makes system calls ($calls)" test "$calls" -gt 100
is "$(some 4 | kill_at_each sandbox 4)" "" "unetctl killed"
is "$(some 2 | kill_at_each sandbox 4 -a)" "" "unetctl killed with sbatch"
calls=$(count_calls sandbox -p "$sandbox_helper")
ok "the helper makes system calls ($calls)" test "$calls" -gt 20
is "$(some 1 | kill_at_each sandbox 4 -p "$sandbox_helper")" "" "the helper killed"
calls=$(count_calls sandbox -p sbatch)
ok "sbatch makes system calls ($calls)" test "$calls" -gt 100
is "$(some 4 | kill_at_each sandbox 4 -p sbatch)" "" "sbatch killed"
is "$(some 2 | kill_at_each sandbox 4 -a -p sbatch)" "" "sbatch killed with unetctl"
is "$(some 2 | kill_at_each sandbox 4 -s -p sbatch)" "" "sbatch stopped"

# All runs in one job.
calls=$(count_calls one)
ok "system calls with --one-allocation ($calls)" test "$calls" -gt 100
is "$(some 3 | kill_at_each one 4)" "" "unetctl killed"
calls=$(count_calls one -p sbatch)
is "$(some 2 | kill_at_each one 4 -p sbatch)" "" "sbatch killed"

# The local queue.
calls=$(count_calls local)
ok "system calls with the local queue ($calls)" test "$calls" -gt 100
is "$(some 4 | kill_at_each local 4)" "" "unetctl killed"
is "$(some 2 | kill_at_each local 4 -a)" "" "unetctl killed with the process that runs the jobs"
calls=$(count_calls local -e -p unetctl)
is "$(some 4 | kill_at_each local 4 -e -p unetctl)" "" "either killed"
done_testing
