#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report: known speed-ups are reported in every form, and nothing that the data do not support.
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"
command -v rsvg-convert >/dev/null || skip_all "rsvg-convert is not installed"

json() { python3 -c "import json,sys; r=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))" \
    "$1" "$2"; }

# Steady epochs take 4 s, 2.5 s and 2 s on 1, 2 and 4 GPUs.
make_study s demo 1,2,4 1
add_run s 1 1 4 0.9
exits 8 "a single number of GPUs has no speed-up" unetctl report -C s
like "$ERR" 'compares two numbers of GPUs.* 1 GPU only' "the error says so"
ok "no folder is left" test ! -e s/report
add_run s 2 1 2.5 0.9
add_run s 4 1 2 0.9
exits 0 "the report is made" unetctl report -C s
is "$(head -n 1 "$OUT" | cut -c -26)" "Within reach by time: up t" "its first line is the verdict"
like "$OUT" '^Within reach by time: up to 2 GPUs, 1.60x faster than with 1 GPU' \
    "with one seed the verdict is the number of GPUs within reach"
like <(tr -s '\n ' ' ' <"$OUT") ', by single runs, undecided\. ' "which single runs do not decide"
like "$OUT" '^Worth measuring next: 3 seeds with 1 and 2 GPUs' \
    "it says which seeds show the scatter"
like "$OUT" 'Limit: with 4 GPUs .*0.50' "it names the limit"
like "$OUT" '^But: ' "it has caveats"
like "$OUT" 's/report/report.html' "it says where the report is"
r=s/report/report.json
is "$(json $r '[round(p["speedup_steady"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 1.6, 2.0]" "the steady speed-ups are right"
is "$(json $r '[round(p["speedup_total"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 1.6, 2.0]" "the total speed-ups are right"
is "$(json $r '[round(p["efficiency"],6) for p in r["engines"][0]["points"]]')" "[1.0, 0.8, 0.5]" \
    "the efficiencies are right"
is "$(json $r '[round(p["images_per_s"]["median"],6) for p in r["engines"][0]["points"]]')" \
    "[16.0, 25.6, 32.0]" "the images per second are right"
is "$(json $r '[r["engines"][0]["verdict"][k] for k in ("worth_gpus", "reach_gpus", "decided", "next_seeds")]')" \
    "[None, 2, False, 3]" "the JSON has the verdict"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed -n 's/^\*\*\(.*\)\*\*$/\1/p' s/report/report.md)" \
    "the verdict in Markdown is that of the JSON"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed -n 's/.*<h2 id="verdict-0">\(.*\)<\/h2>/\1/p' s/report/report.html)" \
    "the verdict in the page is that of the JSON"
is "$(json $r 'r["engines"][0]["verdict"]["headline"]')" \
    "$(sed '/^\(Whether\|But\)/,$d' "$OUT" | tr -s ' \n' ' ' | sed 's/ $//')" \
    "the verdict on a terminal is that of the JSON"

# The files of the report.
html=s/report/report.html
names=({cost,efficiency,epoch_time,iou,loss,one_epoch,parts,speedup,whole}.{csv,pdf,png,svg})
is "$(cd s/report/figures && printf '%s\n' * | sort)" "$(printf '%s\n' "${names[@]}" | sort)" "each figure is SVG, CSV, PDF and PNG"
is "$(head -c 4 s/report/figures/speedup.pdf)" %PDF "the PDF figure has the signature of PDF"
is "$(grep '^steady epochs' s/report/figures/speedup.csv | cut -d, -f1-4 | tr '\n' ' ')" \
    "steady epochs,1,speed-up,1 steady epochs,2,speed-up,1.6 steady epochs,4,speed-up,2 " \
    "the numbers of a figure are beside it"
is "$(sed -n 's/.*width="\([0-9.]*cm\)".*/\1/p' s/report/figures/*.svg | sort -u)" 8.90cm \
    "figures are as wide as a column"
is "$(head -c 8 s/report/figures/speedup.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a \
    "the PNG figure has the signature of PNG"
