#!/usr/bin/env bash
# Builds dist/pybasalt-*.whl for this machine and its Python (PYTHON=… for another one), over the libraries of
# build/release: only the Python module is compiled here. Wheels for other Pythons stay in dist. Shared libraries that
# other machines may not have are put inside by auditwheel, under names of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8
source scripts/python_venv.sh
python_venv python/requirements.txt

rm -rf build/install build/wheel
cmake --install build/release --prefix build/install --strip >/dev/null
mkdir -p build/wheel dist
"$venv_python" -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps ./python -w build/wheel \
    --config-settings "build-dir=$PWD/build/wheel-module-$venv_tag" \
    --config-settings "cmake.define.CMAKE_PREFIX_PATH=$PWD/build/install" \
    >build/wheel/log 2>&1 ||
    { cat build/wheel/log; exit 1; }

rm -f dist/pybasalt-*-"$venv_tag"-*.whl
PATH="$(dirname "$venv_python"):$PATH" "$venv_python" -m auditwheel repair build/wheel/pybasalt-*.whl -w dist \
    >build/wheel/auditwheel.log 2>&1 || { cat build/wheel/auditwheel.log; exit 1; }
ls -sh dist/pybasalt-*-"$venv_tag"-*.whl
