"""The entry point of WSGI servers: `gunicorn -c python:app.gunicorn_conf app.wsgi:app`."""

from app.context import make_context
from app.factory import create_app
from grading import logs, settings

_settings = settings.load()
logs.set_up(_settings)
app = create_app(make_context(_settings))
