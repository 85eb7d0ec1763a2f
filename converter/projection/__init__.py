"""Fits a trace to what a format can hold: passes over its events, then each batch class by class, counting
all losses.
"""
