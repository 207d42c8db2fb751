"""How the authoring API compares with rivers 0.6.2 and its documentation: docs/authoring-parity.md."""
