# Two stages: packages are installed with their hashes checked, and only the result is carried over.
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/contextviz
COPY requirements.lock ./
RUN /opt/contextviz/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml setup.py MANIFEST.in README.md CHANGELOG.md LICENSE NOTICES.md ./
COPY templates ./templates
COPY static ./static
COPY docs ./docs
COPY contextviz ./contextviz
RUN /opt/contextviz/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 contextviz && install -d -o contextviz -m 700 /data
COPY --from=build /opt/contextviz /opt/contextviz
ENV PATH=/opt/contextviz/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=contextviz.settings \
    CONTEXTVIZ_DATA_DIR=/data
USER contextviz
WORKDIR /home/contextviz
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=20s --timeout=10s --start-period=30s --retries=3 \
    CMD ["contextviz", "healthcheck", "web", "--port", "8765"]
# The container's network is its own, so listening on all of its addresses reaches no further than the ports published.
# It is refused all the same until an admin has a password (CONTEXTVIZ_ADMIN_PASSWORD_FILE, or `contextviz createuser`).
CMD ["contextviz", "web", "--host", "0.0.0.0", "--port", "8765"]
