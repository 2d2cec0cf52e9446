from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from polyathlon.errors import EngineError
from polyathlon_trainer.learning.bytechat import ANSWER, END
from polyathlon_trainer.learning.tiny import TinyLM
from polyathlon_trainer.sampling.protocol import Completion, Request
from polyathlon_trainer.sampling.requests import buckets
from polyathlon_trainer.sampling.torch_engine import TorchEngine

CPU = torch.device("cpu")


def lively(*, end_bias: float = 0.0) -> TinyLM:
    """Return a model that has opinions; `end_bias` makes END that much likelier after some contexts."""
    model = TinyLM(seed=0)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for value in model.parameters():
            if not value.any():
                value.normal_(0.0, 0.1, generator=generator)
        model.head[END] *= 1.0 + end_bias
    return model


def engine(*, end_bias: float = 0.0) -> TorchEngine:
    return TorchEngine(lively(end_bias=end_bias), device=CPU)


def prompt(size: int, first: int = 65) -> tuple[int, ...]:
    return (*(first + place % 26 for place in range(size - 1)), ANSWER)


def texts(completions: Sequence[Completion]) -> list[tuple[int, ...]]:
    return [done.token_ids for done in completions]


def slow_greedy(model: TinyLM, ids: Sequence[int], count: int) -> tuple[list[int], list[float]]:
    """Write `count` ids the slow way: the whole context is read anew for each."""
    from polyathlon_trainer.learning.tiny import recent_of

    context, scores = list(ids), []
    for _ in range(count):
        here = torch.tensor([context])
        places = torch.arange(len(context))[None]
        stream = model.run(
            recent_of(here, places - 1),
            places,
            lambda _, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        )
        logp = torch.log_softmax(model.read_out(stream[0, -1]), -1)
        context.append(int(logp.argmax()))
        scores.append(float(logp.max()))
    return context[len(ids) :], scores


def test_greedy_text_is_that_of_reading_everything_anew() -> None:
    model = lively()
    (done,) = TorchEngine(model, device=CPU).generate([Request(prompt(20), 3, 30, 0.0, 1)])
    with torch.no_grad():
        ids, scores = slow_greedy(model, prompt(20), 30)
    length = ids.index(END) + 1 if END in ids else 30
    assert texts(done) == [tuple(ids[:length])] * 3
    assert done[0].logprobs == pytest.approx(scores[:length], abs=1e-4)


def test_a_requests_text_does_not_depend_on_what_else_is_asked() -> None:
    asked = Request(prompt(30), 5, 40, 1.0, 77)
    others = [
        Request(prompt(size, 40 + size % 50), num_samples, 3 + size % 40, temperature, 1000 + size)
        for size, num_samples, temperature in zip(
            range(3, 303, 20), [1, 5, 8] * 5, [1.0, 0.7, 0.0, 1.3, 1.0] * 3, strict=True
        )
    ]
    alone = engine(end_bias=1.0).generate([asked])[0]
    amid = engine(end_bias=1.0).generate([*others[:7], asked, *others[7:]])[7]
    last = engine(end_bias=1.0).generate([*others, asked])[-1]
    assert texts(alone) == texts(amid) == texts(last)
    for one, two in zip(alone, amid, strict=True):
        assert one.logprobs == pytest.approx(two.logprobs, abs=1e-4)


def test_fewer_samples_are_a_prefix_of_more() -> None:
    few, many = (engine().generate([Request(prompt(10), n, 12, 1.0, 4)])[0] for n in (2, 6))
    assert texts(few) == texts(many)[:2]


def test_samples_and_seeds_differ_and_greedy_ones_do_not() -> None:
    one, two = engine().generate([Request(prompt(10), 4, 12, 1.0, seed) for seed in (4, 5)])
    assert len({*texts(one), *texts(two)}) == 8
    cold, _ = engine().generate([Request(prompt(10), 4, 12, 0.0, seed) for seed in (4, 5)])
    assert len(set(texts(cold))) == 1


def test_completions_stop_at_the_end_id_or_at_their_own_budget() -> None:
    requests = [Request(prompt(10 + n), 16, 2 + n, 1.0, n) for n in range(30)]
    answers = engine(end_bias=4.0).generate(requests)
    stops = {done.stop for group in answers for done in group}
    assert stops == {"end", "length"}
    for request, group in zip(requests, answers, strict=True):
        for done in group:
            assert len(done.token_ids) == len(done.logprobs) == len(done.versions)
            assert END not in done.token_ids[:-1]
            if done.stop == "end":
                assert done.token_ids[-1] == END
            else:
                assert len(done.token_ids) == request.max_new_tokens
                assert done.token_ids[-1] != END


def test_every_token_carries_the_version_that_wrote_it() -> None:
    writer = engine()
    assert writer.version == 0
    request = Request(prompt(10), 2, 6, 1.0, 4)
    before = writer.generate([request])[0]
    other = {name: value * 1.5 for name, value in lively().state_dict().items()}
    writer.load_weights(other, version=7)
    after = writer.generate([request])[0]
    assert {version for done in before for version in done.versions} == {0}
    assert {version for done in after for version in done.versions} == {7}
    assert texts(before) != texts(after)


def test_loaded_weights_are_a_copy() -> None:
    writer, weights = engine(), {name: value.clone() for name, value in lively().state_dict().items()}
    writer.load_weights(weights, version=1)
    before = writer.generate([Request(prompt(10), 2, 6, 1.0, 4)])
    for value in weights.values():
        value.zero_()
    assert writer.generate([Request(prompt(10), 2, 6, 1.0, 4)]) == before


@pytest.mark.parametrize("version", [3, 2, -1])
def test_versions_that_do_not_grow_are_refused(version: int) -> None:
    writer = engine()
    writer.load_weights(lively().state_dict(), version=3)
    with pytest.raises(EngineError, match=r"after 3\. Versions only grow"):
        writer.load_weights(lively().state_dict(), version=version)


def test_weights_that_do_not_fit_leave_the_old_ones_in_use() -> None:
    writer, request = engine(), Request(prompt(10), 2, 6, 1.0, 4)
    before = writer.generate([request])
    with pytest.raises(EngineError, match="head has shape missing"):
        writer.load_weights({name: v + 1 for name, v in lively().state_dict().items() if name != "head"}, version=1)
    assert writer.version == 0
    assert writer.generate([request]) == before


@pytest.mark.parametrize(
    "request_",
    [Request((), 1, 1, 1.0, 0), Request((1,), 0, 1, 1.0, 0), Request((1,), 1, 0, 1.0, 0), Request((1,), 1, 1, -0.1, 0)],
)
def test_a_request_for_nothing_is_refused(request_: Request) -> None:
    with pytest.raises(EngineError, match="at least 1"):
        engine().generate([request_])


def test_no_requests_give_no_completions_and_a_closed_engine_says_so() -> None:
    writer = engine()
    assert writer.generate([]) == []
    writer.close()
    writer.close()
    with pytest.raises(EngineError, match="closed"):
        writer.generate([])


def test_buckets_hold_prompts_of_like_length_and_equal_samples() -> None:
    sizes = [(500, 4), (10, 4), (20, 1), (30, 4), (11, 1), (138, 4)]
    requests = [Request((1,) * size, num_samples, 1, 1.0, 0) for size, num_samples in sizes]
    assert buckets(requests, max_rows=100) == [[4, 2], [1, 3, 5], [0]]
    assert buckets(requests, max_rows=8) == [[4, 2], [1, 3], [5], [0]]
    assert buckets(requests, max_rows=1) == [[4], [2], [1], [3], [5], [0]]
