"""What every analysis shares: units, notices, intervals, uncertainty, columns."""
