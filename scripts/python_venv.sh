# Sourced: makes a virtual environment under .deps for the Python package, once, and names its Python in $venv_python.
# What it holds is in python/requirements*.txt; one of them per argument.

python_venv() { # requirements files
    local venv=$PWD/.deps/venv stamp python
    python=$(command -v "${PYTHON:-python3}")
    stamp=$({ cat "$@"; "$python" --version; } | sha256sum | cut -c1-16)
    venv_python=$venv/bin/python
    if ! grep -qsx "$stamp" "$venv/.complete"; then
        echo "python: making an environment in .deps/venv"
        [[ -x $venv_python ]] || "$python" -m venv "$venv"
        local file arguments=()
        for file in "$@"; do arguments+=(-r "$file"); done
        "$venv_python" -m pip --disable-pip-version-check install --quiet "${arguments[@]}" >"$venv/install.log" 2>&1 || {
            tail -n 20 "$venv/install.log" >&2
            return 1
        }
        echo "$stamp" >>"$venv/.complete"
    fi
}
