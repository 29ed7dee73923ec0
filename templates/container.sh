#!/bin/bash
# container.sh RUNTIME IMAGE FOLDER... -- PROGRAM WORD...: executes the program in the image, with
# this environment, in this folder. Each FOLDER has the same path there. RUNTIME is apptainer,
# singularity, podman, charliecloud, or auto: by the form of the image, the first that is installed.
set -u
runtime=$1 image=$2 folders=()
shift 2
while [ "$1" != -- ]; do
    folders+=("$1")
    shift
done
shift
if [ -n "${UNETCTL_STAGED:-}" ] && [[ " ${folders[*]} " != *" $UNETCTL_STAGED "* ]]; then
    folders+=("$UNETCTL_STAGED") # the copy of the data
fi
# Where MPI and PMIx have their sockets and files.
folders+=("${TMPDIR:-/tmp}" "${PMIX_SERVER_TMPDIR:-/tmp}")
for i in "${!folders[@]}"; do # /tmp is there as a whole
    case ${folders[i]} in /tmp | /tmp/*) unset "folders[i]" ;; esac
done
fail() { # EXIT_CODE TEXT
    echo "unetctl: error: container $image: $2 (on $(hostname))" >&2
    exit "$1"
}
program() { if [ "$1" = charliecloud ]; then echo ch-run; else echo "$1"; fi; }
has() { command -v "$(program "$1")" >/dev/null; }

case $image in /*) [ -e "$image" ] || fail 3 "there is no such image" ;; esac
if [ "$runtime" = auto ]; then
    if [ -d "$image" ]; then
        known='charliecloud apptainer singularity'
    else
        case $image in
        /* | *://*) known='apptainer singularity charliecloud' ;;
        *) known=podman ;;
        esac
    fi
    for runtime in $known; do if has "$runtime"; then break; fi; done
    has "$runtime" || fail 5 "${known// / or } is not installed; load it in setup of the site"
fi
has "$runtime" || fail 5 "$(program "$runtime") is not installed; load it in setup of the site"

options=()
case $runtime in
apptainer | singularity)
    for folder in "${folders[@]}"; do options+=(--bind "$folder"); done
    exec "$runtime" exec --nv "${options[@]}" --pwd "$PWD" "$image" "$@"
    ;;
charliecloud)
    # /tmp is that of the node, unless TMPDIR is set. A folder needs a place in the image.
    temporary=${TMPDIR:-/tmp}
    if ch-run --help 2>&1 | grep -q -e --write-fake; then options+=(--write-fake); fi
    if [ -e "$image/ch/environment" ]; then options+=(--set-env); fi
    for folder in "${folders[@]}"; do
        if [ -d "$image" ] && [ -w "$image" ]; then mkdir -p "$image$folder"; fi
        options+=(--bind "$folder")
    done
    export USER="${USER:-$(id -un)}"
    exec env -u TMPDIR ch-run "${options[@]}" --set-env=TMPDIR="$temporary" --cd "$PWD" "$image" \
        -- "$@"
    ;;
podman)
    if [ -d /dev/mqueue ]; then ipc='--ipc=host'; else ipc='--volume=/dev/shm:/dev/shm'; fi
    # Processes stay in the job's control group, where Slurm finds and ends them.
    options=("$ipc" --rm --init --pull never --network host --uts host --security-opt label=disable)
    if command -v crun >/dev/null; then options+=(--runtime crun --cgroups disabled); fi
    if [ "$(id -u)" != 0 ]; then options+=(--userns keep-id); fi
    if [ -e /dev/nvidiactl ]; then options+=(--device nvidia.com/gpu=all); fi
    for folder in /tmp "${folders[@]}"; do options+=(--volume "$folder:$folder"); done
    while IFS= read -r name; do
        case $name in PATH | HOME | LD_LIBRARY_PATH) ;; *) options+=(--env "$name") ;; esac
    done < <(compgen -e)
    exec podman run "${options[@]}" --workdir "$PWD" --entrypoint "[]" "$image" "$@"
    ;;
*) fail 3 "container_runtime $runtime is unknown" ;;
esac
