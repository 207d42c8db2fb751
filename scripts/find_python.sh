#!/usr/bin/env bash
# Print an interpreter of version $1 if this machine has one that works, else $2. Version managers leave shims on
# PATH that answer "not found", so each candidate is asked for its own path.
set -u
wanted=$1 fallback=$2
own_path='import sys; print(sys.executable)'
for candidate in "python$wanted" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$wanted".*/bin/python /usr/local/bin/python"$wanted"; do
  found=$("$candidate" -c "$own_path" 2>/dev/null) && { echo "$found"; exit 0; }
done
found=$(.build/bootstrap/bin/uv python find --no-python-downloads "$wanted" 2>/dev/null) && { echo "$found"; exit 0; }
echo "no Python $wanted on this machine, using $fallback" >&2
"$fallback" -c "$own_path"
