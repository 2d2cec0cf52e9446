import pytest

from polyathlon.domain import ToolSpec
from polyathlon.errors import ToolCallError
from polyathlon.toolcall import ShortForm, read_call, write_call, write_fenced

RUN = ToolSpec(
    "run",
    "Run a command.",
    {
        "type": "object",
        "properties": {"cmd": {"type": "string"}, "timeout_s": {"type": "number", "maximum": 60}},
        "required": ["cmd"],
    },
)
BASH = ShortForm("bash", "run", "cmd")


def test_a_call_is_found_among_free_text() -> None:
    call = read_call(f"Let me look.\n{write_call('run', {'cmd': 'ls'})}\n", [RUN])
    assert (call.name, call.arguments) == ("run", {"cmd": "ls"})


def test_the_closing_tag_may_occur_in_a_string() -> None:
    command = "echo '</tool_call>' <tool_call> \\n \"quoted\""
    assert read_call(write_call("run", {"cmd": command}).replace("<tool_call> ", "< "), [RUN]).arguments["cmd"]
    inside = "echo '</tool_call>'"
    assert read_call(write_call("run", {"cmd": inside}), [RUN]).arguments == {"cmd": inside}


def test_one_fenced_block_is_the_short_form() -> None:
    assert read_call(write_fenced("ls -l\ncat x"), [RUN], short_form=BASH).arguments == {"cmd": "ls -l\ncat x"}


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("ls", "No tool call"),
        (write_call("run", {"cmd": "a"}) * 2, "more than one"),
        ('<tool_call>{"name": "run"}</tool_call>', 'keys "name" and "arguments"'),
        ('<tool_call>{"name": "run", "arguments": {"cmd": NaN}}</tool_call>', "NaN"),
        ('<tool_call>{"name": "run", "arguments": {}}</tool_call>', "'cmd' is a required property"),
        ('<tool_call>{"name": "run", "arguments": {"cmd": 3}}</tool_call>', "not of type 'string'"),
        ('<tool_call>{"name": "run", "arguments": {"cmd": "a", "x": 1}}</tool_call>', "unexpected"),
        ('<tool_call>{"name": "run", "arguments": {"cmd": "a", "timeout_s": 61}}</tool_call>', "maximum"),
        ('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', "Tools: run"),
        ('<tool_call>{"name": "run", "arguments": {"cmd": "a"}}', "followed by"),
        ("<tool_call>" + "[" * 50_000, "nested too deep"),
        ("x" * 10_000_000, "at most"),
    ],
)
def test_a_malformed_call_says_what_is_wrong(message: str, complaint: str) -> None:
    with pytest.raises(ToolCallError, match=complaint):
        read_call(message, [RUN])


def test_two_fenced_blocks_are_refused() -> None:
    with pytest.raises(ToolCallError, match="Found 2"):
        read_call(write_fenced("a") + "\n" + write_fenced("b"), [RUN], short_form=BASH)
