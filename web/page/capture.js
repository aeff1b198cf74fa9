// SPDX-License-Identifier: Apache-2.0
// Pictures (PNG) and videos (WebM) of the canvas, as downloads.

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export class Capture {
  constructor(canvas, draw, title) {
    Object.assign(this, { canvas, draw, title: title || 'stiction', recorder: null, last: null });
  }

  save(blob, name) { save(blob, name); }

  /** The canvas is drawn anew: its pixels are gone after a frame. */
  picture() {
    this.draw();
    return new Promise(done => this.canvas.toBlob(blob => (save(blob, `${this.title}.png`), done(blob)), 'image/png'));
  }

  /** Starts a video, or ends it and saves it. Returns whether one is being made. */
  video() {
    if (this.recorder) {
      this.recorder.stop();
      this.recorder = null;
      return false;
    }
    const parts = [], type = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm'].find(t => MediaRecorder.isTypeSupported(t));
    this.recorder = new MediaRecorder(this.canvas.captureStream(30), { mimeType: type, videoBitsPerSecond: 4e6 });
    this.recorder.ondataavailable = event => parts.push(event.data);
    this.recorder.onstop = () => {
      this.last = new Blob(parts, { type: 'video/webm' });
      save(this.last, `${this.title}.webm`);
    };
    this.recorder.start(500);
    return true;
  }
}
