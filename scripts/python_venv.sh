# Sourced: makes a virtual environment under .deps for the Python package, once for each Python, and names its Python in
# $venv_python and the tag of that one's wheels (cp311) in $venv_tag. What it holds is in python/requirements*.txt; one of
# them per argument.

python_venv() { # requirements files
    local venv stamp python
    python=$(command -v "${PYTHON:-python3}")
    venv_tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    venv=$PWD/.deps/venv-$venv_tag
    stamp=$({ cat "$@"; "$python" --version; } | sha256sum | cut -c1-16)
    venv_python=$venv/bin/python
    if ! grep -qsx "$stamp" "$venv/.complete"; then
        echo "python: making an environment in .deps/venv-$venv_tag"
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
