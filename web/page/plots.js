// SPDX-License-Identifier: Apache-2.0
// Live plots over simulated time. A series is a name and a function from a frame to numbers.

const KEEP = 1200, MOST = 12; // frames; lines in a plot
// of free, ball, slide and hinge joints
const PLACES = [[' x', ' y', ' z', ' qw', ' qx', ' qy', ' qz'], [' qw', ' qx', ' qy', ' qz'], [''], ['']];
const SPEEDS = [[' vx', ' vy', ' vz', ' wx', ' wy', ' wz'], [' wx', ' wy', ' wz'], [''], ['']];
const COLORS = ['#2563c9', '#d9622b', '#1f9d3a', '#8a4bc9', '#c92b6d', '#8a7a1f'];
const dashed = k => k % (2 * COLORS.length) >= COLORS.length; // when the colours begin anew
const short = x => (!Number.isFinite(x) ? '–' : Math.abs(x) < 1e-12 ? '0' : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(+x.toPrecision(4)));

/** Everything that can be plotted. */
export function series(description) {
  const part = (tag, start, dim) => frame => Array.from(frame[tag].subarray(start, start + dim));
  const list = description.sensors.map((s, i) => ({ name: title(s, i), legend: axes(s), values: part('SENS', s.start, s.dim) }));
  list.push({ name: 'energy (J)', legend: ['potential', 'kinetic', 'sum'], values: f => [f.STAT[0], f.STAT[1], f.STAT[0] + f.STAT[1]] },
            { name: 'contacts', values: f => [f.STAT[4]] },
            { name: 'contact force (N)', legend: ['normal', 'tangential'], values: forces },
            { name: 'solver iterations', values: f => [f.STAT[2]] },
            { name: 'residual (log10)', values: f => [f.STAT[3] > 0 ? Math.log10(f.STAT[3]) : NaN] },
            { name: 'time of the solve (ms)', values: f => [f.STAT[5]] },
            { name: 'time of a step by stage (µs)', peaks: true, legend: f => (f.PROF ? stages(f).map(s => s.name) : []), values: f => (f.PROF ? stages(f).map(s => s.us) : []) },
            { name: 'qpos (m, rad)', legend: coordinates(description, PLACES), values: f => Array.from(f.QPOS.subarray(0, MOST)) },
            { name: 'qvel (m/s, rad/s)', legend: coordinates(description, SPEEDS), values: f => Array.from(f.QVEL.subarray(0, MOST)) },
            { name: 'ctrl', legend: description.actuators.map((a, i) => a.name || `actuator ${i}`), values: f => Array.from(f.CTRL.subarray(0, MOST)) });
  return list;
}

/** A name for each number of qpos or qvel, from its joint or its body. */
function coordinates({ joints, bodies }, parts) {
  return joints.flatMap((j, i) => parts[j.type].map(part => `${j.name || bodies[j.body].name || `joint ${i}`}${part}`));
}

const UNITS = {
  touch: 'N', force: 'N', torque: 'N m', accelerometer: 'm/s²', velocimeter: 'm/s', gyro: 'rad/s', rangefinder: 'm', distance: 'm', tendonpos: 'm', tendonvel: 'm/s',
  ballangvel: 'rad/s', framepos: 'm', framelinvel: 'm/s', frameangvel: 'rad/s', framelinacc: 'm/s²', frameangacc: 'rad/s²', subtreecom: 'm', subtreelinvel: 'm/s',
  subtreeangmom: 'kg m²/s', clock: 's', e_potential: 'J', e_kinetic: 'J' };

/** "foot (touch, N)"; without the type where the name says it. */
function title({ name, type, parts }, i) {
  const said = [name === type ? '' : type, parts && parts.some(part => part !== 'dist') ? '' : (UNITS[type] ?? '')].filter(Boolean).join(', ');
  return `${name || `sensor ${i}`}${said && ` (${said})`}`;
}

