# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh by the tests of packages.
#
#   packages_of_pypi NAME...       installs them into $TMP/venv, which is then first on PATH; the
#                                  file is skipped where that fails
#   release                        makes the tarball in $TMP/source, and recipes in $TMP/release
#                                  that fetch it from there and check its sum (packaging/release);
#                                  sets version
#   demo_of BIN                    the demo by the programs in BIN, with neither a source nor a
#                                  build tree beside it
#   need_lmod                      LMOD_CMD: the installed Lmod, or Debian's package, unpacked
#   need_environment_modules       MODULECMD, likewise; false where there is none. Debian does not
#                                  install both at the same time

: "${srcdir:?}" "${builddir:?}"

packages_of_pypi() {
    if ! python3 -m venv "$TMP/venv" >"$OUT" 2>&1 ||
        ! "$TMP/venv/bin/pip" -q --disable-pip-version-check install "$@" >"$OUT" 2>&1; then
        skip_all "pip cannot install $*: $(tail -n 1 "$OUT")"
    fi
    PATH=$TMP/venv/bin:$PATH
}

release() {
    version=$(sed -n 's/^PACKAGE_VERSION = //p' "$builddir/Makefile")
    mkdir "$TMP/source"
    # shellcheck disable=SC2016 # expanded there, by one test at a time
    exits 0 "make dist" flock "$builddir/Makefile" sh -c '
        make -s -C "$1" dist && mv "$1/unetctl-$2.tar.xz" "$3"' sh \
        "$builddir" "$version" "$TMP/source"
    exits 0 "the recipes of a release" "$srcdir/packaging/release" \
        "$TMP/source/unetctl-$version.tar.xz" "file://$TMP/source" "$TMP/release"
}

demo_of() {
    mkdir -p "$TMP/demo/t"
    (cd "$srcdir/t" && cp lib.sh sandbox.sh demo.sh t9000-demo.t "$TMP/demo/t")
    (cd "$TMP/demo" && srcdir=$PWD builddir=$1 bash t/t9000-demo.t) >"$TMP/demo/tap" 2>&1
    if grep -A8 '^not ok\|^Bail\|# skip' "$TMP/demo/tap"; then return 1; fi
    grep '^ok' "$TMP/demo/tap"
}

unpack_debian() { # DIR PACKAGE...
    local dir=$1 file
    shift
    command -v apt-get >/dev/null && mkdir -p "$dir/packages" &&
        (cd "$dir/packages" && apt-get -q download "$@") >"$OUT" 2>&1 || return
    for file in "$dir"/packages/*.deb; do dpkg-deb -x "$file" "$dir" || return; done
}

need_lmod() {
    local dir=$TMP/lmod script
    if [ -n "${LMOD_CMD:-}" ] && [ -x "$LMOD_CMD" ]; then return; fi
    for script in /usr/share/lmod/lmod/libexec/lmod /usr/share/lmod/*/libexec/lmod; do
        if [ -x "$script" ]; then
            export LMOD_CMD=$script
            return
        fi
    done
    unpack_debian "$dir" lmod lua-posix lua-filesystem lua-json lua-lpeg lua-term lua5.3 \
        tcl8.6 libtcl8.6 || skip_all "Lmod is neither installed nor to be had"
    script=$(find "$dir/usr/share/lmod" -path '*/libexec/lmod' -type f)
    sed -i "/^local sys_lua_/s,/usr/\(share\|lib\),$dir/usr/\1,g" "$script"
    cat >"$dir/lmod" <<END
#!/bin/sh
LD_LIBRARY_PATH=$(echo "$dir"/usr/lib/*-linux-gnu) exec "$dir/usr/bin/lua5.3" "$script" "\$@"
END
    chmod +x "$dir/lmod"
    export LMOD_CMD=$dir/lmod
}

need_environment_modules() {
    local dir=$TMP/environment-modules
    for MODULECMD in /usr/lib/*-linux-gnu/modulecmd.tcl; do
        if [ -x "$MODULECMD" ]; then return; fi
    done
    command -v tclsh >/dev/null && unpack_debian "$dir" environment-modules || return
    MODULECMD=$(echo "$dir"/usr/lib/*-linux-gnu/modulecmd.tcl)
    [ -x "$MODULECMD" ]
}
