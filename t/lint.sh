#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh TREE: warnings as errors with gcc and, where installed, clang; long lines; words
# (prose.py); cppcheck. Scripts are t/exhaustive/t0020-shell.t's.
# lint.sh quick: seconds instead of minutes. $COMPILE reads the sources and shellcheck the scripts
# that differ from the last commit; long lines and words are looked for everywhere.
set -u
: "${srcdir:?}" "${builddir:?}"
tree=${1:?usage: lint.sh UNCONFIGURED-TREE or quick}
rc=0

compile() { # COMPILER CONFIGURE-ARGUMENTS...
    local cc=$1
    shift
    if ! command -v "$cc" >/dev/null; then
        echo "lint: skipped: $cc is not installed"
        return
    fi
    mkdir "$tree/build-$cc"
    echo "lint: warnings as errors with $cc"
    (cd "$tree/build-$cc" && ../configure -q --enable-werror CC="$cc" "$@" &&
        make -s -j"$(nproc)" check-build) >"$tree/$cc.log" 2>&1 ||
        { tail -n 30 "$tree/$cc.log"; rc=1; }
}
cd "$srcdir" || exit 1
changed() { # REGEX
    { git diff --name-only --diff-filter=d HEAD && git ls-files --others --exclude-standard; } |
        grep -E "$1" || true
}
if [ "$tree" = quick ]; then
    for file in $(changed '\.[ch]$'); do
        ${COMPILE:?} -Werror -fsyntax-only -include "$file" -x c /dev/null || rc=1
    done
    for file in $(changed '\.(sh|t)$|^bootstrap$|^\.ci/' | grep -v '^templates/'); do
        shellcheck -x -e SC2319,SC2324,SC2329 "$file" || rc=1
    done
else
    compile gcc CFLAGS=-O2
    # What clang warns of it sees without optimizing; kernels are nvcc's, and CUDA's host code is in
    # the emulation, too.
    compile clang CFLAGS=-O0 --without-cuda
fi

# At most 100 columns, except t/peers/, quoted strings and the table of settings.
long_lines() {
    local kinds=(--include='*.'{[ch],cu,inc,sh,t} --exclude=builtin.inc) # which is made
    export LC_ALL=C.UTF-8
    { grep -rInE "${kinds[@]}" --exclude-dir=peers '^.{101}' src launcher templates t trainer
      grep -rInE --include='*.py' '^.{101}' python; } |
        awk '{ code = $0; sub(/^[^:]*:[^:]*:/, "", code); gsub(/"[^"]*"|\047[^\047]*\047/, "", code) }
            length(code) > 100'
}
echo "lint: lines of more than 100 columns"
if long_lines | grep .; then rc=1; fi

echo "lint: words, links and tables of documents, manuals and comments"
for program in unetctl unet-train; do
    if [ -x "$tree/build-gcc/$program" ]; then
        "$tree/build-gcc/$program" --man | sed 's/\\-/-/g' >"$tree/$program.1"
    fi
done
shopt -s nullglob
python3 t/prose.py "$tree"/*.1 || rc=1

if [ "$tree" = quick ]; then
    :
elif command -v cppcheck >/dev/null; then
    echo "lint: cppcheck"
    cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr \
        --error-exitcode=1 -j"$(nproc)" -I . -I "$builddir" -D HAVE_SLURM -D HAVE_MPI \
        -D HAVE_TIFF -D HAVE_JPEG \
        --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=invalidPointerCast src \
        launcher trainer || rc=1
else
    echo "lint: skipped: cppcheck is not installed"
fi

exit $rc
