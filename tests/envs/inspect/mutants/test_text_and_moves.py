"""Short answers and expressions made wrong, every expected value worked out by hand."""

from polyathlon.inspect.mutants.moves import move_mutants
from polyathlon.inspect.mutants.picking import Picker
from polyathlon.inspect.mutants.short_text import atom_mutants, atoms_of, text_mutants

PICK = Picker("test")


def test_one_word_is_cut_and_its_letters_are_exchanged() -> None:
    assert dict(text_mutants("aunt", PICK)) == {
        "word: character lost": "aun",
        "word: letters swapped": "anut",
        "last character cut off": "aun",
        "first character cut off": "unt",
    }


def test_fields_are_dropped_doubled_and_moved() -> None:
    found = dict(text_mutants("7;8", PICK))
    assert found["field dropped"] in ("7", "8")
    assert found["field twice"] in ("7;7;8", "7;8;8")
    assert found["end fields swapped"] == "8;7"
    assert "neighbouring fields swapped" not in found


def test_three_lines_have_neighbours_to_swap() -> None:
    found = dict(text_mutants("a\nb\nc", PICK))
    assert found["neighbouring lines swapped"] in ("b\na\nc", "a\nc\nb")
    assert found["end lines swapped"] == "c\nb\na"


def test_yes_and_no_are_flipped() -> None:
    assert dict(text_mutants("yes", PICK))["flipped"] == "no"
    assert dict(text_mutants("False", PICK))["flipped"] == "true"


def test_another_tasks_answer_replaces_and_joins_the_right_one() -> None:
    found = dict(text_mutants("42", PICK, others=["42", "17"]))
    assert found["another task's answer"] == "17"
    assert found["two answers"] == "42 or 17"
    assert found["two lines of answers"] == "42\n17"


def test_atoms_are_days_numbers_codes_and_words() -> None:
    text = "5.02;2031-04-09;Dan Telmont;-12.5 041G"
    assert [atom.text for atom in atoms_of(text)] == ["5.02", "2031-04-09", "Dan", "Telmont", "-12.5", "041G"]


def test_a_minus_between_numbers_belongs_to_neither() -> None:
    assert [atom.text for atom in atoms_of("98-11=87")] == ["98", "11", "87"]
    assert [atom.text for atom in atoms_of("6+(-48)=-42")] == ["6", "-48", "-42"]


def test_a_number_in_a_code_keeps_its_length() -> None:
    assert dict(atom_mutants("019G"))["code: last digit +1"] == "010G"


def test_the_same_names_give_the_same_places() -> None:
    text = "10 20 30 40 50 60 70"
    assert list(text_mutants(text, Picker("a"))) == list(text_mutants(text, Picker("a")))
    assert list(text_mutants(text, Picker("a"))) != list(text_mutants(text, Picker("b")))


def test_an_expression() -> None:
    found = dict(move_mutants("(3+4)*5", Picker("test")))
    assert found["operator swapped"] in ("(3-4)*5", "(3+4)+5")
    assert found["illegal token"] in ("(3^4)*5", "(3+4)^5")
    assert found["operand used again"] in ("(3+4)*5+3-3", "(3+4)*5+4-4", "(3+4)*5+5-5")
    assert found["first and last operand swapped"] == "(5+4)*3"
    assert found["brackets dropped"] == "3+4*5"
    assert found["truncated"] == "(3+4)*"
    assert found["claimed"] == "(3+4)*5=0"
    assert found["operand last digit +1"] in ("(4+4)*5", "(3+5)*5", "(3+4)*6")


def test_a_lone_number_is_no_expression_to_repeat_an_operand_of() -> None:
    assert "operand used again" not in dict(move_mutants("7", Picker("test")))
