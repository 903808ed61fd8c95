// The picture of an image or a recording: a thumbnail from the server, or an icon.
//
// The thumbnail is fetched with the page's key, as everything else is, and drawn. So it has no
// address that a browser would load without the key, and the page's policy allows no further ones.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { callModel } from "../server/call";
import type { Medium } from "../server/types";

const kPaths = {
  image: "M3 5h18v14H3z M3 16l5-5 4 4 3-3 6 6 M15.5 9.5h.01",
  audio: "M4 9v6h4l5 4V5L8 9z M16 9a4 4 0 0 1 0 6 M18.5 6.5a8 8 0 0 1 0 11",
};

function Icon(props: { kind: Medium["kind"] }) {
  return (
    <svg class="picture icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={kPaths[props.kind]} />
    </svg>
  );
}

async function draw(path: string, canvas: HTMLCanvasElement, signal: AbortSignal): Promise<void> {
  const response = await callModel("GET", path, undefined, signal);
  const picture = await createImageBitmap(await response.blob());
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext("2d")?.drawImage(picture, 0, 0);
  picture.close();
}

function Thumbnail(props: { path: string; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const gone = useSignal(false);
  useEffect(() => {
    const stop = new AbortController();
    // The server drops old thumbnails, and has none of before its start.
    const fail = () => {
      gone.value = !stop.signal.aborted;
    };
    if (canvas.current !== null) draw(props.path, canvas.current, stop.signal).catch(fail);
    return () => stop.abort();
  }, [props.path]);
  if (gone.value) return <Icon kind="image" />;
  return <canvas ref={canvas} class="picture" width="1" height="1" role="img" aria-label={props.label} />;
}

export function Picture(props: { medium: Medium }) {
  const { kind, part, thumbnail } = props.medium;
  if (thumbnail === undefined) return <Icon kind={kind} />;
  return <Thumbnail key={thumbnail} path={thumbnail} label={`Thumbnail of the ${kind} at ${part}`} />;
}
