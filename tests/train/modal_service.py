"""A stand-in for Modal's service: takes in what `modal deploy` tells it, builds and runs nothing. PORT REFERENCE.

Runs where `requirements/modal.txt` is installed. Prints one JSON object: `status` of the command, its `output`, and
`told`, the requests by name, in order, as JSON.
"""

import asyncio
import json
import os
import sys
from typing import Any

from google.protobuf.json_format import MessageToDict
from grpclib.server import Server, Stream
from modal_proto import api_grpc, api_pb2

DEPLOY_S = 240
# how ids begin by the field that they are answered in
KINDS = {"app_id": "ap", "image_id": "im", "function_id": "fu", "secret_id": "st", "mount_id": "mo", "volume_id": "vo"}
KINDS["class_id"] = "cs"


class Service:
    """Answers every request with an object of its own, and keeps it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._made = 0
        base = api_grpc.ModalClientBase
        handlers = {name: self._handler(name) for name in base.__abstractmethods__}
        self.servable = type("Servable", (base,), handlers)()
        self._replies = {
            path.rpartition("/")[2]: handler.reply_type for path, handler in self.servable.__mapping__().items()
        }

    def _handler(self, name: str) -> Any:
        async def handle(servable: Any, stream: "Stream[Any, Any]") -> None:
            request = await stream.recv_message()
            reply = self._reply(name, request)
            answered = MessageToDict(reply, preserving_proto_field_name=True)
            asked = MessageToDict(request, preserving_proto_field_name=True)
            self.told.append((name, {**asked, "answered": answered}))
            await stream.send_message(reply)

        return handle

    def _reply(self, name: str, request: Any) -> Any:
        reply = self._replies[name]()
        for field in reply.DESCRIPTOR.fields:
            if field.name in KINDS:
                self._made += 1
                setattr(reply, field.name, f"{KINDS[field.name]}-{self._made}")
        if name == "EnvironmentGetOrCreate":
            reply.environment_id, reply.metadata.name = "en-1", "main"
            reply.metadata.settings.image_builder_version = "2025.06"
        elif name == "ImageGetOrCreate":
            reply.result.status = api_pb2.GenericResult.GENERIC_STATUS_SUCCESS
        elif name == "FunctionCreate":
            reply.function_id = request.existing_function_id
            reply.function.CopyFrom(request.function)
            reply.handle_metadata.function_name = request.function.function_name
            if request.HasField("function_data"):
                reply.function_data.CopyFrom(request.function_data)
            ranked = reply.function_data.ranked_functions
            if not ranked:
                ranked.add().function.CopyFrom(request.function)
        return reply


async def main(port: str, reference: str) -> None:
    service = Service()
    server = Server([service.servable])
    await server.start("127.0.0.1", int(port))
    account = {"MODAL_SERVER_URL": f"http://127.0.0.1:{port}", "MODAL_TOKEN_ID": "ak-1", "MODAL_TOKEN_SECRET": "as-1"}
    command = [sys.executable, "-m", "modal", "deploy", reference]
    pipe = asyncio.subprocess.PIPE
    deploying = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, **account}, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await asyncio.wait_for(deploying.communicate(), DEPLOY_S)
    server.close()
    print(json.dumps({"status": deploying.returncode, "output": output.decode(), "told": service.told}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