/** Names of the numbers of sensors that measure a vector, an orientation or what their `data` says. */
function axes({ type, dim, parts }) {
  if (parts && (parts.length > 1 || dim > 1)) return Array.from({ length: Math.min(dim, MOST) }, (_, k) => parts[k % parts.length] + (dim > parts.length ? ` #${Math.floor(k / parts.length)}` : ''));
  if (type.endsWith('quat')) return ['w', 'x', 'y', 'z'];
  return dim === 3 && !['contact', 'user', 'plugin', 'rangefinder', 'tactile'].includes(type) ? ['x', 'y', 'z'] : undefined;
}

function forces(frame) {
  let normal = 0, tangent = 0;
  for (let i = 0; i + 19 <= frame.CONT.length; i += 19) {
    normal += frame.CONT[i + 16];
    tangent += Math.hypot(frame.CONT[i + 17], frame.CONT[i + 18]);
  }
  return [normal, tangent];
}

/** The stages two below the root that takes the most; none where nothing was stepped. */
function stages(frame) {
  if (!frame.PROF.some(us => us > 0)) return [];
  const lines = frame.PNAM.trim().split('\n'), depth = lines.map(line => +line[0]), list = [], stage = i => ({ name: lines[i].slice(1), us: frame.PROF[i] });
  const root = depth.reduce((best, d, i) => (d === 0 && frame.PROF[i] > frame.PROF[best] ? i : best), 0);
  for (let i = root + 1; i < depth.length && depth[i] > 0; i++)
    if (depth[i] === 2 || (depth[i] === 1 && !(depth[i + 1] > 1))) list.push(stage(i));
  return list.length ? list : [stage(root)];
}

/** Two to five round numbers between lo and hi. */
export function ticks(lo, hi) {
  const rough = (hi - lo) / 3, power = 10 ** Math.floor(Math.log10(rough)), inside = step => Math.floor(hi / step) - Math.ceil(lo / step) + 1;
  const step = [10, 5, 2, 1].map(m => m * power).find(s => s < 2 * rough && inside(s) >= 2) ?? power, list = []; // one number alone says nothing of the scale
  for (let k = Math.ceil(lo / step); k * step <= hi + 1e-9 * step; k++) list.push(k * step);
  return list;
}

class Plot {
  constructor(source, parent, remove) {
    this.source = source;
    this.times = [];
    this.rows = [];
    this.box = document.createElement('div');
    this.box.className = 'plot';
    this.canvas = document.createElement('canvas');
    const close = document.createElement('button');
    close.textContent = '×';
    close.title = 'remove this plot';
    close.onclick = () => (this.box.remove(), remove(this));
    this.legend = document.createElement('div');
    this.legend.className = 'legend number';
    this.box.append(this.canvas, close, this.legend);
    parent.append(this.box);
  }

  add(frame) {
    const { time, past } = frame.head, row = this.source.values(frame);
    if (!row.length) return;
    let at = this.times.length; // where it belongs: what is looked at again is replaced, not appended
    while (at > 0 && this.times[at - 1] > time) at--;
    const again = at > 0 && this.times[at - 1] === time;
    if (!past && at < this.times.length) this.times.length = this.rows.length = at; // a reset, or simulated on from the past
    if (again) this.rows[at - 1] = row;
    else this.times.splice(at, 0, time), this.rows.splice(at, 0, row);
    if (this.times.length > KEEP) this.times.shift(), this.rows.shift();
    this.cursor = past ? time : null;
    this.now = row;
    if (typeof this.source.legend === 'function') this.names = this.source.legend(frame);
    this.dirty = true;
  }

  /** The colours, what they mean, and the present values. */
  explain() {
    const names = this.names ?? this.source.legend ?? [], several = this.now.length > 1;
    this.legend.replaceChildren(...this.now.slice(0, MOST).map((value, k) => {
      const item = document.createElement('span'), color = document.createElement('i');
      const hue = COLORS[k % COLORS.length];
      color.style.background = dashed(k) ? `linear-gradient(90deg, ${hue} 40%, transparent 40% 60%, ${hue} 60%)` : hue;
      item.append(color, `${names[k] ?? (several ? `[${k}]` : '')} ${short(value)}`);
      return item;
    }));
  }

