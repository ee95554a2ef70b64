"""Texts by content, in compressed packs."""

from __future__ import annotations

from django.db import models


class TextPackRecord(models.Model):
    """About 256 KiB of texts, one after another, compressed with zstd. Never changed after it was written."""

    data = models.BinaryField()
    raw_size = models.BigIntegerField()  # bytes before compression
    estimator = models.CharField(max_length=32)  # what counted the tokens of its texts
    is_indexed = models.BooleanField(default=False)  # whether its texts are in the search index (store.search)

    class Meta:
        indexes = [
            # store.search.waiting and index_packs: what still has to be indexed
            models.Index(fields=["id"], name="pack_to_index", condition=models.Q(is_indexed=False)),
        ]


class TextRecord(models.Model):
    """One text. A handle, or any prefix of the hash, is a range of `digest`, so the unique index serves it too."""

    digest = models.BinaryField(max_length=32, unique=True)  # SHA-256 of the UTF-8 bytes
    chars = models.BigIntegerField()
    size = models.BigIntegerField()  # bytes of UTF-8, and so its length in the pack
    estimated_tokens = models.BigIntegerField()
    pack = models.ForeignKey(TextPackRecord, on_delete=models.PROTECT, related_name="texts")
    offset = models.BigIntegerField()  # in the uncompressed pack

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(size__gte=0, chars__gte=0, offset__gte=0), name="text_sizes_positive"
            ),
        ]


class TextUseRecord(models.Model):
    """That a session uses a text, and the first message that holds it. A text without uses can be dropped."""

    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, db_index=False, related_name="+")
    text = models.ForeignKey(TextRecord, on_delete=models.PROTECT, related_name="uses")  # its index: where it occurs
    message_index = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "text"], name="text_use_once")]
