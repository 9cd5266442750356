"""A worker that is to stop says so before it does: what its heart sends must not wait for a broker that is away."""

from pathlib import Path

from grading.celery_app import make_celery
from grading.settings import load
from tests.services.broker import Broker


def test_a_heartbeat_is_kept_until_the_broker_is_back(broker: Broker, tmp_path: Path) -> None:
    app = make_celery(load({"REDIS_URL": broker.url, "KERNEL_ENV_DATA_DIR": str(tmp_path)}))
    heard: list[str] = []
    with app.connection_for_write() as connection, app.connection_for_read() as listening:
        heart = app.events.Dispatcher(connection, hostname="worker")
        heart.send("worker-online", retry=True)
        broker.kill()
        heart.send("worker-heartbeat", retry=True)
        broker.start()
        receiver = app.events.Receiver(listening, handlers={"*": lambda event: heard.append(event["type"])})
        with receiver.consumer_context(wakeup=False) as (read, _, _):
            while not heard:  # it hears nothing before it has subscribed
                heart.send("worker-online")
                read.drain_events(timeout=20)
            heart.flush()
            while heard[-1] != "worker-heartbeat":
                read.drain_events(timeout=20)
