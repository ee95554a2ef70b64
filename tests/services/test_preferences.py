from __future__ import annotations

from typing import Any

import pytest

from contextviz.services.preferences import PreferenceRefused, save_preferences
from contextviz.store.queries.preferences import Preferences, preferences


def test_preferences_are_kept_and_have_defaults(owner: Any) -> None:
    assert preferences(owner.pk) == Preferences("system", "UTC")
    save_preferences(owner.pk, theme="dark", time_zone="Europe/Berlin")
    save_preferences(owner.pk, theme="light", time_zone="Europe/Berlin")
    assert preferences(owner.pk) == Preferences("light", "Europe/Berlin")


@pytest.mark.parametrize(
    ("theme", "zone"), [("pink", "UTC"), ("dark", "Nowhere/None"), ("dark", "../../etc/passwd"), ("dark", "")]
)
def test_values_that_cannot_be_kept_are_refused(owner: Any, theme: str, zone: str) -> None:
    with pytest.raises(PreferenceRefused):
        save_preferences(owner.pk, theme=theme, time_zone=zone)
    assert preferences(owner.pk) == Preferences()
