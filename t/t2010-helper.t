#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How unetctl chooses between the program of libslurm and Slurm's commands, with a real Slurm, and
# what both say of one that is broken. scheduler_slurm.c in launcher has every query.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

sandbox_up --nodes 3
# unetctl's choice if a helper is missing, or was built for another release of libslurm.
make_study study sandbox
libexec=$TMP/libexec
mkdir "$libexec"
cp -r "$builddir/launcher" "$libexec/"
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
unreachable() { # INTERFACE PATTERN TEXT
    exits 4 "$1: $3" plan -s slurm.interface="$1"
    like "$ERR" "$2" "the error says so"
}
if [ -x "$builddir/unetctl-slurm" ]; then cp "$builddir/unetctl-slurm" "$libexec/"; fi
unreachable commands "contact slurm controller" "no controller"
if [ -x "$builddir/unetctl-slurm" ]; then
    unreachable library "contact slurm controller" "no controller"
fi
printf '\nNonsense=1\n' >>"$dir/etc/slurm.conf"
unreachable commands "configuration file" "a broken configuration"
if [ -x "$builddir/unetctl-slurm" ]; then
    unreachable library "Nonsense" "a broken configuration"
    exits 2 "arguments of another protocol are refused" "$builddir/unetctl-slurm" 3 nodes
    like "$ERR" "speaks protocol 4; what started it speaks protocol 3" "with both protocols"
fi
done_testing
