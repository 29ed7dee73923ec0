# SPDX-License-Identifier: BSD-3-Clause
"""The wheel and the sdist, a clean environment, other versions of Python, and the notebook."""
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from conftest import SOURCE

VERSIONS = [f"python3.{minor}" for minor in range(9, 15)]


def run(*words, **how):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **how)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(SOURCE / "python", folder / "source")
    run("chmod", "-R", "u+w", folder)
    run(sys.executable, "-m", "build", "--no-isolation", "-o", folder / "dist", folder / "source")
    return folder


def test_the_wheel_and_the_sdist_have_every_file(built):
    want = {str(p.relative_to(SOURCE / "python")) for name in ("unetctl", "unetctl_run")
            for p in (SOURCE / "python" / name).rglob("*") if p.is_file()}
    wheel, = built.glob("dist/*.whl")
    sdist, = built.glob("dist/*.tar.gz")
    names = {n for n in zipfile.ZipFile(wheel).namelist() if "dist-info" not in n}
    assert names == want and {"unetctl/py.typed", "unetctl/schemas/report.schema.json"} < want
    with tarfile.open(sdist) as archive:
        names = {n.partition("/")[2] for n in archive.getnames()}
    assert want | {"pyproject.toml", "README.md"} <= names


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_a_clean_environment(built, golden, kind, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    place = built / f"env{kind[-2:]}"
    package, = built.glob(f"dist/{kind}")
    run(sys.executable, "-m", "venv", place)
    run(place / "bin/pip", "install", package)
    code = "import unetctl; print(unetctl.__file__, unetctl.load(%r).name)" % str(golden)
    out = run(place / "bin/python", "-c", code, cwd=built)
    assert out.startswith(str(place)) and out.endswith(" study\n")


@pytest.mark.parametrize("python", VERSIONS)
def test_versions_of_python(python, golden):
    """UNETCTL_PYTHONS is a list of folders of further interpreters."""
    path = os.environ.get("UNETCTL_PYTHONS", "") + os.pathsep + os.environ["PATH"]
    found = shutil.which(python, path=path)
    version = [found, "--version"]
    if not found or subprocess.run(version, capture_output=True, check=False).returncode:
        pytest.skip(f"{python} is not installed; vermin checks what it lacks")
    code = "import unetctl, unetctl_run; print(unetctl.load(%r).name)" % str(golden)
    assert run(found, "-B", "-W", "error", "-c", code) == "study\n"


def test_what_the_oldest_version_lacks():
    program = shutil.which("vermin") or os.path.join(os.path.dirname(sys.executable), "vermin")
    files = list((SOURCE / "python").glob("unetctl*/*.py"))
    run(program, "-t=3.9-", "--violations", *files)


def test_the_notebook(real, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    monkeypatch.setenv("STUDY", str(real))
    book = nbformat.read(SOURCE / "examples/notebook/study.ipynb", 4)
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = [o for cell in book.cells for o in cell.get("outputs", [])]
    assert sum("image/png" in o.get("data", {}) for o in outputs) == 2
    assert "Study('real', 9 runs)" in str(outputs) and "speedup_steady" in str(outputs)
