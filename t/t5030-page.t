#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The report's page in a real browser: it makes no requests, logs no errors, can be read in light
# and dark, on a phone and on paper, and shows its values to a pointer.
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"

make_study s demo 1,2,4 2
for seed in 1 2; do
    add_run s 1 $seed "4.$seed" "0.9$seed"
    add_run s 2 $seed "2.5$seed" "0.9$seed"
    add_run s 4 $seed "1.9$seed" "0.8$seed"
done
exits 0 "a report is made" unetctl report -C s
examples=s/runs/unet-g02-s1/attempt-1/examples
mkdir $examples
for example in best median worst random; do
    cp s/report/figures/iou.png $examples/$example.png 2>/dev/null || skip_all "no rsvg-convert"
done
printf '%s\n' example,image,iou best,7,0.99 'median,"a,<b>",0.9' worst,9,0.1 random,7,0.99 \
    >$examples/examples.csv
exits 0 "a report with example pictures is made" unetctl report -C s
like s/report/report.html '<figcaption>median: a,&lt;b&gt;, IoU 0\.9000</figcaption>' \
    "their images are named"
python3 "$srcdir/t/browser.py" s/report/report.html shots >found 2>why
case $? in
0) ;;
77) skip_all "no browser: $(tail -n 1 why)" ;;
*) is "$(cat why)" "" "the browser works" ;;
esac
value() { sed -n "s/^$1 //p" found; }

is "$(value page)" 1 "the page is loaded"
is "$(value requests)" "" "it makes no other request"
is "$(value scripts)" 0 "it has no scripts and no links to files"
is "$(value pictures | tr ' ' '\n' | sort -u | grep -cE '^[1-9][0-9]+x[1-9]')" 1 \
    "the example pictures are shown"
is "$(value pictures | wc -w)" 4 "there are four"
is "$(value touching)" "" "no labels of a drawing touch"
is "$(value touching-narrow)" "" "nor on a phone"
is "$(python3 -c 'import sys; print(0 < int(sys.argv[1]) <= 900)' "$(value first-screen)")" True \
    "verdict, numbers, both figures and caveats fit the first screen"
is "$(grep -c '<div><dt>' s/report/report.html)" 5 "there are five numbers"
is "$(value console)" "" "the console has no message"
is "$(value drawings)" 9 "all drawings are there"
is "$(value overflow)" "" "nothing is wider than the page"
is "$(value overflow-narrow)" "" "nothing is wider than a phone"
is "$(value contrast)" "" "the contrast of all text is sufficient"
is "$(value contrast-dark)" "" "the contrast of all text is sufficient on a dark screen"
like found '^paper-dark rgb\(([0-4]?[0-9], ){2}[0-4]?[0-9]\)' "a dark screen gets a dark page"
like found '^headings 12[23]+$' "headings are nested in order"
is "$(value unlabelled)" 0 "each drawing has a name"
is "$(value headless-tables)" 0 "each table has a caption and heads with a scope"
is "$(value figures-without-values)" 0 \
    "each drawing's values are in a table that can be opened by keyboard"
is "$(value hidden-tips)" 0 "no tip is shown at first"
is "$(value shown-tips)" 1 "pointing at a value shows its tip"
like found '^tip .*\| [0-9]+ GPUs? \| speed-up [0-9.]+' "the tip has the value"
for f in light dark narrow hover; do
    is "$(head -c 4 shots/$f.png | tail -c 3)" PNG "$f.png"
done
is "$(head -c 4 shots/print.pdf)" %PDF "it can be printed"
done_testing
