"""Protobuf messages on the wire, and the descriptors of Perfetto's messages."""
