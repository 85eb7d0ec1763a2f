"""Traces for other programs: Arrow tables, columns by name, statistics, pages to view, and traces built in code."""
