"""${message}

Revision: ${up_revision}, after ${down_revision | comma,n}. Made on ${create_date}.

Look before you change (an inspector): the tables may have been made from the models already.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
