"""A kind of job more: looking a session through before its export."""

from __future__ import annotations

from django.db import migrations, models

KINDS = ("digest", "expand_summary", "retrieve_original", "delete_session", "index_texts", "look_through")


class Migration(migrations.Migration):
    dependencies = [("store", "0007_engine_events")]

    operations = [
        migrations.RemoveConstraint(model_name="jobrecord", name="job_kind_known"),
        migrations.AddConstraint(
            model_name="jobrecord",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", KINDS)), name="job_kind_known"),
        ),
    ]
