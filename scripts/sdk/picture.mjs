// A PNG file, made here: squares of colours that depend on the seed.

import { deflateSync } from "node:zlib";

const width = 256;
const height = 192;
const square = 16;

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function chunk(name, data) {
  const named = Buffer.concat([Buffer.from(name), data]);
  const size = Buffer.alloc(4);
  const checksum = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([size, named, checksum]);
}

// As base64.
export function png(seed) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const lines = [];
  for (let y = 0; y < height; ++y) {
    lines.push(0); // no filter
    for (let x = 0; x < width; ++x) {
      const at = Math.floor(y / square) * (width / square) + Math.floor(x / square) + 1;
      lines.push((at * 37 * seed) & 255, (at * 91 + seed) & 255, (at * at * seed) & 255);
    }
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(Buffer.from(lines));
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]).toString("base64");
}
