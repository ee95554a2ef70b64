"""Every read. Query counts do not depend on sizes, but for ten-thousand-row chunks. Functions raise
store.values.NotFound (a sentence for a 404) where they say get_; find_ gives None.

Import the module and call through it: `from contextviz.store.queries import sessions`.

sessions    library(LibraryFilter, sort=, descending=, page=, size=) → Page[SessionRow] · SORTS ·
            sessions_after(filter, after=, limit=) → [(SessionRow, SessionPlace)] · facets() →
            {"format": [Facet], "agent": [Facet]} · session_count() · recent_sessions(limit) · get_session(id) →
            SessionRow · find_sessions(ids) · named(source_id) · related(row) · revision(id) → int ·
            session_detail(id) → SessionDetail(row, session, transcript with lines, tree, subagents, …) ·
            client_total(id) → ClientTotal ·
            sources(id) → [SourceRow]
messages    messages(id, after=, before=, limit=, agent=, only_agent=) → MessagePage · get_message(id, index) ·
            messages_at(id, indexes) → {index: Message} · by_entries(id, entry_ids) → {entry: Message} ·
            indexes_of_entries(id, entry_ids) → {entry: index} · tool_pairs(id, indexes) → [ToolPair]
calls       calls(id, start=, stop=) → [ModelCall] · get_call(id, index) · call_of_message(id, message_index) ·
            compactions(id) → [Compaction] · get_compaction(id, number) · problems(id, limit=, offset=)
snapshots   snapshots(id, start=, stop=) → [SnapshotRow] · find_of_call(id, call_index) → SnapshotRow | None ·
            window_of_call(id, call_index, start=, stop=) → Window | None · window(id, index, start=, stop=) → Window ·
            positions(id, index) → [int] · snapshots_of_calls(id, calls) → {call: SnapshotRow} ·
            items_at(id, positions) → {position: (ContextItem, category)}
summaries   nodes(id) → [SummaryNode] · get_node(id, node_id) · store_messages(id, ids) → {id: StoreMessage} ·
            find_summary_store(id) → SummaryStore | None
engine_events engine_events(id, start=, stop=, type=) → [EngineEvent] · counts_by_type(id) → {type: count}
topics      topics(id) · topic_events(id) · sessions_with_topics() → [session id]
texts       find_texts(prefix, limit=) → [TextPlace] · uses_of_text(sha256, limit=) → [TextUse] ·
            find_handles(handles) → {handle: digest}
jobs        jobs(page=, size=, kind=, state=, session_id=) → Page[JobRow] ·
            jobs_after(after=, limit=, …) · get_job(id) · job_log(id, after=) →
            [JobLine] · unfinished_jobs() · uploads_to_tell() → [UploadRow] · uploads_of(batch_id)
uploads     names_of_batches(ids) → {batch id: [name]} · get_raw_file(sha256) → RawFile
sparklines  sparklines(rows) → {session id: Sparkline}, one query for a list
live        live_after(number, LiveFilter) → [LiveEvent] · live_newest(LiveFilter) · live_bounds() → (first, last) ·
            growing(since) → [Growing] · inbox_counts() · session_of_stream(id)
transcripts load_transcript(id) → Transcript (everything; for jobs) · load_snapshots(id) → SnapshotLog
search      store.search: search(SearchQuery, SearchFilter) → Hits · find_in_session(id, query, agent) → (indexes,
            is_more) · waiting() → Progress; the query is events.search.parse_query(text)
runs        runs_of(session_id) → [RunRow] · get_run(run_id) → RunRow, the door; of a row: series · calls · window ·
            positions · boundaries · nodes · events · originals · messages_at · load_run (store.queries.runs)
preferences preferences(user_id) → Preferences(theme, time_zone) · own_prices() · own_windows()

Words of texts: `store.texts.TextReader().get_many(refs)` → {digest: text}, `.beginnings(refs, chars=)` →
{digest: OpenText(text, is_cut)}, `.get(ref)`; two queries each.
Charts: services.figures: strip_of(id, agent) → StripTable, compositions_of(id), composition_of(id, call_index).
"""

from __future__ import annotations