is "$(grep -c '<svg class="chart"' $html)" 9 "the page has all drawings"
unlike $html '(https?:|//[a-z]|src=|href="[^#]|@import|url\()' "the page loads nothing"
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
like $html 'class="ln" d="[^"]*h24"/></g><g [^>]*><text [^>]*>ideal<' "the ideal is a solid line"
like $html 'class="ln dash" d="[^"]*h24"/></g><g [^>]*><text [^>]*>threshold of the rule, 0.80<' \
    "the rule's threshold a dashed one"
like $html '<p class="soft">Rule: Use the fastest count' "the rule is below the verdict"
unlike $html '<caption>The twelve rules' \
    "the rules of benchmarking are a list, since a phone would cut off a table"
like s/report/report.md '^\| GPUs \| nodes \| runs \|' "Markdown has the table"
is "$(head -n 2 s/report/results.csv | tail -n 1)" "$(sed -n 2p s/logs/results.csv)" \
    "the report contains results.csv"
like s/report/report.md '^\*Speed-up of each part of embedded' "Markdown has how each part scales"
like s/report/report.md '^\| 2 \|.* 1\.60 \(0\.80\) \|' "it has speed-up and efficiency with 2 GPUs"
like s/report/report.md '^\| 4 \|.* 2\.00 \(0\.50\) \|' "it has those with 4 GPUs"
like s/report/report.md '^!\[Speed-up.*\]\(figures/speedup.svg\)' "it has the figures"

ok "the fitted model is drawn at whole numbers of GPUs, where it may be used; laws and their evidence are in report.json alone" \
    python3 - $html $r <<'EOF'
import json, re, sys
page, (engine,) = open(sys.argv[1], encoding="utf-8").read(), json.load(open(sys.argv[2]))["engines"]
model = engine["model"]
assert "Amdahl" not in page and "ideal scaling" not in page
assert model["usable"] and 0.5 < sum(l["evidence"] for l in model["laws"]) <= 1, model
tips = re.findall("fitted model[^<]*</text><text[^>]*>([0-9]+) GPUs?</text><text[^>]*>speed-up ([0-9.]+)<", page)
assert [int(n) for n, _ in tips] == [1, 2, 3, 4, 5] and len(set(tips)) == 5, tips
measured = {"1": 1, "2": 1.6, "4": 2}
assert all(abs(float(v) / measured.get(n, float(v)) - 1) < 0.1 for n, v in tips), tips
EOF

# Forms on stdout are printed alone.
rm -r s/report
exits 0 "--text" unetctl report -C s --text
is "$(awk 'length > 80' "$OUT")" "" "it fits 80 columns"
like "$OUT" '^ +2  #+\.+\|  +1.60( |$)' "it has a chart"
exits 0 "--text in UTF-8 on a wide terminal" env LC_ALL=C.UTF-8 COLUMNS=100 unetctl report -C s \
    --text
like "$OUT" "$(printf '^ +2  \xe2\x96\x88.*\xe2\x94\x82 *  1.60')" "the chart is made of blocks"
is "$(python3 -c 'import sys; print([l for l in open(sys.argv[1], encoding="utf-8") if len(l) > 101])' "$OUT")" "[]" \
    "the text fits the width of the terminal"
unlike "$OUT" "$(printf '\033')" "there is no colour without a terminal"
exits 0 "--rules" unetctl report -C s --rules
is "$(grep -cE '^ ?[0-9]+\. (met|not met|does not apply|not applicable)[ :]' "$OUT")" 12 \
    "all twelve rules are printed, with whether they are met"
exits 0 "--paragraph" unetctl report -C s --paragraph
is "$(awk 'length > 80' "$OUT")" "" "it fits 80 columns"
tr '\n' ' ' <"$OUT" >paragraph
like paragraph '^embedded was trained on 1, 2 and 4 GPUs.*, 1 run per count \(unetctl [0-9.]+\)\. ' \
    "it says what was trained on what"
like paragraph ' With 1 GPU an epoch takes 4 s .* With 2 GPUs it is 1\.60 times as fast .*, an efficiency of 0\.80;' \
    "it has the base case and the speed-up"
