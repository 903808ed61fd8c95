// The images and recordings of a prompt, with the number and the sources of their tokens.
import { milliseconds, number } from "../parts/words";
import type { Medium } from "../server/types";
import { sourceWords } from "./message_rows";
import { within, type Stretch } from "./stretches";
import { Picture } from "./thumbnail";

function size(medium: Medium): string {
  if (medium.seconds !== undefined) return `audio, ${milliseconds(1000 * medium.seconds)}`;
  return `image, ${number(medium.width ?? 0)} × ${number(medium.height ?? 0)}`;
}

export function MediaList(props: { media: Medium[]; stretches: Stretch[] }) {
  if (props.media.length === 0) return null;
  return (
    <ul class="media" aria-label="Images and recordings">
      {props.media.map((medium) => (
        <li key={medium.begin}>
          <Picture medium={medium} />
          <div>
            <div>{size(medium)}</div>
            <div class="dim">{medium.part}</div>
            <div class="dim">
              {number(medium.end - medium.begin)} tokens:{" "}
              {sourceWords(within(props.stretches, medium.begin, medium.end))}
            </div>
          </div>
        </li>
      ))}
    </ul>
  );
}
