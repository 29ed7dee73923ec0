#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Faults that t/prose.py, a part of make lint, must find in documents and sources.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

mkdir doc logs t room
cp "$srcdir/t/prose.py" t/
cat >t/prose.words <<'END'
# phrases
phrase \bgoes on\b -> "continues"
phrase \bfree energy\b -> "joules"
folder room
END
echo "# A heading: with marks" >doc/A.md
echo "nothing" >NEWS.md
prose() { python3 t/prose.py; }

printf '%s\n' '[a](doc/A.md#a-heading-with-marks)' '' '    2026-01-01 stands in a listing' >README.md
exits 0 "a tree without faults passes" prose
is "$(grep -v codespell "$OUT")" "" "... says nothing"
printf '%s\n' "it" "goes" "on" >NEWS.md
exits 1 "a phrase that spans three lines is refused" prose
like "$OUT" "^NEWS.md:2: 'goes on': write \"continues\"" "... is found, with its line"
echo "nothing" >NEWS.md
printf '/* One job goes\n * on. */\nputs("free "\n     "energy");\n' >room/a.c
exits 1 "phrases in comments and messages of a listed folder are refused" prose
like "$OUT" "^room/a.c:1: 'goes on'" "... a comment"
like "$OUT" "^room/a.c:3: 'free energy'" "... a message"
rm room/a.c
ok "README.md has at most 120 lines" test "$(wc -l <"$srcdir/README.md")" -le 120
for line in '[a](doc/B.md)' '[a](doc/A.md#other)' 'measured on 2026-01-01' 'at a load of 9' \
    "| $(printf 'x%.0s' {1..201}) | y |"; do
    echo "$line" >README.md
    exits 1 "${line:0:30}" prose
    like "$OUT" '^README.md:1: ' "... is found"
done
echo ok >README.md
if command -v codespell >/dev/null; then
    echo "we recieve it" >README.md
    exits 1 "a misspelled word is refused" prose
    like "$OUT" '^README.md:1: misspelled: recieve' "... is found"
else
    skip "codespell is not installed" "a slip"
fi
done_testing
