// SPDX-License-Identifier: Apache-2.0
// The socket: binary frames in, commands of 56 bytes out. The layout is that of web/server/frame.c and server.h.

export const OP = { PAUSE: 1, STEP: 2, SPEED: 3, RESET: 4, CONTROL: 5, DRAG: 6, RELEASE: 7, SEEK: 8, REPLAY: 9, LIVE: 10, RESUME: 11, LOOK: 12, RECORD: 13, STRESS: 14, JOINT: 15, EQUALITY: 16, WORLD: 17, GRID: 18, TWIST: 19, OPTION: 20 };
export const NOTHING = 0xffffffff;
const FLAG = { paused: 1, past: 2, replaying: 4, recording: 8, recorder: 16, replay: 32, dragging: 64 };
const text = new TextDecoder();

function head(view) {
  const words = [0, 4, 8, 12, 16].map(i => view.getUint32(i, true));
  const reals = [28, 32, 36, 40, 44].map(i => view.getFloat32(i, true));
  const flags = Object.fromEntries(Object.entries(FLAG).map(([name, bit]) => [name, (words[1] & bit) !== 0]));
  return { sequence: words[0], ...flags, first: words[2] | 0, last: words[3] | 0, shown: words[4] | 0,
           time: view.getFloat64(20, true), speed: reals[0], rate: reals[1], from: reals[2], to: reals[3], timestep: reals[4] };
}

/** A message as an object of typed arrays, by tag; unknown tags are kept as floats. */
export function decode(buffer) {
  const view = new DataView(buffer), frame = {};
  for (let at = 0; at + 8 <= buffer.byteLength;) {
    const tag = text.decode(new Uint8Array(buffer, at, 4)), words = view.getUint32(at + 4, true);
    at += 8;
    if (tag === 'HEAD') frame.head = head(new DataView(buffer, at, 4 * words));
    else if (tag === 'LOOK') frame.LOOK = new Uint8Array(buffer, at, 4 * words);
    else if (['PNAM', 'TEXT', 'NOTE', 'MLAB'].includes(tag)) frame[tag] = text.decode(new Uint8Array(buffer, at, 4 * words)).replace(/\0+$/, '');
    else frame[tag] = new Float32Array(buffer, at, words);
    at += 4 * words;
  }
  return frame;
}

export class Stream {
  constructor(onframe, onstate) {
    this.onframe = onframe;
    this.onstate = onstate;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(new URL('stream', location.href.replace(/^http/, 'ws')), 'stiction');
    this.socket.binaryType = 'arraybuffer';
    this.socket.onopen = () => this.onstate(true);
    this.socket.onmessage = event => this.onframe(decode(event.data));
    this.socket.onclose = () => {
      this.onstate(false);
      setTimeout(() => this.connect(), 1500);
    };
  }

  send(op, index = 0, ...x) {
    if (this.socket.readyState !== WebSocket.OPEN) return;
    const view = new DataView(new ArrayBuffer(56));
    view.setUint32(0, op, true);
    view.setUint32(4, index, true);
    x.forEach((value, i) => view.setFloat64(8 + 8 * i, value, true));
    this.socket.send(view.buffer);
  }
}
