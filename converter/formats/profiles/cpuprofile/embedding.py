"""The embedded payload of a CPU profile: a member of the outer object, which viewers ignore."""

from __future__ import annotations

from typing import Final

from converter.formats.json_values.member_embedding import MemberEmbedding

EMBEDDING: Final = MemberEmbedding("cpuprofile")
