"""`/metrics`"""

from flask import Response

from app import metrics
from app.blueprint import ApiBlueprint
from app.context import current

blueprint = ApiBlueprint("metrics", __name__, description="For Prometheus.")


@blueprint.route("/metrics")
@blueprint.needs("read")
@blueprint.response(200, {"type": "string"}, content_type="text/plain")
@blueprint.problems()
def get_metrics() -> Response:
    """Read counts and gauges in Prometheus' text format"""
    return Response(metrics.text(current().gauges), content_type=metrics.CONTENT_TYPE)
