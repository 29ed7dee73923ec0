#!/bin/bash
{{directives}}
# Run {{run}} of study {{study}}, attempt {{attempt}}: {{gpus}} GPU(s), {{nodes}} node(s), {{tasks}} rank(s).
# Written by `unetctl generate`. `sbatch submit_file.sh` by hand starts the very job that
# `unetctl submit` starts.
{{setup}}
{{env}}
set -u
cd {{run_dir|sh}} || exit 1
attempt="attempt-{{attempt}}"

# An attempt runs once: this fails when another job has taken it. A requeued job comes back to its own.
job=${SLURM_JOB_ID:-$$}
if ! (set -C && echo "$job" >"$attempt/job") 2>/dev/null && [ "$(cat "$attempt/job")" != "$job" ]; then
    echo "{{run}}: $attempt has begun before; 'unetctl resume' makes the next attempt" >&2
    exit 1
fi

# The trainer writes DONE or FAILED itself; this speaks for one that could not.
write_failed() { # EXIT_CODE TEXT
    if [ ! -e "$attempt/DONE" ] && [ ! -e "$attempt/FAILED" ]; then
        printf '{"schema":1,"exit_code":%d,"error":"%s"}\n' "$1" "$2" >"$attempt/FAILED.tmp" &&
            sync "$attempt/FAILED.tmp" && mv "$attempt/FAILED.tmp" "$attempt/FAILED"
    fi
}

# Ranks in the background: the shell then hears a cancellation or the time limit at once.
signalled='' ranks=''
trap 'signalled=yes; kill -s TERM "$ranks" 2>/dev/null' TERM INT
{{launcher}}bash {{run_file|sh}} &
ranks=$!
wait "$ranks"
status=$?
while kill -s 0 "$ranks" 2>/dev/null; do # a signal ends wait before the ranks have ended
    wait "$ranks"
    status=$?
done

if [ -n "$signalled" ]; then
    write_failed "$status" "ended by a signal: cancelled, or out of time"
elif [ "$status" -gt 128 ]; then
    write_failed "$status" "the trainer was killed by signal $((status - 128))"
elif [ "$status" != 0 ]; then
    write_failed "$status" "the trainer ended with exit code $status"
else
    write_failed 1 "the trainer ended without writing DONE"
fi
[ -e "$attempt/DONE" ] && exit 0
exit "$((status ? status : 1))"
