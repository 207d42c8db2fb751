"""The rules of an asset's members: what is stored, what is refused, and that an error names field, limit, value."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_assets.exceptions import InvalidAsset, from_problem
from airflow_assets.schemas import rules
from airflow_assets.schemas.assets import AssetInput
from airflow_assets.schemas.masking import ascii_name, is_sensitive, mask_metadata, scrub_text, scrub_uri

IDS = [
    "a",
    "x" * 1_500,
    "\N{CAT FACE}" * 1_500,
    "a/b?c#d%e@f:g",
    "Größe",
    'it\'s "quoted"; DROP TABLE asset;--',
    "arn:aws:s3:::bucket/key",
]
BAD_IDS: list[tuple[object, str]] = [
    ("", "empty"),
    (" a", "white space"),
    ("a\n", "white space"),
    ("a\tb", "U+0009"),
    ("a\0b", "U+0000"),
    ("a\u2028b", "U+2028"),
    ("x" * 1_501, "1,501 characters"),
    ("self", "reserved"),
    ("context", "reserved"),
    ("..", "reserved"),
    (7, "must be text"),
    ("\ud800", "U+D800"),
]


@pytest.mark.parametrize("value", IDS)
def test_an_id_is_kept(value: str) -> None:
    assert rules.asset_id(value) == unicodedata.normalize("NFC", value)


@pytest.mark.parametrize(("value", "reason"), BAD_IDS)
def test_a_bad_id_is_refused_with_the_reason(value: object, reason: str) -> None:
    with pytest.raises(InvalidAsset, match=re.escape(reason)) as caught:
        rules.asset_id(value)
    assert caught.value.members["field"] == "id"


def test_two_normal_forms_are_one_id() -> None:
    assert rules.asset_id("a\u0301") == rules.asset_id("\u00e1")


def test_identity_tells_case_tenant_and_last_character_apart() -> None:
    ids = ["foo", "Foo", "fo\u00f3", "x" * 1_499 + "a", "x" * 1_499 + "b"]
    keys = {rules.identity(tenant, value) for value in ids for tenant in ("main", "other")}
    assert len(keys) == 2 * len(ids)
    assert {len(key) for key in keys} == {32}


@pytest.mark.parametrize("value", ["Sales", "-a", "a b", "a/b", "x" * 151, ""])
def test_a_bad_namespace_is_refused(value: str) -> None:
    with pytest.raises(InvalidAsset) as caught:
        rules.namespace(value)
    assert caught.value.members["field"] == "namespace"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"a": float("nan")}, "metadata.a"),
        ({"a": [1, float("inf")]}, "metadata.a[1]"),
        ({"a": {"b": "x\0"}}, "metadata.a.b"),
        ({"a": Path("x")}, "metadata.a"),
        ({"a": {1: 2}}, "metadata.a key"),
        ({"a": 10**1_000}, "metadata.a"),
        ({"a": "\ud800"}, "metadata.a"),
        ({f"k{n}": n for n in range(501)}, "metadata"),
        ({"a": "x" * (256 * 1024)}, "metadata"),
        ({"x" * 251: 1}, "metadata key"),
        ([], "metadata"),
    ],
)
def test_bad_metadata_is_refused(value: Any, field: str) -> None:
    with pytest.raises(InvalidAsset) as caught:
        rules.metadata(value)
    assert caught.value.members["field"] == field


def test_metadata_may_be_twenty_levels_deep() -> None:
    def nested(levels: int) -> dict[str, Any]:
        return {"a": nested(levels - 1)} if levels else {}

    assert rules.metadata(nested(19))
    with pytest.raises(InvalidAsset, match="20 levels"):
        rules.metadata(nested(25))


def test_numbers_stay_exact() -> None:
    value = {
        "big": 2**53 + 1,
        "huge": 10**999,
        "float": 1.0,
        "one": 1,
        "yes": True,
        "text": "1",
        "none": None,
    }
    assert rules.metadata(value) == value
    assert [type(item) for item in rules.metadata(value).values()] == [type(item) for item in value.values()]


def test_a_description_counts_in_bytes() -> None:
    assert rules.description("\N{CAT FACE}" * (16 * 1024))
    with pytest.raises(InvalidAsset) as caught:
        rules.description("\N{CAT FACE}" * (16 * 1024) + "x")
    assert caught.value.members == {"field": "description", "limit": 65_536, "value": 65_537}


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("s3://user:pw@b/k", "s3://user:***@b/k"),
        ("postgres://u:p@ss@host/db", "postgres://u:***@host/db"),
        ("s3://b/k?a=&token=abc#part", "s3://b/k?a=&token=***#part"),
        ("https://h/p?X-Amz-Signature=abc&b=1", "https://h/p?X-Amz-Signature=***&b=1"),
        ("user:pw@host", "user:pw@host"),
        ("s3://b/k?a=", "s3://b/k?a="),
    ],
)
def test_secrets_in_uris_are_masked(text: str, scrubbed: str) -> None:
    assert scrub_uri(text) == scrubbed


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("from postgres://u:pw@db/x, as 'api_key'='a b'", "from postgres://u:***@db/x, as 'api_key'=***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("db_password: hunter2\nnext line", "db_password: ***\nnext line"),
        ('password authentication failed for user "u"', 'password authentication failed for user "u"'),
        ("KeyError: 'token'", "KeyError: 'token'"),
        ("tries=3 at 10:30", "tries=3 at 10:30"),
    ],
)
def test_secrets_in_a_text_are_masked(text: str, scrubbed: str) -> None:
    assert scrub_text(text) == scrubbed
    assert scrub_text(scrubbed) == scrubbed


def test_no_password_gets_into_an_asset() -> None:
    asset = AssetInput(
        id="s3://user:hunter2@bucket/key",
        type="T",
        uri="s3://user:hunter2@bucket/key",
        metadata={
            "url": "ftp://u:hunter2@h",
            "auth": {"dbPassword": "hunter2", "tokens": ["x"]},
            "token": "",
        },
    )
    assert "hunter2" not in str(asset.to_json())
    assert asset.metadata == {
        "url": "ftp://u:***@h",
        "auth": {"dbPassword": "***", "tokens": ["x"]},
        "token": "",
    }


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("password", True),
        ("DB_PASSWORD", True),
        ("apiKey", True),
        ("aws-secret-access-key", True),
        ("tokenizer", False),
        ("max_tokens", False),
        ("owner", False),
    ],
)
def test_sensitive_keys_are_found_by_word(key: str, *, secret: bool) -> None:
    assert is_sensitive(key) is secret


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_masking_twice_is_masking_once(value: Any) -> None:
    once = mask_metadata({"a": value, "password": value})
    assert mask_metadata(once) == once


@given(st.text(min_size=1))
def test_an_ascii_name_is_ascii_and_tells_texts_apart(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    name = ascii_name(text)
    assert name.isascii()
    assert name.isprintable()
    if text.isascii() and text.isprintable():
        assert name == text


def test_an_error_survives_the_way_over_http() -> None:
    with pytest.raises(InvalidAsset) as caught:
        rules.asset_id("x" * 2_000)
    back = from_problem(caught.value.to_problem())
    assert type(back) is InvalidAsset
    assert (str(back), back.members) == (str(caught.value), caught.value.members)
