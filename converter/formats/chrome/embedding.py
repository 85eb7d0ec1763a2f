"""The embedded payload of Chrome JSON: a member of the outer object."""

from __future__ import annotations

from typing import Final

from converter.formats.json_values.member_embedding import MemberEmbedding

EMBEDDING: Final = MemberEmbedding("chrome")
