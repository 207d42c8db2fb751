"""The exit codes of ``airflow assets-catalog``; they never change their meaning (docs/cli.md)."""

from __future__ import annotations

OK = 0
BUG = 1
"""An error of ours, with its traceback."""
USAGE = 2
"""The command line cannot be understood (argparse)."""
INVALID = 3
NOT_FOUND = 4
CONFLICT = 5
LOCKED = 6
REFUSED = 7
UNAVAILABLE = 8
DECLINED = 9
"""The user answered no, or nobody could be asked."""
PROBLEMS = 10
"""``doctor`` found something; some rows of ``import`` or some items failed."""
INTERRUPTED = 130

TABLE = """exit codes:
  0    done
  1    an error of the provider itself; the only one with a traceback
  2    the command line cannot be understood
  3    a value breaks a rule
  4    no such asset or event
  5    a conflict: the id is taken
  6    the asset is locked by somebody else
  7    not logged in, or not permitted
  8    the catalogue cannot be reached, or its tables are missing
  9    the question was answered with no, or could not be asked
  10   doctor found a problem
  130  interrupted
"""
