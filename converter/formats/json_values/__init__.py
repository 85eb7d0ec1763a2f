"""JSON, as formats whose events have JSON values share it: values as text, and programs that emit them; no format."""
