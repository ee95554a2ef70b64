"""What is wrong with a request's parameters and body, in our sentences instead of the schema library's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_NAME = 100
MOST_SENTENCE = 300
UNKNOWN_KEY = "extra_forbidden"
# Ends of a place that name a kind of value, where a value may be of several.
_KINDS = frozenset({"bool", "int", "float", "str", "constrained-str", "constrained-int"})
_SENTENCES: Mapping[str, str] = {
    UNKNOWN_KEY: "there is no such key here",
    "missing": "it must be given",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "this number is too large",
    "int_from_float": "it must be a whole number",
    "finite_number": "it must be a number",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "string_type": "it must be a text",
    "string_unicode": "it holds half a character, which no text may have",
    "dict_type": "it must be an object of values by name",
    "list_type": "it must be a list",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "literal_error": "it must be {expected}",
    "uuid_type": "it must be an id as this API gives them",
    "uuid_parsing": "it must be an id as this API gives them",
    "greater_than_equal": "it must be {ge:,} or more",
    "greater_than": "it must be more than {gt:,}",
    "less_than_equal": "it must be {le:,} or less",
    "less_than": "it must be less than {lt:,}",
    "string_too_short": "it must have {min_length} characters or more",
    "string_too_long": "it must have {max_length} characters or fewer",
    "too_short": "it must have {min_length} entries or more",
    "too_long": "it must have {max_length} entries or fewer",
}
_ONE_OF_SEVERAL = "it must be a number, a word, or true or false"
_NUL = "it holds the character NUL, which no text here may have"
_PATTERN = "it does not look as it must; /api/v1/openapi.json has the pattern"


def wrong_fields(errors: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Each field that is wrong, once, with what it must be; `errors` are those of a ValidationError."""
    found: dict[str, str] = {}
    for error in errors:
        names = _names(error.get("loc", ()))
        is_one_kind = len(names) > 1 and names[-1] in _KINDS  # one of several that the value may be
        name = ".".join(names[:-1] if is_one_kind else names)[:MOST_NAME]
        kind = str(error.get("type", ""))
        if is_one_kind and kind.endswith(("_type", "_parsing", "_from_float")):
            found.setdefault(name, _ONE_OF_SEVERAL)
        else:
            found[name] = _sentence(kind, error)
    return list(found.items())


def shortened(sentence: str) -> str:
    """A sentence of at most 300 characters; a longer one ends behind a whole word, with an ellipsis."""
    if len(sentence) <= MOST_SENTENCE:
        return sentence
    whole = sentence[: MOST_SENTENCE - 1].rsplit(" ", 1)[0]  # one less than fit: the ellipsis and its space
    return whole.rstrip(" ,;:.") + " …"


def _names(loc: Sequence[object]) -> list[str]:
    # The first part says where (query, path, body); a body's second is the operation's own name for the whole of it.
    parts = [str(part) for part in loc if part != "[key]"]  # which says that it is about the name itself
    inner = parts[2:] if parts[:1] == ["body"] else parts[1:]
    return inner or parts[:1] or ["request"]


def _sentence(kind: str, error: Mapping[str, Any]) -> str:
    if kind == "string_pattern_mismatch":
        pattern = str((error.get("ctx") or {}).get("pattern"))
        return _NUL if r"\x00" in pattern else _PATTERN
    known = _SENTENCES.get(kind)
    if known is None:
        return shortened(str(error.get("msg", "")))
    try:
        return known.format(**(error.get("ctx") or {}))
    except (KeyError, ValueError, TypeError):  # a bound that is no number
        return shortened(str(error.get("msg", "")))
