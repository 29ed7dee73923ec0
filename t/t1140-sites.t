#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The scripts of four site profiles for 1..14 GPUs are compared with t/golden/sites (UPDATE_GOLDEN=1
# writes it again), those of the others with what the profile declares; all must be valid.
. "$srcdir/t/lib.sh"
sites="claix-2018 claix-2023 generic iris jean-zay jean-zay-a100 jean-zay-h100 jupiter juwels leonardo"
sites+=" local lumi marconi100 marenostrum5 meluxina perlmutter sandbox"
golden="claix-2018 jean-zay juwels meluxina"
mkdir -p data/images data/masks

is "$(unetctl site list | cut -d' ' -f1 | paste -sd' ')" "$sites" "site list has all sites"
for site in $sites; do
    ok "site show $site" cmp <(unetctl site show "$site" 2>/dev/null) \
        "$srcdir/templates/sites/$site.yaml"
done
like <(unetctl site list) '^marenostrum5 +BSC, MareNostrum 5 ACC: 4 H100 and 80 cores' \
    "site list has a line for each site"
is "$(unetctl site list | awk 'length > 100')" "" "its lines fit a terminal of 100 columns"
exits 3 "an unknown site is refused" unetctl site show jeanzay
like "$ERR" "did you mean 'jean-zay'" "the error names the nearest site"
exits 2 "an unknown word after site is refused" unetctl site liste

# Prints the lines of a script that its template does not have, without those that differ between
# machines.
values() { # STUDY COUNT FILE
    local run
    run=$(printf 'unet-g%02d-s1' "$2")
    grep -vxF -f "$srcdir/templates/embedded/$3" "$1/runs/$run/$3" |
        sed -e "s|$run|RUN|g" -e "s|$TMP|TMP|g" \
        -e "s|$(cat "$1/.unetctl/id")|STUDY_ID|g" -e "s|$builddir/|BIN/|g"
}
# Prints the lines for 1 GPU, and for each further count the lines that differ from the previous
# count.
scripts() { # STUDY
    local n f
    for f in submit_file.sh run_file.sh; do
        echo "== $f of 1 GPU"
        values "$1" 1 $f | sed 's/^/> /'
        for ((n = 2; n <= 14; n++)); do
            echo "== of $n GPUs"
            diff <(values "$1" $((n - 1)) $f) <(values "$1" $n $f) | grep '^[<>]'
        done
    done
}
# Prints what a profile demands of the scripts for 16 GPUs, which fill their nodes.
declared() { # SITE
    awk '
        function known(text) { # with the values of markers
            gsub(/{{nodes}}/, nodes, text)
            gsub(/{{tasks}}/, tasks, text)
            gsub(/{{cpus_per_task}}/, cpus, text)
            return text
        }
        /^ *#/ { next }
        /^[a-z_]+:/ { key = $1; sub(/^[a-z_]+: */, ""); gsub(/^""|^\[|\]$/, ""); v[key] = $0; next }
        key == "setup:" { sub(/^ *- /, ""); both[++n] = $0 }
        key == "env:" { sub(/^ */, ""); sub(/: /, "="); both[++n] = "export " $0 }
        END {
            per_node = v["gpus_per_node:"] + 0 # 0: all GPUs are of one node, and of one rank
            nodes = per_node ? 16 / per_node : 1
            tasks = per_node ? 16 : 1
            cpus = 16 / tasks * v["cpus_per_gpu:"]
            gres = v["gpu_request:"] == "gres"
            print "#SBATCH --nodes=" nodes "\n#SBATCH --ntasks=" tasks "\n#SBATCH --cpus-per-task=" cpus
            if (gres) print "#SBATCH --ntasks-per-node=" per_node "\n#SBATCH --gres=gpu:" per_node
            else print "#SBATCH --gpus-per-task=" 16 / tasks
            m = split("partition account qos constraint licenses", words, " ")
            for (i = 1; i <= m; i++)
                if (v[words[i] ":"]) print "#SBATCH --" words[i] "=" v[words[i] ":"]
            if (split(v["time:"], t, ":")) print "#SBATCH --time=" t[1] * 60 + t[2]
            if (v["options:"]) print "#SBATCH " v["options:"]
            for (i = 1; i <= n; i++) print both[i] "\n" both[i]
            print (tasks > 1 ? known(v["launcher:"]) " " : "") "bash TMP/SITE/runs/RUN/run_file.sh &"
            print "TF_CONFIG=$(BIN/unetctl spec" (v["spec:"] ? " " : "") known(v["spec:"]) ")"
        }' "$srcdir/templates/sites/$1.yaml" | sed "s|SITE/|$1/|" | sort
}
# Prints the same of its scripts: whatever is not the same for all sites.
written() { # SITE
    { values "$1" 16 submit_file.sh && values "$1" 16 run_file.sh; } | sed 's/^ *//' |
        grep -E '^(#SBATCH|export|module|unset|TF_CONFIG=)|run_file\.sh &$' |
        grep -vE '^#SBATCH --(job-name|comment|chdir|output|signal|requeue|open-mode)' | sort
}
bash_scripts=() bash_submit_scripts=() zsh_scripts=()
for site in $sites; do
    unetctl init "$site" --data data --site "$site" --name demo 2>"$ERR" || diag <"$ERR"
    case " $golden " in
    *" $site "*)
        exits 0 "$site: generate --gpus 1..14" unetctl generate -C "$site" --gpus 1..14
        scripts "$site" >got
        if [ -n "${UPDATE_GOLDEN:-}" ]; then cp got "$srcdir/t/golden/sites/$site.txt"; fi
        ok "$site: as in t/golden/sites" diff "$srcdir/t/golden/sites/$site.txt" got
        ;;
    *)
        exits 0 "$site: generate" unetctl generate -C "$site" --gpus 3,8,12,14,16
        ok "$site: what its profile declares, and no more" diff <(declared "$site") <(written "$site")
        ;;
    esac
    unlike <(cat "$site"/runs/*/*.sh) '\{\{' "$site: no marker is left"
    bash_scripts+=("$site"/runs/*/run_file.sh)
    if [ "$site" = claix-2018 ]; then zsh_scripts+=("$site"/runs/*/submit_file.sh); else
        bash_scripts+=("$site"/runs/*/submit_file.sh)
        bash_submit_scripts+=("./$site/runs/unet-g03-s1/submit_file.sh")
    fi
