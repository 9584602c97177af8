# Sourced by the scripts beside it: the package's directory, messages, help, and the flags of a release.
# shellcheck shell=bash

set -euo pipefail

# The package's directory, independent of the caller's directory. Every script works from there.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# The functions that a server calls, in the order in which a release has them: scripts/order-functions writes the file.
function_order=$root/.build/function-order.txt

# Prints one line about the script's own work, on standard error, so that it never mixes with a program's output.
say() {
    printf 'spool: %s\n' "$*" >&2
}

# Prints an error with its remedy, and exits.
fail() {
    say "$*"
    exit 1
}

# When the first argument asks for help, prints the comment at the beginning of the calling script, and exits.
help_if_asked() {
    case ${1:-} in
        -h | --help) ;;
        *) return 0 ;;
    esac
    sed -n '2,/^[^#]/ { /^# shellcheck/d; s/^# \{0,1\}//p; }' "$0"
    exit 0
}

# Whether a program is installed. Debian keeps daemons out of a plain user's PATH.
have() {
    command -v "$1" >/dev/null 2>&1 || [[ -x /usr/sbin/$1 ]]
}

# Prints the directory of the toolchain's libraries, PREFIX/lib/swift.
toolchain_libraries() {
    swift -print-target-info 2>/dev/null | sed -n 's/.*"runtimeResourcePath": *"\(.*\)".*/\1/p'
}

# Whether the toolchain brings the standard library for static linking.
have_static_library() {
    local libraries
    libraries=$(toolchain_libraries)
    [[ -n $libraries && -d ${libraries}_static ]]
}

# Whether the toolchain brings LLVM's linker, which can put functions in an order.
have_llvm_linker() {
    local libraries
    libraries=$(toolchain_libraries)
    [[ -n $libraries && -x $libraries/../../bin/ld.lld ]]
}

# Prints the directory of the C++ library for static linking, which the Swift runtime needs; prints nothing when there is none.
static_cxx_directory() {
    local clang archive
    clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
    archive=$("$clang" -print-file-name=libstdc++.a 2>/dev/null) || return 0
    [[ -f $archive ]] || return 0
    # A directory of its own, because in the archive's directory the linker would find the shared library first.
    mkdir -p "$root/.build/static"
    ln -sf "$archive" "$root/.build/static/libstdc++.a"
    printf '%s' "$root/.build/static"
}

# The flags of the debug build in which tests run: warnings are errors. Other flags would build everything again.
# shellcheck disable=SC2034 # The scripts that read this file use it.
checked_flags=(--scratch-path .build/checked -Xswiftc -warnings-as-errors -Xcc -Wall -Xcc -Werror)

# Sets `maps`, the compiler's flags for the C modules of a build: module_maps BUILT, the directory of a build, such as .build/checked/debug.
module_maps() {
    local map
    maps=()
    for map in Sources/C*/module.modulemap "$1"/C*.build/module.modulemap; do
        if [[ -f $map ]]; then maps+=(-Xcc "-fmodule-map-file=$map"); fi
    done
}

# Writes the symbol graphs of built modules: extract_symbol_graphs BUILT INTO MODULE...
extract_symbol_graphs() {
    local built=$1 into=$2 module
    shift 2
    module_maps "$built"
    for module; do
        swift symbolgraph-extract -module-name "$module" -I "$built/Modules" "${maps[@]}" -target "$(target_triple)" \
            -output-dir "$into" -minimum-access-level public -skip-synthesized-members >/dev/null ||
            fail "no symbol graph of $module; is $built a build of all modules?"
    done
}

# Prints the target for which the toolchain compiles.
target_triple() {
    swift -print-target-info 2>/dev/null | sed -n 's/.*"triple": *"\(.*\)".*/\1/p' | head -1
}

# Makes the order of functions that a release has, unless there is one or a tool for it is missing.
make_function_order() {
    if [[ ! -s $function_order ]]; then
        scripts/order-functions || say "the functions are in no order, so a server has four MiB more resident"
    fi
}

# Sets `compile_flags`, the flags of a release: without the checks at run time for overlapping accesses to a variable, which are a tenth of
# a hit's instructions. Debug builds, in which the unit tests run, have these checks. Also sets `simulation_flags` for the simulations and
# the crash test, which share a build in a directory of its own, because `swift test` refuses the next flags; `swift test` needs
# --disable-testable-imports, too, or it compiles all modules again. Also sets `release_flags` for a release that needs
# only the C libraries at run time: two MiB less are resident, and it starts a millisecond earlier. With the file of scripts/order-functions,
# its functions that a server calls lie side by side: four MiB less are resident. Without the file, the linker chooses the order. All scripts
# use these lists, because other flags would build everything again.
set_release_flags() {
    local cxx
    # Read by the scripts that source this.
    # shellcheck disable=SC2034
    compile_flags=(-c release -Xswiftc -enforce-exclusivity=unchecked)
    # shellcheck disable=SC2034
    simulation_flags=(--scratch-path .build/release-tests "${compile_flags[@]}")
    release_flags=("${compile_flags[@]}")
    if [[ $(uname -s) == Linux ]] && have_static_library; then
        # No other program links with this one, so that its symbols need no table at run time.
        release_flags+=(--static-swift-stdlib -Xlinker --no-export-dynamic)
        cxx=$(static_cxx_directory)
        if [[ -n $cxx ]]; then
            release_flags+=(-Xlinker "-L$cxx")
        fi
    fi
    if [[ $(uname -s) == Linux ]] && have_llvm_linker; then
        release_flags+=(-Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld)
        if [[ -s $function_order ]]; then
            release_flags+=(-Xlinker "--symbol-ordering-file=$function_order" -Xlinker --no-warn-symbol-ordering)
        fi
    fi
}
