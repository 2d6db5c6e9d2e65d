"""The types that cross process borders or are written in files; they import no other room."""
