// One request to the server, and what may come of it.
import { key, keyWanted } from "../state/key";
import { answered, unreachable } from "../state/connection";
import { ofChosenModel } from "../state/models";

export class ServerError extends Error {
  constructor(
    readonly status: number, // 0: nobody answered
    message: string,
  ) {
    super(message);
  }
}

// The addresses are relative, so that the page also works behind a proxy that puts it in a folder.
function address(path: string): string {
  return new URL(path.replace(/^\//, ""), document.baseURI).href;
}

function headers(body: unknown): Record<string, string> {
  const all: Record<string, string> = {};
  if (body !== undefined) all["Content-Type"] = "application/json";
  if (key.value !== "") all["Authorization"] = `Bearer ${key.value}`;
  return all;
}

// What the server wrote about a failure; its three APIs all have `error.message`.
async function sentence(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const message: unknown = JSON.parse(text)?.error?.message;
    if (typeof message === "string") return message;
  } catch {
    // Not JSON: say the number.
  }
  return `the server answered ${response.status}`;
}

// Throws ServerError, and an AbortError when `signal` ended it.
export async function call(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  let response: Response;
  const usedKey = key.value;
  try {
    response = await fetch(address(path), {
      method,
      headers: headers(body),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    unreachable();
    throw new ServerError(0, "the server does not answer");
  }
  answered();
  if (response.ok) return response;
  if (response.status === 401 && usedKey === key.value) keyWanted.value = true;
  throw new ServerError(response.status, await sentence(response));
}

// The same at the model that the page talks to, which is not loaded for it.
export function callModel(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  return call(method, ofChosenModel(path), body, signal);
}

export async function modelJson<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await (await callModel(method, path, body)).json()) as T;
}

export async function json<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await (await call(method, path, body)).json()) as T;
}
