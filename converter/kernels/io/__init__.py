"""The growing output of emitters, integers in either byte order, short copies."""
