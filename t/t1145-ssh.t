#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study on another host, over a real ssh to a real sshd on the loopback address.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
# shellcheck source=t/sshd.sh
. "$srcdir/t/sshd.sh"
without_pictures
sshd_up
folder="$there/my study's"

# ---- from init to report
mkdir lap
cat >lap/sim <<'END'
#!/bin/sh
[ ! -e "${0%/*}/hang" ] || exec sleep 300
echo "Performance: ${1}0.5"
END
chmod +x lap/sim
exits 0 "init --ssh" unetctl init lap --ssh "cluster:~/my study's" --site local --name demo \
    --set 'log.pattern=^Performance: +(?<ns_per_day>\S+)' -- ./sim '{{gpus}}' '{{steps}}'
like lap/study.yaml '^site: \{ssh: "cluster", folder: "~/my study.s", site: "local"\}' \
    "study.yaml here names the host"
like "$folder/study.yaml" '^site: local' "there it names the site"
exits 2 "init --ssh with a text that is no host" unetctl init other --ssh -oProxyCommand=x -- ./sim
like "$ERR" "^unetctl: error: --ssh: '-oProxyCommand=x' must be a host" "it says what is wrong"
ok "and leaves no folder" test ! -e other
cd lap || exit 255
exits 0 "plan" unetctl plan --gpus 1,2
like "$OUT" '^command-g02-s1 ' "plan lists runs"
exits 0 "submit --wait" unetctl submit --gpus 1,2 --wait
like "$ERR" 'command-g02-s1: COMPLETED' "what it prints arrives"
ok "runs and ledger are only there" test ! -e runs -a ! -e .unetctl -a -e "$folder/.unetctl"
exits 0 "status of the study as an operand" unetctl status --json ../lap
is "$(field "$OUT" '[r["state"] for r in d["runs"]]')" "['COMPLETED', 'COMPLETED']" \
    "standard output is only the JSON"
is "$(printf 'a\nb\n' | { unetctl status >/dev/null 2>&1; cat; } | tr '\n' ' ')" "a b " \
    "standard input of a loop is left alone"
exits 0 "logs" unetctl logs command-g01-s1
like "$OUT" '^Performance: 10\.5' "logs prints the output"
exits 0 "collect" unetctl collect
ok "logs/ is copied" diff -r logs "$folder/logs"
touch logs/log_9.csv logs/mine
exits 0 "report -o" unetctl report -C . -o ./out
ok "the report is copied, in the folder that was named" test -s out/report.html
exits 0 "report" unetctl report
ok "report/ is copied" test -s report/report.html