like paragraph ' is 0\.9000 with 2 GPUs and 0\.9000 with 1 .* The runs are too few to judge the change' \
    "it has the quality"
ok "no folder is written" test ! -e s/report
exits 0 "--json -" unetctl report -C s --json -
cp "$OUT" stdout.json
ok "the output is JSON only" python3 -m json.tool stdout.json
ok "no folder is written" test ! -e s/report
exits 0 "--json FILE -o DIR" unetctl report -C s --json numbers.json -o elsewhere
ok "both are written" test -s numbers.json -a -s elsewhere/report.html
without_pictures

# The collected logs alone give the same report.
cp -r s/logs moved
exits 0 "--logs of a collected folder" unetctl report --logs moved --json -
is "$(json "$OUT" '[round(p["efficiency"],6) for p in r["engines"][0]["points"]]')" \
    "[1.0, 0.8, 0.5]" "the report of the logs has the same numbers"
exits 2 "-C with --logs is refused" unetctl report -C s --logs moved
exits 7 "a folder that does not exist is an error" unetctl report --logs nowhere
mkdir bare
exits 7 "a folder without logs is an error" unetctl report --logs bare
cp s/logs/log_2.csv bare/log_2.csv
exits 8 "one log has no speed-up" unetctl report --logs bare
cp s/logs/log_4.csv bare/log_4.csv
exits 8 "logs without a run on 1 GPU have no base case" unetctl report --logs bare --text
like "$ERR" 'no run on 1 GPU has a result.*submit --gpus 1.*--base 2' \
    "the error says what is missing and which base cases there are"
exits 8 "a base case without runs is an error" unetctl report --logs bare --base 3
like "$ERR" 'no run on 3 GPUs|all runs with a result ran on 4' "the error names it"
exits 8 "the same in a study" unetctl report -C s --base 99
like "$ERR" 'no run on 99 GPUs has a result.*results on 1, 2 and 4 GPUs.*--base 1' \
    "the error lists the numbers of GPUs with results"
exits 8 "the same for a prediction" unetctl report -C s --base 99 --predict 8
exits 0 "another base case is accepted" unetctl report --logs bare --base 2 --text
like "$OUT" 'base case is 2 GPUs' "the report names it"
head -n 2 s/logs/log_4.csv >bare/log_4.csv
exits 0 \
    "a log of one epoch beside longer ones is accepted" unetctl report --logs bare --base 2 --text
like "$OUT" 'with 4 GPUs there is no steady epoch to judge by' "it is not judged"
head -n 2 s/logs/log_2.csv >bare/log_2.csv
exits 8 "a base case with one epoch is an error" unetctl report --logs bare
like "$ERR" 'no steady epoch' "the error says that there is no steady epoch"
cp s/logs/log_2.csv s/logs/log_4.csv bare
head -c 100 s/logs/log_1.csv >bare/log_1.csv
exits 8 "a base case that is corrupt is an error" unetctl report --logs bare
exits 0 "a corrupt log beside others is accepted" unetctl report --logs bare --base 2 --text
like "$OUT" 'log_1 \(1 GPU\) is corrupt' "the report lists it"
cp moved/results.csv broken.csv
mkdir badtable
sed '3s/done/dome/' moved/results.csv >badtable/results.csv
exits 7 "a damaged results.csv is an error" unetctl report --logs badtable
like "$ERR" 'results.csv:3:' "the error has the line"

# Failed runs do not enter any number.
sed -i 's/^gpus: .*/gpus: 1,2,4,6,8/' s/study.yaml
make_run s unet-g08-s1 8 1
mkdir s/runs/unet-g08-s1/attempt-1
echo '{"schema":1,"exit_code":7,"error":"no space left"}' >s/runs/unet-g08-s1/attempt-1/FAILED
exits 0 "a report of a study with a failed and a missing run is made" unetctl report -C s
like "$OUT" '^- unet-g08-s1 \(8 GPUs\) is failed: exit code 7: no space left' \
    "the failed run is listed with its reason"
