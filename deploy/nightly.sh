#!/bin/sh
# Runs switchback for cron: one try, and further ones only where a further one can help.
#
#   nightly.sh CONFIG [FLAG…]
#
# Exit code 1 (failed) and 75 (another run holds the lock) are tried again; 2 (usage or configuration) and the others
# are not. Prints nothing when all is well, so that cron sends no mail.
set -u

tries=${SWITCHBACK_TRIES:-4}   # at most
pause=${SWITCHBACK_PAUSE:-900} # seconds between two

[ $# -ge 1 ] || { echo "usage: nightly.sh CONFIG [FLAG…]" >&2; exit 2; }
config=$1
shift
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

try=1
while :; do
    code=0
    switchback run --config "$config" "$@" >/dev/null 2>"$log" || code=$?
    case $code in
    1 | 75) [ "$try" -lt "$tries" ] || break ;;
    *) break ;;
    esac
    try=$((try + 1))
    sleep "$pause"
done

[ "$code" -eq 0 ] || {
    echo "switchback run --config $config: exit code $code after $try of $tries tries"
    cat "$log"
}
exit "$code"
