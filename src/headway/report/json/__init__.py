"""The answers of analyses as JSON: the stable form (docs/reference/json.md), a module each, named as elsewhere."""