like "$OUT" '^- unet-g06-s1 \(6 GPUs\) is missing' "it lists the missing run"
is "$(json $r '[p["gpus"] for p in r["engines"][0]["points"]]')" "[1, 2, 4]" \
    "no number contains the failed or the missing run"
like $html '3 of 5 runs have a result' "the page says how many runs have a result"

# Runs with other settings are another series, named by what differs; series are not compared with
# each other.
make_study m mix 1,2,4 1
add_run m 1 1 4 0.9
add_run m 2 1 2.5 0.9
add_run m 4 1 2 0.9
RUN_TRAIN='"optimizer":"sgd","global_batch":8,"dice_weights":"classes"' RUN_MORE='"model":{"base":16},"data":{"height":96}' \
    add_run m 8 1 0.1 0.9
exits 0 "a report of runs with different settings is made" unetctl report -C m --text
like "$OUT" '^Within reach by time: up to 2 GPUs' "a run with other settings is not in the curve"
like <(tr -s '\n ' ' ' <"$OUT") \
    'embedded, data.height 96, model.base 16, train.global_batch 8, train.optimizer sgd, train.dice_weights classes ran on 8 GPUs only' \
    "the run with other settings is a series, named by what differs"
like "$OUT" '^ *model.base +16$' "its settings are listed"
exits 0 "all forms of the report are made" unetctl report -C m
r=m/report/report.json
is "$(json $r '[(e["label"], [p["gpus"] for p in e["points"]]) for e in r["engines"]]')" \
    "[('embedded', [1, 2, 4]), ('embedded, data.height 96, model.base 16, train.global_batch 8, train.optimizer sgd, train.dice_weights classes', [8])]" \
    "the JSON has two series"
is "$(json $r 'r["engines"][1]["settings"]')" \
    "{'data.height': '96', 'model.base': '16', 'train.epochs': '4', 'train.global_batch': '8', 'train.optimizer': 'sgd', 'train.dice_weights': 'classes'}" \
    "the second series has its settings"
like m/report/report.html '>train.optimizer</th><td[^>]*>sgd</td>' "the page lists the settings"
like m/report/report.md '^\| train.optimizer \| sgd \|' "Markdown lists the settings"
like m/report/results.csv '^unet-g08-s1,.*train.optimizer=sgd' "the table of runs has the settings"
cp -r m/logs mlogs
exits 0 "a report of its collected logs is made" \
    unetctl report --logs mlogs --json mlogs.json -o mlogs-report
is "$(json mlogs.json '[len(e["points"]) for e in r["engines"]]')" "[3, 1]" "it has the same series"
make_study dtype dtype 1,2 1
add_run dtype 1 1 4 0.9
RUN_TRAIN='"dtype":"auto"' add_run dtype 2 1 2 0.9
resolve() {
    sed -i -E "1s/(\"dtype\":\"[a-z0-9]+\",)?\"gpus\"/\"dtype\":\"$1\",\"gpus\"/" \
        dtype/runs/unet-g02-s1/attempt-1/record.jsonl
}
resolve f32
exits 0 "dtype auto that became f32 is compared with a run.json without it" unetctl report -C dtype
resolve tf32
exits 8 "auto that became tf32 is not" unetctl report -C dtype
like "$ERR" 'embedded \(1 GPU\); embedded, train.dtype tf32 \(2 GPUs\)' "the series has its name"
rm -r m/runs/unet-g0[24]-s1
exits 8 "two counts with different settings are not compared" unetctl report -C m
like "$ERR" 'same settings.*embedded \(1 GPU\); embedded, data.height 96, .* \(8 GPUs\)' \
    "the error says that no two runs have the same settings"

