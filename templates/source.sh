#!/bin/bash
# source.sh ATTEMPT, in the folder of a run: what the run executes when this job starts it.
# "source.sh - LIST" prints that for the file LIST.
# source.list (written by unetctl) names a folder, files in it and a container. Their hashes, as
# sha256sum prints them, go to ATTEMPT/source.sha256, and a copy of the files to source-HASH. A
# restart with other files adds to source.sha256. Of a container that is a file, its size and its
# first and last MiB count, of a folder its inode and name, of an image of Podman's its digest, else
# the name; it is not copied.
set -u
attempt=$1 run=$PWD list=$(cat "${2:-source.list}")
names() { sed -n "s/^$1 //p" <<<"$list"; }
files() { names file | tr '\n' '\0'; }
folder=$(names folder)

hash_container() {
    if [ -f "$1" ]; then
        { stat -L -c %s "$1" && head -c 1048576 "$1" && tail -c 1048576 "$1"; }
    elif ! stat -L -c '%i %n' "$1" 2>/dev/null; then
        podman image inspect --format '{{.Id}}' "$1" 2>/dev/null || printf '%s' "$1"
    fi | sha256sum
}
hash_all() {
    if [ -n "$folder" ]; then (cd "$folder" && files | xargs -0 -r sha256sum --) fi
    names container | while IFS= read -r container; do
        printf '%.64s  container %s\n' "$(hash_container "$container")" "$container"
    done
}
new=$(hash_all)
if [ -z "$new" ]; then exit 0; fi
if [ "$attempt" = - ]; then
    printf '%s\n' "$new"
    exit
fi
if [ ! -e "$attempt/source.sha256" ]; then
    printf '%s\n' "$new" >"$attempt/source.sha256"
elif [ "$(cat "$attempt/source.sha256")" != "$new" ]; then
    printf '%s\n' "$new" >>"$attempt/source.sha256"
fi

copy=source-$(printf '%s\n' "$new" | sha256sum | cut -c 1-8)
if [ -n "$folder" ] && [ ! -d "$copy" ]; then
    mkdir "$copy.tmp-$$" &&
        (cd "$folder" && files | xargs -0 -r cp --parents -t "$run/$copy.tmp-$$" --) &&
        mv -T "$copy.tmp-$$" "$copy" 2>/dev/null
    rm -rf "$copy.tmp-$$"
fi
