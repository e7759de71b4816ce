#!/usr/bin/env bash
# Tests of the Python package, from an environment that the wheel is installed into; --large adds those with Polars,
# PyTorch and Ray, and those that take long.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8
source scripts/python_venv.sh
select=(-m 'not large')
requirements=(python/requirements.txt)
if [[ ${1:-} = --large ]]; then
    select=()
    requirements+=(python/requirements-large.txt)
fi
python_venv "${requirements[@]}"
[[ ${1:-} = --large ]] || scripts/wheel.sh
"$venv_python" -m pip --disable-pip-version-check install --quiet --force-reinstall --no-deps dist/pybasalt-*-"$venv_tag"-*.whl
# Tests that are skipped are named with what is missing.
"$venv_python" -m pytest -q -rs -p no:cacheprovider -c python/pyproject.toml --rootdir python "${select[@]}" python/tests