# A study of another user, which this user cannot write.
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
    exits 0 "a report of another user's study is printed" \
        "${as_nobody[@]}" unetctl report -C theirs --text
    like "$OUT" '^Within reach by time: up to 2 GPUs' "it has the verdict"
    exits 0 "a report of another user's study is written elsewhere" \
        "${as_nobody[@]}" unetctl report theirs -o ours/report
    ok "it is there" test -s ours/report/report.html
    exits 1 "a report within another user's study is an error" \
        "${as_nobody[@]}" unetctl report -C theirs
    like "$ERR" 'theirs \(-o DIR writes it elsewhere\): Permission denied' \
        "the error says how to write the report elsewhere"
else
    skip "another user cannot read $TMP or $builddir" "a colleague's study"
fi
is "$(find theirs -printf '%p %T@\n' | sort)" "$before" "the study is unchanged"
chmod -R u+w theirs

# The same seed three times counts as one run, in a study and in a table of runs.
make_study seeds seeds 1,2 1
add_run seeds 1 1 4 0.9
add_run seeds 2 1 2.5 0.9
for copy in a b; do
    cp -r seeds/runs/unet-g02-s1 "seeds/runs/unet-g02-s1$copy"
    sed -i "s/\"unet-g02-s1\"/\"unet-g02-s1$copy\"/" \
        seeds/runs/unet-g02-s1$copy/{run.json,attempt-1/record.jsonl}
done
exits 1 "collect of copies of a run is incomplete" unetctl collect -C seeds
is "$(cut -d, -f1,7 seeds/logs/results.csv | grep g02 | tr '\n' ' ')" \
    "unet-g02-s1,done unet-g02-s1a,corrupt unet-g02-s1b,corrupt " \
    "equal copies of a run count as one run"
make_attempt seeds unet-g02-s1b 2 1 1 2.4 0.9
exits 1 "collect of different contents of a run is incomplete" unetctl collect -C seeds
is "$(grep -c 'same engine, settings, 2 GPUs and seed 1: which of them is right is not known' seeds/logs/results.csv)" 3 \
    "different copies of a run do not count"
rm -r seeds/runs/unet-g02-s1{a,b}
unetctl collect -C seeds >/dev/null
sed -n 's/^unet-g02-s1,/other,/; s/log_2.csv/log_9.csv/; /^other/p' seeds/logs/results.csv >row
cat row >>seeds/logs/results.csv
exits 8 "a seed that is twice in a table of runs does not count" unetctl report --logs seeds/logs
exits 1 "collect reports it, too" unetctl collect --logs seeds/logs -o seeds-out
like "$OUT" 'other: corrupt: unet-g02-s1 has the same engine' "the note has the reason"

# Workers that share cores.
make_study o over 1,2 1
add_run o 1 1 4 0.9
add_run o 2 1 4 0.9 true
with_pictures
exits 0 "a report of more workers than cores is made" unetctl report -C o
without_pictures
like "$OUT" '^But: .*(cores|machine)' "a caveat after the verdict says so"
is "$(sed -n '/class="caveats"/,/<li>/p' o/report/report.html | grep -cE 'cores|machine')" 1 \
    "the page has the caveat near its beginning, too"

# Three seeds have medians and a spread.
make_study t three 1,2 3
for seed in 1 2 3; do
    add_run t 1 $seed "$((seed + 48))e-1" "0.90$seed"
    add_run t 2 $seed 2.74 "0.90$((4 - seed))"
done
exits 0 "a report of three seeds is made" unetctl report -C t
unlike "$OUT" 'One run per count' "it does not say that there is one run per count"
like <(tr -s '\n ' ' ' <"$OUT") '^Use 2 GPUs: 1.82x faster than with 1 GPU \(95 % interval [0-9.]+-[0-9.]+\), 1.82x faster to a loss of 0.125, and IoU holds\. IoU with 2 GPUs holds \(' \
    "the verdict has the median of the base case and its interval"
ok "each interval in the JSON reaches its level, and none stands beside a value that is unknown" \
    python3 - s/report/report.json t/report/report.json <<'EOF'
import json, sys
seen = 0
def walk(o):
    global seen
    for v in o.values() if isinstance(o, dict) else o if isinstance(o, list) else []:
        walk(v)
    interval = o.get("interval") if isinstance(o, dict) else None
    if interval:
        seen += 1
        assert interval["low"] <= interval["high"] and interval["level"] >= 0.95, o
        assert None not in [o.get(k, 0) for k in ("value", "median", "difference", "critical_batch")], o
