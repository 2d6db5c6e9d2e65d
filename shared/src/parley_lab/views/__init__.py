"""The one maker of the views that the rules of a stage read, and what a stage comes to."""
