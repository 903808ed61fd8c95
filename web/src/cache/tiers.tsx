import { useSignal } from "@preact/signals";
import { bytes, number } from "../parts/words";
import { callModel } from "../server/call";
import type { CacheState, Tier } from "../server/types";
import { refresh } from "../state/polling";

function Fill(props: { name: string; tier: Tier }) {
  const { name, tier } = props;
  const limit = tier.bytes_max;
  const words = limit === null ? `${bytes(tier.bytes)}, no limit` : `${bytes(tier.bytes)} of ${bytes(limit)}`;
  return (
    <div class="fill">
      <span>{name}</span>
      <meter
        aria-label={`${name}: ${words}`}
        min={0}
        max={limit ?? Math.max(1, tier.bytes)}
        value={tier.bytes}
      />
      <span class="dim">{words}</span>
    </div>
  );
}

function Flush() {
  const said = useSignal("");
  const flush = async () => {
    said.value = "Writing …";
    try {
      await callModel("POST", "/cairn/cache/flush", {});
      said.value = "Written.";
    } catch (error) {
      said.value = error instanceof Error ? error.message : String(error);
    }
    void refresh();
  };
  return (
    <p>
      <button type="button" onClick={() => void flush()}>
        Write to disk now
      </button>{" "}
      <span role="status">{said.value}</span>
    </p>
  );
}

function Written(props: { tier: Tier }) {
  const { day_written_bytes: written, day_written_bytes_max: limit } = props.tier;
  if (written === undefined) return null;
  const most = limit === undefined || limit === null ? "" : ` of at most ${bytes(limit)}`;
  return (
    <p class="dim">
      {bytes(written)}
      {most} written to disk in the last 24 hours
    </p>
  );
}

export function Tiers(props: { of: CacheState }) {
  const { tiers, classes, segments, slots } = props.of;
  return (
    <div class="tiers">
      <Fill name="memory" tier={tiers.ram} />
      {tiers.disk === null ? (
        <p class="dim">There is no disk tier.</p>
      ) : (
        <Fill name="disk" tier={tiers.disk} />
      )}
      <p class="dim">
        {classes.map((one) => `${number(one.checkpoints)} ${one.class} (${one.tier}, ${bytes(one.bytes)})`).join(" · ")}
        {classes.length > 0 && " · "}
        {number(segments.count)} segments ({bytes(segments.bytes)}) ·{" "}
        {slots.filter((slot) => slot.busy).length} of {slots.length} slots busy
      </p>
      {tiers.disk !== null && <Written tier={tiers.disk} />}
      {tiers.disk !== null && <Flush />}
    </div>
  );
}