for path in sys.argv[1:]:
    walk(json.load(open(path)))
assert seen > 5, seen
EOF
is "$(json t/report/report.json '[round(r["engines"][0]["convergence"]["points"][1]["speedup_" + k], 2) for k in ("least", "most")]')" \
    "[1.79, 1.86]" "the JSON has the range of the speed-up to the same loss"
is "$(json t/report/report.json '[r["engines"][0]["points"][0]["median_epoch_s"][k] for k in ("median", "min", "max", "runs")]')" \
    "[5.0, 4.9, 5.1, 3]" "the JSON has the spread of the base case"

# Several classes: each has its IoU over all images, and the mean is there with the background and
# without it.
make_study c classes 1,2 1
for n in 1 2; do
    add_run c $n 1 "$((5 - n))" 0.6
    printf '%s\n' image,class,iou,intersection,pred,truth a,all,0.5,1,1,1 a,soil,0.5,$((7 * n)),15,15 \
        a,cell,0.5,3,5,6 b,all,0.5,1,1,1 b,sky,0.5,8,8,9 b,soil,0.5,1,1,1 \
        >c/runs/unet-g0$n-s1/attempt-1/images.csv
done
exits 0 "a report of several classes is made" unetctl report -C c
is "$(sed -n '/^\*IoU of each class/,/^$/d; /^| class/,/^$/p' c/report/report.md | grep '^|' | tr -d ' ')" \
    "|class|1GPU|2GPUs|
|:--|--:|--:|
|sky|0.9000|0.9000|
|soil|0.3600|0.8889|
|cell|0.4444|0.4444|
|meanofall|0.5681|0.7444|
|meanwithoutsky|0.4022|0.6667|" "its table has each class, and both means"
like c/report/tables.tex 'mean without sky' "so has LaTeX"

# Seeds without differences, an unknown IoU, and a study without a good run.
make_study z zero 2,4 3
for seed in 1 2 3; do
    add_run z 2 $seed "4.000$seed" 0.9001
    add_run z 4 $seed "2.000$seed" 0.9001
done
exits 0 "a report without any scatter is made" unetctl report -C z --base 2 -o z-report
like "$OUT" '^Within reach by time: up to 4 GPUs, 2.00x faster than with 2 GPUs \(95 %' \
    "a report without scatter has a verdict"
like <(tr -s '\n ' ' ' <"$OUT") 'But: Runs of different seeds are equal in every loss and score \(numbers of GPUs: 2, 4\)' \
    "runs whose seed changes nothing count as one"
unlike z-report/report.html '>-?(nan|inf)' "it has no NaN and no infinity"
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
exits 0 "a report without IoU is made" unetctl report --logs no-iou --base 2 -o no-iou-report
like <(tr -s '\n ' ' ' <"$OUT") 'by speed alone\. No run has a quality\.' "it says that there is no quality"
ok "there is no figure of IoU" \
    test -e no-iou-report/figures/speedup.svg -a ! -e no-iou-report/figures/iou.svg
make_study bad bad 1,2 1
make_run bad unet-g01-s1 1 1
mkdir bad/runs/unet-g01-s1/attempt-1
echo '{"schema":1,"exit_code":7,"error":"no space left"}' >bad/runs/unet-g01-s1/attempt-1/FAILED
exits 7 "a study without any good run is an error" unetctl report -C bad
like "$ERR" 'unet-g01-s1.*no space left' "the error has the first reason"
ok "no folder is left" test ! -e bad/report
exits 0 "--deadline" unetctl report -C s --deadline 16 --text
like "$OUT" '^Within the deadline: [24] GPUs' "it says which count meets the deadline"

# Several sources side by side.
exits 0 \
    "a report of two studies and a folder is made" unetctl report t o moved -o many --json many.json
is "$(json many.json '[(e["label"], e["points"][-1]["gpus"]) for e in r["engines"]]')" \
    "[('three', 2), ('over', 2), ('moved', 4)]" "each source is a series"
