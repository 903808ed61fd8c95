// A server of the tests: the program that was built, on a made model, with answers that are decided
// beforehand. It may be ended and started again at the same address.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { script } from "./script";

// A file that scripts/test_web.sh made.
export function made(name: string): string {
  return `${wanted("CAIRN_FOLDER")}/${name}`;
}

function wanted(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; run the tests by make web-test`);
  return value;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

export class Server {
  private child: ChildProcess | null = null;

  private constructor(
    readonly port: number,
    private readonly flags: string[],
    private readonly models: string[],
  ) {}

  static async start(...flags: string[]): Promise<Server> {
    const model = ["-m", made("model.gguf"), "--alias", "made model"];
    const server = new Server(await freePort(), flags, model);
    await server.run();
    return server;
  }

  // A router for models of these names, each of which is the made model.
  static async startRouter(names: string[], ...flags: string[]): Promise<Server> {
    const folder = made("router_models");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const name of names) symlinkSync(made("model.gguf"), `${folder}/${name}.gguf`);
    const server = new Server(await freePort(), flags, ["--models-dir", folder]);
    await server.run();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  async run(): Promise<void> {
    const log = openSync(`${wanted("CAIRN_FOLDER")}/server.log`, "a");
    const rules = `${wanted("CAIRN_FOLDER")}/script.json`;
    writeFileSync(rules, JSON.stringify(script));
    const child = spawn(
      wanted("CAIRN_PROGRAM"),
      ["serve", ...this.models, "--script", rules, "--port", String(this.port), "-c", "8192", "-t",
        "1", "--grid", "64", "--chat-template", "qwen", ...this.flags],
      { stdio: ["ignore", log, log] },
    );
    this.child = child;
    for (let tries = 0; tries < 600; tries += 1) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      const answer = await fetch(`${this.url}health`).catch(() => null);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error("the server was not ready after a minute");
  }

  async stop(): Promise<void> {
    const child = this.child;
    this.child = null;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }
}