# ---- what the other host may plant
mkdir ../canary && echo secret,secret >../canary/file && cp ../canary/file ../canary/log_8.csv
before=$(cd ../canary && cat ./* | cksum)
ln -s "$TMP/canary" "$folder/report/.new-1" && ln -s "$TMP/canary/file" "$folder/logs/log_8.csv"
mkfifo "$folder/logs/log_7.csv" && truncate -s 1T "$folder/logs/log_6.csv"
ln -s "$TMP/canary" logs/mine.d && ln -sf "$TMP/canary/file" logs/results.csv
exits 0 "collect beside links, a FIFO and a terabyte there" timeout 60 unetctl collect
like "$ERR" '^unetctl: warning: cluster: not everything is copied from there: .*log_[678].csv' \
    "one line says that something is left there"
is "$(cd logs && echo log_[678].csv; cd ../report && echo .new*)" "$(printf 'log_[678].csv\n.new*')" \
    "neither links nor the FIFO nor the large file arrive"
ok "a link here is replaced" test ! -L logs/results.csv -a -s logs/results.csv
is "$(cd ../canary && cat ./* | cksum)" "$before" "nothing is written through links"
rm -r "$folder"/logs/log_[678].csv "$folder/report/.new-1" logs/mine.d
is "$(cd logs && echo ?in* log_9*)" 'mine log_9*' "a log that is not there is removed, other files stay"
exits 2 "report -o of a folder elsewhere" unetctl report -o ../out
like "$ERR" '^unetctl: error: report: --output \.\./out: only files in .*/lap are also on cluster' \
    "it says which files are in both places"
exits 2 "report of a study there and one here" unetctl report . "$there/my study's" -o both
like "$ERR" 'the study \. is on cluster, and .*my study.s is not: .*; .unetctl report --logs \./logs' \
    "it says what to type"
mkdir ../lap2 && cp sim ../lap2
exits 0 "a second study on the host" unetctl init ../lap2 --ssh "cluster:~/second one" --site local --name other \
    --set 'log.pattern=^Performance: +(?<ns_per_day>\S+)' -- ./sim '{{gpus}}' '{{steps}}'
exits 0 "submit --wait" unetctl submit -C ../lap2 --gpus 1,2 --wait
latin=$'../caf\351'
mkdir "$latin" && cp sim "$latin"
exits 0 "init in a folder that is not UTF-8" unetctl init "$latin" --ssh "cluster:~/third" --site local \
    --name other -- ./sim
exits 0 "its study.yaml is read there" unetctl plan -C "$latin" --gpus 1
like "$there/third/study.yaml" 'sent by unetctl from ".*/caf\\\\xe9", where' "and names the folder"
exits 2 "report of both" unetctl report . ../lap2
like "$ERR" 'the study \. is on cluster; name the report.s folder in it: -o \./FOLDER' "needs a folder in both places"
exits 0 "report of both" unetctl report . ../lap2 -o both
like both/report.md 'other' "is copied, with both studies"
exits 0 "status of both" unetctl status ../lap2 .
is "$(grep -c '^command-g01-s1 .*COMPLETED' "$OUT")" 2 "shows the runs of both"
exits 0 "report of the logs here" unetctl report --logs logs -o only
touch hang
exits 0 "submit after a file changed" unetctl submit --gpus 3
ok "the file was sent" test -e "$folder/hang"
exits 0 "cancel" unetctl cancel command-g03-s1
exits 1 "watch" unetctl watch command-g03-s1
rm hang "$folder/hang"
exits 0 "resume --wait" unetctl resume --wait command-g03-s1
exits 2 "an exit code arrives" unetctl status command-g77-s1
UNETCTL_LIMIT_STEPS=77 unetctl config limit.steps >"$OUT"
like "$OUT" '77' "variables of settings arrive"

# ---- words, and shells of the host
word=$'a\'b "c" $(touch ../pwned) `touch ../pwned` \\n\n*~!1 {x,y};&|<>%s\tz\303\274'
for shell in zsh fish tcsh bsd-csh; do
    [ -n "$(command -v $shell)" ] || continue
    echo $shell >"$TMP/ssh/shell"
    unetctl config -s "command.args=[$(python3 -c 'import json, sys; print(json.dumps(sys.argv[1].replace("\n", "").replace("\t", "")))' "$word")]" \
        command.args --json >"$OUT" 2>"$ERR"
    is "$(field "$OUT" 'd["values"][0]["value"][0]')" "$(printf %s "$word" | tr -d '\n\t')" \
        "$shell there leaves words as they are"
done
echo sh >"$TMP/ssh/shell"
exits 2 "a word with a newline" unetctl status "$word"
ok "nothing was executed" test ! -e "$there/pwned" -a ! -e "$TMP/pwned"

# ---- the connection dies at any moment: with a terminal there, and without
cd "$TMP" || exit 255
touch "$folder/hang"
codes=
# The first connection lasts longer than its command, so that at least that one is cut.
# shellcheck disable=SC2016 # the host expands it
echo '"$shell" -c "$SSH_ORIGINAL_COMMAND"; code=$?; sleep 0.5; exit $code' >"$TMP/ssh/limits"
for _ in 1 2; do
    sshd_cut lap "$folder" unetctl submit -C lap --gpus 4..9
    codes+="$? "
    rm -f "$TMP/ssh/limits"
    sshd_cut lap "$folder" script -qec "unetctl submit -C lap --gpus 4..9" tty.out </dev/null
    codes+="$? "
done
echo "# exit codes $codes"
like <(echo "$codes") '4' "connections died in submit, which exits with 4"
is "${codes//[04] /}" '' "... and with no other code"
exits 0 "submit succeeds after that" unetctl submit -C lap --gpus 4..9
is "$(XDG_STATE_HOME=$there/state killed_jobs local "$folder" | cut -d: -f3 | uniq -c | awk '/command-g0[4-9]/ { print $1 }' | tr '\n' ' ')" \
    "1 1 1 1 1 1 " "each run has one job"
exits 0 "cancel" unetctl cancel -C lap --yes

# ---- bad input: one line each
refused() { # CODE REGEX TEXT [KEYS OF site]
    local rc
    sed "s|^site: .*|site: {${4:-ssh: cluster, folder: /dev/null/x}}|" lap/study.yaml >bad/study.yaml
    setsid unetctl plan -C bad >"$OUT" 2>"$ERR" </dev/null
    rc=$?
    is "$rc $(wc -l <"$ERR")" "$1 1" "$3: one line, exit $1"
    like "$ERR" "$2" "... with the reason"
}
mkdir bad
refused 4 'no connection to closed: .*Connection refused' "no sshd" "ssh: closed"
refused 4 'no connection to no\.such\.host: .*resolve hostname' "no host" "ssh: no.such.host"
refused 4 'no connection to stranger: .*Permission denied.*must work first, with a key' \
    "no key, no terminal to ask on" "ssh: stranger"
refused 3 'cluster:/dev/null/x cannot be written \(mkdir: .*Not a directory\)' "no folder"
refused 3 'has no unetctl that starts \(.*not found\); install version .* PATH' "no unetctl" \
    "ssh: cluster, unetctl: /nowhere/unetctl"
printf '#!/bin/sh\necho unetctl 0.0.1\n' >old && chmod +x old
refused 3 'has another version than unetctl .* here \(unetctl 0\.0\.1\); install' "another version" \
    "ssh: cluster, unetctl: $TMP/old"
refused 3 "has a study that was not sent from this folder" "another study's folder" \
    "ssh: cluster, folder: \"~/my study's\""
refused 3 "study.yaml:[0-9]+: site: unknown key 'foldr'; did you mean 'folder'" "a wrong key" \
    "ssh: cluster, foldr: x"
echo 'trap "" XFSZ; ulimit -f 0' >"$TMP/ssh/limits"
refused 3 'cannot be written \(.*I/O error|too large' "no room there" "ssh: cluster, folder: ~/full"
ok "nothing is left there" test -z "$(ls -A "$there/full")"
mkdir bare && ln -s "$builddir/unetctl" "$(command -v sh)" "$(command -v env)" bare
echo "PATH=$TMP/bare" >"$TMP/ssh/limits"
refused 3 'has no rsync; install it there' "no rsync there" "ssh: cluster"
rm "$TMP/ssh/limits"
echo 'echo Welcome' >"$TMP/ssh/limits"
exits 4 "a shell that prints text" unetctl status -C lap
like "$ERR" "the shell of cluster prints text .*; mend its startup files .'ssh cluster true' must print nothing" \
    "... with the reason"
rm "$TMP/ssh/limits"
exits 3 "no rsync here" env PATH="$TMP/bin:$builddir" unetctl status -C lap
like "$ERR" '^unetctl: error: a study on cluster needs rsync, which is not installed here' \
    "... with the reason"
done_testing
