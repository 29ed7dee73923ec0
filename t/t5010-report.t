#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report: known speed-ups come out, in every form; what may not be said is not said.
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"
command -v gnuplot >/dev/null || skip_all "gnuplot is not installed"

json() { python3 -c "import json,sys; r=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))" \
    "$1" "$2"; }

# 1, 2 and 4 GPUs: steady epochs 4 s, 2.5 s, 2 s.
make_study s demo 1,2,4 1
add_run s 1 1 4 0.9
exits 8 "one count is no speed-up" unetctl report -C s
like "$ERR" 'compares two numbers of GPUs.* 1 GPU only' "and that is said"
ok "and no picture of nothing is left" test ! -e s/report
add_run s 2 1 2.5 0.9
add_run s 4 1 2 0.9
exits 0 "a report" unetctl report -C s
is "$(head -n 1 "$OUT" | cut -c -26)" "Within reach by time: up t" "the verdict is its first line"
like "$OUT" '^Within reach by time: up to 2 GPUs, 1.60x faster than with 1 GPU' \
    "one seed: the count that is within reach"
like "$OUT" '^Worth measuring next: 21 seeds with 1 and 2 GPUs' "and how many seeds would decide"
like "$OUT" 'Limit: with 4 GPUs .*0.50' "what limits is named"
like "$OUT" '^But: ' "what weakens it is said"
like "$OUT" 's/report/report.html' "and where the report is"
r=s/report/report.json
is "$(json $r '[round(p["speedup_steady"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 1.6, 2.0]" "steady speed-ups"
is "$(json $r '[round(p["speedup_total"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 1.6, 2.0]" "total speed-ups"
is "$(json $r '[round(p["efficiency"],6) for p in r["engines"][0]["points"]]')" "[1.0, 0.8, 0.5]" \
    "efficiencies"
is "$(json $r '[round(p["images_per_s"]["median"],6) for p in r["engines"][0]["points"]]')" \
    "[16.0, 25.6, 32.0]" "images per second"
is "$(json $r '[r["engines"][0]["verdict"][k] for k in ("worth_gpus", "reach_gpus", "decided", "next_seeds")]')" \
    "[None, 2, False, 21]" "the verdict for programs"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed -n 's/^\*\*\(.*\)\*\*$/\1/p' s/report/report.md)" \
    "is the same in Markdown"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed -n 's/.*<h2 id="verdict-0">\(.*\)<\/h2>/\1/p' s/report/report.html)" "in the page"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed '/^\(But\|Limit\)/,$d' "$OUT" | tr -s ' \n' ' ' | sed 's/ $//')" "and on a terminal"

# The files.
html=s/report/report.html
for f in speedup iou efficiency epoch_time cost notebook parts whole loss; do
    ok "$f.svg, .pdf, .png, .gp, .dat" test -s s/report/figures/$f.svg \
        -a -s s/report/figures/$f.pdf -a \
        -s s/report/figures/$f.png -a -s s/report/figures/$f.gp -a -s s/report/figures/$f.dat
done
rm s/report/figures/parts.{svg,pdf,png}
ok "a figure can be drawn by hand" env -C s/report/figures gnuplot parts.gp
ok "into the same files" test -s s/report/figures/parts.svg -a -s s/report/figures/parts.pdf
is "$(head -c 8 s/report/figures/speedup.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a \
    "PNG is PNG"
