"""The Celery application of this installation: `celery -A workers.app …`, Flower included."""

from grading.celery_app import make_celery
from grading.settings import load

settings = load()
app = make_celery(settings)
app.conf.imports = ["workers.tasks"]