like many/report.html 'three: steady epochs' "a figure has all sources"
exits 7 "a source that does not exist is an error" unetctl report t nowhere
exits 2 "-C with operands is refused" unetctl report -C t o
cp -r moved twin
mkdir a && mv twin a/moved
exits 0 "a report of two folders with one name is made" unetctl report moved a/moved --json -
is "$(json "$OUT" '[e["label"] for e in r["engines"]]')" "['moved', 'moved (2)']" \
    "the series of the two folders have different labels"

exits 0 "the guide's published study is reported" unetctl report --logs "$srcdir/doc/published" -o p
is "$(sed -n 's/.*<dt>\(use\|by time, up to\|undecided\)<.dt><dd>\([0-9]*\).*/\1 \2/p' p/report.html)" \
    "use 14
use 4" "a count is used, also where a larger one is undecided"
is "$(sed -n 's/.*<h2 id="verdict-[01]">\(Use [0-9]*\).*/\1/p' p/report.html)" "Use 14
Use 4" "as the sentence says"

# Hostile names: text from a file appears in pages and scripts only as text.
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
with_pictures
exits 0 "a report of hostile names is made" unetctl report --logs "$evil" -o evil-report
unlike evil-report/report.html '<(b|script|img)[ >]' "they are text in the page"
unlike evil-report/report.md '<(b|script|img)[ >]' "they are text in Markdown"
unlike evil-report/report.html "$(printf '\033')" "escape codes are removed"
is "$(find . -name '[XYZ]')" "" "nothing is executed"
unlike evil-report/tables.tex '(^|[^\\])[$&#_]touch|`|system\(.touch Z.\) #' \
    "they are text in LaTeX"
ok "the drawings are valid XML" python3 -c '
import sys, xml.dom.minidom
for f in sys.argv[1:]: xml.dom.minidom.parse(f)' evil-report/figures/*.svg
exits 0 "--json of them" unetctl report --logs "$evil" --json -
cp "$OUT" stdout.json
ok "it is valid JSON" python3 -m json.tool stdout.json

without_pictures

# Without rsvg-convert, over the report of a version that drew by gnuplot.
mkdir nobin
ln -s "$(command -v unetctl)" nobin/
ok "a report with pictures is made" test -s o/report/figures/speedup.svg
echo mine >o/report/figures/mine.svg
echo '# Notebook. Made by unetctl report; draw it again with gnuplot' >o/report/figures/notebook.gp
: >o/report/figures/notebook.dat
exits 0 "a report without rsvg-convert is made" env PATH="$TMP/nobin" unetctl report -C o
is "$(cat "$ERR")" "unetctl: warning: no PDF and PNG of the figures: rsvg-convert (librsvg2-bin) \
is not installed" "the missing program is one line"
like o/report/report.html 'no PDF and PNG files of them: rsvg-convert' "the page says so"
is "$(grep -c '<svg class="chart"' o/report/report.html)" 9 "the page has its own drawings"
ok "old pictures are removed" test ! -e o/report/figures/speedup.png -a \
    ! -e o/report/figures/notebook.gp -a ! -e o/report/figures/notebook.dat
ok "the drawings are made" test -s o/report/figures/speedup.svg
ok "a file of the user is kept" test -e o/report/figures/mine.svg

# A report that is killed while it writes leaves files that the next report removes.
killat=("$builddir/t/killat")
"${killat[@]}" -l calls 0 env PATH="$TMP/nobin" unetctl report -C o -o killed >/dev/null 2>&1
if [ -s calls ] && [ "$(cut -d' ' -f1 calls)" -gt 40 ]; then
    # Where it writes depends on what the build does at its end.
    for back in 40 80 160 20 60 120 240 30 100 200 320; do
        "${killat[@]}" "$(($(cut -d' ' -f1 calls) - back))" env PATH="$TMP/nobin" \
            unetctl report -C o -o killed >/dev/null 2>&1
        [ -z "$(find killed -name '.new-*')" ] || break
    done
    ok "a report that is killed leaves its temporary folder" test -n "$(find killed -name '.new-*')"
    exits 0 "the next report is made" env PATH="$TMP/nobin" unetctl report -C o -o killed
    is "$(find killed -name '.new-*')" "" "the error names it"
