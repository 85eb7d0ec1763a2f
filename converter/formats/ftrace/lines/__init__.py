"""Lines of ftrace text: scanned into columns, their texts inverted into the records that were printed."""
