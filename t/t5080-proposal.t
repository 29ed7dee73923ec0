#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report --proposal: the scaling section of an application has the numbers of report.json, is valid
# for any name, says what the runs do not show, and leaves a blank where nothing is known.
# launcher/report/test/proposal.c checks requests; t/peers/p5030-proposal.t compiles the LaTeX.
# shellcheck source=t/lib.sh
. "${srcdir:-.}/t/lib.sh"
. "$srcdir/t/study-fixture.sh"

add_scripts() { # STUDY: what `generate` writes, for each run
    for run in "$1"/runs/*; do
        printf '#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --comment=own\n\techo "a_b & %s" # \\end{verbatim} ```\n' \
            "$run" >"$run/submit_file.sh"
        echo "    srun bash $run/run_file.sh &" >>"$run/submit_file.sh"
        # shellcheck disable=SC2016 # the script expands it
        printf '%s\n' 'start=exec' '$start train_it' >"$run/run_file.sh"
    done
}

# Steady epochs of about 4, 2.1, 1.15 and 0.7 s; two nodes with 4 GPUs, four with 8.
make_study s proud_study 1,2,4,8 4
for seed in 1 2 3 4; do
    add_run s 1 $seed 4.0$seed 0.90$seed
    add_run s 2 $seed 2.1$((seed * 3 % 5)) 0.90$((seed * 2 % 5))
    add_run s 4 $seed 1.15$((seed * 7 % 5)) 0.90$((seed * 3 % 5))
    add_run s 8 $seed 0.70$((seed * 4 % 7)) 0.90$((seed * 4 % 5))
done
add_scripts s
exits 0 "a proposal is written" unetctl report -C s --proposal p --flop 1e9 --gpus-per-node 2 \
    --request 'all_of & it 100%: 8 x 10 x 2' --request 'beyond #1: 12 x 1 x 1' \
    --request 'far: 64 x 1 x 1'
is "$(cat "$OUT")" 'The proposal is p/proposal.tex, the same in Markdown is proposal.md' \
    "it says where"
ok "no report is written" test ! -e s/report
exits 0 "the report has the numbers" unetctl report -C s --json r.json
ok "the proposal has the same numbers, and its products are those of its rows" \
    python3 - r.json p/proposal.md p/proposal.tex p/scaling.csv <<'EOF_PYTHON'
import csv, json, re, sys
(engine,) = json.load(open(sys.argv[1]))["engines"]
md, tex = (open(f, encoding="utf-8").read() for f in sys.argv[2:4])

def tables(lines, row):
    found, head = [], None
    for line in lines:
        cells = row(line)
        if not cells:
            head = None
        elif head is None:
            head = cells
            found.append([])
        elif not re.fullmatch("[-: ]+", cells[0]):
            found[-1].append(dict(zip(head, cells)))
    return found

def of_md(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else None

def of_tex(line):
    return [c.strip() for c in re.split(r"(?<!\\)&", line[:-2])] if line.endswith(r"\\") else None

scaling, beyond, request = tables(md.splitlines(), of_md)
verdict = engine["verdict"]
assert len(scaling) == 4 == len(engine["points"])
for row, p in zip(scaling, engine["points"]):
    def check(name, value, decimals):
        assert abs(float(row[name]) - value) <= 0.50001 * 10**-decimals, (name, row[name], value)
    def check_interval(name, i, decimals):
        assert row[name] == (f"{i['low']:.{decimals}f}..{i['high']:.{decimals}f}" if i else "-"), (row, i)
    assert int(row["GPUs"]) == p["gpus"] and int(row["nodes"]) == p["nodes"] and row["runs"] == "4"
    whole, steady, rate = list(row)[3:6]
    check(whole, p["whole_s"]["median"], 1)
    check(steady, p["median_epoch_s"]["median"], 3)
    check(rate, p["images_per_s"]["median"], 1)
    check("speed-up", p["speedup_steady"], 2)
    check("efficiency", p["efficiency"], 3)
    check_interval("its interval", p["speedups"]["steady_epoch_s"]["interval"], 2)
    check_interval("interval of it", p["efficiencies"]["steady_epoch_s"]["interval"], 3)
assert [r["GPUs"] for r in beyond] == ["12", "16"]  # 1.5 and 2 times
for r in beyond:
    low, high = map(float, r["its interval"].split(".."))
    assert low <= float(r["speed-up"]) <= high and low < high, r
    assert abs(float(r["efficiency"]) - float(r["speed-up"]) / int(r["GPUs"])) < 0.011, r
assert "Extrapolation, not measured" in md and "if no limit begins beyond 8" in md
assert re.search("request asks for 64 GPUs .far., for which these runs show nothing", md)
all_of, more, far, total = request
assert [all_of[k] for k in ("GPUs", "nodes", "runs", "GPU-h", "node-h")] == ["8", "4", "10", "160", "80"]
assert "measured" in all_of["efficiency"] and ".." in all_of["efficiency"], all_of
assert "not measured: predicted, if no limit begins" in more["efficiency"] and more["nodes"] == "6", more
assert far["efficiency"] == "not measured, not predicted", far
assert total["GPU-h"] == "236" and total["node-h"] == "118" and total["FLOP"] == r"\_\_\_\_", total
rate = engine["points"][3]["images_per_s"]["median"]
assert all_of["FLOP"] == f"{1e9 * rate * 20 * 3600:.4g}", all_of
# LaTeX has the same rows.
plain = lambda t: [{re.sub(r"[\\{}]|amp;|text\w+", "", k): re.sub(r"[\\{}]|amp;|text\w+", "", v)
                    for k, v in r.items()} for r in t]
for a, b in zip((scaling, beyond, request), tables(tex.replace("\\hline\n", "").splitlines(), of_tex)):
    assert plain(a) == plain(b), (plain(a), plain(b))
points = list(csv.DictReader(open(sys.argv[4])))
measured = [float(p["value"]) for p in points if p["series"] == "steady epochs"]
assert [round(v, 6) for v in measured] == [round(p["speedup_steady"], 6) for p in engine["points"]]
assert max(int(p["GPUs"]) for p in points) == 16
band = [p for p in points if p["series"] == "its interval of 90 %"]
assert [int(p["GPUs"]) for p in band] == list(range(8, 17)), band
widths = [float(p["high"]) - float(p["low"]) for p in band]
assert all(a <= b for a, b in zip(widths, widths[1:])) and widths[-1] > 0, widths
by_count = {int(p["GPUs"]): p for p in band}
for r in beyond:  # the table has the same interval
    low, high = map(float, r["its interval"].split(".."))
    p = by_count[int(r["GPUs"])]
    assert abs(low - float(p["low"])) < 0.0051 and abs(high - float(p["high"])) < 0.0051, (r, p)
EOF_PYTHON
like p/proposal.tex '^all.\_of .\& it 100.% & 8 & 4 ' "names are escaped in LaTeX"
like p/proposal.md '^\| all.\_of &amp; it 100% \| 8 \|' "names are escaped in Markdown"
like p/proposal.tex '^.section\{Parallel performance of proud.\_study\}' "so is the study's"
unlike p/proposal.md 'Few counts' "four numbers of GPUs and of nodes are enough"
like p/proposal.md '^Seeds: 1, 2, 3, 4\.' "it has the seeds"
like p/proposal.md '^Length of a run in epochs: 4\.' "it has the length of the runs"
like p/proposal.md '^Runs started at: 2026-01-01T00:00:00Z\.' "it has when"
like p/proposal.md '^Cluster: (._){4}\.' "what is unknown is a blank"
like p/proposal.md '^Nodes: n1\.' "it has the nodes"
like p/proposal.md '^We request 10 runs of all..?of &amp; it 100% on 8 GPUs, 2 h each: 160 GPU-h\.' "it requests"
run=$(sed -n 's/.* beside this file are the job of run \([a-z0-9-]*\), 4 GPUs\.$/\1/p' p/proposal.md)
ok "the scripts are beside it" cmp p/submit_file.sh "s/runs/$run/submit_file.sh"

# What was filled in is not overwritten.
echo mine >>p/proposal.tex
exits 3 "a folder with files is refused" unetctl report -C s --proposal p
like "$ERR" 'report: --proposal p: name a new folder, since the blanks' "the error says why"
is "$(tail -n 1 p/proposal.tex)" mine "nothing is changed"
exits 2 "a bad request is refused" unetctl report -C s --proposal q --request '8 GPUs'
like "$ERR" "must be 'NAME: GPUS x RUNS x HOURS', such as" "the error says what is meant"
exits 2 "a request without a proposal is refused" unetctl report -C s --request 'a: 1 x 1'
exits 2 "with --predict it is refused" unetctl report -C s --proposal q --predict 16
ok "no folder is left" test ! -e q

# Short runs of a program that counts cells: speed alone.
mkdir short
python3 - s/logs/results.csv short/results.csv <<'EOF_PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
for r in rows:
    r.update(limited="yes", unit="cells", iou="", dice="", training_time="", test_time="", log="")
with open(sys.argv[2], "w", newline="") as f:
    w = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
    w.writeheader()
    w.writerows(rows)
EOF_PYTHON
exits 0 "a proposal of short runs" unetctl report --logs short --proposal v --flop 1e6 \
    --request 'a: 8 x 3' --request 'b: 4 x 3 x 2'
unlike v/proposal.md 'whole run s' "a whole run was not measured"
like v/proposal.md '^\| a \| 8 \| 4 \| 3 \| (._){4} \| (._){4} \|' "so its hours are a blank"
like v/proposal.md '^\| b \| 4 \| 2 \| 3 \| 2 \| 24 \| 12 \|' "unless they are given"
like v/proposal.md '^\| all .*\| (._){4} \| (._){4} \| (._){4} \| (._){4} \| (._){4} \|' "no sum is invented"
like v/proposal.md '16 of which give the steady speed alone' \
    "it says that they show speed alone"
like v/proposal.md 'FLOP: 1e\+06 for each of the cells' "work is named"
like v/proposal.md '^\| GPUs .*\| steady epoch s \| cells/s \|' "so is the throughput"
unlike v/proposal.md 'images|IoU' "nothing speaks of images"

# Two numbers of GPUs, single runs, a name of anything, no PDF.
ugly='100% & #1 {x}_~^$ \end{document} | <b> `é'
make_study t few 1,2 1
add_run t 1 1 4 0.9
add_run t 2 1 2.5 0.9
ok "logs are collected" unetctl collect -C t
cp -r t/logs "$ugly"
mkdir bin
printf '#!/bin/sh\nexit 1\n' >bin/rsvg-convert
chmod +x bin/rsvg-convert
exits 0 "a proposal of logs is written without PDF" env PATH="$TMP/bin:$PATH" \
    unetctl report --logs "$ugly" --proposal u
like "$ERR" 'no PDF of the figure' "there is a warning"
unlike u/proposal.tex includegraphics "LaTeX does not ask for the figure"
like u/proposal.tex '100.% .& .#1 .\{x.\}.\_.textasciitilde\{\}.textasciicircum\{\}.\$ .textbackslash\{\}end.\{document.\} .textbar' \
    "no character of a name is taken for LaTeX"
like u/proposal.md '100% &amp; .#1 \{x\}._.~\^.\$ .\\end\{document\} .\| &lt;b&gt; .`' \
    "nor for Markdown"
like u/proposal.md '^- Few counts were measured: 2 of GPUs, 1 of nodes\. Centres ask for at least 3' \
    "it says that the counts are few"
like u/proposal.md '^- One run per count' "it says that there is one run per count"
like u/proposal.md '^The runs do not decide yet how many GPUs' "it says that the verdict is undecided"
like u/proposal.md '^Nothing is predicted beyond 2 GPUs .*: a model needs three' \
    "nothing is predicted"
is "$(grep -c '^| ._._._._ | ._._._._ | ' u/proposal.md)" 1 "without a request there is a form"
like u/proposal.md '^The results have no job script\. Attach .*_$' "and a blank for the script"
exits 0 "a proposal over 2 GPUs" unetctl report -C s --base 2 --proposal base
like base/proposal.md '^- Speed-ups are relative to 2 GPUs, the smallest feasible number, because: ' \
    "it asks why"
# What a centre asks, billed hours, GPUs that are in use, and where the threads of OpenMP ran.
cp s/study.yaml kept.yaml
cat "$srcdir/templates/sites/generic.yaml" - >site.yaml <<'EOT'
billing: max(gpus, cores/8, mem/64)
mem: 128G
EOT
printf 'site: %s\n' "$PWD/site.yaml" >>s/study.yaml
echo 'OpenMP affinity: n1, process 7, thread 0 on CPUs 0-3' >s/runs/unet-g04-s1/attempt-1/slurm-1.out
exits 0 "a proposal for a centre" unetctl report -C s --proposal gcs --for gcs --gpus-per-node 2 \
    --request 'a: 8 x 10 x 2'
like gcs/proposal.md '^\*What GCS asks, with the measurements of embedded\.' "it begins with its items"
like gcs/proposal.md '^\| node-h on Hunter.* \| 80\.00 node-h; billed 160 h \|' "in its units"
like gcs/proposal.md '\| billed h \|' "billed hours have a column"
like gcs/proposal.md 'billed h: runs x hours x max\(gpus, cores/8, mem/64\)' "and their formula"
like gcs/affinity.txt '^4 GPUs: n1, process 7, thread 0 on CPUs 0-3$' "affinity is attached"
like gcs/proposal.tex '^.caption.*What GCS asks' "LaTeX has the same"
exits 2 "another centre is refused" unetctl report -C s --proposal q --for cscs
like "$ERR" "unknown centre 'cscs'; did you mean 'csc'\? .known: csc, gcs, idris" "with the list"
exits 2 "a centre without a proposal is refused" unetctl report -C s --for csc
sed -i 's/^billing.*/billing: gpus*1e308*1e308/' site.yaml
exits 3 "a formula without a finite value is refused" unetctl report -C s --proposal q --for gcs
sed -i 's/^billing.*/billing: max(gpus/' site.yaml
exits 3 "a formula that does not parse is refused" unetctl report -C s --proposal q --for gcs
like "$ERR" 'site.yaml:[0-9]+: billing.* must be a number for gpus, cores, mem or nodes' "in one line"

# A count that is known not to run.
cp kept.yaml s/study.yaml
echo 'expect: {1: does not fit in memory}' >>s/study.yaml
exits 0 "a count that runs after all" unetctl report -C s --proposal ran
unlike ran/proposal.md 'not measured, as study.yaml says' "is not said to be unmeasured"
mv s/runs/unet-g01-* .
exits 0 "the smallest count that ran is the base case" unetctl report -C s --proposal known
like known/proposal.md '^- Speed-ups are relative to 2 GPUs, the smallest feasible number\.' "it says so"
like known/proposal.md '^- 1 GPU: not measured, as study.yaml says .expect.: does not fit in memory' "and why"
unlike known/proposal.md 'have no result' "nothing failed"
exits 2 "its runs are not planned" unetctl plan -C s --gpus 1
like "$ERR" '--gpus 1: none of these runs, by .*study.yaml:8: does not fit in memory' "with the reason"
exits 3 "a count that is none is refused" unetctl plan -C s --set 'expect={0: x}'
cp kept.yaml s/study.yaml
mv unet-g01-* s/runs/
exits 8 "without a choice there is none" unetctl report -C t --best other.yaml --text
like "$ERR" 'report: --best: no number of GPUs is chosen: ' "it says why"
exits 2 "a folder of logs has no settings" unetctl report --logs t/logs --best other.yaml --text
like "$ERR" 'a folder of logs has no study.yaml' "it says so"
ok "nothing is written" test ! -e other.yaml

exits 0 "a proposal of two studies" unetctl report s "$ugly" --proposal two
like two/proposal.md '^Scaling|^\*Scaling of few|^\*Scaling of proud' "it has several series"
ok "results of each are beside it" test -s two/results.csv -a -s two/results_2.csv
done_testing
