// The images and recordings of requests from other clients.
import type { Page } from "@playwright/test";
import { serious } from "./axe";
import { expect, keep, test as base } from "./fixture";
import { made, Server } from "./server";

const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await Server.start("--cache-disk", "0", "--mmproj", made("images.gguf"));
      await use(server);
      await server.stop();
    },
    { scope: "worker" },
  ],
});

// A picture as a data URL: red on the left half, blue on the right.
function redBlue(page: Page, width: number, height: number): Promise<string> {
  return page.evaluate(
    ([width, height]) => {
      const canvas = document.createElement("canvas");
      canvas.width = width;
      canvas.height = height;
      const context = canvas.getContext("2d");
      if (context === null) throw new Error("there is no canvas");
      context.fillStyle = "#ff0000";
      context.fillRect(0, 0, width / 2, height);
      context.fillStyle = "#0000ff";
      context.fillRect(width / 2, 0, width / 2, height);
      return canvas.toDataURL("image/png");
    },
    [width, height] as const,
  );
}

// A WAV file of silence, as base64.
function silence(seconds: number): string {
  const rate = 16_000;
  const samples = Buffer.alloc(2 * rate * seconds);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(2 * rate, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]).toString("base64");
}

interface Answer {
  id: string;
  cairn: { media: { begin: number; end: number; thumbnail?: string }[] };
}

// A request of another client than the page.
async function ask(server: Server, content: object[], key = ""): Promise<Answer> {
  const response = await fetch(`${server.url}v1/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(key === "" ? {} : { "x-api-key": key }) },
    body: JSON.stringify({
      messages: [{ role: "user", content }],
      max_tokens: 1,
      cairn: { explain: true },
    }),
  });
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as Answer;
}

const text = { type: "text", text: "What is a cairn, in this picture of a pile of stones?" };

function image(url: string) {
  return { type: "image_url", image_url: { url } };
}

// The item of a request in the list, opened.
async function opened(page: Page, id: string) {
  const item = page.getByRole("region", { name: "Requests" }).getByRole("listitem").filter({
    hasText: new RegExp(`${id}$`),
  });
  await item.locator("summary").click();
  return item;
}

// The first and the last pixel of a thumbnail.
function ends(canvas: HTMLElement | SVGElement): [number[], number[]] {
  const { width, height } = canvas as HTMLCanvasElement;
  const context = (canvas as HTMLCanvasElement).getContext("2d");
  const pixels = [...(context?.getImageData(0, 0, width, height).data ?? [])];
  return [pixels.slice(0, 4), pixels.slice(-4)];
}

test("an image of a request is shown as a thumbnail, at its tokens", async ({ open, server }) => {
  const { id, cairn } = await ask(server, [text, image(await redBlue(open, 640, 320))]);
  const item = await opened(open, id);
  const picture = item.getByRole("img", { name: "Thumbnail of the image at messages[0].content[1]" });
  await expect(picture).toHaveJSProperty("width", 96);
  await expect(picture).toHaveJSProperty("height", 48);
  expect(await picture.evaluate(ends)).toEqual([[255, 0, 0, 255], [0, 0, 255, 255]]);
  await expect(item).toContainText("image, 640 × 320");
  const [medium] = cairn.media;
  const tokens = (medium?.end ?? 0) - (medium?.begin ?? 0);
  await expect(item).toContainText(`${tokens} tokens: ${tokens} prefilled`);
  const bar = await item.locator(".tokens").boundingBox();
  const strip = await item.locator(".medium").boundingBox();
  expect(bar !== null && strip !== null && strip.width > 0 && strip.width < bar.width).toBe(true);
  await item.scrollIntoViewIfNeeded();
  expect(await serious(open)).toEqual([]);
  await keep(open, "thumbnail");
});

test("the same image at the next turn shows where its tokens came from", async ({ open, server }) => {
  const picture = image(await redBlue(open, 320, 320));
  await ask(server, [text, picture]);
  const { id } = await ask(server, [text, picture, text]);
  const item = await opened(open, id);
  // The picture has 100 rows; the made model has many tokens of text around them.
  await expect(item.locator("ul.media")).toContainText(/tokens: 1\d\d (reused|restored)/);
});

test("a thumbnail that the server has no longer is an icon", async ({ open, server }) => {
  const { id } = await ask(server, [text, image(await redBlue(open, 200, 400))]);
  await open.route("**/thumbnails/0", (route) => route.fulfill({ status: 404, json: {} }));
  const item = await opened(open, id);
  await expect(item.locator("svg.picture")).toBeVisible();
  await expect(item.locator("canvas.picture")).toHaveCount(0);
  await expect(item).toContainText("image, 200 × 400");
});

test("a narrow image is shown too", async ({ open, server }) => {
  const { id } = await ask(server, [text, image(await redBlue(open, 8, 1600))]);
  const item = await opened(open, id);
  await expect(item.locator("canvas.picture")).toHaveJSProperty("height", 96);
  await expect(item.locator("canvas.picture")).toHaveJSProperty("width", 1);
});

test("a recording is an icon with its length", async ({ page }) => {
  const server = await Server.start("--cache-disk", "0", "--mmproj", made("recordings.gguf"));
  try {
    await page.goto(server.url);
    const data = silence(2.5);
    const { id } = await ask(server, [text, { type: "input_audio", input_audio: { data, format: "wav" } }]);
    const item = await opened(page, id);
    await expect(item.locator("svg.picture")).toBeVisible();
    await expect(item).toContainText("audio, 2.5 s");
    await expect(item).toContainText("messages[0].content[1]");
    await item.scrollIntoViewIfNeeded();
    await keep(page, "recording");
  } finally {
    await server.stop();
  }
});

test("the page with one key shows no picture of another", async ({ page }) => {
  const server = await Server.start(
    "--cache-disk", "0", "--mmproj", made("images.gguf"), "--api-key", "key-one,key-two",
  );
  try {
    await page.goto(server.url);
    const picture = image(await redBlue(page, 320, 160));
    const one = await ask(server, [text, picture], "key-one");
    const two = await ask(server, [text, picture], "key-two");
    await page.getByLabel("API key", { exact: true }).fill("key-two");
    await page.getByLabel("API key", { exact: true }).press("Enter");
    const item = await opened(page, two.id);
    await expect(item.locator("canvas.picture")).toHaveJSProperty("width", 96);
    await expect(page.getByRole("region", { name: "Requests" })).not.toContainText(one.id);
    const path = one.cairn.media[0]?.thumbnail?.slice(1) ?? "";
    const status = async (key: string) =>
      (await fetch(server.url + path, { headers: { Authorization: `Bearer ${key}` } })).status;
    expect(await status("key-one")).toBe(200);
    expect(await status("key-two")).toBe(404);
    expect(await status("neither")).toBe(401);
  } finally {
    await server.stop();
  }
});
