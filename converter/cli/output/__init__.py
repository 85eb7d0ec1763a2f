"""Texts for people and for programs: messages, progress, tables and summaries."""
