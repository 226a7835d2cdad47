#!/bin/sh
# check_isa_objects.sh <instruction set> <object>...
# Checks all objects of one instruction set: they may define symbols of conclave::<set> only, none of them weak or common (the linker
# could choose such a copy, compiled for a newer processor, for the whole program), and may need nothing from outside but a few C
# functions. The scalar set is checked too: its files follow the same rules.
set -eu
isa=$1
shift
allowed='^(memcpy|memset|memmove|expf|sqrt|sqrtf|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$'
listing=$(nm --format=posix "$@")
symbols=$(echo "$listing" | awk 'NF >= 2 { print $2, $1 }')  # "T name", one a line
prefix="_ZNK?8conclave${#isa}${isa}"

complain() {  # $1: what is wrong, $2: symbols, one a line, maybe none
  [ -z "$2" ] && return
  echo "$2" | while read -r symbol; do echo "$isa objects: $1: $(c++filt "$symbol")"; done
  failed=1
}

failed=0
defined=$(echo "$symbols" | awk '$1 ~ /^[A-TV-Z]$/ && $1 !~ /^[VW]$/ { print $2 }' | sort -u)
complain 'weak symbol' "$(echo "$symbols" | awk '$1 ~ /^[VWvwuC]$/ { print $2 }' | sort -u)"
complain "symbol outside conclave::$isa" "$(echo "$defined" | grep -Ev "$prefix" || true)"
needed=$(echo "$symbols" | awk '$1 == "U" { print $2 }' | sort -u)
complain 'needs from outside' "$(echo "$needed" | grep -Ev "$allowed" | grep -Fxv "$defined" || true)"
[ -n "$defined" ] || { echo "$isa objects: no symbols found"; failed=1; }
exit $failed
