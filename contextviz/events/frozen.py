"""Classes of values of which a transcript has hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """A dataclass of slots that is compared and hashed by its fields, and that nobody changes once it is made.

    The type checker holds that, not the class itself: `frozen=True` makes each object four times as slow to make, which
    is a tenth of an import. Where a class has few objects, use that.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
