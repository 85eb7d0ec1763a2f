"""Traces as Arrow sees them: batches are laid out as Arrow lays data out, so most columns are handed over as they are.

PyArrow is an extra (``pip install traceconv[arrow]``); nothing else imports this package.
"""
