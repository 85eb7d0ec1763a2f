"""Outputs on this machine: written in the background, complete or absent, durable."""
