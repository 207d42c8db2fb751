"""The databases that the other tests of this ring are given are the real ones, empty and their own."""

from __future__ import annotations

import sqlalchemy as sa


def test_database_is_real_and_empty(fresh_database_url: str) -> None:
    engine = sa.create_engine(fresh_database_url)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == []
        connection.execute(sa.text("CREATE TABLE mark (id INTEGER PRIMARY KEY)"))
        connection.commit()
    version_query = "SELECT sqlite_version()" if engine.dialect.name == "sqlite" else "SELECT VERSION()"
    with engine.connect() as connection:
        version = str(connection.scalar(sa.text(version_query)))
    assert {"sqlite": "3.", "postgresql": "PostgreSQL", "mysql": "MariaDB"}[engine.dialect.name] in version
    engine.dispose()


def test_text_keeps_four_byte_characters_and_case(database_url: str) -> None:
    engine = sa.create_engine(database_url)
    binary = sa.LargeBinary().with_variant(sa.VARBINARY(100), "mysql")
    table = sa.Table("words", sa.MetaData(), sa.Column("word", sa.Text), sa.Column("key", binary))
    words = ["a", "A", "\N{GRINNING FACE}"]
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"word": word, "key": word.encode()} for word in words])
        assert sorted(connection.scalars(sa.select(table.c.word))) == sorted(words)
    engine.dispose()
