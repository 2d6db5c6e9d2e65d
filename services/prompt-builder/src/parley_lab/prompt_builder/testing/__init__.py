"""What tests of prompts share; imported by tests only."""