else
    skip "programs cannot be traced here" "a report that is killed"
fi

# Errors while writing leave no incomplete files.
: >file
for name in results.csv report.json figures/speedup.svg; do
    rm -rf theirs && mkdir -p theirs/figures
    echo mine >theirs/$name
    exits 3 "a folder with another file called $name is refused" unetctl report -C s -o theirs
    like "$ERR" "theirs/$name exists" "the error names the file"
    is "$(cd theirs && find . -type f)" "./$name" "the file is unchanged"
done
exits 3 "--json does not overwrite another file" unetctl report -C s --text --json "theirs/$name"
for i in 1 2; do exits 0 "--json to a file, time $i" unetctl report -C s --text --json own.json; \
    done
exits 1 "a folder that cannot be created is an error" unetctl report -C s -o file/report
exits 1 "a file that cannot be written is an error" unetctl report -C s --json nowhere/x.json --text
cp -r s/report before
(
    ulimit -f 16 # 16 KiB a file, as a full disk would
    trap '' XFSZ
    unetctl report -C s >"$OUT" 2>"$ERR"
    echo $? >code
)
is "$(cat code)" 1 "a disk that is full"
like "$ERR" '[Ff]ile too large|No space left' "a full disk is reported"
ok "the earlier report is unchanged" diff -r before s/report
exits 0 "a report in a new folder is made" unetctl report -C s -o fresh
(
    ulimit -f 16
    trap '' XFSZ
    unetctl report -C s -o none >"$OUT" 2>"$ERR"
)
ok "no new folder is left" test ! -e none

# Extra-P.
is "$(json s/report/extra-p.json '[(p["point"], p["values"]) for p in r["measurements"]["embedded"]["steady_epoch"]]')" \
    "[([1], [4.0]), ([2], [2.5]), ([4], [2.0])]" "the JSON input for Extra-P has its points"

# LaTeX.
is "$(grep -c '^.begin{table}' s/report/tables.tex)" \
    "$(grep -c '^.end{table}' s/report/tables.tex)" "every table in LaTeX is closed"
if command -v pdflatex >/dev/null; then
    mkdir tex
    for t in s/report evil-report; do
        printf '%s\n' '\documentclass{article}\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}' \
            "\\begin{document}\\input{$TMP/$t/tables.tex}\\end{document}" >tex/t.tex
        ok "LaTeX compiles the tables ($t)" \
            pdflatex -interaction=nonstopmode -halt-on-error -output-directory \
            tex tex/t.tex
        sed -i 's/.begin{document}/\\usepackage{graphicx}&/' tex/t.tex
        ok "LaTeX compiles the tables with graphicx" \
            pdflatex -interaction=nonstopmode -halt-on-error -output-directory tex \
            tex/t.tex
        unlike tex/t.log 'Overfull .hbox .*paragraph' "no table is too wide"
    done
else
    skip "no LaTeX" "and compile"
fi

# ---- a slow node
make_study slow slow 1..2 6
mkdir slow/.unetctl
for seed in 1 2 3 4 5 6; do
    add_run slow 1 $seed "$((seed > 3 ? 5 : 4)).0$seed" 0.9
    add_run slow 2 $seed "2.$((seed > 3 ? 5 : 0))$seed" 0.9
done
sed -i 's/"host":"n1"/"host":"n2"/' slow/runs/*-s[456]/attempt-1/record.jsonl
exits 0 "a report of runs on two nodes" unetctl report -C slow
like slow/report/report.md 'those on node n2 \(6 runs\) took 2[0-9]\.[0-9] % longer' "names the slow one"
exits 0 "another one" unetctl report -C slow
is "$(cut -d' ' -f2- slow/.unetctl/bad-nodes)" "n2 slow (report)" "it is noted once"
done_testing
