"""Values and tables of traces as text, for people and for programs."""
