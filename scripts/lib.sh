# Sourced by the scripts beside it: where the package is, and how they speak.
# shellcheck shell=bash

set -euo pipefail

# The package's directory, whatever the caller's directory is; every script works from there.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Says one line about what the scripts do themselves; on standard error, so that it never mixes with a program's output.
say() {
    printf 'spool: %s\n' "$*" >&2
}

# Says what failed and what to do about it, and gives up.
fail() {
    say "$*"
    exit 1
}

# Prints what the calling script says of itself at its beginning, and ends, when its first argument asks for help.
help_if_asked() {
    case ${1:-} in
        -h | --help) ;;
        *) return 0 ;;
    esac
    sed -n '2,/^[^#]/ { /^# shellcheck/d; s/^# \{0,1\}//p; }' "$0"
    exit 0
}

# Whether a program is there. Debian keeps daemons out of a plain user's PATH.
have() {
    command -v "$1" >/dev/null 2>&1 || [[ -x /usr/sbin/$1 ]]
}

# Whether the toolchain brings the standard library for static linking.
have_static_library() {
    local runtime
    runtime=$(swift -print-target-info 2>/dev/null | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p')
    [[ -n $runtime && -d ${runtime}_static ]]
}

# Prints the directory of the C++ library for static linking, which the Swift runtime needs; nothing where there is none.
static_cxx_directory() {
    local clang archive
    clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
    archive=$("$clang" -print-file-name=libstdc++.a 2>/dev/null) || return 0
    [[ -f $archive ]] || return 0
    # A directory of its own: in the archive's the linker would find the shared library first.
    mkdir -p "$root/.build/static"
    ln -sf "$archive" "$root/.build/static/libstdc++.a"
    printf '%s' "$root/.build/static"
}

# Sets `compile_flags`, how a release is compiled: without the checks at run time that no two accesses to a variable overlap, a tenth of a
# hit's instructions; debug builds, in which the unit tests run, have them. And `release_flags`, a release that leaves nothing but the C
# libraries to find at run time: a MiB less is resident, and it starts a millisecond earlier. One list for all scripts, because other flags
# would build everything again.
set_release_flags() {
    local cxx
    # Read by the scripts that source this.
    # shellcheck disable=SC2034
    compile_flags=(-c release -Xswiftc -enforce-exclusivity=unchecked)
    release_flags=("${compile_flags[@]}")
    if [[ $(uname -s) == Linux ]] && have_static_library; then
        release_flags+=(--static-swift-stdlib)
        cxx=$(static_cxx_directory)
        if [[ -n $cxx ]]; then
            release_flags+=(-Xlinker "-L$cxx")
        fi
    fi
}
