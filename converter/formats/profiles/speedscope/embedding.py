"""The embedded payload of speedscope's files: a member that speedscope ignores."""

from __future__ import annotations

from typing import Final

from converter.formats.json_values.member_embedding import MemberEmbedding

EMBEDDING: Final = MemberEmbedding("speedscope")
