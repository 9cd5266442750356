"""`/meta`"""

from typing import Any

from app.blueprint import ApiBlueprint
from app.context import current
from app.schemas.meta import MetaSchema
from app.services.meta import describe

blueprint = ApiBlueprint("meta", __name__, description="What this server is and allows.")


@blueprint.route("/meta")
@blueprint.needs("read")
@blueprint.response(200, MetaSchema)
def meta() -> dict[str, Any]:
    """Read limits, versions, reward modes and clocks"""
    return describe(current())
