#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make check-distros: README's two commands in roots of other Debian releases, then a table. Needs
# root and debootstrap. A root is kept below distros/ for the next time; DISTROS_FRESH=1 makes it
# anew. DISTROS="trixie forky" chooses releases, TESTS and JOBS as for make check. Debian 12's root
# gives those behind it a helper that is too old for their Slurm (t2010).
set -u
# shellcheck source=t/roots.sh
. "${srcdir:?}/t/roots.sh"
suites=${DISTROS:-bookworm trixie forky}
rc=0
need_root check-distros

copy_source() { # SUITE: what a clone has
    local dst=$top/$1/src
    rm -rf "$dst"
    mkdir -p "$dst"
    (cd "$srcdir" && git ls-files -z | xargs -0 tar -cf - --) | tar -xf - -C "$dst"
}

# Copies the helper of Debian 12's Slurm with its library, which looks for plugins beside itself.
give_older_slurm() { # SUITE
    local from=/usr/lib/x86_64-linux-gnu to=$top/$1/older-slurm base=$top/bookworm
    rm -rf "$to"
    [ "$1" != bookworm ] && [ -x "$base/src/unetctl-slurm" ] || return 0
    mkdir "$to"
    cp "$base/src/unetctl-slurm" "$base$from/libjansson.so.4" "$to"
    cp -r "$base$from/slurm-wlm" "$to/plugins"
    # The path must be as long as the one that it replaces.
    sed "s|$from/slurm-wlm|/older-slurm////////////////plugins|g" "$base$from/libslurm.so.38" \
        >"$to/libslurm.so.38"
}

# Prints the version of a package that the root has.
version() { # SUITE PACKAGE
    in_root "$1" "dpkg-query -W -f '\${Version}' $2 2>/dev/null" | sed 's/^[0-9]*://; s/[-+~].*//'
}

# Packages that only [check] of packages.debian names, but that are installed.
# shellcheck disable=SC2016 # expanded there
test_only='comm -12 <(sed -n "/^\[check]/,\$p" packages.debian | grep "^[a-z]" | sort) \
    <(dpkg-query -W -f "\${Package}\n" | sort) | grep -vxE "perl|git" | xargs'

rows=("release|gcc|Slurm|Open MPI|./bootstrap|make demo|make check")
for suite in $suites; do
    fresh=yes
    [ ! -e "$top/$suite/etc/debian_version" ] || [ -n "${DISTROS_FRESH:-}" ] || fresh=no
    if ! make_root "$suite" "$suite" >"$top/$suite-debootstrap.log" 2>&1; then
        rows+=("$suite|debootstrap failed, see $top/$suite-debootstrap.log")
        rc=1
        continue
    fi
    copy_source "$suite"
    give_older_slurm "$suite"
    boot=$(step "$suite" bootstrap ./bootstrap) || rc=1
    demo=$(step "$suite" demo 'make demo DEMO_EPOCHS=3') || rc=1
    extra=$([ $fresh = no ] || in_root "$suite" "$test_only")
    if [ -n "$extra" ]; then
        demo+=", but these are for tests only: $extra"
        rc=1
    fi
    check=$(step "$suite" check 'make check') || rc=1
    check+=": $(grep -E '^[0-9]+ passed, ' "$top/$suite-check.log" | tail -n 1)"
    rows+=("$suite|$(version "$suite" gcc)|$(version "$suite" slurmctld)|$(version "$suite" openmpi-bin)|$boot|$demo|$check")
done
printf '%s\n' "${rows[@]}" | column -t -s '|'
exit $rc
