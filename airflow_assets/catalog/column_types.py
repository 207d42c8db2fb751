"""Column types that mean the same on SQLite, PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, DateTime, Integer, LargeBinary, String, Text
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.types import TypeDecorator, TypeEngine

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

BigId = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit integer that SQLite can number by itself."""

LongText = Text().with_variant(mysql.MEDIUMTEXT(collation="utf8mb4_bin"), "mysql", "mariadb")
LongBytes = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def exact_text(length: int) -> TypeEngine[str]:
    """Return a text column that compares by code point, whatever the server's collation."""
    return (
        String(length)
        .with_variant(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")
        .with_variant(postgresql.VARCHAR(length, collation="C"), "postgresql")
    )


def bytes_of(length: int) -> TypeEngine[bytes]:
    """Return a bytes column of at most ``length``; bytes compare by memory order on every database."""
    return LargeBinary(length).with_variant(mysql.VARBINARY(length), "mysql", "mariadb")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time with microseconds; a naive one is refused before it reaches the database."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that keeps microseconds there."""
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sqlite.DATETIME())  # type: ignore[no-untyped-call]
        return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC, as the driver wants it."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive time {value!r}: the catalogue stores aware times only")
        value = value.astimezone(timezone.utc)
        return value if dialect.name == "postgresql" else value.replace(tzinfo=None)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Return the time as an aware one in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
