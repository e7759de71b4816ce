# Sourced by scripts that need a tool which building Basalt does not: installs the named packages, or says how.
# Usage: apt_tool PACKAGE...

apt_tool() {
    local become=()
    if ! command -v apt-get >/dev/null; then
        echo "please install: $*" >&2
        return 1
    fi
    if [[ $(id -u) != 0 ]]; then
        if ! command -v sudo >/dev/null; then
            echo "as root, run: apt-get install $*" >&2
            return 1
        fi
        become=(sudo)
    fi
    echo "installing $* (needed by this target only)"
    DEBIAN_FRONTEND=noninteractive "${become[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        { "${become[@]}" apt-get update -qq &&
            DEBIAN_FRONTEND=noninteractive "${become[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}
