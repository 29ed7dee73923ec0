#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every shell script of the tree is clean in shellcheck's eyes (templates are checked as rendered),
# and every test can be started.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
command -v shellcheck >/dev/null || skip_all 'shellcheck is not installed'
cd "$srcdir" || exit 255

scripts() {
    find bootstrap .ci src launcher trainer t bench debian -type f -size -200k \
        ! -path '*/test/*' ! -path '*/corpus/*' ! -path '*/golden/study-*/*' \
        -exec grep -IlE '^#!.*/(ba)?sh|^# shellcheck shell=' {} + | sort
}
mapfile -t scripts < <(scripts)
for script in bootstrap t/lib.sh t/run-tests t/exhaustive/t0020-shell.t; do
    ok "$script is among them" grep -qxF "$script" <(printf '%s\n' "${scripts[@]}")
done
# Excluded, as newer versions warn of what is intended: $? of a condition, appending to a text, and
# functions that only wait_until calls.
for script in "${scripts[@]}"; do
    ok "$script" shellcheck -x -e SC2319,SC2324,SC2329 "$script"
done
is "$(find t -name '*.t' -type f ! -perm -u+x)" '' 'no test lacks the permission to run'
done_testing
