"""Fixed words of manifest.json: its name, its format and version, and the kind of causal recordings."""

FORMAT = "headway-recording"
VERSION = 1
FILE = "manifest.json"
CAUSAL = "causal"
"""What the key `kind` says of a causal recording; of others it is missing."""
