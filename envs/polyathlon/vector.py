"""Vectors of one domain's environments, right in both of Gymnasium's modes."""

from __future__ import annotations

from typing import Any, Literal

import gymnasium as gym


def make_vec(
    domain_id: str, num_envs: int, *, mode: Literal["sync", "async"] = "sync", **env_options: Any
) -> gym.vector.VectorEnv[Any, Any, Any]:
    """Return `num_envs` environments that step together; observations are tuples of strings.

    Args:
        domain_id: full id of the domain.
        num_envs: how many, at least 1.
        mode: "sync" in this process, "async" one spawned process each.
        env_options: what `DomainEnv` takes, `level=` and `split=` for example. An invalid episode truncates with
            `info["valid"]` false unless `lost="raise"` is asked for.

    """
    options = {"lost": "truncate", **env_options}
    if mode == "sync":
        return gym.make_vec(domain_id, num_envs=num_envs, vectorization_mode="sync", **options)
    # text does not fit shared memory, and a fork would copy the caller's threads in whatever state they are
    vector_options = {"shared_memory": False, "context": "spawn"}
    return gym.make_vec(
        f"polyathlon:{domain_id}",
        num_envs=num_envs,
        vectorization_mode="async",
        vector_kwargs=vector_options,
        **options,
    )
