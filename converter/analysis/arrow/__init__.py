"""Traces in Arrow: batches have Arrow's layout already, so most columns are passed on without a copy.

PyArrow is an extra (``pip install traceconv[arrow]``); nothing else imports this package.
"""
