"""Traces made by programs, event by event or from columns."""
