"""A trace to look at: served to a viewer that runs in a browser, or as a page of its own."""
