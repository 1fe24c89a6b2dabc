"""Where cores x wall time went: idle cores of each instant charged to causes, and the phases of the run."""
