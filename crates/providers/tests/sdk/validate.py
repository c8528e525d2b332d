"""Holds request bodies against the request types of the vendors' own SDKs.

Usage: validate.py FOLDER. Each file `<api>.<name>.json` in it is one body; `<api>` is anthropic, chat, responses or
gemini. Prints what does not fit, and ends with status 1 if anything does not.
"""

import json
import sys
from pathlib import Path

from pydantic import TypeAdapter, ValidationError


def strict(kind):
    """An adapter that takes no fields besides those of the type, on the first level."""
    names = set(getattr(kind, "__annotations__", {}))
    for base in getattr(kind, "__orig_bases__", ()):
        names |= set(getattr(base, "__annotations__", {}))
    return TypeAdapter(kind), names


def anthropic(body):
    from anthropic.types import message_create_params as params

    kind = params.MessageCreateParamsStreaming if body.get("stream") else params.MessageCreateParamsNonStreaming
    check(kind, body)


def chat(body):
    from openai.types.chat import completion_create_params as params

    kind = params.CompletionCreateParamsStreaming if body.get("stream") else params.CompletionCreateParamsNonStreaming
    check(kind, body)


def responses(body):
    from openai.types.responses import response_create_params as params

    kind = params.ResponseCreateParamsStreaming if body.get("stream") else params.ResponseCreateParamsNonStreaming
    check(kind, body)


def gemini(body):
    from google.genai import types

    fields = dict(body)
    TypeAdapter(list[types.Content]).validate_python(fields.pop("contents"))
    # The SDK's configuration holds what the API has beside the contents.
    if "systemInstruction" in fields:
        types.Content.model_validate(fields.pop("systemInstruction"))
    TypeAdapter(list[types.Tool]).validate_python(fields.pop("tools", []))
    if "toolConfig" in fields:
        types.ToolConfig.model_validate(fields.pop("toolConfig"))
    if "generationConfig" in fields:
        types.GenerationConfig.model_validate(fields.pop("generationConfig"))
    TypeAdapter(list[types.SafetySetting]).validate_python(fields.pop("safetySettings", []))
    fields.pop("cachedContent", None)
    if fields:
        raise ValueError(f"fields the API does not have: {sorted(fields)}")


def check(kind, body):
    adapter, names = strict(kind)
    unknown = sorted(set(body) - names)
    if unknown:
        raise ValueError(f"fields the SDK does not have: {unknown}")
    exhaust(adapter.validate_python(body))


def exhaust(value):
    """Iterables of a TypedDict are checked when they are read."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif not isinstance(value, (str, bytes, int, float, bool, type(None))):
        for item in value:
            exhaust(item)


APIS = {"anthropic": anthropic, "chat": chat, "responses": responses, "gemini": gemini}


def main():
    failed = 0
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    for file in files:
        try:
            APIS[file.name.split(".")[0]](json.loads(file.read_text()))
            print(f"fits: {file.name}")
        except (ValidationError, ValueError) as error:
            failed += 1
            print(f"does not fit: {file.name}\n{error}")
    if not files:
        print("there are no bodies")
    sys.exit(1 if failed or not files else 0)


if __name__ == "__main__":
    main()
