#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The helpers that query Slurm by its commands and by libslurm, with a real Slurm: every query,
# refusals, and how unetctl chooses between the helpers.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

sandbox_up --nodes 3
helpers=(unetctl-slurm-commands)
if [ -x "$builddir/unetctl-slurm" ]; then helpers+=(unetctl-slurm); fi

ask() { printf '%s\n' "$@" | login "$builddir/$helper"; }
# Prints members of the last line of JSON in $OUT.
member() {
    tail -n 1 "$OUT" |
        python3 -c 'import json,sys; a = json.load(sys.stdin); print(eval("a" + sys.argv[1], {"a": a}))' "$1"
}
refused() { # REQUEST PATTERN TEXT
    ask "$1" >"$OUT" 2>"$ERR"
    is "$(member '["ok"]')" False "refused: $3"
    like "$OUT" "$2" "the refusal says why"
}
job() { # TAG OPTIONS AND SCRIPT...: prints the job's id
    login sbatch --parsable -o /dev/null --comment="$1" "${@:2}"
}

test_requests() {
    ok "ping is answered" ask '{"op":"ping"}'
    is "$(member '["cluster"]')" sandbox "the answer names the cluster"
    ok "partitions is answered" ask '{"op":"partitions"}'
    is "$(member '["partitions"][0]')" \
        "{'name': 'main', 'default': True, 'nodes': 3, 'unseen': 0, 'away': 0, 'gpus_per_node': 2, 'cpus_per_node': 4, 'max_time_min': 0, 'gpu_types': ''}" \
        "the answer has the sizes of the partition"

    refused 'no JSON' "not JSON" "what is not JSON"
    refused '{"op":"submit"}' "unknown op" "an unknown operation"
    refused '{}' 'no ..op' "a request without one"

    local good killed held
    good=$(job "unetctl:$helper:run:1 the user's own" --wrap true)
    wait_job "$good" 60 >"$OUT"
    # shellcheck disable=SC2016 # expanded there
    killed=$(job "unetctl:$helper:run:2" --wrap 'kill -SEGV $$')
    held=$(job "unetctl:$helper:run:3" --hold --wrap true)
    wait_job "$killed" 60 >"$OUT"
    ok "jobs are queried by prefix" ask "{\"op\":\"query\",\"tag_prefix\":\"unetctl:$helper:\"}"
    is "$(member '["jobs"].__len__()')" 3 "three jobs are found"
    is "$(member '["jobs"][0]["state"]') $(member '["jobs"][0]["exit_code"]')" "COMPLETED 0" \
        "the first is a job that succeeded"
    is "$(member '["jobs"][1]["state"]') $(member '["jobs"][1]["signal"]')" "FAILED 11" \
        "the second is a job that was killed"
    is "$(member '["jobs"][2]["state"]') $(member '["jobs"][2]["reason"]')" "PENDING JobHeldUser" \
        "the third is a job that waits, with the reason"
    ok "jobs are queried by id" ask "{\"op\":\"lookup\",\"ids\":[\"$good\",\"4000000\"]}"
    is "$(member '["jobs"][0]["tag"]') $(member '["jobs"].__len__()')" \
        "unetctl:$helper:run:1 the user's own 1" "the answer has only the job that exists"
    is "$(member '["jobs"][0]["uid"]') $(member '["jobs"][0]["user"]') $(member '["hides"]')" \
        "$(id -u) $(id -un) False" "it has the user"
    ok "an unknown job is queried by id" ask '{"op":"lookup","ids":["4000000"]}'
    is "$(member '["jobs"]')" "[]" "none is found"
    refused '{"op":"lookup","ids":["x"]}' "not that of a Slurm job" "a lookup of a text"
    refused '{"op":"lookup"}' "ids" "a lookup of nothing"
    ok "jobs of an unused prefix are queried" ask '{"op":"query","tag_prefix":"other:"}'
    is "$(member '["jobs"]')" "[]" "none is found"
    refused '{"op":"query"}' "tag_prefix" "a query for nothing"
    login scancel "$held"
}
for helper in "${helpers[@]}"; do
    echo "# through $helper"
    test_requests
