"""CPU profiles of V8 that no fixture is like: old ones, circles, times and members of other types."""

from __future__ import annotations

from support.fuzzing.corpus import Files

_TEXTS = (
    (
        '{"head":{"functionName":"(root)","id":1,"hitCount":0,"children":[{"functionName":"f","url":"a.js",'
        '"lineNumber":3,"id":2,"hitCount":5,"children":[]}]},"startTime":1.5,"endTime":2.5,"samples":[2,1,2],'
        '"timestamps":[1500000,1500100,1500050]}'
    ),
    (
        '{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"",'
        '"scriptId":7,"lineNumber":-1}},{"id":3,"parent":2,"callFrame":{"functionName":"g"}}],"startTime":1e3,'
        '"endTime":2000.25,"samples":[2,3,3,9],"timeDeltas":[1,-5,2.125,7],"title":"t","$vscode":{"rootPath":"/"}}'
    ),
    (
        '{"nodes":[{"id":1,"callFrame":{"functionName":"a"},"children":[2]},{"id":2,"callFrame":{},"children":[1,3]},'
        '{"id":3,"hitCount":4},5],"samples":[3,3],"timeDeltas":[1]}'
    ),
    '{"startTime":0,"endTime":9,"nodes":[{"id":"x","callFrame":{"functionName":"a"},"hitCount":3}]}',
)


def inputs() -> list[Files]:
    """Profiles, whole and cut."""
    found: list[Files] = [{"": text.encode()} for text in _TEXTS]
    return [*found, {"": _TEXTS[0].encode()[:-9]}]
