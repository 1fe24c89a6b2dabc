"""Reports: the answers of analyses as JSON, on the terminal, as HTML pages, and as files for other tools."""
