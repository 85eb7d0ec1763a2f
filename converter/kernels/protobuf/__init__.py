"""Protocol buffers: fields on the wire, columns of the fields of many messages, and messages from columns."""