  draw() {
    if (!this.dirty) return;
    this.dirty = false;
    const ratio = devicePixelRatio, w = this.canvas.clientWidth, h = this.canvas.clientHeight, pen = this.canvas.getContext('2d');
    if (this.canvas.width !== w * ratio) this.canvas.width = w * ratio, this.canvas.height = h * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const finite = this.rows.flat().filter(Number.isFinite), top = 18, left = 46, style = getComputedStyle(this.canvas);
    let lo = Math.min(...finite), hi = Math.max(...finite);
    pen.font = '11px system-ui';
    pen.fillStyle = style.color;
    pen.fillText(this.source.name, 6, 12);
    this.explain();
    if (!finite.length) return;
    if (this.source.peaks) hi = Math.min(hi, 3 * finite.sort((a, b) => a - b)[Math.floor(0.98 * (finite.length - 1))] || hi); // rare peaks go beyond the top
    if (hi - lo < 1e-9 * Math.max(1, Math.abs(hi))) lo -= 0.5, hi += 0.5;
    const t0 = this.times[0], span = Math.max(1e-9, this.times.at(-1) - t0);
    const x = t => left + (w - left - 6) * (t - t0) / span, y = v => Math.max(top - 4, h - 16 - (h - top - 20) * (v - lo) / (hi - lo));
    pen.strokeStyle = '#8a929a55';
    pen.fillStyle = '#8a929a';
    for (const v of ticks(lo, hi)) {
      pen.beginPath(), pen.moveTo(left, y(v)), pen.lineTo(w - 6, y(v)), pen.stroke();
      pen.fillText(short(v), left - 4 - pen.measureText(short(v)).width, y(v) + 4);
    }
    this.rows.at(-1).forEach((_, k) => {
      pen.strokeStyle = COLORS[k % COLORS.length];
      pen.lineWidth = 1.3;
      pen.setLineDash(dashed(k) ? [4, 3] : []);
      pen.beginPath();
      let on = false;
      this.rows.forEach((row, i) => {
        if (!Number.isFinite(row[k])) return void (on = false);
        on ? pen.lineTo(x(this.times[i]), y(row[k])) : pen.moveTo(x(this.times[i]), y(row[k]));
        on = true;
      });
      pen.stroke();
    });
    pen.setLineDash([]);
    pen.fillStyle = '#8a929a';
    const end = `${this.times.at(-1).toFixed(2)} s`;
    pen.fillText(t0.toFixed(2), left, h - 3);
    pen.fillText(end, w - 6 - pen.measureText(end).width, h - 3);
    if (this.cursor === null || this.cursor === undefined) return;
    pen.fillStyle = style.color; // the moment that is shown while looking back
    pen.fillRect(x(this.cursor) - 0.5, top, 1, h - top - 16);
  }
}

export class Plots {
  constructor(description, box, chooser) {
    this.list = [];
    this.box = box;
    this.all = series(description);
    chooser.append(new Option('a plot …', ''), ...this.all.map((s, i) => new Option(s.name, i)));
    chooser.onchange = () => {
      if (chooser.value !== '') this.open(+chooser.value);
      chooser.value = '';
    };
    const first = this.all.findIndex(s => s.name.startsWith('contact force'));
    if (description.sensors.length) this.open(Math.max(0, description.sensors.findIndex(s => s.type === 'contact' || s.type === 'touch')));
    this.open(first);
  }

  open(index) {
    this.list.push(new Plot(this.all[index], this.box, plot => { this.list = this.list.filter(p => p !== plot); }));
  }

  update(frame) { this.list.forEach(plot => plot.add(frame)); }
  draw() { this.list.forEach(plot => plot.draw()); }
}
