"""A secret is on no page, in no title, figure, fragment or answer of the API, whoever looks."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client

from contextviz.events.masking import without_secrets
from contextviz.web.masking import mask_json, mask_page
from contextviz.web.templatetags.masked import masked
from tests.hostile import addresses, import_hostile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
SECRETS = {
    "AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
    "sk-proj-0123456789abcdefABCDEF": "0123456789abcdefABCDEF",
    "ghp_0123456789abcdefghijABCDEFGHIJ": "0123456789abcdefghij",
    "-----BEGIN RSA PRIVATE KEY-----MIIEpAIBAAKCAQEA7-----END RSA PRIVATE KEY-----": "MIIEpAIBAAKCAQEA7",
}
# Where a link leads and what a form sends back must be the thing itself; nobody reads it on the page.
ADDRESSES = re.compile(r'\b(?:href|action|src|value|id|for|hx-[a-z-]+|data-[a-z-]+)="[^"]*"')
WHOLE_FILES = ("/download", "/artifacts/")  # a person asked for the bytes; nothing is hidden in them


@pytest.mark.slow  # opens every page
def test_no_secret_is_shown_anywhere_unless_it_is_asked_for(client: Client, tmp_path: Path) -> None:
    import_hostile(tmp_path / "files", " ".join(SECRETS))
    leaks, opened = [], 0

    for url, kind, body in addresses(client):
        opened += 1
        if any(part in url for part in WHOLE_FILES):
            continue
        text = unescape(ADDRESSES.sub("", body)) if kind == "text/html" else body
        if kind == "application/json":
            json.loads(body)
        for tail in SECRETS.values():
            found = text.find(tail)
            if found >= 0:
                leaks.append(f"{url}: {text[max(0, found - 90) : found + 30]!r}")
                break

    assert opened > 60
    assert leaks == []


@pytest.mark.parametrize("secret", SECRETS)
def test_a_masked_secret_is_not_in_the_page(secret: str) -> None:
    html = masked(f"before {secret} after")

    assert SECRETS[secret] not in unescape(html)
    assert html.startswith("before <span") and html.endswith("</span> after")


def test_words_and_spoken_attributes_are_masked_and_addresses_kept() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    page = f'<title>{key}</title><a href="/x?k={key}" title="{key}">a &amp; {key} &lt;b&gt;</a>'

    mask = without_secrets(key)  # the words that stand for it everywhere else
    assert mask == "[aws key masked]"
    assert mask_page(page) == (f'<title>{mask}</title><a href="/x?k={key}" title="{mask}">a &amp; {mask} &lt;b&gt;</a>')
    assert mask_page("<p>-----BEGIN PRIVATE KEY-----abc</p><p>after</p>") == "<p>[private key masked]</p><p>after</p>"
    assert mask_page("<p>token: refresh1, password=hunter22</p>") == "<p>token: refresh1, password=hunter22</p>"
    assert mask_page(f'<details class="secret">{key}</details>') == f'<details class="secret">{mask}</details>'


def test_json_keeps_its_structure_around_what_is_masked() -> None:
    rest = {"after": 1.5, "none": None, "é": "é"}
    document = {"AKIAIOSFODNN7EXAMPLE": ["-----BEGIN PRIVATE KEY-----abc", rest]}

    assert json.loads(mask_json(json.dumps(document))) == {"[aws key masked]": ["[private key masked]", rest]}
