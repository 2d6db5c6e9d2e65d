"""What the REST API takes and gives: the same shapes for every client, whatever the stage kinds are."""
