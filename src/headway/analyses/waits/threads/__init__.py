"""What threads did while others waited: their states, the locks that they held, their carriers, their end."""
