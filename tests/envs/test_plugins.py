"""Plugins as they are in life: built as wheels, installed in a venv, some of them broken."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BROKEN = {
    "nofile": ("nofile = polyathlon_nofile", {"polyathlon_nofile/__init__.py": ""}),
    "badyaml": (
        "badyaml = polyathlon_badyaml",
        {"polyathlon_badyaml/__init__.py": "", "polyathlon_badyaml/registry.yaml": "namespace: [oh\n"},
    ),
    "absent": ("absent = polyathlon_absent", {}),
    "twice": (
        "twice = polyathlon_twice",
        {
            "polyathlon_twice/__init__.py": "raise SystemExit('a plugin was imported to find it')",
            "polyathlon_twice/registry.yaml": "namespace: chem\ndomains:\n  - {id: lab.titration-v1, load: 'a:B', "
            "kind: question, levels: 1, max_turns: 1}\n",
        },
    ),
    "raises": (
        "raises = polyathlon_raises",
        {
            "polyathlon_raises/__init__.py": "",
            "polyathlon_raises/domain.py": "import a_module_that_is_not_here\n",
            "polyathlon_raises/registry.yaml": "namespace: raises\ndomains:\n  - {id: a.b-v1, kind: question, "
            "load: 'polyathlon_raises.domain:DOMAIN', install: 'polyathlon-raises[x]', levels: 1, max_turns: 1}\n",
        },
    ),
}


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "POLYATHLON_CATALOGS")}
    return subprocess.run(command, env={**kept, **env}, capture_output=True, text=True, check=False, timeout=240)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of our wheel and the example plugin's."""
    folder = tmp_path_factory.mktemp("plugins")
    for project in (ROOT, ROOT / "examples" / "plugin"):
        built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project))
        assert built.returncode == 0, built.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def python(wheels: Path) -> str:
    """The interpreter of a venv that holds both wheels, and the libraries of this one."""
    folder = wheels
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"))
    interpreter = str(folder / "venv" / "bin" / "python")
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    paths = [str(path) for path in folder.glob("*.whl")]
    installed = run(sys.executable, "-m", "pip", "--python", interpreter, "install", "--no-deps", "--no-index", *paths)
    assert installed.returncode == 0, installed.stderr[-2000:]
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return interpreter


def test_the_wheel_holds_every_file_of_the_three_packages_and_the_registry(wheels: Path) -> None:
    (wheel,) = wheels.glob("polyathlon-*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    gym = [ROOT / "envs" / "polyathlon", ROOT / "envs" / "polyathlon_pytest"]
    folders = [*gym, ROOT / "domains" / "polyathlon_domains", ROOT / "trainer"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    kept = [path for path in files if "__pycache__" not in path.parts and not path.name.startswith(".")]
    wanted = {str(path.relative_to(ROOT)).partition("/")[2] for path in kept} | {"polyathlon/registry.yaml"}
    assert held == wanted
    assert wanted > {
        "polyathlon/cli/new_domain.py.txt",
        "polyathlon/inspect/scorecard.css",
        "polyathlon/inspect/scorecard.html.j2",
        "polyathlon/inspect/scorecards.js",
        "polyathlon/sandbox/launcher/serve.py",
        "polyathlon/py.typed",
        "polyathlon_domains/py.typed",
        "polyathlon_trainer/observe/report.html.j2",
        "polyathlon_trainer/py.typed",
    }


def test_a_plugin_installed_as_a_wheel_is_made_like_our_own(python: str) -> None:
    code = "import gymnasium as gym; print(gym.make('polyathlon:chem/lab.titration-v1', level=2).reset(seed=1)[0])"
    done = run(python, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "mmol/L" in done.stdout


def test_the_example_plugin_passes_its_inspection(python: str) -> None:
    done = run(python, "-m", "polyathlon", "check", "chem/lab.titration-v1", "--seeds", "16")
    assert done.returncode == 0, done.stdout + done.stderr


def test_installing_the_wheel_gives_pytest_its_flag_and_the_example_plugin_its_tests(
    python: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "examples" / "plugin" / "tests", tmp_path / "tests")
    shutil.copy(ROOT / "examples" / "plugin" / "pyproject.toml", tmp_path)
    words = (
        "--polyathlon",
        "chem/lab.titration-v1",
        "--polyathlon-seeds",
        "16",
        "-p",
        "no:cacheprovider",
        "-v",
        "-n",
        "2",
    )
    done = run(python, "-m", "pytest", "--rootdir", str(tmp_path), str(tmp_path / "tests"), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "chem/lab.titration-v1::S01 reference" in done.stdout
    assert "tests/test_titration.py::test_a_tenth_of_a_percent_is_near_enough" in done.stdout


def test_without_its_flag_the_installed_plugin_costs_pytest_nothing_and_warns_of_nothing(
    python: str, tmp_path: Path
) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\ndef test_nothing():\n    assert not {'polyathlon', 'gymnasium'} & set(sys.modules)\n"
    )
    words = ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    run_pytest = f"import pytest; sys.exit(pytest.main({words}))"
    alone = run(python, "-W", "error", "-c", f"import sys; {run_pytest}")
    assert alone.returncode == 0, alone.stdout + alone.stderr
    (tmp_path / "test_nothing.py").write_text("import polyathlon\ndef test_nothing():\n    assert polyathlon\n")
    after = run(python, "-W", "error", "-c", f"import sys, polyathlon; {run_pytest}")
    assert after.returncode == 0, after.stdout + after.stderr


def test_broken_plugins_are_named_with_their_cause_and_harm_nothing(python: str, tmp_path: Path) -> None:
    for name, (point, files) in BROKEN.items():
        info = tmp_path / f"polyathlon_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: polyathlon-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[polyathlon.catalogs]\n{point}\n")
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
    code = (
        "import json, warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import polyathlon, gymnasium as gym\n"
        "gym.make('chem/lab.titration-v1').reset(seed=1)\n"
        "gym.make('polyathlon/math.arithmetic-expression-v1').reset(seed=1)\n"
        "try: polyathlon.load_domain('raises/a.b-v1')\n"
        "except polyathlon.errors.RegistryError as error: raised = str(error)\n"
        "print(json.dumps([[f.plugin, f.cause] for f in polyathlon.registry().faults] + [['warned', str(len(caught))],"
        "['raised', raised]]))\n"
    )
    done = run(python, "-c", code, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    causes = {name.split(" ")[0]: cause for name, cause in json.loads(done.stdout)}
    assert "cannot be read" in causes["polyathlon-nofile"]
    assert "not valid YAML" in causes["polyathlon-badyaml"]
    assert "not installed" in causes["polyathlon-absent"]
    assert "chem/lab.titration-v1 is claimed by" in causes["polyathlon-twice"]
    assert "polyathlon-chem" in causes["polyathlon-twice"]
    assert causes["raised"].endswith("Try: pip install 'polyathlon-raises[x]'")
    assert causes["warned"] == "4"
    doctor = run(python, "-m", "polyathlon", "doctor", "--json", PYTHONPATH=str(tmp_path))
    states = {row["what"]: row["state"] for row in json.loads(doctor.stdout)}
    assert states["plugin polyathlon-badyaml (badyaml)"] == "broken"
    assert doctor.returncode == 1
