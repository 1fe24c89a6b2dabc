"""What another process controls, touched safely: its rights, deadlines, directories, files, and what /proc says of it."""
