"""What a session's calls cost: with which prices that was worked out, and how many calls have none."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("store", "0010_window_checks")]

    operations = [
        migrations.AddField(
            model_name="sessionrecord",
            name="cost_unpriced_calls",
            field=models.BigIntegerField(default=0),
        ),
        # Empty: worked out by an earlier version, so the next worker does it again.
        migrations.AddField(
            model_name="sessionrecord",
            name="cost_prices",
            field=models.CharField(blank=True, default="", max_length=16),
        ),
    ]
