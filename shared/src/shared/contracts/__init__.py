"""What crosses the border of a process, or is written in files: types only, which know of no room above them."""
