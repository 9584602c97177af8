"use strict";
// QR codes (ISO/IEC 18004) of texts in UTF-8, with the correction level L, which is enough for a screen.

// The greatest version. It has 117 squares a side and holds 1 273 bytes; cameras fail on finer codes.
const qrGreatestVersion = 25;
// The check bytes of a block and the number of blocks, by version.
const qrChecks = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26];
const qrBlocks = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12];
const qrMasks = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, (x, y) => x % 3, (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2, (x, y) => x * y % 2 + x * y % 3,
  (x, y) => (x * y % 2 + x * y % 3) % 2, (x, y) => ((x + y) % 2 + x * y % 3) % 2
];

// Returns the rows of a code, where true is dark, or null for a text that is too long.
function qrCode(text) {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= qrGreatestVersion; version += 1) {
    const data = qrData(bytes, version);
    if (data) return qrSquares(version, qrInterleaved(data, version));
  }
  return null;
}

// MARK: Bytes

// The bytes of a version that have data or checks.
function qrRoom(version) {
  let squares = (16 * version + 128) * version + 64;
  if (version > 1) {
    const marks = Math.floor(version / 7) + 2;
    squares -= (25 * marks - 10) * marks - 55;
  }
  if (version > 6) squares -= 36;
  return Math.floor(squares / 8);
}

// Returns the data bytes, padded to the room of a version, or null if they do not fit.
function qrData(bytes, version) {
  const room = qrRoom(version) - qrChecks[version - 1] * qrBlocks[version - 1];
  const word = (value, bits) => value.toString(2).padStart(bits, "0");
  let bits = "0100" + word(bytes.length, version < 10 ? 8 : 16) + [...bytes].map(byte => word(byte, 8)).join("");
  if (bits.length > room * 8) return null;
  bits += "0".repeat(Math.min(4, room * 8 - bits.length));
  bits += "0".repeat(-bits.length & 7);
  const data = bits.match(/.{8}/g).map(byte => parseInt(byte, 2));
  for (let pad = 0; data.length < room; pad += 1) data.push(pad % 2 ? 0x11 : 0xec);
  return data;
}

// Splits data into blocks, and returns a byte of each block in turn: the data, then the checks.
function qrInterleaved(data, version) {
  const count = qrBlocks[version - 1], checks = qrChecks[version - 1];
  const short = Math.floor(data.length / count), firstLong = count - data.length % count;
  const blocks = [];
  for (let index = 0, start = 0; index < count; index += 1) {
    const end = start + short + (index < firstLong ? 0 : 1);
    blocks.push(data.slice(start, end));
    start = end;
  }
  const inTurn = lists => Array.from({ length: Math.max(...lists.map(list => list.length)) }, (_, place) => place)
    .flatMap(place => lists.filter(list => place < list.length).map(list => list[place]));
  return [...inTurn(blocks), ...inTurn(blocks.map(block => qrCheckBytes(block, checks)))];
}

// The product in the field of 256 elements, whose polynomial is 0x11d.
function qrProduct(a, b) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) product = product << 1 ^ (product >> 7) * 0x11d ^ (b >> bit & 1) * a;
  return product;
}

// The remainder of a block by the Reed-Solomon polynomial with so many roots.
function qrCheckBytes(block, count) {
  let divisor = [1];
  for (let index = 0, root = 1; index < count; index += 1, root = qrProduct(root, 2)) {
    const next = [...divisor, 0];
    divisor.forEach((factor, place) => { next[place + 1] ^= qrProduct(factor, root); });
    divisor = next;
  }
  const rest = new Array(count).fill(0);
  for (const byte of block) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    for (let place = 0; place < count; place += 1) rest[place] ^= qrProduct(divisor[place + 1], factor);
  }
  return rest;
}

// MARK: Squares

function qrSquares(version, bytes) {
  const size = 17 + 4 * version;
  const marks = qrMarks(version, size);
  const drawn = qrMasks.map((mask, number) => {
    const rows = marks.map(row => [...row]);
    placeFormat(rows, size, number);
    placeBytes(rows, size, bytes, mask, marks);
    return rows;
  });
  return drawn.reduce((best, rows) => sameNeighbours(rows) < sameNeighbours(best) ? rows : best);
}

