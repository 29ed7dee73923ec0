#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The report's page, and that of watch --html, in a real browser: they make no requests, log no
# errors, can be read in light and dark, on a phone and on paper, and show their values to a
# pointer.
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
look() { # PAGE
    python3 "$srcdir/t/browser.py" "$1" shots >found 2>why
    case $? in
    0) ;;
    77) skip_all "no browser: $(tail -n 1 why)" ;;
    *) is "$(cat why)" "" "the browser works" ;;
    esac
}
value() { sed -n "s/^$1 //p" found; }

look s/report/report.html
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

# ---- watch --html
echo mine >mine
for option in html metrics; do
    exits 3 "--$option does not replace a user's file" unetctl watch -C s --$option mine
    exits 1 "--$option into a folder that is missing" unetctl watch -C s --$option none/file
    like "$ERR" '^unetctl: error: cannot write none/file: No such file' "the error says so"
    is "$(wc -l <"$ERR")" 1 "it is one line"
done
is "$(cat mine)" mine "the file is unchanged"

cat >train.sh <<'EOF'
#!/bin/sh
cd "$UNETCTL_ATTEMPT_DIR" || exit 1
echo epoch,epoch_time,loss,val_accuracy >log.csv
for i in 0 1 2 3 4 5; do
    echo "$i,$((6 / UNETCTL_GPUS)).$UNETCTL_SEED$i,0.$((9 - i)),0.$((i + 3))$UNETCTL_SEED" >>log.csv
    until [ "$i" != 2 ] || [ -e "$UNETCTL_STUDY_DIR/go" ]; do sleep 0.1; done
done
EOF
chmod +x train.sh
unetctl init live --name demo --site local --set train.epochs=6 -- ./train.sh 2>"$ERR"
exits 0 "four runs are submitted" unetctl submit -C live --gpus 1,2 --seeds 2 --max-in-flight 2
unetctl generate -C live --gpus 1 --seeds 3 2>"$ERR"
lost=live/runs/command-g01-s3/attempt-1 # its job ended in the middle of a line
mkdir -p $lost
broken 'live/runs/*/record.jsonl'
sed -n '1,2p;3s/.loss.*//p' s/runs/unet-g01-s1/attempt-1/record.jsonl |
    sed 's/unet-g01-s1/command-g01-s3/; s/"seed":1/"seed":3/' | head -c -1 >$lost/record.jsonl
UNETCTL_ABSENT_S=1 unetctl watch -C live --html live.html --metrics live.prom --timeout 120 \
    >watch.out 2>watch.err &
watcher=$!
is_half() { # two runs have half of their epochs
    cp live.html during.html && cp live.prom during.prom &&
        [ "$(grep -c '>RUNNING<.*<td>3</td>' during.html)" = 2 ] &&
        grep -q ">Quality by epoch" during.html
}
ok "it shows the curves of runs that are running" wait_until 60 is_half
look during.html
for key in requests console touching touching-narrow overflow overflow-narrow contrast contrast-dark
do
    is "$(value $key)" "" "$key: none"
done
is "$(value scripts) $(value unlabelled) $(value headless-tables) $(value figures-without-values)" \
    "0 0 0 0" "no scripts; drawings and tables have names and values"
like during.html '<h1>demo: the runs so far</h1>' "it names the study"
like during.html 'http-equiv="refresh" content="30"' "it loads itself again"
like during.html '<h2>2 running, 2 pending, 1 lost</h2>' "it counts the states"
like during.html '>LOST<.*>1 / 4<.*the scheduler no longer knows it' "it gives epochs and reasons"
like during.prom '^unetctl_runs\{study="demo",state="RUNNING"\} 2$' "metrics count them, too"
exits 6 "watch ends before the runs" unetctl watch -C live --html ended.html --timeout 1
like ended.html 'unetctl watch was ended, while the jobs continue' "its page says so"
unlike ended.html 'http-equiv="refresh"' "and does not load itself again"
touch live/go
wait $watcher
is $? 1 "watch ends, as one run has no result"
like live.prom '^unetctl_runs\{study="demo",state="COMPLETED"\} 4$' "the last metrics count its results"
like live.html '<h2>4 done, 1 lost</h2>' "the last page has the last states"
like live.html '<h3>Speed-up against the ideal</h3>' "and the speed-up"
unlike live.html 'http-equiv="refresh"' "and stays"
done_testing
