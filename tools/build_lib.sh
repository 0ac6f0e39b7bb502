# Shared by ./run, ./test and bench/run: Debian packages, configure, build. Source it; the caller
# sets `root` to the top of the source tree.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the callers use the exit codes and set root

# Exit codes of all scripts: 1 something failed, 2 wrong use, 3 the machine lacks something.
readonly kExitFailed=1 kExitUsage=2 kExitEnvironment=3

# ninja and ctest answer Ctrl-C by failing; without this the next step would start.
trap 'exit 130' INT

say() { printf '%s\n' "$*" >&2; }

# ccache keeps its files below the home directory; without one that can be written to, here.
if [[ -z ${CCACHE_DIR:-} && (-z ${HOME:-} || ! -w $HOME) ]]; then
    export CCACHE_DIR=$root/build/ccache
fi

# Names of a group's packages that are not installed, one per line.
missing_packages() {
    local group=$1 listed installed
    listed=$(awk -v group="$group" '$1 == group { print $2 }' "$root/packaging/debian-packages.txt")
    # dpkg-query fails when a name is unknown, and still lists the others.
    # shellcheck disable=SC2086  # one argument per name
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' $listed 2>/dev/null || true)
    awk 'NR == FNR { if ($2 == "ii") have[$1]; next } !($1 in have)' \
        <(printf '%s\n' "$installed") <(printf '%s\n' "$listed")
}

# A line each: "  g++                 C++20 compiler"
listed_with_reasons() {
    awk 'NR == FNR { want[$1]; next }
         $2 in want { name = $2; $1 = $2 = ""; sub(/^ +/, ""); printf "  %-22s %s\n", name, $0 }' \
        <(printf '%s\n' "$@") "$root/packaging/debian-packages.txt"
}

# "g++ (C++20 compiler), cmake (configures the build)"
with_reasons() {
    awk 'NR == FNR { want[$1]; next }
         $2 in want { name = $2; $1 = $2 = ""; sub(/^ +/, "")
                      printf "%s%s (%s)", separator, name, $0; separator = ", " }' \
        <(printf '%s\n' "$@") "$root/packaging/debian-packages.txt"
}

apt_command() { printf 'apt-get install -y --no-remove --no-install-recommends %s' "$*"; }

known_to_apt() {
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

# What a person without root has to type.
sudo_command() {
    if ! known_to_apt "$@"; then
        printf 'sudo apt-get update && '
    fi
    printf 'sudo %s' "$(apt_command "$@")"
}

may_install() { [[ $(id -u) -eq 0 && -z ${TESSERA_NO_INSTALL:-} ]]; }

# Installs packages; the package lists are refreshed only when they do not suffice.
install_packages() {
    local log=$root/build/log/apt.log
    mkdir -p "$root/build/log"
    local -a install
    read -ra install <<<"$(apt_command "$@")"
    export DEBIAN_FRONTEND=noninteractive
    say "installing $(with_reasons "$@")"
    local wait_for_lock=DPkg::Lock::Timeout=600
    if known_to_apt "$@" && "${install[@]}" -o "$wait_for_lock" >"$log" 2>&1; then
        return 0
    fi
    if apt-get update -o "$wait_for_lock" >"$log" 2>&1 &&
        "${install[@]}" -o "$wait_for_lock" >>"$log" 2>&1; then
        return 0
    fi
    tail -n 5 "$log" >&2
    say "could not install them; the whole output is in $log"
    return 1
}

# Makes sure that the groups are installed, or ends the script with what to do.
require_packages() {
    command -v dpkg-query >/dev/null || {
        command -v cmake >/dev/null && return 0
        say "this is not Debian: install what packaging/debian-packages.txt lists, then try again"
        exit "$kExitEnvironment"
    }
    local group
    local -a missing=()
    for group in "$@"; do
        mapfile -t -O "${#missing[@]}" missing < <(missing_packages "$group")
    done
    [[ ${#missing[@]} -eq 0 ]] && return 0
    if may_install; then
        install_packages "${missing[@]}" || exit "$kExitEnvironment"
    else
        say "missing Debian packages:"
        listed_with_reasons "${missing[@]}" >&2
        say "install them with:"
        say "  $(sudo_command "${missing[@]}")"
        exit "$kExitEnvironment"
    fi
}

# Succeeds when the group is installed or could be; else prints the reason on standard output.
want_packages() {
    command -v dpkg-query >/dev/null || return 0
    local -a missing
    mapfile -t missing < <(missing_packages "$1")
    [[ ${#missing[@]} -eq 0 ]] && return 0
    if may_install && install_packages "${missing[@]}"; then
        return 0
    fi
    printf 'not installed: %s; %s' "${missing[*]}" "$(sudo_command "${missing[@]}")"
    return 1
}

# Shows the last line of a growing log on a terminal until killed.
show_progress() {
    local log=$1 title=$2 line
    while sleep 0.5; do
        line=$(tail -n 1 "$log" 2>/dev/null | cut -c "1-70" || true)
        printf '\r\033[K%s %s' "$title" "$line" >&2
    done
}

# run_logged LOG TITLE COMMAND...: quiet, with progress on a terminal; the log's end on failure.
run_logged() {
    local log=$1 title=$2 progress='' status=0
    shift 2
    mkdir -p "$(dirname "$log")"
    : >"$log"
    if [[ -t 2 ]]; then
        show_progress "$log" "$title" &
        progress=$!
        # shellcheck disable=SC2064  # the id is fixed now
        trap "kill $progress 2>/dev/null || true" EXIT
    fi
    "$@" >>"$log" 2>&1 || status=$?
    if [[ -n $progress ]]; then
        kill "$progress" 2>/dev/null || true
        wait "$progress" 2>/dev/null || true
        trap - EXIT
        printf '\r\033[K' >&2
    fi
    if [[ $status -ne 0 ]]; then
        tail -n 80 "$log" >&2
        say "$title failed; the whole output is in $log"
    fi
    return "$status"
}

# Configures a preset when it is new, when the presets changed or when the tree was moved.
configure_preset() {
    local preset=$1
    local tree=$root/build/$preset
    local stamp=$tree/.configured
    if [[ -f $stamp && $(<"$stamp") != "$root" ]]; then
        say "the source tree was moved: building $preset anew"
        rm -rf "$tree"
    fi
    if [[ ! -f $stamp || $root/CMakePresets.json -nt $stamp ]]; then
        run_logged "$root/build/log/$preset-configure.log" "configuring $preset" \
            env -C "$root" cmake --preset "$preset" || return 1
        printf '%s' "$root" >"$stamp"
    fi
}

# build_preset PRESET TARGET...: one build at a time per source tree.
build_preset() {
    local preset=$1
    shift
    mkdir -p "$root/build"
    {
        flock -n 9 || {
            say "another build runs in this tree: waiting for it"
            flock 9
        }
        if [[ ! -t 2 ]]; then
            say "building $preset: some minutes the first time, log in build/log/$preset-build.log"
        fi
        configure_preset "$preset" &&
            run_logged "$root/build/log/$preset-build.log" "building $preset" \
                ninja -C "$root/build/$preset" -j "$(nproc)" "$@" 9>&-
    } 9>"$root/build/.lock"
}
