"""Record to event and back, one file per topic. Every table of a session is described by a `Table`.

A row here is a tuple in the order of the table's columns, without the session and the index, which every table has.
None stands for an unknown number or time; an unknown text is "" in its column and None in its event.
"""

from __future__ import annotations
