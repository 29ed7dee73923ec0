#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# pdfTeX compiles what report --proposal writes, with any name, and the result shows it.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/study-fixture.sh"
command -v pdflatex >/dev/null || skip_all 'pdflatex (texlive-latex-base) is not installed'
command -v rsvg-convert >/dev/null || skip_all 'rsvg-convert (librsvg2-bin) is not installed'

compile() { # FOLDER
    printf '%s\n' '\documentclass{article}' '\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}' \
        '\usepackage{graphicx}' '\begin{document}' '\input{proposal.tex}' 'THE END' '\end{document}' \
        >"$1/t.tex"
    (cd "$1" && pdflatex -interaction=nonstopmode -halt-on-error t.tex)
}

ugly='100% & #1 {x}_~^$ \end{document} <b> `é"'
make_study s proud_study.1 1,2,4 2
for n in 1 2 4; do
    for seed in 1 2; do
        add_run s $n $seed "$((4 / n)).$seed" 0.9
        touch s/runs/"$(run_name $n $seed)"/{submit,run}_file.sh
    done
done
exits 0 "a proposal of a study" unetctl report -C s --proposal p --request "$ugly: 4 x 10"
ok "LaTeX compiles it" compile p
like p/t.log 'Output written on t\.pdf \([3-9] pages' "with figure and scripts"
exits 0 "logs are collected" unetctl collect -C s
cp -r s/logs "$ugly"
exits 0 "a proposal of logs in a folder of any name" unetctl report --logs "$ugly" --proposal q
ok "LaTeX compiles it, too" compile q
if command -v pdftotext >/dev/null; then
    pdftotext -layout p/t.pdf p.txt && pdftotext -layout q/t.pdf q.txt
    like p.txt 'Parallel performance of proud_study\.1' "the page has the study's name"
    like p.txt 'beside this file are the job of run' "it names the scripts"
    like p.txt '100% & #1 \{x\}_~\^\$ .end\{document\}' "the request's name is as it was"
    like q.txt '100% & #1 \{x\}_~\^\$' "so is the folder's"
    like p.txt 'THE END' "the document continues after it"
else
    skip 'pdftotext (poppler-utils) is not installed' "the pages have the names"
fi
done_testing