// The squares that are the same for each text: the marks, and room for the format. The others are null.
function qrMarks(version, size) {
  const rows = Array.from({ length: size }, () => new Array(size).fill(null));
  const set = (x, y, dark) => { if (rows[y]?.[x] !== undefined) rows[y][x] = dark; };
  for (let place = 0; place < size; place += 1) { set(6, place, place % 2 === 0); set(place, 6, place % 2 === 0); }
  const ring = (x, y, radius, light) => {
    for (let dy = -radius; dy <= radius; dy += 1) {
      for (let dx = -radius; dx <= radius; dx += 1) set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  };
  const places = alignmentPlaces(version, size), last = places.at(-1);
  for (const x of places) {
    for (const y of places) if (!(x === 6 && (y === 6 || y === last)) && !(x === last && y === 6)) ring(x, y, 2, [1]);
  }
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) ring(x, y, 4, [2, 4]);
  placeFormat(rows, size, 0);
  if (version > 6) {
    const bits = qrChecked(version, 12, 0x1f25);
    for (let bit = 0; bit < 18; bit += 1) {
      const near = Math.floor(bit / 3), far = size - 11 + bit % 3;
      set(near, far, (bits >> bit & 1) === 1);
      set(far, near, (bits >> bit & 1) === 1);
    }
  }
  return rows;
}

function alignmentPlaces(version, size) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2, step = Math.ceil((4 * version + 4) / (2 * count - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, place) => size - 7 - (count - 2 - place) * step)];
}

// A number with the check bits of a polynomial behind it.
function qrChecked(number, count, polynomial) {
  let rest = number;
  for (let bit = 0; bit < count; bit += 1) rest = rest << 1 ^ (rest >> count - 1) * polynomial;
  return number << count | rest;
}

// Draws the level and the mask, twice.
function placeFormat(rows, size, mask) {
  const bits = qrChecked(1 << 3 | mask, 10, 0x537) ^ 0x5412;
  for (let bit = 0; bit < 15; bit += 1) {
    const dark = (bits >> bit & 1) === 1;
    const near = bit < 6 ? bit : bit < 8 ? bit + 1 : bit === 8 ? 7 : 14 - bit;
    if (bit < 8) { rows[near][8] = dark; rows[8][size - 1 - bit] = dark; }
    else { rows[8][near] = dark; rows[size - 15 + bit][8] = dark; }
  }
  rows[size - 8][8] = true;
}

// Draws the bytes in columns of two squares, from the right, up and down in turn.
function placeBytes(rows, size, bytes, mask, marks) {
  let bit = 0, isUp = true;
  for (let right = size - 1; right > 0; right -= 2, isUp = !isUp) {
    // The column of the timing marks has no bytes.
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (marks[y][x] !== null) continue;
        const isSet = bit < bytes.length * 8 && (bytes[bit >> 3] >> 7 - (bit & 7) & 1) === 1;
        rows[y][x] = isSet !== (mask(x, y) === 0);
        bit += 1;
      }
    }
  }
}

// Cameras read a code best that has few areas of one colour.
function sameNeighbours(rows) {
  let count = 0;
  rows.forEach((row, y) => row.forEach((dark, x) => { count += (row[x + 1] === dark) + (rows[y + 1]?.[x] === dark); }));
  return count;
}

// Returns a picture of the rows as one path, with the margin of four squares that cameras need.
function qrPicture(rows) {
  const side = rows.length + 8;
  const squares = rows.flatMap((row, y) => row.map((dark, x) => dark ? `M${x + 4} ${y + 4}h1v1h-1z` : "")).join("");
  const make = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const picture = make("svg", { viewBox: `0 0 ${side} ${side}`, role: "img", "shape-rendering": "crispEdges" });
  picture.append(make("rect", { width: side, height: side, fill: "#fff" }), make("path", { d: squares, fill: "#000" }));
  return picture;
}