done

# unetctl's choice if a helper is missing, or was built for another release of libslurm.
make_study study sandbox
libexec=$TMP/libexec
mkdir "$libexec"
cp -r "$builddir/launcher" "$builddir/unetctl-slurm-commands" "$libexec/"
plan() { UNETCTL_LIBEXECDIR=$libexec unetctl plan -C study --gpus 1 --test-only "$@"; }
ok "a study is planned without the helper of libslurm" plan
is "$(grep -c "using Slurm's commands: .*built without libslurm" "$ERR")" 1 \
    "the replacement is reported once"
ok "a study is planned with slurm.interface commands" plan -s slurm.interface=commands
unlike "$ERR" "using Slurm's commands" "nothing is reported then"
exits 4 "slurm.interface library without that helper is refused" plan -s slurm.interface=library
like "$ERR" "slurm.interface=commands" "the error names the other interface"
if [ -x "$builddir/unetctl-slurm" ]; then
    sed 's/libslurm\.so\.[0-9][0-9]/libslurm.so.99/g' \
        "$builddir/unetctl-slurm" >"$libexec/unetctl-slurm"
    chmod +x "$libexec/unetctl-slurm"
    ok "a study is planned with a helper for another libslurm" plan
    like "$ERR" "using Slurm's commands: .*libslurm.so.99" "the reason is reported"
    exits 4 "slurm.interface library with a helper that cannot start is refused" \
        plan -s slurm.interface=library
    like "$ERR" "libslurm.so.99" "the error has the reason"
else
    skip "built without libslurm" "a helper for another libslurm"
fi
# $UNETCTL_OLDER_SLURM has a helper with its libslurm and plugins, of a release that this Slurm does
# not understand.
older=${UNETCTL_OLDER_SLURM:-}
if [ -x "$older/unetctl-slurm" ]; then
    rm -f "$libexec/unetctl-slurm"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s/unetctl-slurm\n' "$older" "$older" \
        >"$libexec/unetctl-slurm"
    chmod +x "$libexec/unetctl-slurm"
    ok "a study is planned with a helper of a release that the cluster does not understand" plan
    is "$(grep -c 'commands: .*not understand libslurm of release' "$ERR")" 1 \
        "the replacement by Slurm's commands is reported once"
    exits 4 "slurm.interface library with such a helper is refused" plan -s slurm.interface=library
    like "$ERR" "does not understand libslurm of release" "the error has the reason"
    exits 0 "three runs are submitted with such a helper" \
        env UNETCTL_LIBEXECDIR="$libexec" unetctl submit -C study --gpus 1..3 -- \
        --hold
    is "$(grep -c "using Slurm's commands" "$ERR")" 1 "the replacement is reported once"
    is "$(login squeue -h -n demo-unet-g01-s1,demo-unet-g02-s1,demo-unet-g03-s1 | wc -l)" 3 \
        "each run is one job"
    login scancel -u "$(id -un)"
else
    skip "no helper of an older release (make check-distros has one)" "a cluster that refuses it"
fi

dir=$XDG_STATE_HOME/unetctl/sandbox
# A Slurm that cannot be reached.
sed -i 's/^MessageTimeout=.*/MessageTimeout=2/' "$dir/etc/slurm.conf"
sandbox_stop_controller
for helper in "${helpers[@]}"; do
    refused '{"op":"ping"}' "contact slurm controller" "no controller, through $helper"
done
printf '\nNonsense=1\n' >>"$dir/etc/slurm.conf"
helper=unetctl-slurm-commands
refused '{"op":"ping"}' "configuration file" "a broken configuration"
exits 2 "arguments of unetctl-slurm-commands are refused" "$builddir/unetctl-slurm-commands" --help
if [ -x "$builddir/unetctl-slurm" ]; then
    exits 1 "a broken configuration ends unetctl-slurm" login \
        "$builddir/unetctl-slurm" </dev/null
    like "$ERR" "fatal" "the error is libslurm's"
    exits 2 "arguments of unetctl-slurm are refused" "$builddir/unetctl-slurm" --help
fi
done_testing