is "$(grep -c '<svg class="chart"' $html)" 9 "the page holds all drawings"
unlike $html '(https?:|//[a-z]|src=|href="[^#]|@import|url\()' "the page asks nobody for anything"
ok "the page is well-formed" python3 -c '
import html.parser, sys
class P(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"): self.stack.append(tag)
    def handle_startendtag(self, tag, attrs): pass
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, (tag, self.getpos())
p = P(); p.feed(open(sys.argv[1]).read()); assert not p.stack, p.stack' $html
like $html 'class="ln" d="M1 7H33"/></svg><span>ideal<' "the ideal is a solid line"
like $html 'class="ln dash" d="M1 7H33"/></svg><span>threshold of the rule, 0.80<' \
    "the rule's threshold a dashed one"
like $html '<p class="soft">Rule: Use the fastest count' "the rule stands below the verdict"
unlike $html '<caption>The twelve rules' \
    "the rules of benchmarking are no table, which a phone would cut"
like s/report/report.md '^\| GPUs \| nodes \| runs \|' "Markdown has the table"
is "$(head -n 2 s/report/results.csv | tail -n 1)" "$(sed -n 2p s/logs/results.csv)" \
    "results.csv lies beside it"
like s/report/report.md '^\*Speed-up of each part of embedded' "how each part scales"
like s/report/report.md '^\| 2 \|.* 1\.60 \(0\.80\) \|' "its speed-up and efficiency with 2 GPUs"
like s/report/report.md '^\| 4 \|.* 2\.00 \(0\.50\) \|' "and with 4"
like s/report/report.md '^!\[Speed-up.*\]\(figures/speedup.png\)' "and the figures"

ok "a fitted model's values are those of its formula, at whole numbers of GPUs" python3 - $html \
    $r <<'EOF'
import json, math, re, sys
page, (engine,) = open(sys.argv[1], encoding="utf-8").read(), json.load(open(sys.argv[2]))["engines"]
a, b, c = next(m["coefficients"] for m in engine["models"] if m["chosen"])
law = next(m["law"] for m in engine["models"] if m["chosen"])
t = lambda n: a / n + (b * math.log2(n) if law == "logarithmic" else b) + c * (n - 1)
tips = re.findall("fitted model[^<]*</text><text[^>]*>([0-9]+) GPUs?</text><text[^>]*>speed-up ([0-9.]+)<", page)
assert [int(n) for n, _ in tips] == [1, 2, 3, 4, 5] and len(set(tips)) == 5, tips
assert all(abs(float(v) - t(1) / t(int(n))) < 0.006 for n, v in tips), tips
EOF

# Forms on stdout come alone.
rm -r s/report
exits 0 "--text" unetctl report -C s --text
is "$(awk 'length > 80' "$OUT")" "" "fits 80 columns"
like "$OUT" '^ +2  #+\.+\|  +1.60( |$)' "has a chart"
exits 0 "--text in UTF-8 on a wide terminal" env LC_ALL=C.UTF-8 COLUMNS=100 unetctl report -C s \
    --text
like "$OUT" "$(printf '^ +2  \xe2\x96\x88.*\xe2\x94\x82 *  1.60')" "draws blocks"
is "$(python3 -c 'import sys; print([l for l in open(sys.argv[1], encoding="utf-8") if len(l) > 101])' "$OUT")" "[]" \
    "fits it"
unlike "$OUT" "$(printf '\033')" "no colour where there is no terminal"
exits 0 "--rules" unetctl report -C s --rules
is "$(grep -cE '^ ?[0-9]+\. (met|not met|does not apply|not applicable)[ :]' "$OUT")" 12 \
    "tells twelve rules, met or not"
exits 0 "--json -" unetctl report -C s --json -
cp "$OUT" stdout.json
ok "is JSON only" python3 -m json.tool stdout.json
ok "neither writes a folder" test ! -e s/report
exits 0 "--json FILE -o DIR" unetctl report -C s --json numbers.json -o elsewhere
ok "writes both" test -s numbers.json -a -s elsewhere/report.html

# A collected folder alone is enough, and says the same.
cp -r s/logs moved
exits 0 "--logs of a collected folder" unetctl report --logs moved --json -
is "$(json "$OUT" '[round(p["efficiency"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 0.8, 0.5]" "gives the same numbers"
exits 2 "-C and --logs" unetctl report -C s --logs moved
exits 7 "no such folder" unetctl report --logs nowhere
mkdir bare
exits 7 "a folder without logs" unetctl report --logs bare
cp s/logs/log_2.csv bare/log_2.csv
exits 8 "one log" unetctl report --logs bare
cp s/logs/log_4.csv bare/log_4.csv
exits 8 "two bare logs, none of 1 GPU" unetctl report --logs bare --text
like "$ERR" 'no run on 1 GPU has a result.*submit --gpus 1.*--base 2' \
    "what is missing, and what else there is"
exits 8 "a base case that is not there" unetctl report --logs bare --base 3
like "$ERR" 'no run on 3 GPUs|all runs with a result ran on 4' "is named"
exits 8 "in a study, too" unetctl report -C s --base 99
like "$ERR" 'no run on 99 GPUs has a result.*results on 1, 2 and 4 GPUs.*--base 1' \
    "with the counts that there are"
exits 8 "and for a prediction" unetctl report -C s --base 99 --predict 8
exits 0 "another base case" unetctl report --logs bare --base 2 --text
like "$OUT" 'base case is 2 GPUs' "is told"
head -n 2 s/logs/log_4.csv >bare/log_4.csv
exits 0 "a log of one epoch beside a longer one" unetctl report --logs bare --base 2 --text
like "$OUT" 'with 4 GPUs there is no steady epoch to judge by' "is not judged"
head -n 2 s/logs/log_2.csv >bare/log_2.csv
exits 8 "one epoch only in the base case" unetctl report --logs bare
like "$ERR" 'no steady epoch' "is no steady speed-up"
cp s/logs/log_2.csv s/logs/log_4.csv bare
head -c 100 s/logs/log_1.csv >bare/log_1.csv
exits 8 "a base case that is broken" unetctl report --logs bare
exits 0 "a broken one" unetctl report --logs bare --base 2 --text
like "$OUT" 'log_1 \(1 GPU\) is corrupt' "which is told"
cp moved/results.csv broken.csv
mkdir badtable
sed '3s/done/dome/' moved/results.csv >badtable/results.csv
exits 7 "a broken results.csv" unetctl report --logs badtable
like "$ERR" 'results.csv:3:' "is told with its line"

# Failed runs are in no number.
sed -i 's/^gpus: .*/gpus: 1,2,4,6,8/' s/study.yaml
make_run s unet-g08-s1 8 1
mkdir s/runs/unet-g08-s1/attempt-1
echo '{"schema":1,"exit_code":7,"error":"no space left"}' >s/runs/unet-g08-s1/attempt-1/FAILED
exits 0 "a study with a failed and a missing run" unetctl report -C s
like "$OUT" '^- unet-g08-s1 \(8 GPUs\) is failed: exit code 7: no space left' \
    "the failed one is listed"
like "$OUT" '^- unet-g06-s1 \(6 GPUs\) is missing' "the missing one, too"
is "$(json $r '[p["gpus"] for p in r["engines"][0]["points"]]')" "[1, 2, 4]" \
    "neither is in a number"
like $html '3 of 5 runs have a result' "the page says how many"

# Runs with other settings are another series, named by what differs; nothing is compared across
# them.
make_study m mix 1,2,4 1
add_run m 1 1 4 0.9
add_run m 2 1 2.5 0.9
add_run m 4 1 2 0.9
RUN_TRAIN='"optimizer":"sgd","global_batch":8' RUN_MORE='"model":{"base":16},"data":{"height":96}' \
    add_run m 8 1 0.1 0.9
exits 0 "a study of runs with different settings" unetctl report -C m --text
like "$OUT" '^Within reach by time: up to 2 GPUs' "a run with other settings is not in its curve"
like <(tr -s '\n ' ' ' <"$OUT") \
    'embedded, data.height 96, model.base 16, train.global_batch 8, train.optimizer sgd ran on 8 GPUs only' \
    "but a series of its own, named by what differs"
like "$OUT" '^ *model.base +16$' "its settings are listed"
exits 0 "in all forms" unetctl report -C m
r=m/report/report.json
is "$(json $r '[(e["label"], [p["gpus"] for p in e["points"]]) for e in r["engines"]]')" \
    "[('embedded', [1, 2, 4]), ('embedded, data.height 96, model.base 16, train.global_batch 8, train.optimizer sgd', [8])]" \
    "two series"
is "$(json $r 'r["engines"][1]["settings"]')" \
    "{'data.height': '96', 'model.base': '16', 'train.epochs': '4', 'train.global_batch': '8', 'train.optimizer': 'sgd'}" \
    "with their settings"
like m/report/report.html '>train.optimizer</th><td[^>]*>sgd</td>' "in the page"
like m/report/report.md '^\| train.optimizer \| sgd \|' "in Markdown"
like m/report/results.csv '^unet-g08-s1,.*train.optimizer=sgd' "in the table of runs"
is "$(grep -c POINTS m/report/extra-p.txt),$(grep POINTS m/report/extra-p.txt)" \
    "1,POINTS (1) (2) (4)" "Extra-P's input is by series"
cp -r m/logs mlogs
exits 0 "a collected folder" unetctl report --logs mlogs --json mlogs.json -o mlogs-report
is "$(json mlogs.json '[len(e["points"]) for e in r["engines"]]')" "[3, 1]" "has the same series"
rm -r m/runs/unet-g0[24]-s1
exits 8 "two counts with different settings" unetctl report -C m
like "$ERR" 'same settings.*embedded \(1 GPU\); embedded, data.height 96, .* \(8 GPUs\)' \
    "are no speed-up"

# Of a study that cannot be written, by another user.
as_nobody=()
[ "$(id -u)" -ne 0 ] || as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
make_study theirs theirs 1,2 1
add_run theirs 1 1 4 0.9
add_run theirs 2 1 2.5 0.9
chmod -R a+rX,a-w theirs
before=$(find theirs -printf '%p %T@\n' | sort)
chmod a+rx "$TMP"
if "${as_nobody[@]}" ls "$TMP/theirs" "$builddir" >/dev/null 2>&1; then
    mkdir -m 777 ours
    exits 0 "a colleague's study: --text" "${as_nobody[@]}" unetctl report -C theirs --text
    like "$OUT" '^Within reach by time: up to 2 GPUs' "is a report"
    exits 0 "a colleague's study: -o DIR" "${as_nobody[@]}" unetctl report theirs -o ours/report
    ok "is written there" test -s ours/report/report.html
    exits 1 "a report into it" "${as_nobody[@]}" unetctl report -C theirs
    like "$ERR" 'theirs \(-o DIR writes it elsewhere\): Permission denied' \
        "is refused, with what to type"
else
    skip "another user cannot read $TMP or $builddir" "a colleague's study"
fi
is "$(find theirs -printf '%p %T@\n' | sort)" "$before" "the study is as it was"
chmod -R u+w theirs

# One seed three times is not three runs, in a study and in a table of runs.
make_study seeds seeds 1,2 1
add_run seeds 1 1 4 0.9
add_run seeds 2 1 2.5 0.9
for copy in a b; do
    cp -r seeds/runs/unet-g02-s1 "seeds/runs/unet-g02-s1$copy"
    sed -i "s/\"unet-g02-s1\"/\"unet-g02-s1$copy\"/" \
        seeds/runs/unet-g02-s1$copy/{run.json,attempt-1/record.jsonl}
done
exits 1 "copies of a run" unetctl collect -C seeds
is "$(cut -d, -f1,7 seeds/logs/results.csv | grep g02 | tr '\n' ' ')" \
    "unet-g02-s1,done unet-g02-s1a,corrupt unet-g02-s1b,corrupt " "are one run"
make_attempt seeds unet-g02-s1b 2 1 1 2.4 0.9
exits 1 "copies that differ" unetctl collect -C seeds
is "$(grep -c 'same engine, settings, 2 GPUs and seed 1: which of them is right is not known' seeds/logs/results.csv)" 3 \
    "are not a run"
rm -r seeds/runs/unet-g02-s1{a,b}
unetctl collect -C seeds >/dev/null
sed -n 's/^unet-g02-s1,/other,/; s/log_2.csv/log_9.csv/; /^other/p' seeds/logs/results.csv >row
cat row >>seeds/logs/results.csv
exits 8 "a seed twice in a table of runs" unetctl report --logs seeds/logs
exits 1 "which collect tells, too" unetctl collect --logs seeds/logs -o seeds-out
like "$OUT" 'other: corrupt: unet-g02-s1 has the same engine' "with its reason"

# Workers that share cores.
make_study o over 1,2 1
add_run o 1 1 4 0.9
add_run o 2 1 4 0.9 true
exits 0 "more workers than cores" unetctl report -C o
like "$OUT" '^But: .*(cores|machine)' "is said right behind the verdict"
is "$(sed -n '/class="caveats"/,/<li>/p' o/report/report.html | grep -cE 'cores|machine')" 1 \
    "up front in the page, too"

# Three seeds: medians and spread.
make_study t three 1,2 3
for seed in 1 2 3; do
    add_run t 1 $seed "$((seed + 3))" "0.90$seed"
    add_run t 2 $seed 2.75 "0.90$((4 - seed))"
done
exits 0 "three seeds" unetctl report -C t
unlike "$OUT" 'One run per count' "are more than one"
like "$OUT" '^Use 2 GPUs: 1.82?x faster than with 1 GPU \(95 % interval [0-9.]+-[0-9.]+\), IoU holds' \
    "the median of the base case counts, with its interval"
is "$(json t/report/report.json '[r["engines"][0]["points"][0]["median_epoch_s"][k] for k in ("median", "min", "max", "runs")]')" \
    "[5.0, 4.0, 6.0, 3]" "its spread is told"

# Seeds that do not differ, IoU that nobody knows, no run that is good.
make_study z zero 2,4 3
for seed in 1 2 3; do
    add_run z 2 $seed 4 0.9
    add_run z 4 $seed 2 0.9
done
exits 0 "no scatter at all" unetctl report -C z --base 2 -o z-report
like "$OUT" '^Use 4 GPUs: 2.00x faster than with 2 GPUs \(95 % interval 2.00-2.00\), IoU holds' \
    "is no trouble"
unlike z-report/report.html '>-?(nan|inf)' "and makes no number that is none"
unetctl collect -C z >/dev/null
cp -r z/logs no-iou
python3 - <<'EOF'
import csv
rows = list(csv.DictReader(open("no-iou/results.csv")))
for row in rows:
    row["iou"] = ""
with open("no-iou/results.csv", "w") as f:
    w = csv.DictWriter(f, rows[0].keys())
    w.writeheader()
    w.writerows(rows)
EOF
exits 0 "no IoU" unetctl report --logs no-iou --base 2 -o no-iou-report
like "$OUT" 'IoU is not recorded' "is said"
ok "and not drawn" test -e no-iou-report/figures/speedup.gp -a ! -e no-iou-report/figures/iou.gp
make_study bad bad 1,2 1
make_run bad unet-g01-s1 1 1
mkdir bad/runs/unet-g01-s1/attempt-1
echo '{"schema":1,"exit_code":7,"error":"no space left"}' >bad/runs/unet-g01-s1/attempt-1/FAILED
exits 7 "no run that is good" unetctl report -C bad
like "$ERR" 'unet-g01-s1.*no space left' "is told with the first reason"
ok "and leaves no folder" test ! -e bad/report
exits 0 "--deadline" unetctl report -C s --deadline 16 --text
like "$OUT" '^Within the deadline: [24] GPUs' "says who keeps it"

# Several sources side by side.
exits 0 "two studies and a folder" unetctl report t o moved -o many --json many.json
is "$(json many.json '[(e["label"], e["points"][-1]["gpus"]) for e in r["engines"]]')" \
    "[('three', 2), ('over', 2), ('moved', 4)]" "are series of their own"
like many/report.html 'three: steady epochs' "side by side in a figure"
exits 7 "one of them is no folder" unetctl report t nowhere
exits 2 "-C and operands" unetctl report -C t o
cp -r moved twin
mkdir a && mv twin a/moved
exits 0 "two folders of one name" unetctl report moved a/moved --json -
is "$(json "$OUT" '[e["label"] for e in r["engines"]]')" "['moved', 'moved (2)']" "are told apart"

# Hostile names: nothing from a file reaches a page or a script as anything but text.
# shellcheck disable=SC2016 # meant literally
evil='a<b>&"$(touch X)`touch Y`'"'"
mkdir evil
cp s/logs/log_{1,2,4}.csv evil/
EVIL=$evil python3 - <<'EOF'
import csv, os
rows = list(csv.DictReader(open("moved/results.csv")))
for row in rows:
    row["engine"] = os.environ["EVIL"]
    row["host"] = "\x1b]0;h\x07</td><script>alert(1)</script>"
    row["run"] = "<img src=x>" + row["run"]
with open("evil/results.csv", "w") as f:
    w = csv.DictWriter(f, rows[0].keys())
    w.writeheader()
    w.writerows(rows)
    rows[0]["engine"] = "'; system('touch Z') #\\"
    w.writerow(rows[0])
    rows[1]["engine"] = rows[0]["engine"]
    w.writerow(rows[1])
EOF
mv evil "$evil"
exits 0 "hostile names" unetctl report --logs "$evil" -o evil-report
unlike evil-report/report.html '<(b|script|img)[ >]' "are text in the page"
unlike evil-report/report.md '<(b|script|img)[ >]' "and in Markdown"
unlike evil-report/report.html "$(printf '\033')" "without escape codes"
is "$(find . -name '[XYZ]')" "" "and run nothing"
unlike evil-report/tables.tex '(^|[^\\])[$&#_]touch|`|system\(.touch Z.\) #' "in LaTeX"
ok "the drawings are XML" python3 -c '
import sys, xml.dom.minidom
for f in sys.argv[1:]: xml.dom.minidom.parse(f)' evil-report/figures/*.svg
exits 0 "--json of them" unetctl report --logs "$evil" --json -
cp "$OUT" stdout.json
ok "is JSON" python3 -m json.tool stdout.json

# Without gnuplot.
mkdir nobin
ln -s "$(command -v unetctl)" nobin/
ok "a report with pictures" test -s o/report/figures/speedup.svg
echo mine >o/report/figures/mine.svg
exits 0 "without gnuplot there is a report" env PATH="$TMP/nobin" unetctl report -C o
like "$ERR" 'warning: no SVG, PDF and PNG of the figures: gnuplot is not installed' "with a warning"
like o/report/report.html 'There are no SVG, PDF and PNG files of them: gnuplot is not installed' \
    "that says so"
is "$(grep -c '<svg class="chart"' o/report/report.html)" 9 "the page has its own drawings"
ok "no old picture is left" test ! -e o/report/figures/speedup.svg
ok "what somebody else put there is" test -e o/report/figures/mine.svg
like o/report/report.md 'There are no figures' "in Markdown, too"

# Killed while it writes: the next one removes what was left.
killat=("$builddir/t/killat")
"${killat[@]}" -l calls 0 env PATH="$TMP/nobin" unetctl report -C o -o killed >/dev/null 2>&1
if [ -s calls ] && [ "$(cut -d' ' -f1 calls)" -gt 40 ]; then
    for back in 40 80 160 20; do # where it writes depends on what the build does at its end
        "${killat[@]}" "$(($(cut -d' ' -f1 calls) - back))" env PATH="$TMP/nobin" \
            unetctl report -C o -o killed >/dev/null 2>&1
        [ -z "$(find killed -name '.new-*')" ] || break
    done
    ok "a report that is killed leaves its folder" test -n "$(find killed -name '.new-*')"
    exits 0 "the next one" env PATH="$TMP/nobin" unetctl report -C o -o killed
    is "$(find killed -name '.new-*')" "" "removes it"
else
    skip "programs cannot be traced here" "a report that is killed"
fi

# Where it can't write: nothing half-written is left.
: >file
for name in results.csv report.json figures/speedup.svg; do
    rm -rf theirs && mkdir -p theirs/figures
    echo mine >theirs/$name
    exits 3 "a folder with somebody's $name" unetctl report -C s -o theirs
    like "$ERR" "theirs/$name exists" "is not written to"
    is "$(cd theirs && find . -type f)" "./$name" "and is as it was"
done
exits 3 "--json over somebody's file" unetctl report -C s --text --json "theirs/$name"
exits 0 "--mllog" unetctl report -C s --mllog theirs
exits 0 "over its own" unetctl report -C s --mllog theirs
for log in theirs/*.log; do echo mine >"$log"; done
exits 3 "over somebody's" unetctl report -C s --mllog theirs
for i in 1 2; do exits 0 "--json to a file, time $i" unetctl report -C s --text --json own.json; \
    done
exits 1 "a folder that can't be made" unetctl report -C s -o file/report
exits 1 "a file that can't be written" unetctl report -C s --json nowhere/x.json --text
cp -r s/report before
(
    ulimit -f 16 # 16 KiB a file, as a full disk would
    trap '' XFSZ
    unetctl report -C s >"$OUT" 2>"$ERR"
    echo $? >code
)
is "$(cat code)" 1 "a disk that is full"
like "$ERR" '[Ff]ile too large|No space left' "is told"
ok "the earlier report is as it was" diff -r before s/report
exits 0 "a folder of its own name" unetctl report -C s -o fresh
(
    ulimit -f 16
    trap '' XFSZ
    unetctl report -C s -o none >"$OUT" 2>"$ERR"
)
ok "and a new one is not begun" test ! -e none

# MLPerf logging lines, and what is no name of a file.
exits 0 "--mllog" unetctl report -C s --mllog ml
ok "writes a file per run" test -s ml/unet-g01-s1.log -a -s ml/unet-g04-s1.log
is "$(grep -c '"key": "epoch_stop"' ml/unet-g02-s1.log)" 4 "with its epochs"
ok "each line is JSON behind its mark" python3 -c '
import json, sys
events = [json.loads(l.removeprefix(":::MLLOG ")) for l in open(sys.argv[1])]
assert [e["key"] for e in events if e["event_type"] == "INTERVAL_START"][0] == "run_start"
assert events[-1]["key"] == "run_stop" and events[-1]["metadata"]["status"] == "success"
assert [e["value"] for e in events if e["key"] == "eval_accuracy"] == [0.9]
assert [e["time_ms"] for e in events if e["key"] == "epoch_stop"] == [7500, 10000, 12500, 15000]' \
    ml/unet-g02-s1.log
exits 0 "of hostile runs" unetctl report --logs "$evil" --mllog ml-evil
is "$(find ml-evil -name '*[<>= ]*')" "" "has plain names"

# Extra-P's two formats.
is "$(sed -n '/^PARAMETER/,/^DATA/p' s/report/extra-p.txt | tr '\n' ' ')" \
    "PARAMETER gpus POINTS (1) (2) (4) METRIC training_time REGION embedded DATA 24 " "Extra-P text"
is "$(json s/report/extra-p.json '[(p["point"], p["values"]) for p in r["measurements"]["embedded"]["steady_epoch"]]')" \
    "[([1], [4.0]), ([2], [2.5]), ([4], [2.0])]" "Extra-P JSON"

# LaTeX.
is "$(grep -c '^.begin{table}' s/report/tables.tex)" \
    "$(grep -c '^.end{table}' s/report/tables.tex)" "LaTeX tables are closed"
if command -v pdflatex >/dev/null; then
    mkdir tex
    for t in s/report evil-report; do
        printf '%s\n' '\documentclass{article}\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}' \
            "\\begin{document}\\input{$TMP/$t/tables.tex}\\end{document}" >tex/t.tex
        ok "and compile ($t)" pdflatex -interaction=nonstopmode -halt-on-error -output-directory \
            tex tex/t.tex
        sed -i 's/.begin{document}/\\usepackage{graphicx}&/' tex/t.tex
        ok "with graphicx" pdflatex -interaction=nonstopmode -halt-on-error -output-directory tex \
            tex/t.tex
        unlike tex/t.log 'Overfull .hbox .*paragraph' "where none is too wide"
    done
else
    skip "no LaTeX" "and compile"
fi

done_testing
