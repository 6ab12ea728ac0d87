#!/usr/bin/env bash
# The tests of the compiled functions, built in another way than `pip install` builds them:
#   sanitize  under the sanitizers of memory and undefined behaviour (GCC)
#   clang     as clang compiles them
#   aarch64   cross-compiled for ARM, on an emulated processor; installs packages for it into build/aarch64 first
# Without the tools that it needs it says which, and ends with 77, as test runners call "skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
way=${1:?sanitize, clang or aarch64}
shift
python=$PWD/${BIN:-.venv/bin}/python
folder=$PWD/build/$way
tests=(tests/neurogym/kernels $("$python" -c "
from neurogym.kernels.table import KERNELS
print(*sorted({kernel.test for kernel in KERNELS.values()}))"))

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed" >&2; exit 77; }
    done
}

# An environment like the one at hand, but with compiled functions of its own: settings of CMake.
environment() {
    mkdir -p "$folder"
    "$python" -m venv --without-pip --clear "$folder/env"
    site=$("$folder/env/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))")
    "$python" -c "import sys; print(*[path for path in sys.path if path.endswith('site-packages')], sep='\n')" >"$site/base.pth"
    settings=("--config-settings=build-dir=$folder/cmake")
    for setting in "$@"; do settings+=("--config-settings=cmake.define.$setting"); done
    NGYM_REQUIRE_KERNELS=true "$folder/env/bin/python" -m pip install --quiet --no-deps "${settings[@]}" -e .
}

case $way in
sanitize)
    need gcc
    environment NGYM_SANITIZE=ON
    export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
    "$folder/env/bin/python" -m pytest -q "${tests[@]}" "$@"
    ;;
clang)
    need clang
    CC=clang environment
    "$folder/env/bin/python" -m pytest -q "${tests[@]}" "$@"
    ;;
aarch64)
    need aarch64-linux-gnu-gcc qemu-aarch64 dpkg apt-get
    "$python" -m uv --version >/dev/null 2>&1 || { echo "skipped: uv is not installed (pip install uv)" >&2; exit 77; }
    root=$folder/root site=$folder/site tree=$folder/tree
    mkdir -p "$folder/debs" "$root"
    version=$("$python" -c "import sys; print('%d.%d' % sys.version_info[:2])")
    if [ ! -e "$root/usr/bin/python$version" ]; then
        dpkg --print-foreign-architectures | grep -qx arm64 || { dpkg --add-architecture arm64; apt-get update -qq; }
        (
            cd "$folder/debs"
            apt-get download -qq $(printf '%s:arm64 ' "python$version-minimal" "libpython$version-minimal" \
                "libpython$version-stdlib" libc6 libgcc-s1 libstdc++6 libexpat1 zlib1g libbz2-1.0 liblzma5 libffi8 \
                libssl3 libuuid1 libcrypt1 libsqlite3-0 libgomp1) 2>/dev/null
        )
        for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
    fi
    if [ ! -e "$site/torch" ]; then  # an old torch: the new ones for this platform need a GPU's libraries
        grep -vE '^(torch|sympy)==' constraints.txt >"$folder/constraints.txt"
        "$python" -m uv pip install --quiet --python "$python" --target "$site" --python-version "$version" \
            --python-platform aarch64-manylinux_2_28 --only-binary :all: -c "$folder/constraints.txt" \
            torch==2.8.0 numpy scipy gymnasium stable-baselines3 sb3-contrib pydantic safetensors h5py rich typer tomli-w \
            pyarrow pytest
    fi
    rm -rf "$tree"
    mkdir -p "$tree"
    cp -r neurogym ngym_cli tests pyproject.toml "$tree"
    cmake=$("$python" -c "import cmake; print(cmake.CMAKE_BIN_DIR)" 2>/dev/null || true)
    PATH=$cmake:$PATH cmake -S . -B "$folder/cmake" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
        -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_BUILD_TYPE=Release -DSKBUILD_PROJECT_VERSION=0 \
        -DPython_EXECUTABLE="$python" >"$folder/cmake.log"
    PATH=$cmake:$PATH cmake --build "$folder/cmake" >>"$folder/cmake.log"
    cp "$folder"/cmake/_neon.* "$tree/neurogym/kernels/"
    cd "$tree"
    export PYTHONHOME=$root/usr PYTHONPATH=$tree:$site OMP_NUM_THREADS=1 MPLBACKEND=Agg
    qemu-aarch64 -L "$root" "$root/usr/bin/python$version" -c \
        "from neurogym import kernels; print(kernels.runnable()); assert kernels.variant() == 'neon'"
    qemu-aarch64 -L "$root" "$root/usr/bin/python$version" -m pytest -q -p no:cacheprovider "${tests[@]}" "$@"
    ;;
*)
    echo "expected sanitize, clang or aarch64, got $way" >&2
    exit 2
    ;;
esac
