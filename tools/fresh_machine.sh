#!/usr/bin/env bash
# Runs a command as a new machine would, which remembers nothing:
#
#     tools/fresh_machine.sh make demo test
#
# The command runs in a copy of this checkout (what git tracks, and new files that it does not ignore) with a new
# virtual environment, an empty HOME, an empty TMPDIR and no caches of ours. The system's /tmp, /var/tmp and /dev/shm
# are empty, too, where it allows a private mount namespace. Of the environment only what is named below is kept.
# pip's settings and downloads are kept: they say where packages come from, not what is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" != --inside ]; then
    [ $# -gt 0 ] || { echo "usage: tools/fresh_machine.sh COMMAND..." >&2; exit 2; }
    for user in "" --map-root-user; do  # who is not root becomes it in a namespace of users
        if unshare --mount $user true 2>/dev/null; then
            exec unshare --mount $user --propagation private "$0" --inside private "$@"
        fi
    done
    echo "this system allows no private mount namespace: the command sees the /tmp that others use" >&2
    exec "$0" --inside shared "$@"
fi
namespace=$2
shift 2

PYTHON=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')  # not a shim that looks for itself in HOME
PIP_CACHE_DIR=$("$PYTHON" -m pip cache dir 2>/dev/null) && export PIP_CACHE_DIR || unset PIP_CACHE_DIR
[ ! -e "$HOME/.config/pip/pip.conf" ] || export PIP_CONFIG_FILE=$HOME/.config/pip/pip.conf
RESIGHT_DATA=$(realpath -m "${RESIGHT_DATA:-../shared/data}")
export PYTHON RESIGHT_DATA
kept='^(PATH|PYTHON|PIP_.*|RESIGHT_DATA|CI|.*_proxy|.*_PROXY|.*SSL_CERT.*|REQUESTS_CA_BUNDLE)$'

place=$(mktemp -d "$PWD/.fresh-machine.XXXXXX")  # not in /tmp, which will be covered
trap 'umount --lazy "$place/tmp" 2>/dev/null; rm -rf "$place"' EXIT
mkdir "$place/home" "$place/tmp" "$place/resight" "$place/system-tmp" "$place/system-var-tmp"
git ls-files -z --cached --others --exclude-standard --deduplicate |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    tar --create --null --files-from=- | tar --extract --directory "$place/resight"
if [ "$namespace" = private ]; then
    chmod 1777 "$place"/system-*
    mount --bind "$place/system-tmp" /tmp
    mount --bind "$place/system-var-tmp" /var/tmp
    mount -t tmpfs -o mode=1777 none /dev/shm
    mount -t tmpfs none "$place/tmp"  # in memory, where a sync takes no time; tests sync thousands of times
fi

unkept=()
for name in $(compgen -e); do [[ $name =~ $kept ]] || unkept+=(--unset "$name"); done
cd "$place/resight"
env "${unkept[@]}" HOME="$place/home" TMPDIR="$place/tmp" "$@"
