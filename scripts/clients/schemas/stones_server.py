"""An MCP server on standard input and output. Its tool has bounded numbers, and writes down what it
was called with in the file that its argument names."""

import json
import sys
from typing import Annotated, Literal, Optional

from mcp.server.fastmcp import FastMCP
from pydantic import Field

server = FastMCP("stones", log_level="ERROR")


@server.tool()
def put_stones(weight: Annotated[float, Field(ge=0, le=1)],
               count: Annotated[int, Field(gt=0, lt=10)],
               colour: Optional[Literal["red", "green"]] = None) -> str:
    """Puts stones on the pile."""
    with open(sys.argv[1], "a", encoding="utf-8") as calls:
        calls.write(json.dumps([weight, count, colour]) + "\n")
    return f"{count} {colour or 'grey'} stones of {weight} lie on the pile"


if __name__ == "__main__":
    server.run()
