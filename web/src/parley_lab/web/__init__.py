"""The pages of participants: files that a browser loads, and the routes that serve them."""
