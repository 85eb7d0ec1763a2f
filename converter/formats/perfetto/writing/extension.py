"""Arguments named as Perfetto's importer names those of JSON traces: ``args.name`` rather than ``debug.name``.

Those of profiles of Firefox are ``data.name``. The importer reads further fields of a TrackEvent by a preceding
ExtensionDescriptor, under the extension's name, and DebugAnnotations in them like its own. Queries written for the JSON
then work for the Perfetto trace.
"""

from __future__ import annotations

from typing import Any, Final

from converter.formats.perfetto.json_sidecar import EXTENSION_FILE
from converter.formats.perfetto.layout import ARGUMENTS, ARGUMENTS_ANNOTATIONS
from converter.formats.perfetto.protobuf.messages import encode
from converter.ir.trace import Trace

_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11

#: ``extend TrackEvent { optional Arguments args = ...; }`` (descriptor.proto).
_DESCRIPTOR: Final[dict[str, Any]] = {
    "name": EXTENSION_FILE,
    "package": "traceconv",
    "dependency": ["protos/perfetto/trace/track_event/track_event.proto"],
    "message_type": [
        {
            "name": "Arguments",
            "field": [
                {
                    "name": "debug_annotations",
                    "number": ARGUMENTS_ANNOTATIONS,
                    "label": _REPEATED,
                    "type": _MESSAGE,
                    "type_name": ".perfetto.protos.DebugAnnotation",
                }
            ],
        }
    ],
    "extension": [
        {
            "number": ARGUMENTS,
            "label": _OPTIONAL,
            "type": _MESSAGE,
            "type_name": ".traceconv.Arguments",
            "extendee": ".perfetto.protos.TrackEvent",
        }
    ],
}


def extension_packet(trace: Trace) -> bytes:
    """Return the packet that declares the extension, under the name that importers use for a trace's arguments."""
    (extension,) = _DESCRIPTOR["extension"]
    named = {**extension, "name": trace.semantics.json_arguments or "args"}
    descriptor = {**_DESCRIPTOR, "extension": [named]}
    return encode(
        "TracePacket", {"extension_descriptor": {"extension_set": {"file": [descriptor]}}}
    )