done
is "$(for f in "${bash_scripts[@]}"; do bash -n "$f" 2>&1; done)" "" \
    "all scripts for bash are valid"
if command -v zsh >/dev/null; then
    is "$(for f in "${zsh_scripts[@]}"; do zsh -n "$f" 2>&1; done)" "" \
        "the scripts for zsh are valid"
else
    skip "zsh is not installed" "those for zsh too"
fi
if command -v shellcheck >/dev/null; then
    ok "shellcheck accepts the scripts" shellcheck ./*/runs/unet-g03-s1/run_file.sh \
        "${bash_submit_scripts[@]}"
else
    skip "shellcheck is not installed" "and clean in shellcheck's eyes"
fi

# The requirements of the reference's systems.
directive() { # STUDY COUNT DIRECTIVE...
    local study=$1 file word
    file=$(printf '%s/runs/unet-g%02d-s1/submit_file.sh' "$1" "$2")
    shift 2
    for word in "$@"; do like "$file" "^#SBATCH $word\$" "$study: $word"; done
}
directive claix-2018 4 --nodes=2 --ntasks-per-node=2 --cpus-per-task=12 --gres=gpu:2 \
    --partition=c18g --time=150
like claix-2018/runs/unet-g04-s1/submit_file.sh '^#!/usr/local_rwth/bin/zsh$' "claix-2018: zsh"
# shellcheck disable=SC2016 # as it stands in the script
like claix-2018/runs/unet-g04-s1/submit_file.sh '^ *\$MPIEXEC \$FLAGS_MPI_BATCH bash ' \
    "claix-2018: run_file.sh is started with MPIEXEC"
like claix-2018/runs/unet-g04-s1/run_file.sh \
    'spec --port-base 23456 .*--tasks-per-node .2\(x2\).+--rank' "claix-2018: the port is 23456"
exits 0 "jean-zay: an account" unetctl generate -C jean-zay --gpus 8 -- -A abc@gpu
directive jean-zay 8 --account=abc@gpu --nodes=2 --ntasks-per-node=4 --gres=gpu:4 \
    --cpus-per-task=10 \
    --qos=qos_gpu-t3 --constraint=v100-16g --time=59 --hint=nomultithread
like jean-zay/runs/unet-g08-s1/run_file.sh 'spec --port-base 13565$|spec --port-base 13565\)' \
    "jean-zay: the port is 13565"
like jean-zay/runs/unet-g08-s1/run_file.sh '^unset http_proxy' "jean-zay: no proxies"
like juwels/runs/unet-g08-s1/run_file.sh 'spec --host-suffix i\)' "juwels: InfiniBand names"
# The requirements in the documents of other clusters.
directive claix-2023 8 --nodes=2 --ntasks-per-node=4 --cpus-per-task=24 --gres=gpu:4 \
    --partition=c23g --time=150
directive jean-zay-a100 8 --nodes=1 --gres=gpu:8 --cpus-per-task=64 --constraint=a100 \
    --qos=qos_gpu_a100-t3 --hint=nomultithread
directive jean-zay-h100 8 --nodes=2 --gres=gpu:4 --cpus-per-task=24 --constraint=h100 \
    --qos=qos_gpu_h100-t3 --hint=nomultithread
directive jupiter 8 --nodes=2 --gres=gpu:4 --cpus-per-task=72 --partition=booster
directive leonardo 8 --nodes=2 --gres=gpu:4 --cpus-per-task=8 --partition=boost_usr_prod
directive lumi 12 --nodes=2 --ntasks=12 --cpus-per-task=7 --partition=small-g
directive marenostrum5 8 --nodes=2 --gres=gpu:4 --cpus-per-task=20
directive meluxina 8 --nodes=2 --gpus-per-task=1 --cpus-per-task=16 --partition=gpu --qos=default
directive perlmutter 8 --nodes=2 --gres=gpu:4 --cpus-per-task=32 --constraint=gpu --qos=regular
for site in jupiter juwels lumi meluxina \
    perlmutter; do # their MPI modules or their srun choose the way
    unlike "$site/runs/unet-g14-s1/submit_file.sh" 'srun.* --mpi' "$site: srun chooses the MPI"
done
for site in claix-2023 jean-zay-a100 jean-zay-h100 leonardo marenostrum5; do
    like "$site/runs/unet-g14-s1/submit_file.sh" '^ *srun --mpi=pmix ' "$site: PMIx"
done

# A user's site file, and values that it must not have.
site() { # LINE: the exit code and the error of a study with it
    { grep -v "^${1%%:*}:" "$srcdir/templates/sites/generic.yaml"; echo "$1"; } >generic/mine.yaml
    unetctl generate -C generic --site ./generic/mine.yaml --gpus 3 2>"$ERR"
}
exits 3 "a shell that the scripts do not support is refused" site 'shell: /bin/fish'
like "$ERR" "mine.yaml:[0-9]+: shell: '/bin/fish' must be bash or zsh" "the error has file and line"
exits 3 "a shell without a path is refused" site 'shell: bash'
exits 3 "a suffix with other characters than names have is refused" site 'host_suffix: "i;reboot"'
exits 3 "a GPU type of two words is refused" site 'gpu_type: "v100:1 --wrap"'
exits 3 "an option that unetctl sets is refused" site 'options: [--nodes=3]'
like "$ERR" "mine.yaml: options: '--nodes=3': unetctl decides" "the error names it and the file"
exits 3 "an option and its value in one word are refused" site 'options: ["--signal B:USR1@60"]'
exits 0 "options of the site are accepted" \
    site 'options: [--signal, "B:USR1@60", "--mail-user=a \"b\" #c"]'
directive generic 3 '--signal B:USR1@60' '--mail-user="a \\"b\\" #c"'
done_testing
