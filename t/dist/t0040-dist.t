#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# make check-dist: the tarball has what git has and is the same wherever it is made; and from the
# tarball distcheck passes with a representative set of tests where there is neither a network nor
# a home folder, in another year, language and time zone, as a user without rights.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
[ -e "$srcdir/.git" ] || skip_all 'this is not a clone'
umask 022
broken '*/t/golden/*/DONE' # of version 0.1.0, without a number
# Without t1120: mpirun below libfaketime sometimes waits for ever on a busy machine.
tests='src/ launcher/ t0010 t0030 t1000 t1100 t1110 t2100 t3100 t5000'
version=$(sed -n 's/^PACKAGE_VERSION = //p' "$builddir/Makefile")
name=unetctl-$version
archive=$name.tar.xz
make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s)
sum() { sha256sum <"$1"; }

ok 'make dist' "${make[@]}" -C "$builddir" dist
mv "$builddir/$archive" "$TMP"
want=$(sum "$TMP/$archive")

# build-aux/ and what stands beside configure.ac is made by autoreconf.
made='aclocal\.m4|build-aux/.*|config\.h\.in|configure|Makefile\.in'
left_out='debian/.*|\.editorconfig|\.gitignore'
files() { tar -tf "$TMP/$archive" | sed -n "s,^$name/,,; /[^/]\$/p"; }
is "$(comm -3 <(files | grep -vxE "$made" | sort) \
    <(git -C "$srcdir" ls-files | grep -vxE "$left_out" | sort))" '' \
    'it has the files of git and those that autoreconf makes'
is "$(tar -tvf "$TMP/$archive" | awk '{ print $2, $4, $5 }' | sort -u | wc -l)" 1 \
    'they have one owner and one time'

# From another folder, with other times and permissions, by the sources alone.
mkdir "$TMP/other"
(cd "$srcdir" && git ls-files -z | xargs -0 tar -cf - --) | tar -xf - -C "$TMP/other"
(
    umask 077
    chmod -R go-rwx "$TMP/other"
    find "$TMP/other" -exec touch -d 2001-01-01 {} +
    cd "$TMP/other" && ./bootstrap --no-install --no-build && ./configure -q --without-cuda &&
        SOURCE_DATE_EPOCH=$(git -C "$srcdir" log -1 --format=%ct) "${make[@]}" dist
) >"$TMP/other.log" 2>&1
is "$(sum "$TMP/other/$archive")" "$want" 'another folder, umask and time give the same tarball'
rm -rf "$TMP/other"

# Where nothing helps. Each condition is checked first.
mkdir "$TMP/user"
bare=(env -i PATH="$PATH" CI="${CI:-}" HOME=/nonexistent TZ=Pacific/Chatham
    DISTCHECK_CONFIGURE_FLAGS=--without-cuda)
bare_user() { "${bare[@]}" bash -c "cd '$TMP/user' && umask 077 && $1"; }
if command -v localedef >/dev/null &&
    localedef -i tr_TR -f UTF-8 "$TMP/user/tr_TR.UTF-8" >"$OUT" 2>&1; then
    bare+=(LOCPATH="$TMP/user" LC_ALL=tr_TR.UTF-8)
    is "$(bare_user 'printf %.1f 1,5')" 1,5 'in Turkish: 1,5'
else
    skip 'the package locales is not installed' 'in Turkish'
fi
if command -v faketime >/dev/null; then
    # The library alone, which its program would tie to one /dev/shm; so does a flat sandbox.
    bare+=(MAN_DISABLE_SECCOMP=1 FAKETIME=+20y FAKE_UTIME=1 FAKETIME_DONT_FAKE_MONOTONIC=1
        SANDBOX_MODE=flat LD_PRELOAD="$(faketime -f +0 printenv LD_PRELOAD)")
    is "$(bare_user 'date +%Y')" "$(($(date +%Y) + 20))" 'in another year, past 2038'
else
    skip 'faketime is not installed' 'in another year'
fi
if [ "$(id -u)" = 0 ]; then
    # A cable that leads nowhere: without any address but loopback's, Slurm does not listen.
    # shellcheck disable=SC2016 # expanded there
    bare=(unshare --net bash -c 'ip link set lo up && ip link add veth0 type veth peer name veth1 &&
            ip address add 192.0.2.1/24 dev veth0 && ip link set veth0 up &&
            ip link set veth1 up && exec "$@"' bash
        setpriv --reuid 65534 --regid 65534 --clear-groups "${bare[@]}")
    chmod 711 "$TMP"
    chown -R 65534:65534 "$TMP/user"
    is "$(bare_user 'id -u; ip route get 198.51.100.1 2>&1' | xargs)" \
        '65534 RTNETLINK answers: Network is unreachable' 'without rights, without a network'
else
    skip 'only root can take the network away' 'without rights, without a network'
fi
exits 1 'without a home folder' bare_user 'cd'
cp "$TMP/$archive" "$TMP/user"
chmod 644 "$TMP/user/$archive"
ok 'the tarball is configured' bare_user "tar -xf $archive && rm $archive && cd $name &&
    ./configure --without-cuda"
bare_user "cd $name && make -s -j\$(nproc) distcheck TESTS='$tests'" >"$TMP/log" 2>&1
code=$?
is $code 0 'make distcheck'
[ $code = 0 ] || {
    grep -A20 '^not ok\|^# \|^Bail\|rror' "$TMP/log" | head -n 200
    tail -n 40 "$TMP/log"
} >&2
sed -n '/ passed, /p; /^skipped: /p; /^unsteady: /p' "$TMP/log" | sed 's/^/# /'
is "$(sum "$TMP/user/$name/$archive")" "$want" 'the tarball of the tarball is the same'
done_testing
