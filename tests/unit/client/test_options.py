from __future__ import annotations

import pytest

from airflow_assets.client import get_async_client, get_client
from airflow_assets.client.options import Options
from airflow_assets.exceptions import InvalidRequest


@pytest.mark.parametrize("make", [get_client, get_async_client])
@pytest.mark.parametrize(
    ("login", "words"),
    [
        ({"token": "t", "username": "u", "password": "p"}, "Both a token and a login"),
        ({"token": "t", "password": "p"}, "Both a token and a login"),
        ({"username": "u"}, "Only the username"),
        ({"password": "p"}, "Only the password"),
    ],
)
def test_an_unclear_login_is_refused_before_any_call(make, login, words) -> None:
    with pytest.raises(InvalidRequest, match=words):
        make(api_url="http://nowhere.invalid", **login)


def test_options_show_no_secret() -> None:
    shown = repr(Options(username="ann", password="pw-5")) + repr(Options(token="tok-7"))
    assert "pw-5" not in shown
    assert "tok-7" not in shown
